#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`ompl-info --check` under real limits, in namespaces, without system calls: ompl_info_check.py BUILD_DIR.

Each check is seen to find what is made wrong for it, and to be content without that. What files decide:
tests/unit/check_test.cpp."""

import json
import os
import shlex
import subprocess
import sys
import unittest
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

BIN = Path(sys.argv.pop(1)).resolve() / "bin"
LIMIT_S = 240.0
TOOLS = Path(__file__).resolve().parents[2] / "instruments/omni/omnipgas_tools"
SCHEMA = json.loads((TOOLS / "doctor/findings.schema.json").read_text())
REFUSE = f"{sys.executable} {Path(__file__).parent / 'environments/system_calls.py'} refuse ENOSYS"
NOBODY = "setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all --inh-caps -all"
WITH_OFI = "self,shm,ofi"
CABLE = "ip link add d0 type veth peer name d1 && ip link set d1 up && ip link set d0 up"
STATUS = {"fine": 0, "note": 0, "slow": 1, "fails": 2}


def shell(command: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["sh", "-c", command], env={**os.environ, **environment}, text=True, capture_output=True, timeout=LIMIT_S,
        check=False,
    )  # fmt: skip


def needs_root() -> None:
    if os.geteuid() != 0:
        raise unittest.SkipTest("needs root")


class Case(unittest.TestCase):
    def look(self, options: str = "", wrap: str = "", first: str = "true", **environment: str) -> dict[str, Any]:
        """The findings by name, of a check that a shell starts after `first`, inside `wrap`."""
        command = f"{first} && exec {wrap} {shlex.quote(str(BIN / 'ompl-info'))} --check --json {options}"
        done = shell(command, **{"OMPL_CONDUITS": "self,shm", **environment})  # network libraries take long to load
        try:
            document: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            self.fail(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
        self.assertEqual(sorted(document), sorted(SCHEMA["required"]))
        self.assertEqual(sorted(document["job"]), sorted(SCHEMA["properties"]["job"]["required"]))
        self.assertEqual(done.returncode, document["status"])
        self.assertEqual(STATUS[document["verdict"]], document["status"])
        self.assertEqual(max(STATUS[one["verdict"]] for one in document["findings"]), document["status"])
        for one in document["findings"]:
            self.assertEqual(sorted(one), sorted(SCHEMA["$defs"]["finding"]["required"]))
            fine = one["verdict"] == "fine"
            self.assertEqual(fine, one["means"] == "", one)
            self.assertTrue(one["found"], one)
        return {one["name"]: one for one in document["findings"]} | {"document": document}

    def expect(self, name: str, verdict: str, says: str = "", **how: str) -> None:
        """Of one check."""
        one = self.look(**how)[name]
        self.assertEqual(one["verdict"], verdict, one)
        self.assertIn(says, f"{one['found']} {one['means']} {one['change']}")

    def inside(self, commands: str, kinds: str = "--mount") -> str:
        """A wrapper: these commands first, in namespaces of its own."""
        needs_root()
        script = commands + '; exec "$@"'
        wrap = f"unshare {kinds} sh -c {shlex.quote(script)} sh"
        if shell(f"{wrap} true").returncode != 0:
            raise unittest.SkipTest(f"not possible here: {commands}")
        return wrap


class Limits(Case):
    def test_descriptors(self) -> None:
        for limit, verdict, says in ((1000, "fine", ""), (300, "note", "100 descriptors are left"), (205, "fails", "")):
            self.expect("open files", verdict, says, wrap=f"prlimit --nofile={limit}", options="--ranks 100")
        self.expect("open files", "fine", "20 soft", wrap="prlimit --nofile=20:1000", options="--ranks 100")

    def test_size_of_files(self) -> None:
        self.expect("segment", "fails", "ulimit -f", wrap="prlimit --fsize=1000000")
        self.expect("segment", "fine", wrap="prlimit --fsize=1000000", OMPL_SEGMENT_SIZE="900000")

    def needs_no_sanitizer(self) -> None:
        """One needs more address space, and a thread when the process ends."""
        if "sanitizers" in self.look()["build"]["found"]:
            self.skipTest("this build has a sanitizer")

    def test_address_space(self) -> None:
        self.needs_no_sanitizer()
        wrap = "prlimit --as=40000000000"
        self.expect("address space", "slow", "3 segment(s)", wrap=wrap, options="--ranks 3")
        self.expect("address space", "fine", wrap=wrap, options="--ranks 2")
        found = self.look(wrap="prlimit --as=4000000000")
        self.assertEqual((found["address space"]["verdict"], found["segment"]["verdict"]), ("fails", "fails"))

    def test_processor_time(self) -> None:
        self.expect("processor time", "fine", "unlimited", wrap="prlimit --cpu=unlimited")
        self.expect("processor time", "note", "100 s for each rank", wrap="prlimit --cpu=100")

    def test_processes(self) -> None:
        needs_root()
        wrap = f"prlimit --nproc=400 {NOBODY}"
        self.expect("processes and threads", "fine", wrap=wrap, options="--threads 50")
        self.expect("processes and threads", "fails", "ulimit -u", wrap=wrap, options="--threads 500")

    def test_no_process_is_left_for_the_checks(self) -> None:
        needs_root()
        self.needs_no_sanitizer()
        self.expect("processes and threads", "fails", wrap=f"prlimit --nproc=1 {NOBODY}")

    def test_processors(self) -> None:
        one = f"taskset -c {min(os.sched_getaffinity(0))}"
        self.expect("processors", "slow", "take turns", wrap=one, options="--threads 2")
        self.expect("processors", "slow", "take turns", wrap=one, options="--ranks 2")
        self.expect("processors", "fine", wrap=one)

    def test_hardware_threads(self) -> None:
        """On a machine made up for hwloc."""
        if not os.sched_getaffinity(0) >= {0, 1} or "hwloc" not in self.look()["hardware threads"]["found"]:
            self.skipTest("needs the processors 0 and 1, and hwloc")
        both = {"wrap": "taskset -c 0,1", "HWLOC_SYNTHETIC": "core:1 pu:2"}
        self.expect("hardware threads", "slow", "2 processor(s) on 1 core(s)", options="--threads 2", **both)
        self.expect("hardware threads", "fine", options="--threads 1", **both)
        self.expect("hardware threads", "fine", options="--threads 2", **both | {"HWLOC_SYNTHETIC": "core:2 pu:1"})

    def test_scheduling(self) -> None:
        self.expect("scheduling", "fine", "policy other, nice 0")
        self.expect("scheduling", "slow", "nice 5", wrap="nice -n 5")
        if shell("chrt --fifo 1 true").returncode == 0:
            self.expect("scheduling", "slow", "sleeps for 50 us", wrap="chrt --fifo 1")


class SystemCalls(Case):
    def without(self, *calls: str) -> str:
        return f"{REFUSE} {' '.join(calls)} --"

    def test_those_that_the_layer_prefers(self) -> None:
        self.expect("system calls", "fine", "all 5")
        self.expect("system calls", "slow", "pidfd_open", wrap=self.without("pidfd_open"))
        self.expect("system calls", "note", "close_range", wrap=self.without("close_range"))
        self.expect("system calls", "slow", "sched_yield", wrap=self.without("sched_yield"))
        self.expect("system calls", "note", "getrandom", wrap=self.without("getrandom"))
        self.expect("segment", "fine", wrap=self.without("memfd_create"))  # a file of /dev/shm instead

    def test_futexes(self) -> None:
        self.expect("futex", "fine", "wake each other")
        for operation in (0, 1):  # waiting and waking, between processes: ranks poll then
            wrap = self.without(f"futex:1:0xffffffff:{operation}")
            self.expect("futex", "slow", "Function not implemented", wrap=wrap)

    def test_memory_of_others(self) -> None:
        scope = Path("/proc/sys/kernel/yama/ptrace_scope")
        if not scope.exists() or scope.read_text().strip() == "0":
            self.expect("memory of other processes", "fine")
        wrap = self.without("process_vm_readv")
        self.expect("memory of other processes", "note", wrap=wrap)
        self.expect("memory of other processes", "slow", wrap=wrap, OMPL_COLL_PROGRESS="node")

    def test_a_filter(self) -> None:
        self.expect("seccomp", "note", "a filter", wrap=self.without("acct"))


class Namespaces(Case):
    def test_missing_proc_and_sys(self) -> None:
        self.expect("/proc and /sys", "fine")
        self.expect("/proc and /sys", "slow", "/proc is missing", wrap=self.inside("mount -t tmpfs none /proc"))
        self.expect("/proc and /sys", "note", "/sys is missing", wrap=self.inside("mount -t tmpfs none /sys"))

    def test_shared_memory(self) -> None:
        wrap = self.inside("mount -t tmpfs -o size=40m none /dev/shm")
        self.expect("shared memory", "slow", "free of 40 MiB", wrap=wrap, options="--ranks 2")
        self.expect("shared memory", "fine", wrap=wrap)

    def test_namespaces(self) -> None:
        for kind, option in (("user", "--user --map-root-user"), ("pid", "--pid --fork"), ("ipc", "--ipc")):
            self.expect("namespaces", "note", f"its own: {kind}", wrap=self.inside("true", option))


class Networks(Case):
    def setUp(self) -> None:
        if "libfabric" not in self.look():
            self.skipTest("this build has no conduit ofi")

    def test_no_network(self) -> None:
        wrap = self.inside("true", "--net")
        self.expect("interfaces", "note", "no interface that is up", wrap=wrap)
        self.expect("interfaces", "fails", "no interface that is up", wrap=wrap, options="--nodes 2")
        wrap = self.inside("ip link set lo up", "--net")
        self.expect("interfaces", "fails", "no other node reaches", wrap=wrap, options="--nodes 2")

    def test_interfaces(self) -> None:
        network = f"ip link set lo up; {CABLE}; ip addr add 192.0.2.7/24 dev d0"
        wrap = self.inside(network, "--net")
        self.expect("interfaces", "fine", "first d0 192.0.2.7, then lo", wrap=wrap, options="--nodes 2")
        self.expect("interfaces", "fails", "nonesuch", wrap=wrap, OMPL_NET_INTERFACE="nonesuch")
        self.expect("interfaces", "fine", "first d0", wrap=wrap, options="--nodes 2", OMPL_NET_INTERFACE="192.0.2.7")

    def test_several_networks(self) -> None:
        second = CABLE.replace("d0", "e0").replace("d1", "e1") + "; ip addr add 198.51.100.7/24 dev e0"
        wrap = self.inside(f"{CABLE}; ip addr add 192.0.2.7/24 dev d0; {second}", "--net")
        self.expect("interfaces", "note", "then the next ones", wrap=wrap, options="--nodes 2")
        self.expect("interfaces", "fine", "first e0", wrap=wrap, options="--nodes 2", OMPL_NET_INTERFACE="e0")

    def test_a_bridge(self) -> None:
        bridge = "ip link add b0 type bridge; ip addr add 198.51.100.8/24 dev b0; ip link set b0 up"
        self.expect("interfaces", "slow", "b0 198.51.100.8 (bridge)", options="--nodes 2",
                    wrap=self.inside(bridge, "--net"))  # fmt: skip

    def test_ipv6_alone(self) -> None:
        network = f"{CABLE}; ip addr add 2001:db8::7/64 dev d0 nodad"
        self.expect("interfaces", "fine", "first d0 2001:db8::7", options="--nodes 2",
                    wrap=self.inside(network, "--net"))  # fmt: skip

    def firewall(self, rule: str) -> str:
        table = "add table inet t; add chain inet t in { type filter hook input priority 0; };"
        rules = f'echo "{table} add rule inet t in ip protocol tcp {rule}" | nft -f -'
        network = f"ip link set lo up && {CABLE} && ip addr add 192.0.2.7/24 dev d0"
        return self.inside(f"{network} && {rules} || exit 1", "--net")

    def test_a_firewall(self) -> None:
        self.expect("own address", "fine", "answers", wrap=self.firewall("counter"), options="--nodes 2")
        wrap = self.firewall("tcp flags & (syn | ack) == syn reject with tcp reset")
        self.expect("own address", "fails", "refused", wrap=wrap, options="--nodes 2")
        self.expect("own address", "note", "refused", wrap=wrap)
        self.expect("own address", "fails", "no answer", wrap=self.firewall("drop"), options="--nodes 2")

    def test_the_name_of_the_host(self) -> None:
        hosts = "f=$(mktemp); echo 127.0.0.1 here >$f; mount --bind $f /etc/hosts; rm $f"
        wrap = self.inside(f"hostname here; {hosts}", "--uts --net --mount")
        self.expect("host name", "fine", "here: resolved", wrap=wrap, options="--nodes 2")
        wrap = self.inside("hostname there.invalid", "--uts --net")
        self.expect("host name", "slow", "there.invalid", wrap=wrap, options="--nodes 2")


@contextmanager
def cgroup(controller: str, **limits: str) -> Iterator[str]:
    """A folder of a cgroup with these limits by name of version 2, as the machine has it; a skip if it has none."""
    old = {"memory.max": "memory.limit_in_bytes"}
    place = Path("/sys/fs/cgroup") / controller
    first = place.is_dir()  # version 1
    group = (place if first else place.parent) / f"ompl-check-{os.getpid()}"
    with ExitStack() as stack:
        try:
            group.mkdir()
            stack.callback(group.rmdir)
            for name, value in limits.items():
                file = name.replace("_", ".")
                (group / (old.get(file, file) if first else file)).write_text(value)
        except OSError as error:
            raise unittest.SkipTest(f"no cgroup of {controller} can be made here: {error}") from error
        yield str(group)


class Cgroups(Case):
    def test_memory(self) -> None:
        with cgroup("memory", memory_max=str(200 << 20)) as group:
            enter = f"echo $$ >{group}/cgroup.procs"
            self.expect("available memory", "fine", first=enter, options="--allocate 64MiB")
            self.expect("available memory", "fails", "take 316 MiB", first=enter, options="--allocate 300MiB")

    def test_tasks(self) -> None:
        with cgroup("pids", pids_max="100") as group:
            enter = f"echo $$ >{group}/cgroup.procs"
            self.expect("processes and threads", "fine", "the cgroup allows", first=enter, options="--threads 50")
            self.expect("processes and threads", "fails", "the cgroup allows", first=enter, options="--threads 99")


class Environment(Case):
    def test_settings(self) -> None:
        found = self.look(OMPL_CREDITS="0", OMPL_LOG="loud", OMPL_SEGMENTSIZE="1M")
        self.assertEqual(found["settings"]["verdict"], "fails")
        self.assertRegex(found["settings"]["found"], 'OMPL_CREDITS="0".*OMPL_LOG="loud"')
        self.assertEqual(found["unknown variables"]["verdict"], "slow")
        self.assertIn("did you mean OMPL_SEGMENT_SIZE?", found["unknown variables"]["found"])
        self.assertEqual(found["document"]["status"], 2)

    def test_folders(self) -> None:
        self.expect("temporary files", "slow", "/nowhere", TMPDIR="/nowhere")
        self.expect("cache folder", "note", "neither HOME", wrap="env -u HOME -u XDG_CACHE_HOME")

    def test_conduits(self) -> None:
        self.expect("conduits", "fails", "no network", options="--nodes 2", OMPL_CONDUITS="self,shm")
        self.expect("settings", "fails", "smh", OMPL_CONDUITS="self,smh,ofi")

    def test_libfabric(self) -> None:
        if "libfabric" not in (found := self.look(OMPL_CONDUITS=WITH_OFI)):
            self.skipTest("this build has no conduit ofi")
        self.assertIn(found["libfabric"]["verdict"], ("fine", "note"), found["libfabric"])
        self.assertRegex(found["conduits"]["found"], r"\bofi: usable")
        self.expect("libfabric", "slow", options="--nodes 2", OMPL_OFI_PROVIDER="net", OMPL_CONDUITS=WITH_OFI)

    def test_ucx(self) -> None:
        if "UCX" not in self.look():
            self.skipTest("this build has no conduit ucx")
        one = self.look(OMPL_CONDUITS="self,shm,ucx")["UCX"]
        self.assertEqual(one["verdict"], "note" if "UCX 1.13" in one["found"] else "fine", one)

    def test_a_library_that_hurts(self) -> None:
        """A libfabric that ends the process that loads it."""
        if "libfabric" not in self.look():
            self.skipTest("this build has no conduit ofi")
        with ExitStack() as stack:
            folder = BIN.parent / f"check-{os.getpid()}"
            folder.mkdir()
            stack.callback(folder.rmdir)
            library = folder / "libfabric.so.1"
            source = "__attribute__((constructor)) void end(void) { __builtin_trap(); }"
            made = shell(f"echo '{source}' | cc -x c -shared -fPIC -o {shlex.quote(str(library))} -")
            if made.returncode != 0:
                self.skipTest(f"no C compiler: {made.stderr}")
            stack.callback(library.unlink)
            found = self.look(LD_LIBRARY_PATH=str(folder), OMPL_CONDUITS=WITH_OFI)
        self.assertEqual(found["libfabric"]["verdict"], "fails")
        self.assertIn("killed by SIGILL", found["libfabric"]["found"])
        self.assertEqual(found["segment"]["verdict"], "fine")

    def test_launchers(self) -> None:
        self.expect("launcher", "fine", "a job of one rank")
        self.expect("launcher", "fails", "PMI_FD", PMI_RANK="0", PMI_SIZE="2")
        report = BIN.parent / f"check-{os.getpid()}"
        command = f"{BIN}/ompl-info --check --json >{report}.$PMI_RANK; exit 0"
        done = shell(f"{shlex.quote(str(BIN / 'omplrun'))} -n 2 sh -c {shlex.quote(command)}")
        files = [Path(f"{report}.{rank}") for rank in range(2)]
        try:
            self.assertEqual(done.returncode, 0, done.stderr)
            for file in files:
                document = json.loads(file.read_text())
                launcher = next(one for one in document["findings"] if one["name"] == "launcher")
                self.assertIn("pmi1: 2 rank(s), 2 on this node", launcher["found"])
                self.assertEqual((document["job"]["launcher"], document["job"]["ranks_per_node"]), ("pmi1", 2))
        finally:
            for file in files:
                file.unlink(missing_ok=True)


class Command(Case):
    def test_the_table(self) -> None:
        done = shell(f"{BIN}/ompl-info --check", OMPL_CREDITS="0")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stdout, r'\nfails  environment: settings +OMPL_CREDITS="0"')
        self.assertRegex(done.stdout, r"\n +change: set the variables to what")
        self.assertRegex(done.stdout, r"\n\d+ fails, \d+ slow, \d+ note, \d+ fine\n$")
        self.assertEqual(done.stderr, "")

    def test_options_belong_to_check(self) -> None:
        for option in ("--json", "--ranks 2", "--threads 2", "--nodes 2", "--allocate 1MiB"):
            self.assertGreater(shell(f"{BIN}/ompl-info {option}").returncode, 100, option)
        self.assertGreater(shell(f"{BIN}/ompl-info --check --ranks 0").returncode, 100)

    def test_sigchld_is_ignored(self) -> None:
        self.expect("segment", "fine", first="trap '' CHLD")


if __name__ == "__main__":
    unittest.main(verbosity=2)
