"""An HTTP/1.1 client that can also misbehave: piecemeal, half closed, reset."""

import asyncio
import socket
import struct
from dataclasses import dataclass

PATIENCE_S = 60.0  # for what comes at once unless the machine is busy


class Wrong(Exception):
    """An answer that is not the one that had to come."""


@dataclass
class Answer:
    status: int
    fields: dict
    body: bytes


class Client:
    """One connection. Every wait ends after PATIENCE_S, with TimeoutError."""

    def __init__(self, reader, writer):
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, port):
        opening = asyncio.open_connection("127.0.0.1", port, limit=1 << 16)
        return cls(*await asyncio.wait_for(opening, PATIENCE_S))

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except OSError:
            pass  # the other side was first

    async def send(self, data):
        self.writer.write(data)
        await asyncio.wait_for(self.writer.drain(), PATIENCE_S)

    def end_sending(self):
        self.writer.write_eof()

    def reset(self):
        """Ends the connection with a reset, whatever is on its way."""
        linger = struct.pack("ii", 1, 0)
        self.writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.writer.transport.abort()

    async def answer(self):
        """The next answer, whole."""
        return await asyncio.wait_for(self._answer(), PATIENCE_S)

    async def _answer(self):
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = {}
        for line in head[1:-2]:
            name, _, value = line.partition(":")
            fields[name.lower()] = value.strip()
        if fields.get("transfer-encoding") == "chunked":
            body = await self._chunks()
        else:
            body = await self.reader.readexactly(int(fields.get("content-length", 0)))
        return Answer(int(head[0].split()[1]), fields, body)

    async def _chunks(self):
        body = bytearray()
        while True:
            size = int(await self.reader.readuntil(b"\r\n"), 16)
            body += (await self.reader.readexactly(size + 2))[:-2]
            if size == 0:
                return bytes(body)

    async def expect(self, status, body=None):
        """The next answer, which has to be this one."""
        got = await self.answer()
        if got.status != status:
            raise Wrong(f"status {got.status} instead of {status}: {got.body[:200]!r}")
        if body is not None and got.body != body:
            raise Wrong(f"{got.body[:100]!r} ({len(got.body)} bytes) instead of {body[:100]!r} "
                        f"({len(body)} bytes)")
        return got

    async def expect_end(self):
        rest = await asyncio.wait_for(self.reader.read(100), PATIENCE_S)
        if rest:
            raise Wrong(f"{rest!r} instead of the end of the connection")


def get(path, *fields):
    return head("GET", path, *fields)


def post(path, content, *fields):
    return head("POST", path, f"Content-Length: {len(content)}", *fields) + content


def head(method, path, *fields):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *fields]
    return "".join(line + "\r\n" for line in lines).encode() + b"\r\n"


def chunked(content, size):
    """`content` as chunks of `size` bytes and the last one."""
    out = bytearray()
    for begin in range(0, len(content), size):
        piece = content[begin:begin + size]
        out += b"%x\r\n%b\r\n" % (len(piece), piece)
    return bytes(out) + b"0\r\n\r\n"
