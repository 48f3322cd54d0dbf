#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors.sh OMPLRUN RULES_WORKER, in a guest of four processors: some go offline, before a job and while it runs, and those
# that are left are not contiguous, by themselves and by a cpuset of version 1 of cgroups.
set -u
omplrun=$1 worker=$2 failed=0

check() {  # WHAT EXPECTED FOUND
  [ "$2" = "$3" ] && echo "ok: $1" || { echo "FAILED: $1: $3, not $2"; failed=1; }
}
cores() {  # PREFIX... : how many the layer counts for a job of two ranks that is started so, and works
  local said
  said=$(OMPL_LOG=info "$@" -n 2 --timeout 200 "$worker" sleepers 2>&1) || echo "$said" >&2
  sed -n 's/.*rank 0 of 2.* \([0-9]*\) core(s) on this node.*/\1/p' <<<"$said"
}
free=("$omplrun" --bind none)
switch() {  # PROCESSOR 0|1
  echo "$2" >/sys/devices/system/cpu/cpu"$1"/online
}

check "processors of the guest" 0-3 "$(cat /sys/devices/system/cpu/online)"
check "cores with all online" 4 "$(cores "${free[@]}")"
switch 1 0
check "processors with a hole" 0,2-3 "$(cat /sys/devices/system/cpu/online)"
check "cores with a hole" 3 "$(cores "${free[@]}")"
check "cores with a hole, ranks bound" 2 "$(cores "$omplrun" --bind core)"
switch 2 0
check "cores with the first and the last" 2 "$(cores "${free[@]}")"
check "cores of a mask with the last alone" 1 "$(cores taskset -c 3 "${free[@]}")"
switch 1 1
switch 2 1

# Processors go while ranks run and sleep on them, and come back.
while :; do
  for processor in 1 2 3; do
    switch $processor 0
    switch $processor 1
  done
done &
switching=$!
for i in 1 2 3; do
  check "job $i while processors go and come back" yes "$([ -n "$(cores "$omplrun" --bind core)" ] && echo yes)"
done
kill $switching
wait $switching
for processor in 1 2 3; do switch $processor 1; done

groups=/sys/fs/cgroup
mountpoint -q $groups && umount $groups
if mount -t cgroup -o cpuset none $groups 2>/dev/null; then
  mkdir $groups/job
  echo 0,3 >$groups/job/cpuset.cpus
  echo 0 >$groups/job/cpuset.mems
  check "cores of a cpuset with the first and the last" 2 "$(echo $BASHPID >$groups/job/cgroup.procs && cores "${free[@]}")"
else
  echo "no cpusets of version 1 here"
fi
exit $failed
