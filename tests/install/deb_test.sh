#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# deb_test.sh
# The Debian packages build, lintian finds nothing, and they can be installed, used (packaging/debian/tests) and purged. The
# system that they are installed into is an overlay over this one which no other process sees.
set -eu
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo "not root: cannot install packages"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
packaging/deb.sh "$work/deb"

cat >"$work/use.sh" <<'EOF'
set -eu
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND"' ERR
work=$1 tree=$2
mount -t tmpfs tmpfs "$work/layer"
mkdir "$work/layer/changed" "$work/layer/work" "$work/layer/system"
mount -t overlay overlay "$work/layer/system" \
  -o lowerdir=/,upperdir="$work/layer/changed",workdir="$work/layer/work" || exit 77
for folder in proc sys dev; do mount --rbind "/$folder" "$work/layer/system/$folder"; done
mount --bind "$work/deb" "$work/layer/system/mnt"
inside() { chroot "$work/layer/system" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"; }
# What is of ours in the system; character devices mark what was removed.
mine() {
  (cd "$work/layer/changed" && find . \( -name '*omnipgas*' -o -name '*ompl*' -o -name omni \) ! -type c ! -path './tmp/*')
}

inside sh -c 'dpkg -i $(ls /mnt/*.deb | grep -v dbgsym)'
[ -n "$(mine)" ]
inside sh -c "cd '$tree' && packaging/debian/tests/hello"
if inside sh -c 'command -v mpicxx.mpich' >/dev/null; then inside sh "$tree/packaging/debian/tests/model"; else echo "no MPICH"; fi
inside sh -c "cd '$tree' && packaging/debian/tests/clients"
# Beside Open MPI's commands, if they are here, which come back when ours go.
if [ -e /usr/bin/oshcc ] && dpkg -S /usr/bin/oshcc >/dev/null; then
  inside oshcc --showme | grep omnipgas
  inside update-alternatives --set oshcc /usr/bin/oshcc.openmpi
  inside oshcc --showme | grep openmpi
  inside man --where 1 oshrun
  inside update-alternatives --auto oshcc
fi
for page in "1 oshcc" "1 cafrun" "7 shmem" "3 ompl_put" "3 ompl_fetch64" "1 omplrun" "1 omni" "7 ompl-environment"; do inside man --where $page; done
inside sh -c "dpkg --purge \$(dpkg-query -f '\${Package}\n' -W '*omnipgas*')"
[ ! -e /usr/bin/oshcc ] || inside oshcc --showme | grep openmpi
[ -z "$(inside dpkg-divert --list '*osh*')" ]
left=$(mine)
[ -z "$left" ] || { echo "FAILED: left after purging: $left"; exit 1; }
[ -z "$(inside dpkg-query -f '${Package}\n' -W '*omnipgas*' 2>/dev/null)" ]
echo "ok: built, installed, used, purged"
EOF
mkdir "$work/layer"
status=0
unshare --mount --propagation private bash "$work/use.sh" "$work" "$PWD" || status=$?
[ $status -ne 77 ] || echo "no overlay file system here to install packages into"
exit $status
