#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# install.sh PREFIX
# Installs from build/ below PREFIX, or for a package below $DESTDIR/PREFIX; then makes the library known to the dynamic
# linker (as root), or says what a program needs to find it. Files that root made in build/ go to the tree's owner, or
# the next `make install` of that user could not write there.
set -eu
cd "$(dirname "$0")/.."
prefix=$1
log=build/install.log
if ! cmake --install build --prefix "$prefix" >"$log" 2>&1; then
  tail -n 5 "$log" >&2
  echo "install: cmake could not install below ${DESTDIR:-}$prefix; all that it said is in $log" >&2
  exit 1
fi
echo "install: $(grep -c '^-- Installing' "$log") files installed below ${DESTDIR:-}$prefix, the rest was up to date; list: $log"

if [ "$(id -u)" = 0 ] && [ "$(stat -c %u .)" != 0 ]; then
  find build -xdev -user root -exec chown -h --reference=. {} +
fi

[ -z "${DESTDIR:-}" ] || exit 0
library=$(sed -n '\|/libomnipgas\.so$|p' build/install_manifest.txt)
[ "$(id -u)" != 0 ] || /sbin/ldconfig
if ! /sbin/ldconfig -p | grep -qF " $library"; then
  folder=${library%/*}
  echo "install: $folder is not where the dynamic linker looks. For pkg-config and for programs:"
  echo "  export PKG_CONFIG_PATH=$folder/pkgconfig LD_LIBRARY_PATH=$folder"
fi
