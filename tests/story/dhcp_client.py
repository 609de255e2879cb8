"""A DHCP client for tests: raw frames on one interface, any MAC, any options; hears unicast and broadcast replies. Standard library only."""

import random
import socket
import struct
import time

ETH_IP = 0x0800
TYPES = {1: "discover", 2: "offer", 3: "request", 4: "decline", 5: "ack", 6: "nak", 7: "release", 8: "inform"}
NUMBERS = {name: number for number, name in TYPES.items()}
BROADCAST = b"\xff" * 6
PATIENCE = 10.0  # seconds for an answer that is due; whoever wants silence says how long it must be


def mac_bytes(mac):
    return bytes.fromhex(mac.replace(":", ""))


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def option(code, data):
    return bytes([code, len(data)]) + data


def address(text):
    return socket.inet_aton(text)


class Reply:
    def __init__(self, frame, payload, port):
        self.to_mac = frame[0:6]
        self.target = socket.inet_ntoa(frame[30:34])
        self.source = socket.inet_ntoa(frame[26:30])
        self.port = port
        self.size = len(payload)
        self.xid = struct.unpack("!I", payload[4:8])[0]
        self.flags = struct.unpack("!H", payload[10:12])[0]
        self.yiaddr = socket.inet_ntoa(payload[16:20])
        self.siaddr = socket.inet_ntoa(payload[20:24])
        self.giaddr = socket.inet_ntoa(payload[24:28])
        self.chaddr = payload[28:34]
        self.file = payload[108:236].split(b"\0")[0].decode()
        self.options = {}
        self.order = []
        at = 240
        while at < len(payload) and payload[at] != 255:
            if payload[at] == 0:
                at += 1
                continue
            code, size = payload[at], payload[at + 1]
            self.options[code] = self.options.get(code, b"") + payload[at + 2 : at + 2 + size]
            self.order.append(code)
            at += 2 + size
        self.type = TYPES.get(self.options.get(53, b"\0")[0], "?")

    @property
    def url(self):
        return self.options.get(67, b"").rstrip(b"\0").decode()

    def __repr__(self):
        return f"<{self.type} {self.yiaddr} {self.url or self.file}>"


class Wire:
    """One interface. Frames of all clients on it come here."""

    def __init__(self, interface):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_IP))
        self.socket.bind((interface, 0))
        # promiscuous: clients here have MACs of their own
        index = socket.if_nametoindex(interface)
        self.socket.setsockopt(263, 1, struct.pack("iHH8s", index, 1, 0, b""))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)

    def send(self, mac, payload, source="0.0.0.0", target="255.255.255.255", to_mac=BROADCAST, ports=(68, 67)):
        udp = struct.pack("!HHHH", ports[0], ports[1], 8 + len(payload), 0) + payload
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, address(source), address(target))
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        self.socket.send(to_mac + mac_bytes(mac) + struct.pack("!H", ETH_IP) + ip + udp)

    def replies(self, timeout):
        """Replies of servers until the time is over."""
        end = time.monotonic() + timeout
        while (left := end - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                frame, about = self.socket.recvfrom(2048)
            except TimeoutError:
                return
            if about[2] == 4 or len(frame) < 42 + 240 or frame[23] != 17:  # 4: what we sent ourselves
                continue
            source_port, port = struct.unpack("!HH", frame[34:38])
            if source_port in (67, 4011):
                if checksum(frame[14:34]) != 0:
                    raise AssertionError("bad IP checksum")
                size = struct.unpack("!H", frame[38:40])[0] - 8
                if frame[40:42] != b"\0\0":
                    pseudo = frame[26:34] + struct.pack("!BBH", 0, 17, size + 8)
                    # a checksum left to the (virtual) card is only the pseudo header's sum
                    if checksum(pseudo + frame[34 : 42 + size]) != 0 and frame[40:42] != struct.pack("!H", ~checksum(pseudo) & 0xFFFF):
                        raise AssertionError("bad UDP checksum")
                yield Reply(frame, frame[42 : 42 + size], port)


class Client:
    def __init__(self, wire, mac, options=b"", broadcast=False, server_mac=BROADCAST):
        self.wire, self.mac, self.options, self.broadcast = wire, mac, options, broadcast
        self.server_mac = server_mac
        self.lease = None

    def payload(self, kind, ciaddr="0.0.0.0", giaddr="0.0.0.0", extra=b"", xid=None):
        self.xid = random.getrandbits(32) if xid is None else xid
        head = struct.pack(
            "!BBBBIHH4s4s4s4s16s64s128sI", 1, 1, 6, 0 if giaddr == "0.0.0.0" else 1, self.xid, 0,
            0x8000 if self.broadcast else 0, address(ciaddr), b"\0" * 4, b"\0" * 4, address(giaddr), mac_bytes(self.mac), b"", b"", 0x63825363)
        return head + option(53, bytes([NUMBERS[kind]])) + self.options + extra + b"\xff"

    def answer(self, timeout=PATIENCE):
        for reply in self.wire.replies(timeout):
            if reply.xid == self.xid and reply.chaddr == mac_bytes(self.mac):
                return reply
        return None

    def ask(self, kind, timeout=PATIENCE, send=None, **fields):
        self.wire.send(self.mac, self.payload(kind, **fields), **(send or {}))
        return self.answer(timeout)

    def discover(self, timeout=PATIENCE, extra=b""):
        return self.ask("discover", timeout, extra=extra)

    def request(self, offer, timeout=PATIENCE):
        extra = option(50, address(offer.yiaddr)) + option(54, offer.options[54])
        return self.ask("request", timeout, extra=extra)

    def dora(self, timeout=PATIENCE):
        """DISCOVER to ACK; None when the server kept silent."""
        offer = self.discover(timeout)
        if not offer:
            return None
        if offer.type != "offer":
            raise AssertionError(f"{offer} to a DISCOVER")
        self.lease = self.request(offer, timeout)
        return self.lease

    def renew(self, timeout=PATIENCE):
        """RENEWING: unicast from the leased address."""
        mine = self.lease.yiaddr
        send = {"source": mine, "target": socket.inet_ntoa(self.lease.options[54]), "to_mac": self.server_mac}
        return self.ask("request", timeout, send=send, ciaddr=mine)

    def reboot(self, claimed, timeout=PATIENCE):
        """INIT-REBOOT."""
        return self.ask("request", timeout, extra=option(50, address(claimed)))
