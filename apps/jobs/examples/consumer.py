"""Takes jobs with urllib, does them, and tells what became of them: until so many are done.

usage: consumer.py http://localhost:8080 QUEUE COUNT
"""

import json
import sys
import urllib.request


def post(url, value):
    request = urllib.request.Request(url, json.dumps(value).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def deliver(job):
    """The work. Bob's letter comes back the first time."""
    to = job["payload"]["to"]
    if to == "bob" and job["attempt"] == 1:
        raise LookupError("no such address")
    return f"delivered to {to}"


def main():
    queue, count = f"{sys.argv[1]}/v1/queues/{sys.argv[2]}", int(sys.argv[3])
    while count > 0:
        acks, retries = [], []
        # As soon as there is one; an empty list if none came in that time.
        for job in post(f"{queue}/take", {"max": 10, "wait_ms": 30_000})["jobs"]:
            try:
                outcome = deliver(job)
                acks.append({"lease_id": job["lease_id"]})
            except LookupError as error:
                outcome = str(error)
                retries.append({"lease_id": job["lease_id"], "delay_ms": 100, "error": outcome})
            print(f"job {job['id']}, attempt {job['attempt']}: {outcome}", flush=True)
        if not acks and not retries:
            continue
        result = post(f"{queue}/ack", {"acks": acks, "retries": retries})
        count -= result["acked"]
        if result["lost"]:  # leases that had ended: somebody else may do these jobs, too
            print(f"lost: {result['lost']}", file=sys.stderr)


if __name__ == "__main__":
    main()
