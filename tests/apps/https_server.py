"""rota-http with HTTPS as a child, and clients for it."""

import socket
import ssl
import subprocess
import tempfile

from certificates import EC, RSA, Certificates
from programs import PATIENCE_S
from rota_http import RotaHttp

GET = b"GET /plaintext HTTP/1.1\r\nHost: localhost\r\n\r\n"
FOLDER = tempfile.TemporaryDirectory(prefix="rota-tls-")
MADE = Certificates(FOLDER.name)
MADE.make("localhost", "localhost", "127.0.0.1")
MADE.make("a", "a.test", key=EC)
MADE.make("w", "*.w.test", key=RSA)
MADE.make("ann")
MADE.make("elsewhere", by=None)
MADE.make("stranger", by="elsewhere")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Https(RotaHttp):
    """With certificates for localhost (the default), a.test and *.w.test."""

    def __init__(self, program, *options, pairs=("localhost", "a", "w"), **more):
        self.tls_port = free_port()
        super().__init__(program, "--tls-port", self.tls_port, *MADE.options(*pairs), *options,
                         **more)

    def raw(self):
        return socket.create_connection(("127.0.0.1", self.tls_port), PATIENCE_S)

    def agree(self, name="localhost", alpn=None, certificate=None):
        context = ssl.create_default_context(cafile=MADE.ca)
        if alpn:
            context.set_alpn_protocols(alpn)
        if certificate:
            context.load_cert_chain(MADE.path(f"{certificate}.pem"),
                                    MADE.path(f"{certificate}.key"))
        return context.wrap_socket(self.raw(), server_hostname=name, suppress_ragged_eofs=False)

    def s_client(self, *options, send=GET, name="localhost"):
        """What openssl s_client prints, both its outputs."""
        where = [] if name is None else ["-servername", name]
        if name is None:
            where = ["-noservername"]
        run = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{self.tls_port}", "-CAfile", MADE.ca,
             "-ign_eof" if send and b"Connection: close" in send else "-verify_quiet", *where,
             *options],
            input=send, capture_output=True, timeout=PATIENCE_S, check=False)
        return (run.stdout + run.stderr).decode(errors="replace")
