#!/usr/bin/env bash
# Adds jobs with curl, and watches until they are done.
#
# usage: producer.sh http://localhost:8080 QUEUE
set -euo pipefail
queue=$1/v1/queues/$2

# What happens to the queue, from now on. Once there is a first line nothing is missed.
exec 3< <(exec curl -sSN --fail "$queue/events")
watcher=$!
trap 'kill "$watcher"' EXIT
read -r _ <&3

# One job. A job that is there already is refused (409), and nothing has changed.
ann='{"payload": {"to": "ann"}, "key": "welcome ann"}'
for _ in 1 2; do
    curl -sS -H 'Content-Type: application/json' -d "$ann" "$queue/jobs" |
        sed -e 's/^{"id":"\([0-9]*\)".*/added \1/' \
            -e 's/.*"existing_id":"\([0-9]*\)","state":"\([a-z_]*\)".*/duplicate of \1 (\2)/'
done

# Many jobs, one per line. The outcomes come back line by line, too; curl reads them while it sends,
# so there may be millions.
printf '%s\n' '{"payload": {"to": "bob"}, "key": "welcome bob"}' \
    "$ann" \
    '{"payload": {"to": "cem"}, "key": "welcome cem", "priority": 5}' |
    curl -sSN -H 'Content-Type: application/x-ndjson' --data-binary @- "$queue/jobs" |
    sed -e 's/{"i":\([0-9]*\),"outcome":"\([a-z]*\)".*/line \1: \2/' \
        -e 's/{"summary":{\(.*\)}}/\1/' -e 's/"//g'

# Three are there. An event is three lines: its id, what has happened, and the details.
done=0
while [ "$done" -lt 3 ] && read -r line <&3; do
    [ "$line" != 'event: completed' ] || done=$((done + 1))
done
echo "$done jobs are done"
[ "$done" -eq 3 ]
