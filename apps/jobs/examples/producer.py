"""Adds jobs with urllib, and watches until they are done.

usage: producer.py http://localhost:8080 QUEUE
"""

import json
import sys
import time
import urllib.error
import urllib.request

ANN = {"payload": {"to": "ann"}, "key": "welcome ann"}
BOB = {"payload": {"to": "bob"}, "key": "welcome bob"}
CEM = {"payload": {"to": "cem"}, "key": "welcome cem", "priority": 5}
LINES_AT_ONCE = 1000  # urllib reads the answer when it has sent everything: not too much, then


def add(queue, job):
    """Adds one job; its id, or None if it is there already."""
    request = urllib.request.Request(f"{queue}/jobs", json.dumps(job).encode(),
                                     {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            added = json.load(answer)
    except urllib.error.HTTPError as refusal:  # a problem (RFC 9457), with a code
        problem = json.load(refusal)
        if problem["code"] != "duplicate":
            raise
        print(f"duplicate of {problem['existing_id']} ({problem['state']})")
        return None
    print(f"added {added['id']}")
    return added["id"]


def add_many(queue, jobs):
    """Adds jobs line by line; the ids of those that were not there."""
    ids = []
    for begin in range(0, len(jobs), LINES_AT_ONCE):
        lines = "".join(json.dumps(job) + "\n" for job in jobs[begin : begin + LINES_AT_ONCE])
        request = urllib.request.Request(f"{queue}/jobs", lines.encode(),
                                         {"Content-Type": "application/x-ndjson"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            outcomes = [json.loads(line) for line in answer]
        summary = outcomes.pop()["summary"]
        for outcome in outcomes:
            print(f"line {outcome['i']}: {outcome['outcome']}")
        print(",".join(f"{name}:{count}" for name, count in summary.items()))
        ids += [outcome["id"] for outcome in outcomes if outcome["outcome"] == "enqueued"]
    return ids


def watch(queue, last_id=None):
    """A connection that events come over: from now on, or behind the one of that id."""
    headers = {"Last-Event-ID": last_id} if last_id else {}
    return urllib.request.urlopen(urllib.request.Request(f"{queue}/events", headers=headers),
                                  timeout=60)


def events(queue, connection):
    """(event, data) as they come. Connects again if the connection ends, and misses nothing."""
    last_id = None
    while True:
        fields = {}
        try:
            connection = connection or watch(queue, last_id)
            for line in connection:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name:
                    fields[name] = value
                    continue
                last_id = fields.get("id", last_id)
                if "event" in fields:
                    yield fields["event"], json.loads(fields["data"])
                fields = {}
        except OSError as error:
            print(error, file=sys.stderr)
        connection = None
        time.sleep(1)


def is_there(queue, job):
    try:
        with urllib.request.urlopen(f"{queue}/jobs/{job}", timeout=60):
            return True
    except urllib.error.HTTPError as refusal:
        if refusal.code != 404:
            raise
        return False


def main():
    queue = f"{sys.argv[1]}/v1/queues/{sys.argv[2]}"
    connection = watch(queue)
    waiting = {add(queue, ANN), add(queue, ANN)} - {None}
    waiting.update(add_many(queue, [BOB, ANN, CEM]))
    count = len(waiting)
    for event, data in events(queue, connection):
        if event == "completed":
            waiting.discard(data["id"])
        elif event == "reset":  # some were missed: the server was started again, say
            waiting = {job for job in waiting if is_there(queue, job)}
        if not waiting:
            break
    print(f"{count} jobs are done")


if __name__ == "__main__":
    main()
