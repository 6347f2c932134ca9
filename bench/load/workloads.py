"""What is asked of the servers, and how much of it at once."""

from dataclasses import dataclass, replace

from error import BenchError

PLAINTEXT = "/plaintext"
BODIES = {
    PLAINTEXT: b"Hello, World!",
    "/json": b'{"message":"Hello, World!"}',
    "/16k": b"x" * (16 << 10),
    "/1m": b"x" * (1 << 20),
}
# How requests travel: HTTP/1.1 and HTTP/2 in clear, the same over TLS, messages of a WebSocket, and
# messages that each go to all other clients.
H1, H2C, TLS, H2, WS, CHAT = "HTTP/1.1", "HTTP/2 in clear", "TLS", "HTTP/2", "WebSocket", "chat"
ENCRYPTED = {TLS, H2}
STREAMS = {H2C, H2}
MESSAGES = {WS, CHAT}
# What files hold that are asked for as files; of the small ones there are many.
FILES = {
    "/files/1k": b"x" * (1 << 10),
    "/files/16k": b"x" * (16 << 10),
    "/files/1m": b"x" * (1 << 20),
    "/files/small/0": b"x" * (2 << 10),
}
SMALL_FILES, SMALL_FILES_COUNT = "/files/small/", 10_000
SPIN = "/spin"  # stands for all of /spin/MICROSECONDS
SPIN_BODY = b"spun"
WS_PATH, CHAT_PATH = "/ws/echo", "/ws/chat?room=bench"
CONNECTIONS = "1,64,512"
CONNECTIONS_OF_ALL = "1,16,64,256,512"


@dataclass(frozen=True)
class Heavy:
    """Other requests that come at the same time, at a rate of their own."""

    path: str
    connections: int
    rate: float


@dataclass(frozen=True)
class Workload:
    connections: int
    depth: int = 1  # requests that a connection sends before it waits for their answers; streams
    path: str = PLAINTEXT  # in the words of the table; a server may have it elsewhere
    over: str = H1
    upload: int = 0  # bytes that each request brings along, to be sent back
    close: bool = False  # a connection for each request
    resumed: bool = False  # and its session is that of the one before
    paced: bool = False  # requests come at a constant rate, instead of when answers have come
    rate: float = 0  # that rate, a second; 0: a share of what the baseline can do
    heavy: Heavy | None = None
    label: str = ""

    @property
    def name(self):
        plural = "" if self.connections == 1 else "s"
        label = f"{self.label}, " if self.label else ""
        deep = "streams each" if self.over in STREAMS else "requests deep"
        deep = "messages deep" if self.over in MESSAGES else deep
        pipelined = f", {self.depth} {deep}" if self.depth > 1 or self.over in STREAMS else ""
        return f"{label}{self.connections} connection{plural}{pipelined}"

    @property
    def needs(self):
        """What a server must not lack."""
        needs = {SPIN if part.path.startswith(SPIN) else part.path for part in self.parts}
        if self.depth > 1 and self.over == H1:
            needs.add("pipelining")
        if self.close:
            needs.add("close")
        return needs

    @property
    def parts(self):
        """What is asked for, each by itself."""
        if not self.heavy:
            return [self]
        heavy = replace(self, path=self.heavy.path, connections=self.heavy.connections, heavy=None)
        return [replace(self, heavy=None), heavy]

    @property
    def method(self):
        return "POST" if self.upload else "GET"

    @property
    def answer(self):
        """The body that is due."""
        if self.path.startswith(SPIN):
            return SPIN_BODY
        if self.upload or self.over in MESSAGES:
            return b"x" * self.upload
        return {**BODIES, **FILES}[self.path]

    def request(self, path, host):
        """One request as it goes over the wire, to a server that has it at `path`."""
        lines = [f"{self.method} {path} HTTP/1.1", f"Host: {host}"]
        if self.upload:
            lines.append(f"Content-Length: {self.upload}")
        if self.close:
            lines.append("Connection: close")
        return "\r\n".join([*lines, "", ""]).encode() + b"x" * self.upload


