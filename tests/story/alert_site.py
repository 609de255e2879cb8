"""Sampled traffic as it is wanted: sFlow of one switch of the recorded fabric (flow_site), at any rate, for as long as the block lasts."""
import socket
import struct
import threading
import time

from flow_site import TRUTH

RATE = 20         # one frame in so many
FRAME = 1514
BATCH = 7         # samples of one datagram


def xdr_ip(address):
    return socket.inet_aton(address)


def frame(flow):
    """The first bytes of a frame of a flow of the truth file."""
    mac = bytes.fromhex(flow["dst_mac"].replace(":", "") + flow["src_mac"].replace(":", ""))
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, FRAME - 14, 1, 0x4000, 64, 6, 0, xdr_ip(flow["src_ip"]), xdr_ip(flow["dst_ip"]))
    tcp = struct.pack(">HHIIBBHHH", flow["src_port"], flow["dst_port"], 1, 1, 0x50, 0x10, 1000, 0, 0)
    return mac + b"\x08\x00" + ip + tcp + bytes(10)


class Traffic:
    """`flows`: [(flow of the truth file, in ifIndex, out ifIndex, bits a second)]; change them at any time."""

    def __init__(self, port, switch="ql0"):
        self.port, self.agent, self.flows = port, TRUTH["agents"][switch], []
        self.sequence, self.pools = 0, {}
        self.stop, self.thread = threading.Event(), None

    def sample(self, flow, port_in, port_out):
        header = frame(flow)
        sequence, pool = self.pools.get(port_in, (0, 0))
        self.pools[port_in] = (sequence + 1, pool + RATE)
        record = struct.pack(">IIIIII", 1, 16 + len(header), 1, FRAME + 4, 4, len(header)) + header
        body = struct.pack(">IIIIIIII", sequence + 1, port_in, RATE, pool + RATE & 0xFFFFFFFF, 0, port_in, port_out, 1) + record
        return struct.pack(">II", 1, len(body)) + body

    def datagram(self, samples):
        self.sequence += 1
        return struct.pack(">II4sIIII", 5, 1, xdr_ip(self.agent), 0, self.sequence, int(time.monotonic() * 1000) & 0xFFFFFFFF, len(samples)) + b"".join(samples)

    def run(self):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        owed, last = {}, time.monotonic()
        while not self.stop.wait(0.05):
            now = time.monotonic()
            samples = []
            for flow, port_in, port_out, rate in list(self.flows):
                key = (flow["id"], port_in, port_out)
                owed[key] = owed.get(key, 0) + rate * min(now - last, 1) / 8 / FRAME / RATE
                samples += [self.sample(flow, port_in, port_out) for _ in range(int(owed[key]))]
                owed[key] -= int(owed[key])
            last = now
            for i in range(0, len(samples), BATCH):
                sender.sendto(self.datagram(samples[i:i + BATCH]), ("127.0.0.1", self.port))

    def __enter__(self):
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
