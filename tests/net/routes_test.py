#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks find the addresses by which their hosts reach each other: routes_test.py OMPLRUN TRAFFIC tcp|ofi|ucx

Hosts are network namespaces. Nobody tells the library which interface to take, but where a test says so."""

import os
import subprocess
import sys
import time
import unittest
from collections.abc import Iterator
from contextlib import contextmanager

import network

SKIP = 77
LIMIT = 240.0  # seconds of one run
PATIENCE = 2  # seconds that the library tries the addresses of a rank, where packets vanish
OMPLRUN, TRAFFIC, CONDUIT = "", "", "ofi"
SETTING = {"tcp": "OMPL_NET_INTERFACE", "ofi": "OMPL_NET_INTERFACE", "ucx": "UCX_NET_DEVICES"}
SECOND = "net1"  # another network between the hosts
CHOICES = ("OMPL_OFI_INTERFACE", "OMPL_NET_INTERFACE", "UCX_NET_DEVICES", "UCX_TLS")
FILTER = """
add table inet disturb
add chain inet disturb in {{ type filter hook input priority 0; }}
add rule inet disturb in iifname {interface} {family} tcp flags syn {verdict}
"""
RESET, ICMP = "reject with tcp reset", "reject with icmpx type admin-prohibited"
V4, V6 = "meta nfproto ipv4", "meta nfproto ipv6"


@contextmanager
def two_hosts() -> Iterator[list[str]]:
    with network.network(2) as made:
        yield made.hosts


def ip(host: str, *commands: str) -> None:
    for command in commands:
        network.run("ip", "-n", host, *command.split())


def add_bridges(hosts: list[str]) -> None:
    """One for containers on each host, with a container, and of the same address everywhere."""
    for host in hosts:
        ip(
            host,
            "link add docker0 type bridge",
            "addr add 172.17.0.1/16 dev docker0",
            "link set docker0 up",
            "link add inside0 type veth peer name inside1",
            "link set inside0 master docker0 up",
            "link set inside1 up",
        )


def add_second_network(hosts: list[str], prefix: str = "10.78.0.", length: int = 24) -> None:
    ends = ("netns", hosts[0], "type", "veth", "peer", SECOND, "netns", hosts[1])
    network.run("ip", "link", "add", SECOND, *ends)
    for number, host in enumerate(hosts):
        nodad = ("nodad",) if ":" in prefix else ()
        address = f"{prefix}{number + 1}/{length}"
        network.run("ip", "-n", host, "addr", "add", address, "dev", SECOND, *nodad)
        ip(host, f"link set {SECOND} up")
    network.wait_until_up(hosts, SECOND)


def add_v6(host: str, number: int) -> None:
    ip(host, f"addr add fd77::{number + 1}/64 dev {network.INTERFACE} nodad")


def remove_v4(host: str) -> None:
    ip(host, f"-4 addr flush dev {network.INTERFACE}")


def unplug_a_third_network(hosts: list[str]) -> None:
    """An interface without a carrier that has an address of a network of its own, on both hosts."""
    for number, host in enumerate(hosts):
        ip(
            host,
            "link add eth9 type veth peer name far9",
            f"addr add 10.79.0.{number + 1}/24 dev eth9",
            "link set eth9 up",
        )


def close(hosts: list[str], interface: str, verdict: str = RESET, family: str = "") -> None:
    """No connection comes in there."""
    for host in hosts:
        rules = FILTER.format(interface=interface, verdict=verdict, family=family)
        network.run("ip", "netns", "exec", host, "nft", "-f", "-", text=rules)


def reopen(hosts: list[str]) -> None:
    for host in hosts:
        network.run("ip", "netns", "exec", host, "nft", "delete", "table", "inet", "disturb")


def job(hosts: list[str], **variables: str) -> "subprocess.CompletedProcess[str]":
    """One rank on each host."""
    name = hosts[0].removesuffix("0")
    script = f"exec ip netns exec {name}$PMI_RANK {TRAFFIC} 1 4 100"
    ours = {"OMPL_CONDUITS": f"self,{CONDUIT}", "OMPL_ENDPOINTS": "2", "OMPL_LOG": "debug"}
    environment = {name: value for name, value in os.environ.items() if name not in CHOICES}
    return subprocess.run(
        [OMPLRUN, "-n", "2", "--node-of", "0,1", "--timeout", "200", "sh", "-c", script],
        env=environment | ours | variables,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


class Routes(unittest.TestCase):
    def setUp(self) -> None:
        hosts = self.enterContext(two_hosts())
        self.hosts = hosts

    def works(self, at: str = "", **variables: str) -> None:
        done = job(self.hosts, **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        if at:
            self.assertRegex(done.stderr, rf"rank \d is reached at {at}\d port \d+")

    def fails(self, why: str, **variables: str) -> None:
        """Out of reach, with that reason, the setting, and not as a death."""
        done = job(self.hosts, **variables)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, rf"rank \d is out of reach: {why}")
        self.assertIn(SETTING[CONDUIT], done.stderr)
        self.assertNotIn(" died:", done.stderr)

    def test_a_bridge_with_the_same_address_on_both_hosts(self) -> None:
        add_bridges(self.hosts)
        for provider in ("", "tcp;ofi_rxm") if CONDUIT == "ofi" else ("",):
            with self.subTest(provider):
                self.works(OMPL_OFI_PROVIDER=provider)

    def test_a_network_that_is_filtered_is_left_for_another(self) -> None:
        add_second_network(self.hosts)
        for verdict in (RESET, ICMP, "drop"):
            close(self.hosts, network.INTERFACE, verdict)
            with self.subTest(verdict):
                self.works(r"10\.78\.0\.")
            reopen(self.hosts)

    def test_ipv6_alone(self) -> None:
        for number, host in enumerate(self.hosts):
            add_v6(host, number)
            remove_v4(host)
        self.works("fd77::")

    def test_ipv6_where_ipv4_is_filtered(self) -> None:
        for number, host in enumerate(self.hosts):
            add_v6(host, number)
        for verdict in (RESET, "drop"):
            close(self.hosts, network.INTERFACE, verdict, V4)
            with self.subTest(verdict):
                self.works("fd77::")
            reopen(self.hosts)

    def test_ipv4_where_ipv6_is_filtered(self) -> None:
        for number, host in enumerate(self.hosts):
            add_v6(host, number)
        close(self.hosts, network.INTERFACE, "drop", V6)
        self.works(r"10\.77\.0\.")

    def test_one_host_with_ipv6_alone(self) -> None:
        for number, host in enumerate(self.hosts):
            add_v6(host, number)
        remove_v4(self.hosts[1])
        self.works("fd77::")

    def test_a_network_of_ipv4_and_one_of_ipv6(self) -> None:
        add_second_network(self.hosts, "fd78::", 64)
        self.works(r"10\.77\.0\.")
        close(self.hosts, network.INTERFACE, "drop")
        self.works("fd78::")

    def test_no_family_in_common(self) -> None:
        remove_v4(self.hosts[0])
        add_v6(self.hosts[0], 0)
        done = job(self.hosts)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("one side has IPv4 addresses only, the other IPv6", done.stderr)

    def test_a_link_that_is_down_is_the_last_choice(self) -> None:
        unplug_a_third_network(self.hosts)
        self.works(r"10\.77\.0\.")

    def test_the_setting_chooses_a_network(self) -> None:
        add_second_network(self.hosts)
        for wanted in ("10.78.0.0/24", SECOND, f"eth7,{SECOND}"):
            with self.subTest(wanted):
                self.works(r"10\.78\.0\.", OMPL_NET_INTERFACE=wanted)
        self.works(r"10\.78\.0\.", OMPL_OFI_INTERFACE=SECOND)
        if CONDUIT == "ucx":
            self.works(r"10\.78\.0\.", UCX_NET_DEVICES=SECOND, OMPL_NET_INTERFACE=network.INTERFACE)

    def test_a_setting_that_names_nothing(self) -> None:
        done = job(self.hosts, OMPL_NET_INTERFACE="eth7")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r'"eth7".*net0 10\.77\.0\.')

    def test_a_firewall_is_no_death(self) -> None:
        close(self.hosts, network.INTERFACE)
        self.fails(r"10\.77\.0\.\d port \d+ refuses connections")

    def test_a_firewall_that_drops_shows_in_our_time(self) -> None:
        close(self.hosts, network.INTERFACE, "drop")
        began = time.monotonic()
        why = rf"10\.77\.0\.\d port \d+ has not answered for {PATIENCE} s"
        self.fails(why, OMPL_CONNECT_TIMEOUT=str(PATIENCE))
        self.assertLess(time.monotonic() - began, 100, "TCP's own patience is 127 s")

    def test_each_address_is_named(self) -> None:
        add_second_network(self.hosts)
        close(self.hosts, network.INTERFACE)
        close(self.hosts, SECOND, "drop")
        done = job(self.hosts, OMPL_CONNECT_TIMEOUT=str(PATIENCE))
        self.assertRegex(done.stderr, r"10\.77\.0\.\d port \d+ refuses connections")
        self.assertRegex(done.stderr, rf"10\.78\.0\.\d port \d+ has not answered for {PATIENCE} s")

    def test_loopback_leads_to_no_other_host(self) -> None:
        for host in self.hosts:
            ip(host, f"addr flush dev {network.INTERFACE}")
        done = job(self.hosts)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("that host has loopback addresses only", done.stderr)

    def test_without_connections_of_our_own(self) -> None:
        if CONDUIT != "ofi":
            self.skipTest("for providers of libfabric")
        close(self.hosts, network.INTERFACE)
        self.fails(r"10\.77\.0\.\d port \d+ refuses connections", OMPL_OFI_PROVIDER="tcp;ofi_rxm")
        reopen(self.hosts)
        close(self.hosts, network.INTERFACE, "drop")
        why = rf"10\.77\.0\.\d port \d+ has not answered for {PATIENCE} s"
        self.fails(why, OMPL_OFI_PROVIDER="tcp;ofi_rxm", OMPL_CONNECT_TIMEOUT=str(PATIENCE))


if __name__ == "__main__":
    if reason := network.why_not():
        print(f"skipped: {reason}")
        sys.exit(SKIP)
    OMPLRUN, TRAFFIC, CONDUIT = sys.argv[1:4]
    network.remove_leftovers()
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
