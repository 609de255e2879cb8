"""A site for the page, of rows alone: portald by TLS, a fleet in all states, deployments at each step, PDCIs of two tenants, alerts. And the browser that
walks it: tests/page/NAME.mjs, with what Debian's chromium is."""
import ctypes
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import threading
import time

from listen_site import PASSWORD, ListenSite
from story import BUILD, ROOT, need, run, skip, step

PAGE = BUILD / "page"
WORK = BUILD / "portal/web/npm"
PICTURES = ROOT / "build/test-results/page"
# What a stranger may have written where a person reads it.
SCRIPT = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>"
# So many events, each with its number.
TOLD = "select event_add('test', 'test.told', 'test', n::text, null, 'm') from generate_series({}, {}) n"

FLEET = """
set session_replication_role = replica;
insert into daemon (name, instance, version, started_at, seen_at) select n, 'c1', '0.1.0', now(), now() + interval '1 day'
from unnest(array['bampid', 'bampi-bootd', 'peregrined']) n;
insert into tenant (name) values ('acme'), ('globex');
insert into node (name, class, rack, unit, firmware, serial, state, tenant_id, dirty, reason, state_actor, state_since)
select 'gpu-' || lpad(i::text, 4, '0'), case when i % 7 = 0 then 'cpu2' else 'gpu8' end, 'r' || lpad((i / 32)::text, 2, '0'), i % 32 + 1, 'uefi', 'SN' || lpad(i::text, 5, '0'),
	(case when i <= 2 then 'active' when i % 97 = 0 then 'broken' when i % 89 = 0 then 'held' when i <= 64 then 'reserved' when i % 3 = 0 then 'free' when i % 41 = 0 then 'scrubbing' else 'active' end)::node_state,
	case when (i <= 64 or i % 3 <> 0) and not (i % 97 = 0 or i % 89 = 0) then (select id from tenant where name = case when i % 2 = 0 then 'acme' else 'globex' end) end,
	i % 3 <> 0 or i <= 64, case when i % 97 = 0 then 'PSU 2 failed' when i % 89 = 0 then 'rack moves on Friday' else '' end, case when i % 97 = 0 or i % 89 = 0 then 'account olga' else 'bampid' end, now() - make_interval(mins => i)
from generate_series(1, :nodes) i;
insert into nic (mac, node_id, name, boot) select ('02:00:00:' || to_hex(k) || ':' || to_hex(id / 256) || ':' || to_hex(id % 256))::macaddr, id, 'eth' || k, k = 0 from node, generate_series(0, 1) k;
insert into bmc (node_id, driver, address, username, observed_power, observed_at) select id, 'ipmi', '10.1.0.0'::inet + id, 'admin', case when state = 'free' then 'off' else 'on' end, now() - interval '40 s' from node;
update bmc set problem = '{"code": "timeout", "message": "the BMC does not answer", "detail": "4 calls since 10:42:07", "hint": "look at its power, cable and address"}', failing = true where node_id = 5;
insert into health_label (node_id, label, source, severity, effects, reason, hint, actor, since)
select id, case when id % 2 = 0 then 'hot_inlet' else 'lost_psu' end, 'rule', case when id % 2 = 0 then 'warning' else 'critical' end,
	case when id % 2 = 0 then '{}' else array['no_allocation'] end, case when id % 2 = 0 then 'the inlet has 41 °C' else 'power supply 2 has no input' end, 'look at the rack', 'bampid', now() - interval '20 min'
from node where id % 53 = 0 or id = 1;
insert into node_health (node_id, sensors, sensors_at, sel_at)
select id, '[{"name": "Inlet", "number": 1, "type": "temperature", "unit": "C", "reading": 41, "state": "warning"}, {"name": "CPU 1", "number": 2, "type": "temperature", "unit": "C", "reading": 66, "state": "nominal"},
	{"name": "Fan 3", "number": 3, "type": "fan", "unit": "rpm", "reading": 8400, "state": "nominal"}, {"name": "PSU 2", "number": 4, "type": "power", "unit": "W", "reading": 0, "state": "critical"}]', now() - interval '9 s', now()
from node where id <= 64;
insert into node_inventory (node_id, data, at) select id, jsonb_build_object('vendor', 'Acme', 'product', case when id = 1 then :script else 'GX-8' end, 'memory_bytes', 2199023255552,
	'cpu', '{"model": "EPYC 9654", "cores": 192}'::jsonb, 'gpus', '[{"model": "H100"}, {"model": "H100"}]'::jsonb, 'disks', '[{"name": "nvme0n1", "size_bytes": 3840755982336, "model": "PM9A3"}]'::jsonb), now() - interval '1 day' from node where id <= 64;
insert into switch (name) values ('leaf1'), ('leaf2');
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at)
select c.mac, s.id, 'c' || c.node_id, 90, '{fdb,lldp}', now() - interval '3 d', now() from nic c join switch s on s.name = case when c.name = 'eth0' then 'leaf1' else 'leaf2' end where c.node_id <= 200;
"""

