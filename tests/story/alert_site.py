"""Sampled traffic as it is wanted: sFlow of one switch of the recorded fabric (flow_site), at any rate, for as long as the block lasts; and a site where it can fill an
uplink."""
import socket
import struct
import threading
import time

from flow_site import TRUTH, Collector, fixture
from story import wait_for

LIMIT = 90        # seconds for what is waited for: a loaded machine may take its time
SPEED = 80_000_000
FULL, LITTLE = 120_000_000, 4_000_000

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


def flow_of(port):
    return next(f for f in TRUTH["flows"] if f["src_port"] == port)


class Uplink:
    """ql0:up0 of a site (CliSite): `quiet` traffic of two tenants, and the `fault`: one flow of t0 fills it."""
    both = ["traffic.share ql0:up0", "traffic.utilisation ql0:up0"]

    def __init__(self, site, clear_s):
        fixture(site.sql)
        site.sql(f"update port_observed set speed_bps = {SPEED} where name = 'up0' and switch_id = (select id from switch where name = 'ql0')")
        self.site = site
        self.collector = Collector(site.dir, f"host={site.pg_dir} dbname=haas user=peregrine_flowd")
        with open(self.collector.conf, "a") as conf:
            conf.write(f"alert_utilisation: {{ clear_s = {clear_s}; }};\nalert_share: {{ raise_s = 2; clear_s = {clear_s}; }};\n")
        self.big = flow_of(40001)  # p0 to up0
        small = next(f for f in TRUTH["flows"] if f["tenant"] == 2 and f["proto"] in ("tcp", "udp"))
        ports = {p["port"]: p["ifindex"] for p in TRUTH["ports"] if p["switch"] == "ql0"}
        self.quiet = [(self.big, ports["p0"], ports["up0"], LITTLE), (small, ports["p2"], ports["up0"], LITTLE)]
        self.fault = [(self.big, ports["p0"], ports["up0"], FULL), self.quiet[1]]

    def open(self):
        return sorted(self.site.sql("select kind || ' ' || subject from alert where cleared_at is null and kind <> 'traffic.silent'").split("\n"))

    def begin(self, traffic):
        """Quiet traffic is counted, and nothing is told of it."""
        traffic.flows = self.quiet
        wait_for("samples are counted", lambda: self.collector.metric("haas_flow_samples_total") > 20, LIMIT)
        assert self.open() == [""], self.open()

    def end(self):
        """In a finally: what the log says, when something went wrong."""
        if self.collector.process:
            self.collector.process.kill()
            print(self.collector.log.read_text()[-6000:])
        assert "Sanitizer" not in self.collector.log.read_text(), self.collector.log.read_text()[-6000:]

