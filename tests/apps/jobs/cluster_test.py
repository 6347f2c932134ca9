#!/usr/bin/env python3
"""Two servers share their queues in one PostgreSQL; one of them and one consumer are killed.

usage: cluster_test.py <rota-http> [jobs]      exits 77 where PostgreSQL is not installed

Sixteen consumers, eight at each server, take and acknowledge. Midway one server gets SIGKILL, and
its consumers go on at the other one; so does one consumer, a process of its own. Then every job is
done once, and no key was in two hands at a time, which its leases tell: whoever gets it after
somebody else gets it when that lease has ended.
"""

import json
import signal
import sys
import threading
import time
from datetime import datetime
from http.client import HTTPConnection, HTTPException

from postgres import postgres_or_skip
from programs import PATIENCE_S, Program, check, equal, eventually
from rota_http import RotaHttp

PATH = "/v1/queues/shared"
JSON = {"Content-Type": "application/json"}
CONSUMERS = 8  # at each server
AT_ONCE = 3
LEASE_MS = 2_000


class Gone(Exception):
    """Nobody answers any more."""


class Consumer:
    """Takes jobs and acknowledges them; `tell` gets what happens as a dictionary.

    `ports` are servers: it goes on to the next one when one is gone, and holds what it holds.
    """

    def __init__(self, ports, tell):
        self.ports = list(ports)
        self.tell = tell
        self.connection = None

    def ask(self, path, value):
        """The answer, and whether it is that to the first try."""
        first = True
        while True:
            if self.connection is None:
                if not self.ports:
                    raise Gone()
                self.connection = HTTPConnection("127.0.0.1", self.ports[0], timeout=PATIENCE_S)
            try:
                self.connection.request("POST", PATH + path, json.dumps(value), JSON)
                answer = self.connection.getresponse()
                text = answer.read()
            except (OSError, HTTPException):
                self.connection.close()
                self.connection = None
                self.ports.pop(0)
                first = False
                continue
            equal(answer.status, 200, text)
            return json.loads(text), first

    def take(self):
        wanted = {"max": AT_ONCE, "wait_ms": 200, "lease_ms": LEASE_MS}
        jobs = self.ask("/take", wanted)[0]["jobs"]
        for job in jobs:
            self.tell({"what": "took", "key": job["key"], "lease": job["lease_id"],
                       "ends": datetime.fromisoformat(job["lease_expires_at"]).timestamp()})
        return jobs

    def work(self):
        for job in self.take():
            answer, first = self.ask("/ack", {"acks": [{"lease_id": job["lease_id"]}]})
            # Not there any more, after a try without answer: that one may have done it.
            what = "done" if answer["acked"] else "lost" if first else "perhaps"
            self.tell({"what": what, "key": job["key"], "lease": job["lease_id"]})


def consume(port):
    """What the process does that will be killed: it finishes some, and holds some."""
    consumer = Consumer([port], lambda event: print(json.dumps(event), flush=True))
    consumer.work()
    consumer.take()
    print("holds", flush=True)
    signal.pause()


class Story:
    """What all consumers tell."""

    def __init__(self):
        self.lock = threading.Lock()
        self.events = []
        self.wrong = []

    def tell(self, event):
        with self.lock:
            self.events.append(event)

    def keys(self, what):
        with self.lock:
            return [event["key"] for event in self.events if event["what"] == what]

    def consume(self, ports, stop):
        """A consumer on a thread."""
        consumer = Consumer(ports, self.tell)
        try:
            while not stop.is_set():
                consumer.work()
        except Exception as error:  # pylint: disable=broad-except
            self.wrong.append(error)  # a thread's own exception would be lost
        finally:
            if consumer.connection:
                consumer.connection.close()


