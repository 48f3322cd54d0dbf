#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs under the seccomp profiles of container runtimes: profiles.py BUILD_DIR

The profiles are files of the runtimes' own form: those that OMPL_TEST_SECCOMP_PROFILES names, separated by colons,
and that of Podman, which Debian's golang-github-containers-common installs. Docker's is seccomp/default.json of
github.com/moby/profiles, Apptainer's etc/seccomp-profiles/default.json of github.com/apptainer/apptainer;
Charliecloud has none. Under each a job works over every conduit that is here, with the capabilities of a container
and with none. A seccomp filter is not all that a container is; containers.py has real ones."""

import os
import subprocess
import sys
from pathlib import Path

from refused_calls import LIMIT_S, command, conduits, run, verdict

LOADER = [sys.executable, str(Path(__file__).with_name("system_calls.py"))]
PODMAN = "/usr/share/containers/seccomp.json"
# Of a container of Docker and Podman, unless it is told otherwise.
CAPABILITIES = """
    CAP_CHOWN CAP_DAC_OVERRIDE CAP_FSETID CAP_FOWNER CAP_NET_RAW CAP_SETGID CAP_SETUID CAP_SETFCAP CAP_SETPCAP
    CAP_NET_BIND_SERVICE CAP_SYS_CHROOT CAP_KILL"""


def profiles() -> list[Path]:
    named = os.environ.get("OMPL_TEST_SECCOMP_PROFILES", "").split(":")
    return [Path(name) for name in [*filter(None, named), PODMAN] if Path(name).is_file()]


def filters(loader: list[str]) -> bool:
    """Whether the filter is there: /proc says so."""
    script = ["grep", "-q", "^Seccomp:.*2", "/proc/self/status"]
    return subprocess.run([*loader, *script], check=False, timeout=LIMIT_S).returncode == 0


def main(build: Path) -> None:
    found = profiles()
    if not found:
        print(f"no seccomp profile: {PODMAN} is not installed, and OMPL_TEST_SECCOMP_PROFILES names none")
        sys.exit(77)
    wrong = 0
    for profile in found:
        for capabilities in ([], CAPABILITIES.split()):
            loader = [*LOADER, "profile", str(profile), *capabilities, "--"]
            if not filters(loader):
                print(f"{profile}: the profile was not applied")
                sys.exit(1)
            for conduit in conduits(build):
                for rule in ("sleepers", "survivors"):
                    options = ["--keep-going"] if rule == "survivors" else []
                    done = run([*loader, *command(build, rule, *options)], conduit)
                    seen = verdict(rule, done)
                    # A profile older than these calls refuses them with EPERM: deaths are then looked for in another
                    # way, and UCX, which needs threads, cannot be used.
                    right = (
                        seen == "works"
                        or (seen == "warns" and "pidfd_open" in done.stderr)
                        or (seen == "fails" and conduit == "ucx" and "clone3" in done.stderr)
                    )
                    wrong += not right
                    print(f"{profile}, {len(capabilities)} capabilities, {conduit}, {rule}: {seen}", flush=True)
                    if not right:
                        print(done.stdout + done.stderr)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