NAMED = {
    "plaintext": Workload(64),
    "json": Workload(64, path="/json", label="JSON"),
    "16k": Workload(64, path="/16k", label="16 KiB"),
    "1m": Workload(16, path="/1m", label="1 MiB"),
    "files-1k": Workload(64, path="/files/1k", label="file of 1 KiB"),
    "files-16k": Workload(64, path="/files/16k", label="file of 16 KiB"),
    "files-1m": Workload(64, path="/files/1m", label="file of 1 MiB"),
    "files-many": Workload(
        64, path=f"{SMALL_FILES}0", label=f"{SMALL_FILES_COUNT} files of 2 KiB, by Zipf's law"
    ),
    "echo": Workload(16, path="/echo", upload=64 << 10, label="POST echo of 64 KiB"),
    "accept": Workload(64, close=True, label="connection per request"),
    "tls": Workload(64, over=TLS, label="TLS"),
    "tls-json": Workload(64, over=TLS, path="/json", label="TLS, JSON"),
    "tls-1m": Workload(16, over=TLS, path="/1m", label="TLS, 1 MiB"),
    "tls-accept": Workload(64, over=TLS, close=True, label="TLS, a full handshake per request"),
    "tls-resume": Workload(
        8, over=TLS, close=True, resumed=True, label="TLS, a resumed handshake per request"
    ),
    "h2c": Workload(64, depth=32, over=H2C, label="HTTP/2 in clear"),
    "h2c-16k": Workload(64, depth=32, over=H2C, path="/16k", label="HTTP/2 in clear, 16 KiB"),
    "h2": Workload(64, depth=32, over=H2, label="HTTP/2"),
    "h2-16k": Workload(64, depth=32, over=H2, path="/16k", label="HTTP/2, 16 KiB"),
    "ws": Workload(64, over=WS, path=WS_PATH, upload=64, label="WebSocket echo of 64 bytes"),
    "ws-chat": Workload(
        10_000, over=CHAT, path=CHAT_PATH, upload=64, label="WebSocket, one message to all others"
    ),
    "paced": Workload(64, paced=True, label="constant rate"),
    "spin20": Workload(64, path=f"{SPIN}/20", label="20 us of work"),
    "spin100": Workload(64, path=f"{SPIN}/100", label="100 us of work"),
    # The heavy ones use half a core.
    "mix": Workload(
        32, paced=True, rate=1000, heavy=Heavy(f"{SPIN}/1000", 16, 500), label="beside heavy ones"
    ),
}


def sized(workload, size):
    """The workload with the connections, and the depth, of a size such as 256 or 64x16."""
    connections, _, depth = size.partition("x")
    try:
        usual = workload.depth if workload.over in STREAMS else 1
        chosen = replace(workload, connections=int(connections), depth=int(depth or usual))
    except ValueError as error:
        raise BenchError(f"{size!r}: neither CONNECTIONS nor CONNECTIONSxDEPTH") from error
    if chosen.connections < 1 or chosen.depth < 1:
        raise BenchError(f"{size!r}: nothing to measure")
    if chosen.depth > 1 and (chosen.close or chosen.paced or chosen.over == CHAT):
        raise BenchError("a connection for each request, a constant rate and a chat have no depth")
    return chosen


def parse_workloads(names, connections, pipeline):
    """The workloads of --workload; `connections` and `pipeline` are lists of sizes of plaintext."""
    everything = names == "all"
    chosen = []
    for item in NAMED if everything else filter(None, names.split(",")):
        name, _, size = item.partition(":")
        if name not in NAMED:
            raise BenchError(f"--workload: {name} unknown; there is all, {', '.join(NAMED)}")
        if size or name != "plaintext":
            chosen.append(sized(NAMED[name], size) if size else NAMED[name])
            continue
        sizes = (connections or (CONNECTIONS_OF_ALL if everything else CONNECTIONS)).split(",")
        sizes += [] if pipeline == "none" else pipeline.split(",")
        chosen += [sized(NAMED[name], size) for size in sizes if size]
    if not chosen:
        raise BenchError("nothing to measure: no workload")
    return list(dict.fromkeys(chosen))
