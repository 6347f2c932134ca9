#!/usr/bin/env bash
# Takes jobs with curl, does them, and tells what became of them: until so many are done.
#
# usage: consumer.sh http://localhost:8080 QUEUE COUNT
set -euo pipefail
queue=$1/v1/queues/$2

post() { curl -sS --fail-with-body -H 'Content-Type: application/json' -d "$2" "$queue/$1"; }
# A member of the job at hand; jq finds it in any JSON.
member() { sed -n "s/.*\"$1\":\"\\{0,1\\}\\([^\",]*\\).*/\\1/p" <<<"$job"; }

# Bob's letter comes back the first time.
deliver() { [ "$(member to)" != bob ] || [ "$(member attempt)" -gt 1 ]; }

done=0
while [ "$done" -lt "$3" ]; do
    job=$(post take '{"max": 1, "wait_ms": 30000}') # none if none came in that time
    lease=$(member lease_id)
    [ -n "$lease" ] || continue
    if deliver; then
        echo "job $(member id), attempt $(member attempt): delivered to $(member to)"
        answer=$(post ack "{\"acks\": [{\"lease_id\": \"$lease\"}]}")
        done=$((done + 1))
    else
        echo "job $(member id), attempt $(member attempt): no such address"
        answer=$(post ack "{\"retries\": [{\"lease_id\": \"$lease\", \"delay_ms\": 100,
                            \"error\": \"no such address\"}]}")
    fi
    # A lease that has ended is told: the job may have been done by somebody else, too.
    [[ $answer == *'"lost":[]'* ]] || echo "lost: $answer" >&2
done
