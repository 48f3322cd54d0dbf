#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limits.sh OMPLRUN RULES_WORKER, in a guest: what only root's settings show. A core dump takes what a rank has allocated
# and not its segment's 16 GiB; allocations stay within the limits of cgroups and of the machine.
set -u
omplrun=$1 worker=$2 failed=0

check() {  # WHAT EXPECTED FOUND
  [ "$2" = "$3" ] && echo "ok: $1" || { echo "FAILED: $1: $3, not $2"; failed=1; }
}

ulimit -c unlimited
# Into a pipe, as systemd-coredump has it: the kernel reads every page that is dumped. The program is one of the guest's
# first file system, and there the kernel looks for it.
echo '|/busybox dd of=/dev/null bs=1M' >/proc/sys/kernel/core_pattern
"$omplrun" --timeout 200 -n 2 "$worker" crash
check "a rank that crashes ends the job" 134 $?
mkdir /run/cores && cd /run/cores && echo core >/proc/sys/kernel/core_pattern
"$omplrun" --timeout 200 -n 2 "$worker" crash
size=$(($(stat -c %s core* | head -1) >> 20))
check "a dump has $size MiB, less than 100" yes "$([ "$size" -lt 100 ] && echo yes)"
rm -f core*
ulimit -c 0

groups=/sys/fs/cgroup
mountpoint -q $groups && umount $groups
mount -t cgroup2 none $groups || { echo "no cgroups of version 2 here"; exit 77; }
echo +memory >$groups/cgroup.subtree_control
mkdir $groups/leaf $groups/job
echo +memory >$groups/job/cgroup.subtree_control
mkdir $groups/job/step
echo 400M >$groups/leaf/memory.max
echo 400M >$groups/job/memory.max
in_group() {  # GROUP RANKS MIB
  (
    [ -n "$1" ] && echo $BASHPID >"$groups/$1/cgroup.procs"
    RULES_MIB=$3 "$omplrun" --timeout 200 -n "$2" "$worker" scarce
  )
}
in_group leaf 1 500
check "the limit of the own group" 0 $?
in_group leaf 2 300
check "the limit of the own group, for two ranks" 0 $?
in_group job/step 1 500
check "the limit of the group above" 0 $?
in_group "" 2 $(($(awk '/MemAvailable/{print $2}' /proc/meminfo) * 6 / 10 / 1024))
check "the memory of the machine, for two ranks" 0 $?
check "nobody was killed for want of memory" 0 "$(dmesg | grep -ciE 'out of memory|oom-kill')"
exit $failed
