#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# job.sh OMPLRUN RANKS PROGRAM arg...: a job over PSM2's shared memory, without a card. Then removes the files that its killed
# ranks have left: PSM2 names them by user and process.
omplrun=$1 ranks=$2
shift 2
if ! [ -e /lib/x86_64-linux-gnu/libpsm2.so.2 ] && ! ldconfig -p 2>/dev/null | grep -q 'libpsm2\.so\.2'; then
  echo "skipped: libpsm2.so.2 is not here"
  exit 77
fi
clean() {
  begin=/dev/shm/psm2_shm.$(id -u)
  for file in "$begin"*; do
    rest=${file#"$begin"}
    process=${rest%"${rest#????????}"}
    [ -e "$file" ] && [ -n "$process" ] && ! [ -d /proc/$((0x$process)) ] && rm -f "$file"
  done
}
trap clean EXIT
export OMPL_CONDUITS=self,psm2 PSM2_DEVICES=self,shm
"$omplrun" -n "$ranks" "$@"
