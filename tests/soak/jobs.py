"""Clients of the job queues: each job that is added has to be acknowledged exactly once, although
takes are parked, given back, left to their lease, or reset."""

import json
import time

from client import Wrong, get, head, post

LEASE = "2s"  # that the server is started with
CAST = []
WORK = "/v1/queues/work"
# A job that has failed often waits no longer than a lease.
SETTINGS = b'{"backoff":{"max_ms":2000}}'


class Ledger:
    """What was added to and acknowledged in the queue that all share."""

    def __init__(self):
        self.added = 0
        self.acknowledged = set()


def played_by(count):
    def add(episode):
        CAST.append((episode.__name__.replace("_", " "), episode, count))
        return episode

    return add


async def ask(client, path, value, status=200):
    await client.send(post(path, json.dumps(value).encode()))
    return json.loads((await client.expect(status)).body)


@played_by(2)
async def adding_jobs(world, rng, kind):
    async with await world.client() as client:
        for _ in range(rng.randint(1, 40)):
            world.ledger.added += 1
            job = {"payload": {"text": "x" * rng.randrange(500)}, "key": str(world.ledger.added)}
            await ask(client, f"{WORK}/jobs", job, status=201)
            world.ok(kind)
            await world.pause(rng.expovariate(5))
            if world.stopping.is_set():
                return


async def acknowledge(world, client, jobs, kind):
    """Every job; leases that have ended meanwhile are no fault: those jobs come again."""
    said = await ask(client, f"{WORK}/ack", {"acks": [{"lease_id": j["lease_id"]} for j in jobs]})
    lost = set(said["lost"])
    for job in jobs:
        if job["lease_id"] in lost:
            continue
        if job["id"] in world.ledger.acknowledged:
            raise Wrong(f"job {job['id']} has been acknowledged twice")
        world.ledger.acknowledged.add(job["id"])
        world.ok(kind)


@played_by(8)
async def taking_jobs(world, rng, kind):
    async with await world.client() as client:
        for _ in range(rng.randint(1, 20)):
            wish = {"max": rng.randint(1, 3), "wait_ms": rng.randrange(4000)}
            jobs = (await ask(client, f"{WORK}/take", wish))["jobs"]
            what = rng.random()
            if what < 0.8:
                await acknowledge(world, client, jobs, kind)
            elif what < 0.9:
                ids = [{"lease_id": job["lease_id"]} for job in jobs]
                await ask(client, f"{WORK}/ack", {"retries": ids})
            elif what < 0.95:
                pass  # the lease brings them back
            else:
                await client.send(post(f"{WORK}/take", b'{"wait_ms": 3000}'))
                await world.pause(rng.random())
                client.reset()
                return
            if world.stopping.is_set():
                return


@played_by(1)
async def many_jobs_at_once(world, rng, kind):
    count = rng.randint(1, 500)
    lines = b"".join(b'{"payload":%d}\n' % i for i in range(count)) + b'{"payload":0}\n'
    async with await world.client() as client:
        content = post("/v1/queues/bulk/jobs", lines, "Content-Type: application/x-ndjson")
        await client.send(content)
        summary = json.loads((await client.expect(200)).body.splitlines()[-1])["summary"]
        wanted = {"lines": count + 1, "enqueued": count, "rejected": 1, "errors": 0}
        if summary != wanted:
            raise Wrong(f"{summary} instead of {wanted}")
        await finish(client, "/v1/queues/bulk", count)
    world.ok(kind, count)
    await world.pause(rng.expovariate(1))


async def finish(client, queue, count):
    """Takes and acknowledges `count` jobs of a queue that nobody else takes from. On a machine that
    is too busy leases end before they are acknowledged, and their jobs come again."""
    while count:
        jobs = (await ask(client, f"{queue}/take", {"max": 1000, "wait_ms": 10_000}))["jobs"]
        if not jobs:
            raise Wrong(f"{count} jobs do not come")
        leases = [{"lease_id": job["lease_id"]} for job in jobs]
        said = await ask(client, f"{queue}/ack", {"acks": leases})
        if said["acked"] + len(said["lost"]) != len(jobs) or said["acked"] > count:
            raise Wrong(f"{count} jobs wanted, {len(jobs)} taken, {said}")
        count -= said["acked"]


@played_by(1)
async def duplicates(world, rng, kind):
    queue, job = "/v1/queues/twice", {"payload": [1, 2], "key": f"{rng.randrange(10**12)}"}
    async with await world.client() as client:
        await ask(client, f"{queue}/jobs", job, status=201)
        await ask(client, f"{queue}/jobs", job, status=409)
        taken = (await ask(client, f"{queue}/take", {}))["jobs"]
        await ask(client, f"{queue}/jobs", job, status=409)
        await ask(client, f"{queue}/ack", {"retries": [{"lease_id": taken[0]["lease_id"]}]})
        await ask(client, f"{queue}/jobs", job, status=409)
        await finish(client, queue, 1)
    world.ok(kind, 7)
    await world.pause(rng.expovariate(3))


async def prepare(world):
    """Makes the queue that all share."""
    async with await world.client() as client:
        await client.send(head("PUT", WORK, f"Content-Length: {len(SETTINGS)}") + SETTINGS)
        await client.expect(200)


async def settle(world, seconds=60):
    """Acknowledges what is left, and says what is wrong with the account, if anything."""
    async with await world.client() as client:
        until = time.monotonic() + seconds
        while True:
            jobs = (await ask(client, f"{WORK}/take", {"max": 100, "wait_ms": 100}))["jobs"]
            if jobs:
                await acknowledge(world, client, jobs, "taking jobs")
            await client.send(get(WORK))
            counts = json.loads((await client.expect(200)).body)["counts"]
            if not any(counts[where] for where in ("queued", "delayed", "in_progress")):
                break
            if time.monotonic() > until:
                raise Wrong(f"jobs are left after {seconds} s: {counts}")
    ledger = world.ledger
    if not ledger.added == counts["added"] == counts["completed"] == len(ledger.acknowledged):
        raise Wrong(f"{ledger.added} jobs added, {len(ledger.acknowledged)} acknowledged, and the "
                    f"server says {counts}")
