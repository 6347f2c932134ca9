"""A client of HTTP/2: frames by hand, over any socket. Of heads it reads the status."""

import socket
import struct
import time

from programs import PATIENCE_S

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
(DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE,
 CONTINUATION) = range(10)
PRIORITY_UPDATE = 16
END_STREAM = ACK = 1
END_HEADERS = 4


def number(value):
    return struct.pack(">I", value)


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + number(stream) + payload


# RFC 7541, appendix B: the bits of digits.
DIGITS = {"00000": "0", "00001": "1", "00010": "2", **{f"{0b011001 + i:06b}": str(3 + i)
                                                         for i in range(7)}}


def status_of(block):
    """The first field of a head, if it is the status; without a dynamic table."""
    while block and block[0] & 0xe0 == 0x20:
        block = block[1:]
    if not block:
        return None
    if block[0] & 0x80:
        return {8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500}.get(block[0] & 0x7f)
    if block[0] & 0x0f != 8 and block[0] != 0x48:
        return None
    size = block[1] & 0x7f
    value = block[2:2 + size]
    if not block[1] & 0x80:
        return int(value)
    digits, word = "", ""
    for bit in "".join(f"{byte:08b}" for byte in value):
        word += bit
        if word in DIGITS:
            digits, word = digits + DIGITS[word], ""
    return int(digits)


class Http2:
    def __init__(self, over, preface=PREFACE, settings=True, wishes=b""):
        self.over = over
        over.settimeout(PATIENCE_S)
        self.next = 1
        self.rest = b""
        self.gone = False
        self.settings = {}
        self.status, self.content = {}, {}
        self.ended, self.resets = set(), {}
        self.goaways, self.pongs = [], []
        self.windows = {}
        # Without a table heads can be read one by one.
        first = preface + (frame(SETTINGS, 0, 0, b"\0\1" + number(0) + wishes) if settings else b"")
        if first:
            self.send(first)

    @staticmethod
    def encode(fields):
        """Always the same bytes, whatever was encoded before: nothing is put into the table."""
        block = b""
        for name, value in fields:
            for text in (name, value):
                data = text.encode() if isinstance(text, str) else text
                if text is name:
                    block += b"\0"
                size = len(data)
                if size < 127:
                    block += bytes([size])
                else:
                    size -= 127
                    block += b"\x7f"
                    while size >= 128:
                        block += bytes([size % 128 + 128])
                        size //= 128
                    block += bytes([size])
                block += data
        return block

    def send(self, data):
        try:
            self.over.sendall(data)
        except OSError: # it has ended the connection; what it said of it is to be read
            pass

    @staticmethod
    def request_of(path, method="GET", authority="localhost", scheme="http", more=()):
        return Http2.encode([(":method", method), (":scheme", scheme), (":path", path),
                             (":authority", authority), *more])

    def ask(self, stream, path, *more, last=True, **how):
        self.send(frame(HEADERS, END_HEADERS | (END_STREAM if last else 0), stream,
                        self.request_of(path, more=more, **how)))
        self.next = max(self.next, stream + 2)

    def get(self, path, *more, credit=False, **how):
        """(status, content) of a request of its own."""
        stream = self.next
        self.ask(stream, path, *more, **how)
        if credit:
            self.send(frame(WINDOW_UPDATE, 0, stream, number(1 << 20)))
        self.until(lambda: stream in self.ended or stream in self.resets)
        return self.status.get(stream), self.content.get(stream, b"")

    def ping(self):
        count = len(self.pongs)
        self.send(frame(PING, 0, 0, b"p" * 8))
        self.until(lambda: len(self.pongs) > count)

    def until(self, condition, seconds=PATIENCE_S):
        end = time.monotonic() + seconds
        while not condition():
            if self.gone or time.monotonic() > end:
                raise AssertionError(f"{'gone' if self.gone else 'in vain'}: {self.goaways}, "
                                     f"{self.status}, {self.resets}")
            self.read()

    def ends_with(self):
        """The code of the last GOAWAY, once the connection is over."""
        try:
            self.until(lambda: self.gone)
        except AssertionError:
            if not self.goaways:
                raise
        return self.goaways[-1][1] if self.goaways else None

    def error_of(self, stream):
        """The code that a stream, or its connection, has ended with."""
        self.until(lambda: self.gone or stream in self.resets or stream in self.ended
                   or (self.goaways and self.goaways[-1][1] != 0))
        if stream in self.resets:
            return self.resets[stream]
        return self.goaways[-1][1] if self.goaways else None

    def read(self):
        try:
            piece = self.over.recv(1 << 18)
        except (ConnectionError, socket.timeout):
            piece = b""
        if not piece:
            self.gone = True
            return
        self.rest += piece
        while len(self.rest) >= 9:
            size = int.from_bytes(self.rest[:3], "big")
            if len(self.rest) < 9 + size:
                return
            kind, flags = self.rest[3], self.rest[4]
            stream = int.from_bytes(self.rest[5:9], "big") & 0x7fffffff
            payload, self.rest = self.rest[9:9 + size], self.rest[9 + size:]
            self.take(kind, flags, stream, payload)

    def take(self, kind, flags, stream, payload):
        if kind == DATA:
            self.content[stream] = self.content.get(stream, b"") + payload
        elif kind == HEADERS:
            status = status_of(payload)
            if status is not None:
                self.status[stream] = status
        elif kind == RST_STREAM:
            self.resets[stream] = int.from_bytes(payload, "big")
        elif kind == SETTINGS and not flags & ACK:
            for at in range(0, len(payload), 6):
                self.settings[int.from_bytes(payload[at:at + 2], "big")] = int.from_bytes(
                    payload[at + 2:at + 6], "big")
            self.send(frame(SETTINGS, ACK, 0))
        elif kind == PING and flags & ACK:
            self.pongs.append(payload)
        elif kind == GOAWAY:
            self.goaways.append((int.from_bytes(payload[:4], "big"),
                                 int.from_bytes(payload[4:8], "big")))
        elif kind == WINDOW_UPDATE:
            self.windows[stream] = self.windows.get(stream, 0) + int.from_bytes(payload, "big")
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            self.ended.add(stream)
