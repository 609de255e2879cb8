#!/usr/bin/env python3
"""The stages of a netboot installation, read from what passed on the wire and from the rack's log of power-ons.

boot_stages.py read --side ours|dnsmasq --asked TIME --mac MAC --chassis FILE PCAP     one JSON line: seconds by stage
boot_stages.py last FILE        the whole of the last run of each side
boot_stages.py table FILE       medians of all runs, stage by stage; the last line is the benchmark's

Zero is the node's power-on. A stage's time is when it began, so that the table's steps add up to the whole.
"""
import argparse
import json
import re
import statistics
import struct
import sys

STAGES = [  # key, what has happened
    ("discover", "first DHCPDISCOVER"),
    ("ack", "DHCPACK"),
    ("script", "boot script asked for"),
    ("kernel", "kernel asked for"),
    ("ramdisk", "ramdisk asked for"),
    ("address", "agent's ramdisk has its address"),
    ("agent", "agent's first request"),
    ("image", "image begun"),
    ("ready", "image written and configured"),
    ("disk", "power-on from disk"),
    ("os_address", "OS has its address"),
    ("callback", "callback of the OS"),
]
DETAIL = [  # of ours alone, between `agent` and `ready`
    ("inventory", "inventory reported"),
    ("image", "image asked for"),
    ("written", "image written, digests right"),
    ("ready", "OS configured"),
]
DISCOVER, ACK = 1, 5


