"""Certificates for tests, made by openssl(1); nothing of them is in the tree, or expires there."""

import subprocess
from pathlib import Path

EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
RSA = ["-newkey", "rsa:2048"]


class Certificates:
    """An authority in a folder, and what it has signed."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.ca = self.make("ca", by=None)

    def path(self, name):
        return str(self.folder / name)

    def make(self, name, *names, key=EC, by="ca"):
        """The certificate's path; its key is beside it."""
        more = [] if by is None else ["-CA", self.path(f"{by}.pem"),
                                      "-CAkey", self.path(f"{by}.key")]
        if names:
            kinds = ("IP" if n[0].isdigit() or ":" in n else "DNS" for n in names)
            more += ["-addext", "subjectAltName=" + ",".join(
                f"{kind}:{n}" for kind, n in zip(kinds, names))]
        subprocess.run(["openssl", "req", "-x509", "-nodes", "-days", "30", "-subj", f"/CN={name}",
                        *key, "-keyout", self.path(f"{name}.key"),
                        "-out", self.path(f"{name}.pem"), *more], check=True, capture_output=True)
        return self.path(f"{name}.pem")

    def options(self, *names):
        """--tls-cert and --tls-key for each."""
        return [part for name in names for part in (
            "--tls-cert", self.path(f"{name}.pem"), "--tls-key", self.path(f"{name}.key"))]
