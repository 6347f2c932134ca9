"""A client of WebSocket that sends frames as they are told, for tests; and what clients that others
have written do, in the Python that has them."""

import base64
import os
import shutil
import struct
import subprocess
import sys
import zlib

KEY = base64.b64encode(bytes(range(16))).decode()
OTHERS = r"""
import asyncio, sys, websockets
async def talk(uri, compression):
    async with websockets.connect(uri, subprotocols=["x", "echo"], compression=compression,
                                  max_size=None) as ws:
        assert ws.subprotocol == "echo"
        has = ws if hasattr(ws, "extensions") else ws.protocol  # before and since version 13
        assert bool(has.extensions) == bool(compression)
        for message in ["hi", "", "\u00e4\u20ac" * 1000, bytes(70000), b"", "x" * 125, "y" * 126,
                        "z" * 65535, "z" * 65536, "a" * 1000000, bytes(range(256)) * 4096]:
            await ws.send(message)
            assert await ws.recv() == message
        await ws.send(["in ", "three ", "pieces"])
        assert await ws.recv() == "in three pieces"
        for number in range(100):
            await ws.send("again and again, message %d, " % number * 10)
        for number in range(100):
            assert await ws.recv() == "again and again, message %d, " % number * 10
        await (await ws.ping())
        await ws.close(4000, "enough")
        assert ws.close_code == 4000
async def main():
    for compression in ("deflate", None):
        await talk(sys.argv[1], compression)
asyncio.run(main())
print("good")
"""
WSPROTO = r"""
import socket, sys
from wsproto import ConnectionType, WSConnection
from wsproto.events import *
from wsproto.extensions import PerMessageDeflate
host, port = sys.argv[1].split(":")
for offer in ([], [PerMessageDeflate()], [PerMessageDeflate(client_no_context_takeover=True,
              server_no_context_takeover=True, client_max_window_bits=9,
              server_max_window_bits=9)]):
    s = socket.create_connection((host, int(port)), 60)
    ws = WSConnection(ConnectionType.CLIENT)
    s.sendall(ws.send(Request(host=sys.argv[1], target="/ws/echo", extensions=offer)))
    got, text = [], ""
    sent = ["hi", "\u00e4" * 300, "x" * 100000, "words " * 50, "words " * 50]
    while len(got) < len(sent):
        ws.receive_data(s.recv(65536))
        for event in ws.events():
            if isinstance(event, AcceptConnection):
                assert bool(event.extensions) == bool(offer)
                for message in sent:
                    s.sendall(ws.send(TextMessage(data=message)))
            elif isinstance(event, TextMessage):
                text += event.data
                if event.message_finished:
                    got.append(text)
                    text = ""
            else:
                raise AssertionError(event)
    assert got == sent
    s.sendall(ws.send(CloseConnection(code=1000)))
    while data := s.recv(65536):
        ws.receive_data(data)
    assert any(isinstance(event, CloseConnection) and event.code == 1000 for event in ws.events())
print("good")
"""
NODE = r"""
const url = process.argv[2];
let made = globalThis.WebSocket;
try { made = require(process.argv[3] || "ws"); } catch {}
if (!made) { console.log("none"); process.exit(0); }
const ws = new made(url, ["echo"]);
const sent = ["hi", "", "ä€😀".repeat(1000), "x".repeat(100000)];
let got = 0;
ws.addEventListener("open", () => sent.forEach((message) => ws.send(message)));
ws.addEventListener("message", (event) => {
  if (String(event.data) !== sent[got]) { console.log("wrong", got); process.exit(1); }
  if (++got === sent.length) ws.close(4001, "enough");
});
ws.addEventListener("close", (event) => {
  console.log(event.code === 4001 && ws.protocol === "echo" ? "good" : "bad " + event.code);
});
ws.addEventListener("error", (event) => { console.log("error", event.message); process.exit(1); });
"""


