"""Certificates for tests, made by openssl(1); nothing of them is in the tree, or expires there."""

import subprocess
from pathlib import Path

EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
RSA = ["-newkey", "rsa:2048"]


class Certificates:
    """An authority in a folder, and what it has signed."""

    def __init__(self, folder):
        self.folder = Path(folder)
        # Nothing but what is named below: each system's own configuration adds something else.
        (self.folder / "request").write_text("[req]\ndistinguished_name = name\n[name]\n")
        self.ca = self.make("ca", by=None)

    def path(self, name):
        return str(self.folder / name)

    def make(self, name, *names, key=EC, by="ca"):
        """The certificate's path; its key is beside it. What nobody has signed may sign others."""
        extensions = ["subjectKeyIdentifier=hash"]
        if by is None:
            more = []
            extensions += ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign"]
        else:
            more = ["-CA", self.path(f"{by}.pem"), "-CAkey", self.path(f"{by}.key")]
            extensions += ["basicConstraints=critical,CA:FALSE", "authorityKeyIdentifier=keyid"]
        if names:
            kinds = ("IP" if n[0].isdigit() or ":" in n else "DNS" for n in names)
            extensions += ["subjectAltName=" + ",".join(
                f"{kind}:{n}" for kind, n in zip(kinds, names))]
        for each in extensions:
            more += ["-addext", each]
        subprocess.run(["openssl", "req", "-x509", "-nodes", "-days", "30", "-subj", f"/CN={name}",
                        "-config", self.path("request"), *key,
                        "-keyout", self.path(f"{name}.key"),
                        "-out", self.path(f"{name}.pem"), *more], check=True, capture_output=True)
        return self.path(f"{name}.pem")

    def options(self, *names):
        """--tls-cert and --tls-key for each."""
        return [part for name in names for part in (
            "--tls-cert", self.path(f"{name}.pem"), "--tls-key", self.path(f"{name}.key"))]
