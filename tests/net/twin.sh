#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# twin.sh TWIN: two rounds of the twin over loopback, each answered by one line with a time.
port=$((20000 + $$ % 20000))
timeout 30 "$1" server 127.0.0.1 $port 200 100 &
server=$!
trap 'kill $server 2>/dev/null' EXIT
sleep 0.5
printf 'round\nround\n' | timeout 30 "$1" client 127.0.0.1 $port 200 100 |
  python3 -c '
import json, sys
rounds = [json.loads(line) for line in sys.stdin]
assert len(rounds) == 2 and all(r["latency_us"] > 0 and r["size"] == 200 for r in rounds), rounds
' || exit 1
