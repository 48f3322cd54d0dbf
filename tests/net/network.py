# SPDX-License-Identifier: BSD-3-Clause
"""Hosts on one network, for one test: network namespaces on a bridge, which can be slowed down, made to lose packets,
cut and healed while programs use it. Needs root.

The bridge stands in a namespace of its own, the hub, for launchers: beside all hosts and on none. Nothing that
disturbs the hosts' traffic with each other touches theirs with the hub."""

import ctypes
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import gettempdir

INTERFACE = "net0"  # in each host
BRIDGE = "bridge0"
PREFIX = "ompl-hosts"
# What a limited link lets pass at once: a segment of TCP of 64 KiB with the headers of all packets that it stands for.
# With less the processor would cut each into its packets, which network cards do themselves.
BURST = "80kb"
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
# What --at of hosts.py may name, with the number of arguments.
ACTIONS = {"rate": 1, "loss": 1, "cut": 1, "unplug": 1, "mtu": 1, "heal": 0}
HOSTS = "10.77.0.1-10.77.0.100"  # and 10.77.0.254 is the hub
RULES = """
add table inet disturb
add chain inet disturb in {{ type filter hook input priority 0; }}
add rule inet disturb in iifname {interface} ip saddr {hosts} {which} counter drop
"""


def why_not() -> str:
    """What is missing to make hosts here; nothing if all is there."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    missing = [name for name in ("ip", "ss", "tc", "nft", "setpriv") if shutil.which(name) is None]
    return f"there is no {', '.join(missing)} (Debian: iproute2, nftables, util-linux)" if missing else ""


def run(*command: str, text: str = "") -> str:
    done = subprocess.run(command, input=text, check=True, timeout=120, stdout=subprocess.PIPE, text=True)
    return done.stdout


def remove_leftovers() -> None:
    """Namespaces and folders of runs that were killed: their names carry the process that made them."""
    names = re.findall(rf"^({PREFIX}-(\d+)-\w+)\b", run("ip", "netns", "list"), re.MULTILINE)
    for name, pid in names:
        if not os.path.exists(f"/proc/{pid}"):
            run("ip", "netns", "del", name)
    for folder in Path(gettempdir()).glob(f"{PREFIX}-*-*"):
        if not os.path.exists(f"/proc/{folder.name.split('-')[2]}"):
            shutil.rmtree(folder, ignore_errors=True)


def enter(namespace: str) -> None:
    """Takes this process there, for good."""
    with open(f"/run/netns/{namespace}") as file:
        if LIBC.setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter the namespace {namespace}")


def is_up(host: str, interface: str = INTERFACE) -> bool:
    """Whether the host's interface has seen its other end: a moment after both were set up."""
    return "state UP" in run("ip", "-n", host, "link", "show", interface)


def wait_until_up(hosts: list[str], interface: str = INTERFACE) -> None:
    limit = time.monotonic() + 120
    while not all(is_up(host, interface) for host in hosts) and time.monotonic() < limit:
        time.sleep(0.02)


def start_up(hosts: list[str]) -> None:
    """Gives addresses to the hosts, once they have their interfaces."""
    for number, host in enumerate(hosts):
        run("ip", "-n", host, "addr", "add", f"10.77.0.{number + 1}/24", "dev", INTERFACE)
        for device in ("lo", INTERFACE):
            run("ip", "-n", host, "link", "set", device, "up")
    wait_until_up(hosts)


