"""dora_probe.py INTERFACE: a new DHCP client each half second, from DISCOVER to ACK, until it is killed. Lines: "ack BEGIN END MAC ADDRESS SERVER",
"silent BEGIN" (no answer within a second), "nak BEGIN". Times are seconds since 1970."""
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "story"))
from dhcp_client import Client, Wire  # noqa: E402


def probe(wire, number):
    client = Client(wire, f"02:dd:00:00:{number >> 8 & 255:02x}:{number & 255:02x}", broadcast=True)
    begin = time.time()
    try:
        lease = client.dora(timeout=1)
    except OSError:  # the link is down
        lease = None
    if lease is None:
        return f"silent {begin:.3f}"
    if lease.type != "ack":
        return f"{lease.type} {begin:.3f}"
    return f"ack {begin:.3f} {time.time():.3f} {client.mac} {lease.yiaddr} {socket.inet_ntoa(lease.options[54])}"


def main():
    wire = Wire(sys.argv[1])
    number = 0
    while True:
        number += 1
        print(probe(wire, number), flush=True)
        time.sleep(0.5)


main()