def packets(path):
    with open(path, "rb") as file:
        head = file.read(24)
        order = "<" if head[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
        fraction = 1e-9 if struct.unpack(order + "I", head[:4])[0] == 0xA1B23C4D else 1e-6
        while len(row := file.read(16)) == 16:
            seconds, part, size, _ = struct.unpack(order + "IIII", row)
            yield seconds + part * fraction, file.read(size)


def dhcp(payload):
    """(type, chaddr), or None."""
    if len(payload) < 240 or payload[236:240] != b"\x63\x82\x53\x63":
        return None
    at, kind = 240, 0
    while at + 1 < len(payload) and payload[at] != 255:
        if payload[at] == 0:
            at += 1
            continue
        if payload[at] == 53 and at + 2 < len(payload):
            kind = payload[at + 2]
        at += 2 + payload[at + 1]
    return kind, payload[28:34].hex(":")


def events(path, mac):
    """(time, kind, text) of the node, in order: DHCP types and HTTP requests."""
    rows = []
    for time, frame in packets(path):
        if frame[12:14] != b"\x08\x00":
            continue
        size = (frame[14] & 15) * 4
        protocol, payload = frame[23], frame[14 + size :]
        if protocol == 17:
            message = dhcp(payload[8:])
            if message and message[1] == mac:
                rows.append((time, "dhcp", message[0]))
        elif protocol == 6:
            line = payload[(payload[12] >> 4) * 4 :].split(b"\r\n", 1)[0].decode("latin-1")
            rows.append((time, "http", line))
    return sorted(rows, key=lambda row: row[0])


def power_ons(path, after):
    """{"pxe": time, "disk": time}: the first one each. The rack calls the disk `default` when its BMC was told so for good."""
    ret = {}
    with open(path, encoding="ascii") as file:
        for line in file:
            found = re.match(r"(\S+) start device=(\S+)", line)
            if found and float(found[1]) >= after:
                ret.setdefault("pxe" if found[2] == "pxe" else "disk", float(found[1]))
    return ret


def read(arguments):
    on = power_ons(arguments.chassis, arguments.asked)
    rows = events(arguments.pcap, arguments.mac)

    def first(kind, wanted, after):
        for time, row_kind, value in rows:
            if row_kind == kind and time >= after and (value == wanted if kind == "dhcp" else re.search(wanted, value)):
                return time
        sys.exit(f"boot_stages: {arguments.side}: nothing like {kind} '{wanted}' in {arguments.pcap}")

    ours = arguments.side == "ours"
    at = {}
    at["discover"] = first("dhcp", DISCOVER, on["pxe"])
    at["ack"] = first("dhcp", ACK, at["discover"])
    at["script"] = first("http", r"^GET /(boot/)?script", at["ack"])
    at["kernel"] = first("http", r"^GET /boot/(file/)?vmlinuz", at["script"])
    at["ramdisk"] = first("http", r"^GET /boot/(file/)?agent.img", at["kernel"])
    at["address"] = first("dhcp", ACK, at["ramdisk"])
    at["agent"] = first("http", r"^GET ", at["address"])
    at["image"] = first("http", r"^GET /(boot/image/|image.zst)", at["agent"])
    if ours:
        result = r"^POST /agent/v1/tasks/\S+/result"
        at["inventory"] = first("http", result, at["agent"])
        at["written"] = first("http", result, at["image"])
        at["ready"] = first("http", result, at["written"] + 1e-6)
    else:
        at["ready"] = first("http", r"^GET /installed", at["image"])
    at["disk"] = on["disk"]
    at["os_address"] = first("dhcp", ACK, at["disk"])
    at["callback"] = first("http", r"^(GET|POST) /callback", at["os_address"])
    ret = {key: round(time - on["pxe"], 3) for key, time in at.items()}
    ret["asked"] = round(on["pxe"] - arguments.asked, 3)
    print(json.dumps({"side": arguments.side, "at": ret}))


def load(path):
    sides = {"ours": [], "dnsmasq": []}
    with open(path, encoding="ascii") as file:
        for line in file:
            row = json.loads(line)
            sides[row["side"]].append(row["at"])
    return sides


def steps(stages, start, runs):
    """Medians of what each stage took after the one before it."""
    ret, before = {}, start
    for key, _ in stages:
        ret[key] = statistics.median(run[key] - (run[before] if before else 0) for run in runs)
        before = key
    return ret


def table(path):
    sides = load(path)
    whole = {side: statistics.median(run["callback"] for run in runs) for side, runs in sides.items()}
    step = {side: steps(STAGES, None, runs) for side, runs in sides.items()}
    print(f"{'seconds after power-on (medians of ' + str(len(sides['ours'])) + ')':<40}{'ours':>8}{'dnsmasq':>9}   {'step: ours':>10}{'dnsmasq':>9}")
    for key, text in STAGES:
        at = {side: statistics.median(run[key] for run in runs) for side, runs in sides.items()}
        print(f"{text:<40}{at['ours']:8.2f}{at['dnsmasq']:9.2f}   {step['ours'][key]:10.2f}{step['dnsmasq'][key]:9.2f}")
    asked = {side: statistics.median(run["asked"] for run in runs) for side, runs in sides.items()}
    detail = steps(DETAIL, "agent", sides["ours"])
    print("ours from the agent's first request: " + ", ".join(f"{text} {detail[key]:.2f}" for key, text in DETAIL))
    ratios = " ".join(f"{a['callback'] / b['callback']:.2f}" for a, b in zip(sides["ours"], sides["dnsmasq"]))
    print(f"ratio pair by pair: {ratios}")
    print(f"before the power-on, not counted: ours {asked['ours']:.2f}, dnsmasq {asked['dnsmasq']:.2f} from the operator's command")
    print(f"bench boot ours={whole['ours']:.2f} dnsmasq={whole['dnsmasq']:.2f} ratio={whole['ours'] / whole['dnsmasq']:.3f} unit=s")


def last(path):
    print(" ".join(f"{side}={runs[-1]['callback']:.1f}" for side, runs in load(path).items()))


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
verbs = parser.add_subparsers(dest="verb", required=True)
verb = verbs.add_parser("read")
verb.add_argument("--side", choices=["ours", "dnsmasq"], required=True)
verb.add_argument("--asked", type=float, required=True)
verb.add_argument("--mac", required=True)
verb.add_argument("--chassis", required=True)
verb.add_argument("pcap")
for name in "last", "table":
    verbs.add_parser(name).add_argument("file")
options = parser.parse_args()
if options.verb == "read":
    read(options)
else:
    {"last": last, "table": table}[options.verb](options.file)
