#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# deb.sh OUT
# Builds the Debian packages of the tree as it stands, in a copy of it, and leaves them in OUT; lintian must
# have nothing to say.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
out=$(cd "$1" && pwd)
for tool in dpkg-buildpackage dh lintian; do
  command -v "$tool" >/dev/null || { echo "$tool is not installed (scripts/setup.sh package brings it)"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/omnipgas"
git -c safe.directory='*' ls-files -co --exclude-standard -z | xargs -0 cp --parents -t "$work/omnipgas"
# The compiler's cache is the caller's; the build has a home of its own.
export CCACHE_DIR=${CCACHE_DIR:-$HOME/.cache/ccache} CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=1
export PATH=/usr/sbin:/usr/bin:/sbin:/bin  # Debian's Python, no other
mv "$work/omnipgas/packaging/debian" "$work/omnipgas/debian"  # where dpkg wants it
(cd "$work/omnipgas" && dpkg-buildpackage -us -uc -b)
rm -f "$out"/*.deb "$out"/*.changes "$out"/*.buildinfo
lintian --fail-on error,warning --allow-root "$work"/*.changes
cp "$work"/*.deb "$work"/*.changes "$work"/*.buildinfo "$out"
ls "$out"
