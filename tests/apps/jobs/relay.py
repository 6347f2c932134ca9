"""A place between a program and its PostgreSQL where connections can be cut; used by tests."""

import shutil
import socket
import tempfile
import threading
from pathlib import Path

SOCKET = ".s.PGSQL.5432"
ADD, ACKNOWLEDGE, COMMIT = b"find_digests", b"lock_leases", b"commit"


class Relay:
    """Stands between rota-http and the server, and cuts one connection when it is told to.

    `cut` is looked for in what clients send: the name of a prepared statement, or None. COMMIT
    means one by itself: what only reads sends it with the rest. `after`: only in a transaction that
    began with this. `pass_on`: whether what is cut still reaches the server, which is then waited
    for. `flowing` is cleared to let nothing through, as if the server were frozen.
    """

    def __init__(self, server):
        self.folder = Path(tempfile.mkdtemp(prefix="rota-relay-", dir="/tmp"))
        self.to = str(server.folder / SOCKET)
        self.cut = None
        self.after = None
        self.pass_on = False
        self.flowing = threading.Event()
        self.flowing.set()
        self.listener = None

    def open(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.folder / SOCKET))
        self.listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        shutil.rmtree(self.folder)

    def url(self, database, password=""):
        host = str(self.folder).replace("/", "%2F")
        return f"postgres://postgres{password}@{host}/{database}"

    def _accept(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.to)
            threading.Thread(target=self._send, args=(client, server), daemon=True).start()
            threading.Thread(target=self._answer, args=(client, server), daemon=True).start()

    def _is_time(self, data, begun):
        return (self.cut is not None and self.cut in data and (self.after or b"") in begun
                and (self.cut != COMMIT or b"begin" not in data))

    def _send(self, client, server):
        begun = b""
        try:
            while data := client.recv(1 << 16):
                self.flowing.wait()
                begun = data if b"begin" in data else begun
                if not self._is_time(data, begun):
                    server.sendall(data)
                    continue
                self.cut = None
                client.shutdown(socket.SHUT_RDWR)
                if self.pass_on:
                    server.sendall(data)
                break
        except OSError:
            pass
        try:
            server.shutdown(socket.SHUT_WR)  # it does what it was sent, and ends
        except OSError:
            pass

    @staticmethod
    def _answer(client, server):
        try:
            while data := server.recv(1 << 16):
                client.sendall(data)
        except OSError:
            pass
        try:
            client.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
