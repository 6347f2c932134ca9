#!/usr/bin/env python3
"""kill -9 at any instant under load: what was acknowledged to a client holds.

usage: kill_test.py <rota-http> [sqlite|postgres] [rounds]
exits 77 where PostgreSQL is not installed

Every round starts the server on the same store, lets clients add, take and acknowledge for a
moment, and kills it; with PostgreSQL each third round kills that instead, and starts it again while
the server goes on. Then each job whose adding was answered is there once, unless its
acknowledgement was sent, and none whose acknowledgement was answered; no key is there twice; leases
go on.
"""

import json
import random
import sys
import tempfile
import threading
import time
from http.client import HTTPException
from pathlib import Path

from postgres import postgres_or_skip
from programs import check, equal, eventually
from rota_http import JSON, RotaHttp

PATH = "/v1/queues/work"
CLIENTS = 6
LEASE_MS = 43_200_000  # longer than all rounds: none ends while jobs are counted


class Account:
    """What clients have sent, and what they know for sure. Keys are used once."""

    def __init__(self):
        self.lock = threading.Lock()
        self.next_key = 0
        self.added = set()  # the server said 201
        self.maybe_added = set()  # sent, and no answer
        self.acked = set()  # the server said so
        self.maybe_acked = set()
        self.wrong = []  # what clients found wrong
        self.leases = {}  # key -> lease of the latest delivery
        self.refused = 0  # requests for lack of the store: what became of them is not known

    def new_key(self):
        with self.lock:
            self.next_key += 1
            return str(self.next_key)

    def note(self, into, keys):
        with self.lock:
            into.update(keys)

    def count_refused(self):
        with self.lock:
            self.refused += 1

    def settle(self, maybe, into, keys):
        with self.lock:
            maybe.difference_update(keys)
            into.update(keys)


class Unavailable(Exception):
    """The server has no store for now."""


class Sqlite:
    """A file."""

    def __init__(self, folder):
        self.name = f"sqlite:{folder}/jobs.db"

    def settle(self):
        """Nobody but the server writes."""

    def close(self):
        pass

    @staticmethod
    def kills_store(_):
        return False


