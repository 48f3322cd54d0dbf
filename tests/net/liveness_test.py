#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whether a rank lives is asked at an address that leads to it: liveness_test.py PROBE

What the conduits verbs and mpi ask with, between hosts that are network namespaces."""

import os
import subprocess
import sys
import unittest

import network
import routes_test as routes
from routes_test import V4, add_bridges, add_second_network, add_v6, close, remove_v4, two_hosts

SKIP = 77
PROBE = ""
PATIENCE = 2  # seconds that an address may take


class Probe:
    """The program in the namespace of a host, which takes and prints lines."""

    def __init__(self, host: str, *arguments: str) -> None:
        environment = {name: value for name, value in os.environ.items() if name not in routes.CHOICES}
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", host, PROBE, *arguments],
            env=environment | {"OMPL_CONNECT_TIMEOUT": str(PATIENCE)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def ask(self) -> str:
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.line()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


class Liveness(unittest.TestCase):
    def setUp(self) -> None:
        self.hosts = self.enterContext(two_hosts())

    def probe(self, host: int, *arguments: str) -> Probe:
        started = Probe(self.hosts[host], *arguments)
        self.addCleanup(started.end)
        return started

    def asked(self) -> tuple[Probe, Probe]:
        """A rank on host 1, and who asks for it on host 0."""
        rank = self.probe(1, "serve")
        return rank, self.probe(0, "ask", rank.line())

    def is_told(self) -> None:
        """The rank lives, and is dead once it has ended."""
        rank, asker = self.asked()
        for _ in range(2):
            self.assertRegex(asker.ask(), "^lives")
        rank.end()
        self.assertRegex(asker.ask(), "^dead")

    def test_on_one_network(self) -> None:
        self.is_told()

    def test_a_bridge_with_the_same_address_on_both_hosts(self) -> None:
        add_bridges(self.hosts)
        self.is_told()

    def test_a_filtered_network_beside_another(self) -> None:
        add_second_network(self.hosts)
        close(self.hosts, network.INTERFACE, "drop")
        self.is_told()

    def test_ipv6_alone(self) -> None:
        for number, host in enumerate(self.hosts):
            add_v6(host, number)
            remove_v4(host)
        self.is_told()

    def test_ipv6_where_ipv4_is_filtered(self) -> None:
        for number, host in enumerate(self.hosts):
            add_v6(host, number)
        close(self.hosts, network.INTERFACE, "drop", V4)
        self.is_told()

    def test_a_firewall_is_no_death(self) -> None:
        close(self.hosts, network.INTERFACE)
        _, asker = self.asked()
        self.assertRegex(asker.ask(), r"^refused: 10\.77\.0\.2 port \d+ refuses connections.*OMPL_NET_INTERFACE")

    def test_a_firewall_that_drops_shows_in_our_time(self) -> None:
        close(self.hosts, network.INTERFACE, "drop")
        _, asker = self.asked()
        why = rf"^unreached: 10\.77\.0\.2 port \d+ has not answered for {PATIENCE} s.*OMPL_CONNECT_TIMEOUT"
        self.assertRegex(asker.ask(), why)

    def test_a_network_that_goes_is_left_for_another(self) -> None:
        add_second_network(self.hosts)
        rank, asker = self.asked()
        self.assertRegex(asker.ask(), "^lives")
        close(self.hosts, network.INTERFACE, "drop")
        close(self.hosts, routes.SECOND, "accept")
        self.assertRegex(asker.ask(), "^lives")
        rank.end()
        self.assertRegex(asker.ask(), "^dead")

    def test_loopback_leads_to_no_other_host(self) -> None:
        for host in self.hosts:
            network.run("ip", "-n", host, "addr", "flush", "dev", network.INTERFACE)
        _, asker = self.asked()
        self.assertIn("loopback addresses only", asker.line())


if __name__ == "__main__":
    if reason := network.why_not():
        print(f"skipped: {reason}")
        sys.exit(SKIP)
    PROBE = sys.argv[1]
    network.remove_leftovers()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
