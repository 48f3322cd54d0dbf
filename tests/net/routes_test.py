#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks find the addresses by which their hosts reach each other: routes_test.py OMPLRUN TRAFFIC

Hosts are network namespaces. Nobody tells the library which interface to take."""

import os
import subprocess
import sys
import unittest
from collections.abc import Iterator
from contextlib import contextmanager

import network

SKIP = 77
LIMIT = 240.0  # seconds of one run
OMPLRUN, TRAFFIC = "", ""
SECOND = "net1"  # another network between the hosts
REJECT = """
add table inet disturb
add chain inet disturb in {{ type filter hook input priority 0; }}
add rule inet disturb in iifname {interface} tcp flags syn {verdict}
"""


@contextmanager
def two_hosts() -> Iterator[list[str]]:
    with network.network(2) as made:
        yield made.hosts


def add_bridges(hosts: list[str]) -> None:
    """One for containers on each host, with a container, and of the same address everywhere."""
    for host in hosts:
        for words in (
            "link add docker0 type bridge",
            "addr add 172.17.0.1/16 dev docker0",
            "link set docker0 up",
            "link add inside0 type veth peer name inside1",
            "link set inside0 master docker0 up",
            "link set inside1 up",
        ):
            network.run("ip", "-n", host, *words.split())


def add_second_network(hosts: list[str]) -> None:
    ends = ("netns", hosts[0], "type", "veth", "peer", SECOND, "netns", hosts[1])
    network.run("ip", "link", "add", SECOND, *ends)
    for number, host in enumerate(hosts):
        network.run("ip", "-n", host, "addr", "add", f"10.78.0.{number + 1}/24", "dev", SECOND)
        network.run("ip", "-n", host, "link", "set", SECOND, "up")


def refuse(hosts: list[str], interface: str, verdict: str = "reject with tcp reset") -> None:
    """No connection comes in there."""
    for host in hosts:
        rules = REJECT.format(interface=interface, verdict=verdict)
        network.run("ip", "netns", "exec", host, "nft", "-f", "-", text=rules)


def job(hosts: list[str], **variables: str) -> "subprocess.CompletedProcess[str]":
    """One rank on each host."""
    name = hosts[0].removesuffix("0")
    script = f"exec ip netns exec {name}$PMI_RANK {TRAFFIC} 1 4 100"
    ours = {"OMPL_CONDUITS": "self,ofi", "OMPL_ENDPOINTS": "2", "OMPL_LOG": "debug"}
    environment = {name: value for name, value in os.environ.items() if name != "OMPL_OFI_INTERFACE"}
    return subprocess.run(
        [OMPLRUN, "-n", "2", "--node-of", "0,1", "--timeout", "200", "sh", "-c", script],
        env=environment | ours | variables,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


class Routes(unittest.TestCase):
    def test_a_bridge_with_the_same_address_on_both_hosts(self) -> None:
        for provider in ("", "tcp;ofi_rxm"):
            with self.subTest(provider), two_hosts() as hosts:
                add_bridges(hosts)
                done = job(hosts, OMPL_OFI_PROVIDER=provider)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_network_that_refuses_is_left_for_another(self) -> None:
        for verdict in ("reject with tcp reset", "drop"):
            with self.subTest(verdict), two_hosts() as hosts:
                add_second_network(hosts)
                refuse(hosts, network.INTERFACE, verdict)
                done = job(hosts)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stderr, r"rank \d is reached at 10\.78\.0\.\d port \d+")

    def test_a_firewall_is_no_death(self) -> None:
        with two_hosts() as hosts:
            refuse(hosts, network.INTERFACE)
            done = job(hosts)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"rank \d is out of reach: 10\.77\.0\.\d port \d+ refuses connections")
        self.assertIn("OMPL_OFI_INTERFACE", done.stderr)
        self.assertNotIn(" died:", done.stderr)

    def test_a_firewall_is_no_death_over_ucx(self) -> None:
        with two_hosts() as hosts:
            refuse(hosts, network.INTERFACE)
            done = job(hosts, OMPL_CONDUITS="self,ucx")
        if "conduit ucx of OMPL_CONDUITS is not in this build" in done.stderr:
            self.skipTest("ucx is not built in")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"rank \d is out of reach: .*UCX_NET_DEVICES")
        self.assertNotIn(" died:", done.stderr)

    def test_loopback_leads_to_no_other_host(self) -> None:
        with two_hosts() as hosts:
            for host in hosts:
                network.run("ip", "-n", host, "addr", "flush", "dev", network.INTERFACE)
            done = job(hosts)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("that host has loopback addresses only", done.stderr)


if __name__ == "__main__":
    if reason := network.why_not():
        print(f"skipped: {reason}")
        sys.exit(SKIP)
    OMPLRUN, TRAFFIC = sys.argv[1:3]
    network.remove_leftovers()
    unittest.main(argv=sys.argv[:1], verbosity=2)