def python_with(module):
    """A Python that has it, or nothing."""
    for python in (sys.executable, shutil.which("python3"), "/usr/bin/python3"):
        if python and subprocess.run([python, "-c", f"import {module}"], check=False,
                                     capture_output=True).returncode == 0:
            return python
    return None


def frame(payload=b"", op=1, fin=True, rsv=0, masked=True, length_bytes=0):
    if isinstance(payload, str):
        payload = payload.encode()
    size = len(payload)
    how = length_bytes or (1 if size < 126 else 2 if size < 65536 else 8)
    head = bytes([(0x80 if fin else 0) | rsv << 4 | op])
    mark = 0x80 if masked else 0
    if how == 1:
        head += bytes([mark | size])
    elif how == 2:
        head += bytes([mark | 126]) + struct.pack(">H", size)
    else:
        head += bytes([mark | 127]) + struct.pack(">Q", size)
    if not masked:
        return head + payload
    key = os.urandom(4)
    repeated = key * (size // 4 + 1)
    mixed = int.from_bytes(payload, "big") ^ int.from_bytes(repeated[:size], "big")
    return head + key + mixed.to_bytes(size, "big")


def close(code, reason=b""):
    return frame(struct.pack(">H", code) + reason, op=8)


def deflated(data, bits=15):
    coder = zlib.compressobj(wbits=-bits)
    return (coder.compress(data) + coder.flush(zlib.Z_SYNC_FLUSH))[:-4]


class Raw:
    """A connection that is a WebSocket, or was refused: `status` and `head` say."""

    def __init__(self, connection, path="/ws/echo", fields=(), instead=None):
        self.socket = connection
        self.data = b""
        lines = {"Host": "127.0.0.1", "Upgrade": "websocket", "Connection": "Upgrade",
                 "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": KEY, **(instead or {})}
        text = [f"{name}: {value}" for name, value in lines.items() if value is not None]
        text += [f"{name}: {value}" for name, value in fields]
        request = f"GET {path} HTTP/1.1\r\n" + "\r\n".join(text) + "\r\n\r\n"
        self.socket.sendall(request.encode())
        while b"\r\n\r\n" not in self.data:
            self._more()
        head, _, self.data = self.data.partition(b"\r\n\r\n")
        self.head = head.decode()
        self.status = int(self.head.split()[1])
        self.window = zlib.decompressobj(wbits=-15)

    def field(self, name):
        values = [line.split(": ", 1)[1] for line in self.head.split("\r\n")[1:]
                  if line.lower().startswith(name.lower() + ":")]
        return values[0] if values else None

    def _more(self):
        piece = self.socket.recv(65536)
        if not piece:
            raise EOFError(self.data)
        self.data += piece

    def _take(self, size):
        while len(self.data) < size:
            self._more()
        taken, self.data = self.data[:size], self.data[size:]
        return taken

    def send(self, *frames):
        self.socket.sendall(b"".join(frames))

    def read(self):
        """The next frame: (opcode, payload), decompressed; the server never fragments."""
        first, second = self._take(2)
        assert first & 0xb0 == 0x80 and second < 0x80, (first, second)
        size = second
        if size == 126:
            size = struct.unpack(">H", self._take(2))[0]
            assert size > 125
        elif size == 127:
            size = struct.unpack(">Q", self._take(8))[0]
            assert size > 65535
        payload = self._take(size)
        if first & 0x40:
            payload = self.window.decompress(payload + b"\0\0\xff\xff")
        return first & 15, payload

    def end(self):
        """The code of the close frame that comes, behind which the connection ends; None for a
        frame without."""
        while True:
            op, payload = self.read()
            if op == 8:
                break
        try:
            while piece := self.socket.recv(65536):
                raise AssertionError(f"behind the close frame comes {piece!r}")
        except ConnectionError:
            pass
        return struct.unpack(">H", payload[:2])[0] if payload else None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.socket.close()