class Shared:
    """A PostgreSQL that outlives the server, and is killed, too."""

    def __init__(self, _):
        self.server = postgres_or_skip(durable=True)
        self.name = self.server.create("jobs")

    def settle(self):
        """What a server that is no more has sent may still be done."""
        eventually(lambda: self.server.psql(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = 'jobs'") == [["0"]],
            "the connections of the killed server have ended")

    def close(self):
        self.server.close()

    @staticmethod
    def kills_store(number):
        return number % 3 == 2


def play(server, account, stop, seed):
    """One client, until the server is gone."""
    rng = random.Random(seed)
    connection = server.session()

    def ask(path, value):
        answer = server.request("POST", PATH + path, json.dumps(value), JSON, over=connection)
        if answer.status == 503:
            raise Unavailable()
        return answer

    def add():
        key = account.new_key()
        account.note(account.maybe_added, [key])
        answer = ask("/jobs", {"payload": {"text": "x" * rng.randrange(2000)}, "key": key})
        equal(answer.status, 201, answer.body)
        account.settle(account.maybe_added, account.added, [key])

    def take_and_ack():
        jobs = ask("/take", {"max": rng.randint(1, 4), "lease_ms": LEASE_MS}).json()["jobs"]
        with account.lock:
            account.leases.update({job["key"]: job["lease_id"] for job in jobs})
        if rng.random() < 0.3:
            return  # held over the end of the server
        keys = [job["key"] for job in jobs]
        account.note(account.maybe_acked, keys)
        answer = ask("/ack", {"acks": [{"lease_id": job["lease_id"]} for job in jobs]}).json()
        equal((answer["acked"], answer["lost"]), (len(jobs), []))
        account.settle(account.maybe_acked, account.acked, keys)

    try:
        while not stop.is_set():
            try:
                if rng.random() < 0.6:
                    add()
                else:
                    take_and_ack()
            except Unavailable:
                account.count_refused()
                stop.wait(0.02)
    except (OSError, HTTPException):
        pass  # the server has been killed
    except Exception as error:  # pylint: disable=broad-except
        account.wrong.append(error)  # a thread's own exception would be lost
    finally:
        connection.close()


def jobs_of(server, state):
    jobs, cursor = [], ""
    while cursor is not None:
        page = server.get(f"{PATH}/jobs?state={state}&limit=1000{cursor}").json()
        jobs += page["jobs"]
        cursor = f"&cursor={page['cursor']}" if "cursor" in page else None
    return jobs


def audit(server, account):
    states = {state: jobs_of(server, state) for state in ("queued", "in_progress")}
    keys = [job["key"] for jobs in states.values() for job in jobs]
    equal(len(keys), len(set(keys)), "keys that are there twice")
    there = set(keys)
    lost = account.added - there - account.acked - account.maybe_acked
    equal(lost, set(), "acknowledged jobs that are lost")
    equal(there & account.acked, set(), "jobs that are there though they are done")
    strange = there - account.added - account.maybe_added
    equal(strange, set(), "jobs that nobody added")
    counts = server.get(PATH).json()["counts"]
    for state, jobs in states.items():
        equal(counts[state], len(jobs), f"the count of {state}")
    # What has been in doubt is known now.
    account.added |= there
    account.maybe_added.clear()
    account.acked |= account.maybe_acked - there
    account.maybe_acked.clear()
    return states


def finish_some(server, account, jobs, rng):
    """Leases that clients know of have outlived the server, and are good."""
    held = [job["key"] for job in jobs if job["key"] in account.leases]
    keys = [key for key in held if rng.random() < 0.5]
    acks = [{"lease_id": account.leases[key]} for key in keys]
    if not acks:
        return 0
    answer = server.post_json(f"{PATH}/ack", {"acks": acks}).json()
    # A delivery whose answer was lost has a later lease than the one that is known.
    account.acked |= {key for key, ack in zip(keys, acks)
                      if ack["lease_id"] not in answer["lost"]}
    return answer["acked"]


def round_of(program, store, account, number):
    rng = random.Random(number)
    stop = threading.Event()
    with RotaHttp(program, "--store", store.name, "--log-level", "error") as server:
        states = audit(server, account)
        kept = finish_some(server, account, states["in_progress"], rng)
        clients = [threading.Thread(target=play, args=(server, account, stop, number * 100 + i))
                   for i in range(CLIENTS)]
        for client in clients:
            client.start()
        try:
            time.sleep(rng.uniform(0.05, 0.4))  # any instant will do
            if store.kills_store(number):
                kill_store(store, account)
            else:
                server.process.kill()
                equal(server.wait(), -9)
        finally:
            stop.set()
            for client in clients:
                client.join()
    store.settle()
    equal(account.wrong, [], "what clients were told")
    return kept


def kill_store(store, account):
    """Kills PostgreSQL; clients are refused, and served again when it is back."""
    refused = account.refused
    store.server.kill()
    eventually(lambda: account.refused > refused or account.wrong, "the server says so")
    store.server.start()
    added = len(account.added)
    eventually(lambda: len(account.added) > added or account.wrong, "the server goes on")


def main():
    program = sys.argv[1]
    kind = {"sqlite": Sqlite, "postgres": Shared}[sys.argv[2] if len(sys.argv) > 2 else "sqlite"]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 6
    account = Account()
    kept = 0
    with tempfile.TemporaryDirectory(prefix="rota-test-") as folder:
        store = kind(folder)
        try:
            number = 0
            # On a slow machine a round may end before anything has been done.
            while number < rounds or (number < 10 * rounds and not account.acked):
                kept += round_of(program, store, account, number)
                number += 1
            with RotaHttp(program, "--store", store.name) as server:
                states = audit(server, account)
        finally:
            store.close()
    check(account.added and account.acked, "the clients have done something")
    print(f"{number} rounds: {len(account.added)} added, {len(account.acked)} acknowledged, "
          f"{kept} of them by leases from before a kill, {account.refused} requests refused, "
          f"{sum(map(len, states.values()))} left; none lost, none twice")


if __name__ == "__main__":
    main()
