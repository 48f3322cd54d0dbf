#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cut.sh SECONDS PROGRAM [ARG...]
# In guest 0 the network goes down in the middle of the program's traffic, a second after it says "going", for so many
# seconds (0: for good). In other guests it is just the program.
set -u -o pipefail
seconds=$1
shift
[ "$VM_ID" = 0 ] || exec "$@"
export HOSTS_DISTURBED=/run/disturbed  # the program goes on until then
"$@" | while IFS= read -r line; do
  echo "$line"
  [[ $line == *going ]] || continue
  sleep 1
  echo "eth0 goes down"
  ip link set eth0 down
  [ "$seconds" = 0 ] || { sleep "$seconds"; ip link set eth0 up && echo "eth0 is up"; }
  touch "$HOSTS_DISTURBED"
done
