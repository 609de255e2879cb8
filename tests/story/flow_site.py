"""A recorded fabric's sFlow (tests/data/sflow-lab.*: six Open vSwitches) and peregrine-flowd that takes it: the stories about traffic share this."""
import json
import random
import socket
import struct
import subprocess
import time

from story import BIN, ROOT, wait_for

FLOWD = BIN / "peregrine-flowd"
TRUTH = json.loads((ROOT / "tests/data/sflow-lab.truth.json").read_text())


def datagrams():
    data = (ROOT / "tests/data/sflow-lab.pcap").read_bytes()
    at = 24
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        yield data[at + 16 + 42:at + 16 + size]
        at += 16 + size


def exported():
    """What an Open vSwitch exported by IPFIX (tests/unit/flow_records_test.c says what happened there)."""
    data = (ROOT / "tests/data/ipfix-ovs.bin").read_bytes()
    at = 0
    while at < len(data):
        size = struct.unpack_from(">H", data, at)[0]
        yield data[at + 2:at + 2 + size]
        at += 2 + size


def shifted(payload, by):
    """The same with the sequence numbers and pools of a later life: `by` more of each."""
    out = bytearray(payload)
    struct.pack_into(">I", out, 16, struct.unpack_from(">I", out, 16)[0] + by)
    at = 28
    for _ in range(struct.unpack_from(">I", out, 24)[0]):
        kind, size = struct.unpack_from(">II", out, at)
        if kind == 1:
            sequence, _, rate, pool = struct.unpack_from(">IIII", out, at + 8)
            struct.pack_into(">I", out, at + 8, sequence + by)
            struct.pack_into(">I", out, at + 20, pool + by * rate & 0xFFFFFFFF)
        at += 8 + size
    return bytes(out)


def uncounted(payload):
    """The same without samples of interface counters."""
    out, at, count = bytearray(payload[:28]), 28, 0
    for _ in range(struct.unpack_from(">I", payload, 24)[0]):
        kind, size = struct.unpack_from(">II", payload, at)
        if kind != 2:
            out += payload[at:at + 8 + size]
            count += 1
        at += 8 + size
    struct.pack_into(">I", out, 24, count)
    return bytes(out)


def fixture(sql):
    """The fabric of the recording: four tenants t0..t3, their networks, switches, ports and nodes."""
    sql("""select set_config('haas.scope', 'operator', false);
        insert into tenant (name) select 't' || i from generate_series(0, 3) i;
        insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f1', 100, 199, 99);
        insert into network (name, kind, tenant_id) select 'net' || i, 'tenant', i + 1 from generate_series(0, 3) i;
        insert into network_vlan (fabric_id, vlan, network_id, state) select 1, 100 + i, i + 1, 'used' from generate_series(0, 3) i;
        insert into vlan_history (fabric_id, vlan, network_id, network, tenant_id, valid_from) select 1, 100 + i, i + 1, 'net' || i, i + 1, now() from generate_series(0, 3) i""")
    lines = []
    for name, address in TRUTH["agents"].items():
        lines.append(f"insert into switch (name) values ('{name}');"
                     f"insert into switch_endpoint (switch_id, fabric_id, address) select id, 1, '{address}' from switch where name = '{name}';"
                     f"insert into flow_agent select id, '{address}', '127.0.0.1' from switch where name = '{name}'")
    for each in TRUTH["ports"]:
        access = each["mode"] == "access"
        # one is read by its command line, which tells no numbers: those of its SNMP agent count
        number = each["ifindex"] if each["switch"] != "ql3" else 0
        lines.append("insert into port_observed (switch_id, name, if_index, admin_up, up, kind, seen_at) select id, "
                     f"'{each['port']}', {number}, true, true, '{'edge' if access else 'uplink'}', now() from switch where name = '{each['switch']}'")
        if access:
            lines.append("insert into port_intent (switch_id, port, applied_trunk, applied_native) select id, "
                         f"'{each['port']}', false, {each['vlans'][0]} from switch where name = '{each['switch']}'")
    for name, host in TRUTH["host_counters_delta"].items():
        lines.append(f"select node_put('{json.dumps({'name': name.replace('_', '-'), 'class': 'gpu', 'nics': [{'name': 'eth0', 'mac': host['mac']}]})}', false, 'story')")
        lines.append(f"insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) select '{host['mac']}', id, 'p{name[-1]}', 90, '{{fdb}}', now(), now() "
                     f"from switch where name = '{name.split('_')[0].replace('qh', 'ql')}'")
    told = json.dumps([{"port": each["port"].upper(), "if_index": each["ifindex"]} for each in TRUTH["ports"] if each["switch"] == "ql3"])
    lines.append(f"select port_number_put(id, '{told}') from switch where name = 'ql3'")
    sql("select set_config('haas.scope', 'operator', false);" + ";".join(lines))