def audit(story, jobs, killed, killed_at):
    """`killed`: the leases of the consumer that is no more; since then it holds nothing."""
    equal(story.wrong, [], "what consumers were told")
    done, perhaps = story.keys("done"), set(story.keys("perhaps"))
    equal(len(done), len(set(done)), "jobs that are done twice")
    equal(set(map(str, range(jobs))) - set(done) - perhaps, set(), "jobs that nobody has done")
    leases = {event["lease"] for event in killed}
    deliveries = {}
    for event in story.events:
        if event["what"] == "took":
            deliveries.setdefault(event["key"], []).append(event)
    finished = {event["lease"] for event in story.events if event["what"] == "done"}
    again = 0
    for key, some in deliveries.items():
        some.sort(key=lambda event: event["ends"])
        for earlier, later in zip(some, some[1:]):
            again += 1
            check(earlier["lease"] not in finished, f"{key} was done, and taken again")
            begins = later["ends"] - LEASE_MS / 1000
            ends = earlier["ends"]
            if earlier["lease"] in leases:
                ends = min(ends, killed_at)
            check(begins > ends - 0.0005, f"{key} in two hands: {earlier}, {later}")
    held = [event for event in killed if event["lease"] not in finished]
    check(again >= len(held) > 0, f"what the killed consumer held is taken again: {held}")
    return len(perhaps), again


def add_to_both(servers, jobs):
    """The same jobs at both at once: each is there once."""
    body = "".join(f'{{"key":"{i}","payload":{i}}}\n' for i in range(jobs))
    summaries = []

    def add(server):
        answer = server.request("POST", f"{PATH}/jobs", body,
                                {"Content-Type": "application/x-ndjson"})
        summaries.append(json.loads(answer.body.splitlines()[-1])["summary"])

    threads = [threading.Thread(target=add, args=(server,)) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(sum(one["enqueued"] for one in summaries), jobs, summaries)
    equal(sum(one["rejected"] for one in summaries), jobs, summaries)


def counts(server):
    return server.get(PATH).json()["counts"]


def kill_consumer(process, story):
    """Ends it while it works; what it has told until then, and when that was."""
    killed_at = time.time()
    process.process.kill()
    equal(process.wait(), -9)
    events = [json.loads(line) for line in process.output().splitlines()
              if line.startswith("{") and line.endswith("}")]
    for event in events:
        story.tell(event)
    return events, killed_at


def run(first, second, jobs):
    story, stop = Story(), threading.Event()
    add_to_both([first, second], jobs)
    ports = [first.port, second.port]
    threads = [threading.Thread(target=story.consume, args=(at, stop))
               for at in [ports] * CONSUMERS + [ports[1:]] * (CONSUMERS - 1)]
    with Program(sys.executable, __file__, "--consumer", second.port) as victim:
        victim.wait_for("holds")
        for thread in threads:
            thread.start()
        try:
            eventually(lambda: len(story.keys("done")) > jobs // 4 or story.wrong, "a part is done")
            first.process.kill()
            equal(first.wait(), -9)
            killed, killed_at = kill_consumer(victim, story)
            left = counts(second)
            eventually(lambda: counts(second)["queued"] + counts(second)["in_progress"] == 0
                       or story.wrong, "all is done")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    perhaps, again = audit(story, jobs, killed, killed_at)
    equal(counts(second)["completed"], jobs)
    print(f"{jobs} jobs done by {2 * CONSUMERS} consumers, {left['queued']} of them queued and "
          f"{left['in_progress']} in progress after a server and a consumer were killed; {again} "
          f"were taken twice, {perhaps} acknowledgements stay in doubt")


def main():
    if sys.argv[1] == "--consumer":
        consume(int(sys.argv[2]))
    jobs = int(sys.argv[2]) if len(sys.argv) > 2 else 600
    with postgres_or_skip() as postgres:
        store = ("--store", postgres.create("shared"), "--log-level", "warning")
        with RotaHttp(sys.argv[1], *store) as first, RotaHttp(sys.argv[1], *store) as second:
            run(first, second, jobs)


if __name__ == "__main__":
    main()
