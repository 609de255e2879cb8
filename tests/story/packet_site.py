"""Real packets of a capture on a site of rows: peregrine-captured in a network namespace, where the mirror port ends. What peregrined and the switch do is a row's change and
frames that are sent into the other end of that wire."""
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys

from story import BIN, programs, run, wait_for

SENDER = "import socket,sys\ns=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\ns.bind(('mir0',0))\nfor line in sys.stdin: s.send(bytes.fromhex(line))"


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def segment(target, source, at, to, sport, dport, sequence, payload):
    """A frame of TCP, ACK and PSH."""
    data = struct.pack(">HHIIBBHHH", sport, dport, sequence, 1, 0x50, 24, 64000, 0, 0) + payload
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(data), 1, 0, 64, 6, 0, socket.inet_aton(at), socket.inet_aton(to))
    return bytes.fromhex(target.replace(":", "") + source.replace(":", "")) + b"\x08\x00" + head[:10] + struct.pack(">H", checksum(head)) + head[12:] + data


class Packets:
    """`interface`: where the collector listens. Used as a context: the namespace goes with it."""

    def __init__(self, site, interface):
        programs("peregrine-captured", "peregrine-capture", root="network namespaces")
        self.site, self.space, self.interface, self.process = site, f"hp{os.getpid()}", interface, None
        self.socket = site.dir / "captured.sock"

    def __enter__(self):
        folder = self.site.dir / "captures"
        folder.mkdir()
        os.chmod(self.site.dir, 0o755)
        run("ip", "netns", "add", self.space)
        run("ip", "-n", self.space, "link", "add", "mir0", "type", "veth", "peer", "name", self.interface)
        for each in "mir0", self.interface:
            run("ip", "netns", "exec", self.space, "sysctl", "-qw", f"net.ipv6.conf.{each}.disable_ipv6=1")
            run("ip", "-n", self.space, "link", "set", "dev", each, "up")
        conf = self.site.dir / "captured.conf"
        conf.write_text(f'''database = "host={self.site.pg_dir} dbname=haas user=peregrine_captured"; user = "";
socket: {{ path = "{self.socket}"; caller = ""; }};
capture_dir = "{folder}"; program = "{BIN / "peregrine-capture"}"; capture_user = "haas-capture";
''')
        self.log = open(self.site.dir / "captured.log", "wb")
        self.process = subprocess.Popen(["ip", "netns", "exec", self.space, BIN / "peregrine-captured", "--config", conf], stdout=self.log, stderr=self.log)
        wait_for("peregrine-captured is ready", self.socket.exists)
        return self

    def __exit__(self, kind, value, trace):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        run("ip", "netns", "del", self.space)
        self.log.close()
        if kind is not None or status != 0:
            print((self.site.dir / "captured.log").read_text(errors="replace")[-4000:])
        assert kind is not None or status == 0, f"peregrine-captured ended with {status}"

    def state(self, capture):
        return self.site.sql(f"select state from capture where id = {capture}")

    def mirrored(self, capture):
        """As peregrined when the switch has its session."""
        wait_for(f"capture {capture} listens", lambda: self.state(capture) == "listening")
        self.site.sql(f"select capture_mirrored({capture}, true, null)")

    def send(self, *frames):
        run("ip", "netns", "exec", self.space, sys.executable, "-c", SENDER, input="\n".join(each.hex() for each in frames))