WORK_ROWS = """
insert into job (kind, actor) values ('deployment.install', 'account alice');
insert into image (name, version, public, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition, firmware, state, received_bytes)
values ('demo', '1.0', true, '{}', decode(repeat('00', 64), 'hex'), '0123456789abcdef', repeat('0', 64), repeat('0', 64), 9000000000, 3000000000, 2, '{uefi}', 'ready', 3000000000);
insert into pdci (tenant_id, name, request, state, actor, due_at, ready_at, created_at, problem)
select t.id, p.name, '{"groups": [{"class": "gpu8", "count": 28, "image": "demo:1.0"}]}', p.state, 'account ' || p.tenant || '/admin', null, p.ready, now() - p.age::interval, p.problem::jsonb
from (values ('acme', 'train1', 'building', null::timestamptz, '22 min', null), ('globex', 'web', 'building', null, '25 min', null), ('acme', 'eval', 'ready', now() - interval '2 d', '3 d', null),
	('globex', 'big', 'infeasible', null, '50 min', '{"message": "4 of 64 nodes are missing", "detail": "class gpu8: 60 are free", "hint": "it is tried again when nodes come back"}')) p (tenant, name, state, ready, age, problem)
join tenant t on t.name = p.tenant;
insert into deployment (job_id, plan, node_id, node, tenant_id, image_id, image, actor, state, step, step_index, attempt, step_started_at, step_deadline_at, due_at, ended_at, started_at, created_at, problem, waiting_reason, waiting_since)
select 1, 'install', n.id, n.name, n.tenant_id, 1, 'demo:1.0', 'account alice', d.state::deployment_state, d.step, d.at, d.attempt, now() - interval '3 min', now() + interval '40 min',
	case when d.state in ('waiting', 'queued') then now() + interval '1 hour' end, case when d.state in ('failed', 'done') then now() - interval '4 min' end, now() - interval '9 min', now() - interval '10 min',
	case when d.state = 'failed' then '{"code": "timeout", "message": "the agent did not call back", "detail": "nothing was heard for 900 s", "hint": "look at the console, then retry"}'::jsonb end,
	case when d.state <> 'waiting' then null when d.attempt > 1 then '{"kind": "bmc", "message": "the BMC does not answer", "detail": "4 calls since 10:42:07", "hint": "look at its power, cable and address"}'::jsonb else jsonb_build_object('message', 'waiting for the agent') end,
	case when d.state = 'waiting' then now() - interval '72 s' end
from node n join lateral (select case when n.id % 13 = 5 then 'failed' when n.id % 6 = 4 then 'done' when n.id > 58 then 'queued' else 'waiting' end as state, n.id % 10 as at) x on true
join lateral (select x.state, x.at, case when x.state = 'queued' then '' else (array['isolate','netboot','agent','inventory','write_image','write_image','write_image','configure_os','attach','verify'])[x.at + 1] end as step, case when n.id % 11 = 3 and x.state = 'waiting' then 3 else 1 end as attempt) d on true
where n.id between 3 and 64;
insert into progress (deployment_id, percent, done_bytes, total_bytes) select id, 10 + id::integer * 37 % 85, 90000000 * (10 + id * 37 % 85), 9000000000 from deployment where step in ('write_image', 'configure_os') and state = 'waiting' and attempt = 1;
insert into deployment_pace (plan, class, step, step_index, step_s, left_s)
select 'install', c.class, s.step, s.at, array[s.took, s.took * 1.2, s.took * 0.9, s.took * 2], array[s.left_s, s.left_s * 1.2, s.left_s * 0.9, s.left_s * 2] from (values ('gpu8'), ('cpu2')) c (class), (values ('', -1, null, 900), ('isolate', 0, 12, 900), ('netboot', 1, 180, 890),
	('agent', 2, 60, 710), ('inventory', 3, 30, 650), ('write_image', 4, 420, 620), ('configure_os', 5, 20, 200), ('attach', 7, 12, 180), ('verify', 9, 160, 160)) s (step, at, took, left_s);
insert into pdci_node (pdci_id, node, node_id, group_index, class, deployment_id, slot, address)
select p.id, n.name, n.id, 0, n.class, d.id, n.id, ('10.50.0.' || n.id)::inet from node n join pdci p on p.name = case when n.id % 2 = 0 then 'train1' else 'web' end left join deployment d on d.node_id = n.id where n.id between 3 and 64;
insert into pdci_node (pdci_id, node, node_id, group_index, class, slot) select p.id, n.name, n.id, 0, n.class, n.id from node n join pdci p on p.name = 'eval' where n.id = 2;
insert into alert (key, kind, severity, subject_kind, subject, message, detail, raised_at, seen_at, acknowledged_by, acknowledged_at)
select k, kind, severity, sk, subject, message, jsonb_build_object('hint', hint), now() - age::interval, now(), ack, case when ack is not null then now() end from (values
	('a', 'health.critical', 'critical', 'node', 'gpu-0053', 'node gpu-0053 lost a power supply', 'look at PSU 2 and its cord', '7 min', null::text),
	('b', 'wiring.miscabled', 'warning', 'port', 'leaf1:c12', 'port leaf1:c12 has gpu-0013 where gpu-0012 is planned', 'swap the two cables, or change the plan', '51 min', 'account olga'),
	('c', 'traffic.utilisation', 'warning', 'port', 'leaf1:up1', 'port leaf1:up1 carries 93 % of 1 Gbit/s', 'haasctl drill link:leaf1:up1', '3 h', null),
	('d', 'operation.backup', 'critical', 'site', 'backup', 'the last backup is 3 days old', 'haasctl db backup', '2 d', null),
	('e', 'wiring.unknown', 'warning', 'port', :script, 'a host that nobody planned says it is ' || :script, 'unplug it, or make it known', '12 min', null)) a (k, kind, severity, sk, subject, message, hint, age, ack);
insert into event (actor, kind, subject_kind, subject, message, detail, at) select 'bampid', 'node.state', 'node', 'gpu-0001', m, d::jsonb, now() - a::interval from (values
	('discovered -> free', '{}', '4 d'), ('free -> reserved', '{}', '3 d'), ('reserved -> active', jsonb_build_object('why', :script)::text, '2 d')) e (m, d, a);
set session_replication_role = origin;
"""


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


