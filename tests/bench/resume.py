#!/usr/bin/env python3
"""bench/load/resume.py resumes each connection from the one before, and counts what is not."""

import json
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "bench/load/resume.py"
ANSWER = b"HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def answer(client, context, status):
    try:
        with client, context.wrap_socket(client, server_side=True) as over:
            over.recv(65536)
            over.sendall(ANSWER % status)
    except OSError:
        pass  # the client says what came of it


class Resume(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.pair = f"{folder}/cert.pem", f"{folder}/key.pem"
        subprocess.run(["openssl", "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                        "-out", cls.pair[0], "-keyout", cls.pair[1]],
                       check=True, capture_output=True)

    def told(self, tickets=2, status=b"200 OK"):
        """What it says of a server that sends so many tickets."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.pair)
        context.num_tickets = tickets

        def serve(listener):
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return  # it is closed
                threading.Thread(target=answer, args=(client, context, status)).start()

        with socket.create_server(("127.0.0.1", 0)) as listener:
            server = threading.Thread(target=serve, args=(listener,))
            server.start()
            command = [sys.executable, PROGRAM, str(listener.getsockname()[1]), "/", "2", "0.3"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
            listener.shutdown(socket.SHUT_RDWR)
            server.join()
        return json.loads(done.stdout)

    def test_resumed(self):
        told = self.told()
        self.assertEqual(told["errors"], 0)
        self.assertGreater(told["count"], 1)
        self.assertLessEqual(told["p50_us"], told["max_us"])

    def test_without_tickets(self):
        told = self.told(tickets=0)
        self.assertGreater(told["count"], 0)
        self.assertEqual(told["errors"], told["count"])

    def test_wrong_answers(self):
        told = self.told(status=b"503 Service Unavailable")
        self.assertGreater(told["count"], 0)
        self.assertEqual(told["errors"], told["count"])


if __name__ == "__main__":
    unittest.main()