def added_up(level):
    """Rows and other are the total, their rows come largest first and every number is inside its bound."""
    parts = level["rows"] + [level["other"]]
    for what in ("bytes", "packets", "samples"):
        assert sum(p[what] for p in parts) == level["total"][what], (what, level)
    sizes = [row["bytes"] for row in level["rows"]]
    assert sizes == sorted(sizes, reverse=True), sizes
    for part in parts + [level["total"]]:
        assert part["bytes_low"] <= part["bytes"] <= part["bytes_high"], part
        # without a width: links as their interfaces counted them, and what rounding leaves
        counted = level["level"] == "all" or level["exact"] and (level["level"] == "link" and part is level["total"] or part["samples"] == 0 and part["bytes"] < len(parts))
        assert part["bytes"] == 0 or part["bytes_low"] < part["bytes_high"] or counted, part
    assert "internal error" not in " ".join(level["notes"]), level["notes"]


DRAWN = set()


def free_port(kind):
    """One that nobody has, below those that the kernel gives to whoever names none: nobody gets it before its program does; none twice."""
    while True:
        port = random.randrange(12000, 32000)
        if port in DRAWN:
            continue
        with socket.socket(socket.AF_INET, kind) as probe:
            try:
                probe.bind(("127.0.0.1", port))
                DRAWN.add(port)
                return port
            except OSError:
                pass


class Collector:
    """peregrine-flowd in `folder`, on a port of its own."""

    def __init__(self, folder, conninfo):
        self.socket, self.log, self.process = folder / "flowd.sock", folder / "flowd.log", None
        self.counters = True  # replays have those of interfaces; sent faster than they were recorded they say what they like of how long it was
        self.conf = folder / "flowd.conf"
        self.port, self.ipfix_port = free_port(socket.SOCK_DGRAM), free_port(socket.SOCK_DGRAM)
        self.conf.write_text(f"""
            database = "{conninfo}";
            user = "";
            name = "story";
            socket: {{ path = "{self.socket}"; }};
            listen: {{ address = "127.0.0.1"; port = {self.port}; ipfix_port = {self.ipfix_port}; netflow_port = 0; }};
            flow_slots = 14; pairs = 8192; flows = 16384; ring_seconds = 3600;
        """)

    def ask(self, path):
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(str(self.socket))
        peer.sendall(f"GET {path} HTTP/1.1\r\nHost: flowd\r\nConnection: close\r\n\r\n".encode())
        data = b""
        while part := peer.recv(65536):
            data += part
        return data.split(b"\r\n\r\n", 1)[1].decode()

    def metric(self, name):
        return next(int(float(line.split()[-1])) for line in self.ask("/metrics").splitlines() if line.split(" ")[0].split("{")[0] == name)

    def healthy(self):
        try:
            return self.ask("/healthz") == "ok\n"
        except OSError:
            return False

    def start(self):
        log = open(self.log, "a")
        self.process = subprocess.Popen([FLOWD, "--config", self.conf], stdout=log, stderr=log)
        wait_for("flowd answers", lambda: self.socket.exists() and self.healthy())
        wait_for("flowd knows the switches", lambda: self.metric("haas_flow_binding_reads_total") > 0 and self.metric("haas_flow_receivers_behind") == 0)

    def stop(self, how):
        self.process.send_signal(how)
        code = self.process.wait(60)
        self.process = None
        return code

    def replay(self, by=0, lose=0, every=0.002):
        """Returns how many were sent. lose=N: each Nth never comes."""
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sent, due = 0, time.monotonic()
        for number, payload in enumerate(datagrams()):
            if lose and number % lose == lose - 1:
                continue
            sender.sendto(shifted(payload if self.counters else uncounted(payload), by), ("127.0.0.1", self.port))
            sent += 1
            due += every  # by a schedule: what a busy machine was late is caught up, in steps that no buffer is too small for
            time.sleep(max(due - time.monotonic(), every / 4))
        return sent