class PageSite(ListenSite):
    nodes = 600
    walk_s = 600  # ends a browser that hangs

    def conf(self, **changes):
        path = super().conf(**changes)
        with open(path, "a") as conf:
            conf.write(f'page_dir = "{PAGE}";\n')
        return path

    def fill(self):
        self.sql((FLEET + WORK_ROWS).replace(":nodes", str(self.nodes)).replace(":script", quoted(SCRIPT)))
        links = [self.post("/api/v1/accounts", {"name": name, "role": role, **more}).json["link"] for name, role, more in
                 (("olga", "operator", {}), ("oscar", "on-call", {}), ("gina", "tenant-admin", {"tenant": "globex"}))]
        need(self.post("/api/v1/links/use", {"link": links[0], "password": PASSWORD}).status == 200, "olga chooses her password")
        # The others have the same one: argon2id is dear on purpose.
        self.sql("update account set password_hash = (select password_hash from account where name = 'olga'), password_at = now() where password_hash is null")

    def streams(self):
        """How many read the stream of events."""
        return int(re.search(r"haas_sse_clients (\d+)", self.get("/metrics").body.decode()).group(1))

    def walk(self, script, **more):
        """Runs tests/page/SCRIPT.mjs; what it prints is the story's."""
        facts = {"url": f"https://127.0.0.1:{self.port}", "password": PASSWORD, "script": SCRIPT, "nodes": self.nodes, "work": str(WORK), "pictures": str(PICTURES), "chromium": CHROMIUM, **more}
        step(f"the browser: {script}")
        done = subprocess.run([NODE, ROOT / f"tests/page/{script}.mjs"], env={**os.environ, "PAGE_FACTS": json.dumps(facts)}, timeout=self.walk_s)
        assert done.returncode == 0, f"{script}.mjs ended with {done.returncode}"