class Network:
    def __init__(self, hub: str, hosts: list[str]) -> None:
        self.hub = hub
        self.name = hub.removesuffix("-hub")
        self.hosts = hosts

    def ip(self, *command: str) -> None:
        """On the hub."""
        run("ip", "-n", self.hub, *command)

    def make(self) -> None:
        self.ip("link", "set", "lo", "up")
        self.ip("link", "add", BRIDGE, "type", "bridge")
        self.ip("addr", "add", "10.77.0.254/24", "dev", BRIDGE)
        self.ip("link", "set", BRIDGE, "up")
        for number, host in enumerate(self.hosts):
            port = f"port{number}"
            self.ip("link", "add", port, "type", "veth", "peer", INTERFACE, "netns", host)
            self.ip("link", "set", port, "master", BRIDGE, "up")
        start_up(self.hosts)

    def give_up_after(self, retries: int) -> None:
        """How often TCP sends again before it calls a connection broken, or not to be had: 15 and 6, which takes
        minutes, if not set."""
        files = [f"/proc/sys/net/ipv4/{name}" for name in ("tcp_retries2", "tcp_syn_retries")]
        for host in self.hosts:
            run("ip", "netns", "exec", host, "tee", *files, text=str(retries))

    def rate(self, mbit: str) -> None:
        for host in self.hosts:
            limit = ("tbf", "rate", f"{mbit}mbit", "burst", BURST, "latency", "100ms")
            run("tc", "-n", host, "qdisc", "replace", "dev", INTERFACE, "root", *limit)

    def loss(self, percent: str) -> None:
        """Each packet from a host to another is lost with this chance."""
        for host in self.hosts:
            self.drop(host, f"numgen random mod 100 < {int(percent)}")

    def cut(self, number: str) -> None:
        """Packets from and to this host are lost; its interface stays up."""
        for host in self.hosts:
            self.drop(host, "" if host == self.hosts[int(number)] else f"ip saddr 10.77.0.{int(number) + 1}")

    def unplug(self, number: str) -> None:
        """The host's interface loses its other end, and the host the hub too."""
        self.ip("link", "set", f"port{number}", "down")
        if is_up(self.hosts[int(number)]):
            raise RuntimeError(f"host {number} is still connected")

    def mtu(self, most: str) -> int:
        """Packets of all hosts have so many bytes at most, from now on; how many hosts that concerns."""
        for number, host in enumerate(self.hosts):
            self.ip("link", "set", f"port{number}", "mtu", most)
            run("ip", "-n", host, "link", "set", INTERFACE, "mtu", most)
        return len(self.hosts)

    def drop(self, host: str, which: str) -> None:
        rules = RULES.format(interface=INTERFACE, hosts=HOSTS, which=which)
        run("ip", "netns", "exec", host, "nft", "-f", "-", text=rules)

    def heal(self) -> int:
        """Ends every disturbance; how many packets were dropped or held back."""
        hit = 0
        for number, host in enumerate(self.hosts):
            self.ip("link", "set", f"port{number}", "mtu", "1500", "up")
            run("ip", "-n", host, "link", "set", INTERFACE, "mtu", "1500")
            queue = run("tc", "-s", "-n", host, "qdisc", "show", "dev", INTERFACE)
            if "tbf" in queue:
                hit += sum(map(int, re.findall(r"overlimits (\d+)", queue)))
                run("tc", "-n", host, "qdisc", "del", "dev", INTERFACE, "root")
            inside = ("ip", "netns", "exec", host, "nft")
            if "disturb" in run(*inside, "list", "tables"):
                listed = run(*inside, "list", "table", "inet", "disturb")
                hit += sum(map(int, re.findall(r"counter packets (\d+)", listed)))
                run(*inside, "delete", "table", "inet", "disturb")
        return hit


@contextmanager
def namespaces(*kinds: object) -> Iterator[list[str]]:
    """Named after this process and each kind; gone afterwards, whatever happens."""
    names = [f"{PREFIX}-{os.getpid()}-{kind}" for kind in kinds]
    with ExitStack() as stack:
        for name in names:
            run("ip", "netns", "add", name)
            stack.callback(run, "ip", "netns", "del", name)  # and the devices with it
        yield names


@contextmanager
def network(hosts: int) -> Iterator[Network]:
    """Hosts that reach each other through a bridge."""
    with namespaces("hub", *range(hosts)) as (hub, *names):
        made = Network(hub, names)
        made.make()
        yield made


@contextmanager
def pair() -> Iterator[list[str]]:
    """Two hosts with nothing between them, to measure."""
    with namespaces(0, 1) as hosts:
        ends = ("netns", hosts[0], "type", "veth", "peer", INTERFACE, "netns", hosts[1])
        run("ip", "link", "add", INTERFACE, *ends)
        start_up(hosts)
        yield hosts
