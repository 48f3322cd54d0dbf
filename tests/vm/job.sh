#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# job.sh OMPLRUN RANKS [OPTION...] -- PROGRAM [ARG...]
# In two guests: a job of the library, the first half of the ranks in guest 0, the others in guest 1. omplrun runs
# in guest 0 with these options; what it starts there for a rank of guest 1 listens on a TCP port of the rank's own
# and joins the rank's PMI socket with whoever comes: guest 1, where that connection becomes the program's PMI_FD.
# What the program ended with comes back through a file in the job folder.
# The status is omplrun's in guest 0, and in guest 1 that of its first rank that failed.
set -u
omplrun=$1 ranks=$2 half=$((($2 + 1) / 2)) options=()
shift 2
while [ "$1" != -- ]; do options+=("$1"); shift; done
shift
export OMPL_NODE_ID=guest$VM_ID OMPL_NET_INTERFACE=eth0

if [ "$VM_ID" = 0 ]; then
  here_or_there='[ $PMI_RANK -lt $0 ] && exec "$@"
    status=.vm/rank.$PMI_RANK
    rm -f $status
    busybox nc -l -p $((2000 + PMI_RANK)) <&$PMI_FD >&$PMI_FD
    until [ -s $status ]; do sleep 0.1; done
    exit $(<$status)'
  exec "$omplrun" -n "$ranks" "${options[@]}" bash -c "$here_or_there" "$half" "$@"
fi

# rank NUMBER PROGRAM [ARG...]
rank() {
  local number=$1 status
  shift
  for _ in {1..2000}; do
    if { exec {PMI_FD}<>"/dev/tcp/10.7.0.1/$((2000 + number))"; } 2>/dev/null; then
      PMI_FD=$PMI_FD PMI_RANK=$number PMI_SIZE=$ranks "$@" &
      exec {PMI_FD}>&-  # its end is seen only if nobody else holds the connection
      wait $!
      status=$?
      echo $status >".vm/rank.$number"
      exit $status
    fi
    sleep 0.1
  done
  echo "job.sh: omplrun did not start rank $number" >&2
  exit 1
}
pids=() status=0
for ((number = half; number < ranks; number++)); do
  rank "$number" "$@" &
  pids+=($!)
done
for pid in "${pids[@]}"; do
  wait "$pid" || status=$((status ? status : $?))
done
exit $status