class Drip:
    """Events one after another, each a transaction of its own: `count` of them, or until `stop`."""

    def __init__(self, site, pause=0.005, count=400):
        self.site, self.pause, self.count, self.stopped = site, pause, count, threading.Event()

    def begin(self):
        self.thread = threading.Thread(target=self.write)
        self.thread.start()

    def write(self):
        session = self.site.session()
        for n in range(1001, 1001 + self.count):
            session.stdin.write(TOLD.format(n, n).replace("event_add", "haas.event_add") + ";\n")
            session.stdin.flush()
            if self.stopped.wait(self.pause):
                break
        session.stdin.close()
        session.wait()

    def stop(self):
        """Whether there was still something to write."""
        self.stopped.set()
        return self.thread.is_alive()

    def end(self):
        self.thread.join()
        return {"told": self.site.sql("select subject from event where kind = 'test.told' order by xid, id").split()}


def browser():
    """The processes of the walk's browser."""
    parents = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = stat.read_text().split(" (", 1)
        except OSError:
            continue
        name, rest = rest.rsplit(") ", 1)
        parents[int(pid)] = int(rest.split()[1]), name
    mine = lambda pid: pid == os.getpid() or pid in parents and mine(parents[pid][0])
    return [pid for pid, (_, name) in parents.items() if name.startswith("chrom") and mine(pid)]


def serve(table):
    """A server for the walk's questions: what happens in the site meanwhile. Each row: path, function."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            said = json.dumps(table[self.path]() or {}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def needed():
    """What the walk needs, or the story is skipped with its name."""
    if not (PAGE / "index.html").exists():
        skip(f"missing: the page: {(PAGE / 'missing').read_text().strip() if (PAGE / 'missing').exists() else PAGE}")
    for name in (NODE, CHROMIUM):
        if not name:
            skip("missing: node" if not NODE else "missing: chromium")


def own_network():
    """All of the story runs in a network of its own. A browser drops what it asks when an address of its machine comes or goes (ERR_NETWORK_CHANGED), and
    labs of other stories make links all the time. Nothing that it asks by itself gets out."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x40000000):  # CLONE_NEWNET
        skip(f"missing: a network namespace: {os.strerror(ctypes.get_errno())}")
    run("ip", "link", "set", "lo", "up")


NODE, CHROMIUM = shutil.which("node"), shutil.which("chromium")
needed()
own_network()
