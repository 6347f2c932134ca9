"""Clients that ask for pages: well behaved, slow, hasty and hostile ones. Each function is an
episode: it opens a connection, does what it is named for, and has closed it when it returns."""

import time

from client import Wrong, chunked, get, head, post

HEADER_TIMEOUT_S = 10  # that the server is started with
BODY_MAX = 4 << 20
CAST = []  # (kind, episode, how many clients)


def played_by(count):
    """Puts an episode on the cast."""

    def add(episode):
        CAST.append((episode.__name__.replace("_", " "), episode, count))
        return episode

    return add


def any_page(rng):
    """A request and the answer to it: (request, status, body)."""
    count, name = rng.randrange(20_000), f"n{rng.randrange(10**6)}"
    lines, ms = rng.randrange(6), rng.randrange(30)
    listing = "".join(f"line {i + 1} of {lines}\n" for i in range(lines)).encode()
    return rng.choice([
        (get("/plaintext"), 200, b"Hello, World!"),
        (get("/json"), 200, b'{"message":"Hello, World!"}'),
        (get(f"/hello/{name}"), 200, f"Hello, {name}!\n".encode()),
        (get(f"/bytes/{count}"), 200, b"x" * count),
        (get(f"/sleep/{ms}"), 200, f"slept {ms} ms\n".encode()),
        (get(f"/stream?lines={lines}&interval_ms=3"), 200, listing),
        (post("/echo", name.encode()), 200, name.encode()),
        (get("/healthz"), 200, b"ok\n"),
        (get(f"/nowhere/{name}"), 404, None),
        (get(f"/bytes/{name}"), 400, None),
        (get("/metrics"), 200, None),
    ])


@played_by(12)
async def kept_alive(world, rng, kind):
    async with await world.client() as client:
        for _ in range(rng.randint(1, 300)):
            request, status, body = any_page(rng)
            await client.send(request)
            await client.expect(status, body)
            world.ok(kind)
            await world.pause(rng.expovariate(10))
            if world.stopping.is_set():
                return


@played_by(4)
async def one_request_each(world, rng, kind):
    async with await world.client() as client:
        await client.send(get("/plaintext", "Connection: close"))
        await client.expect(200, b"Hello, World!")
        await client.expect_end()
    world.ok(kind)
    await world.pause(rng.expovariate(10))


@played_by(2)
async def pipelining(world, rng, kind):
    async with await world.client() as client:
        for _ in range(rng.randint(1, 50)):
            names = [f"{rng.randrange(10**rng.randint(1, 9))}" for _ in range(16)]
            await client.send(b"".join(get(f"/hello/{name}") for name in names))
            for name in names:
                await client.expect(200, f"Hello, {name}!\n".encode())
                world.ok(kind)
            await world.pause(rng.expovariate(3))
            if world.stopping.is_set():
                return


@played_by(2)
async def half_closing(world, rng, kind):
    async with await world.client() as client:
        await client.send(get("/sleep/10") + get("/plaintext"))
        client.end_sending()
        await client.expect(200, b"slept 10 ms\n")
        await client.expect(200, b"Hello, World!")
        await client.expect_end()
    world.ok(kind, 2)
    await world.pause(rng.expovariate(2))


@played_by(3)
async def resetting(world, rng, kind):
    begun = rng.choice([
        b"",
        get("/plaintext")[:20],
        get("/plaintext"),
        get("/sleep/2000"),
        get("/bytes/1048576"),
        get("/stream?lines=1000&interval_ms=5"),
        head("POST", "/echo", "Content-Length: 100000") + b"x" * rng.randrange(99_999),
        head("POST", "/echo", "Transfer-Encoding: chunked") + chunked(b"x" * 9000, 999)[:5000],
        head("POST", "/v1/queues/parked/take", "Content-Length: 16") + b'{"wait_ms":9000}',
    ])
    async with await world.client() as client:
        await client.send(begun)
        await world.pause(rng.expovariate(10))
        client.reset()
    world.ok(kind)
    await world.pause(rng.expovariate(4))


@played_by(4)
async def sending_slowly(world, rng, kind):
    content = rng.randbytes(rng.randint(1, 3000))
    request = post("/echo", content)
    cuts = sorted(rng.randrange(len(request)) for _ in range(12))
    begin = time.monotonic()
    try:
        async with await world.client() as client:
            for first, last in zip([0, *cuts], [*cuts, len(request)]):
                await client.send(request[first:last])
                await world.pause(rng.expovariate(10))
            await client.expect(200, content)
        world.ok(kind)
    except (Wrong, OSError, EOFError):
        if time.monotonic() - begin < HEADER_TIMEOUT_S / 2:
            raise
        # This machine was too busy to be only slow.


@played_by(4)
async def reading_slowly(world, rng, kind):
    async with await world.client() as client:
        await client.send(get("/bytes/1048576"))
        await world.pause(0.5)
        await client.reader.readuntil(b"\r\n\r\n")
        left = 1 << 20
        while left:
            piece = await client.reader.read(min(left, 1 << 16))
            if piece != b"x" * len(piece) or not piece:
                raise Wrong(f"{piece[:20]!r} with {left} bytes left")
            left -= len(piece)
            await world.pause(rng.expovariate(10))
    world.ok(kind)


@played_by(2)
async def sending_too_slowly(world, rng, kind):
    async with await world.client() as client:
        await client.send(rng.choice([get("/plaintext")[:-3], b"GET", b"G"]))
        await world.pause(HEADER_TIMEOUT_S * world.pace)
        if world.stopping.is_set():
            return
        await client.expect(408)
        await client.expect_end()
    world.ok(kind)


@played_by(2)
async def large_content(world, rng, kind):
    content = rng.randbytes(rng.randint(1, BODY_MAX))
    async with await world.client() as client:
        if rng.random() < 0.5:
            await client.send(post("/echo", content))
        else:
            await client.send(head("POST", "/echo", "Transfer-Encoding: chunked"))
            await client.send(chunked(content, rng.randint(1000, 200_000)))
        await client.expect(200, content)
    world.ok(kind)
    await world.pause(rng.expovariate(1))


@played_by(1)
async def too_large_content(world, rng, kind):
    async with await world.client() as client:
        await client.send(head("POST", "/echo", f"Content-Length: {BODY_MAX + 1}"))
        await client.expect(413)
    world.ok(kind)
    await world.pause(rng.expovariate(1))


@played_by(1)
async def nonsense(world, rng, kind):
    bad = rng.choice([
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        head("GET", "/", "Bad name: x"),
        head("POST", "/echo", "Content-Length: 5", "Content-Length: 6"),
        head("POST", "/echo", "Content-Length: 5", "Transfer-Encoding: chunked"),
    ])
    async with await world.client() as client:
        await client.send(bad)
        await client.expect(400)
        await client.expect_end()
    world.ok(kind)
    await world.pause(rng.expovariate(2))


@played_by(50)
async def mostly_idle(world, rng, kind):
    async with await world.client() as client:
        for _ in range(2):
            await client.send(get("/plaintext"))
            await client.expect(200, b"Hello, World!")
            world.ok(kind)
            await world.pause(rng.uniform(5, 25))


async def still_served(world):
    """An ordinary request, for the end of the soak."""
    async with await world.client() as client:
        await client.send(get("/plaintext"))
        await client.expect(200, b"Hello, World!")
