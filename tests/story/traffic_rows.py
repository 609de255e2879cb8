"""Stored traffic as rows: one link that is nearly full, down to the flow that fills it, and the five minutes before, when it did not. The numbers are those of
shared/design/page-drill-dark.png: each level adds up to a part of the one above.

    GOLDEN      the tree: name, Mbit/s, +- Mbit/s, parts
    fill(site)  writes it as peregrine-flowd would, for the 5 minutes up to END, and an alert about it; returns END as RFC 3339"""
import json
import math

LINK = "link:leaf3:up1"
FLOW = "10.50.0.2~23552~10.50.0.4~5153~6~2048~forward"

# name, path from the link on, Mbit/s, the bound, its parts
GOLDEN = ("link", LINK, 832.5, 33, [
    ("tenant", f"{LINK}/tenant:acme", 413.5, 31, [
        ("vlan", f"{LINK}/tenant:acme/vlan:1301", 367.8, 29, [
            ("pair", f"{LINK}/tenant:acme/vlan:1301/pair:gpu-0002~gpu-0004", 296.3, 27, [
                ("flow", f"{LINK}/tenant:acme/vlan:1301/pair:gpu-0002~gpu-0004/flow:{FLOW}", 200.5, 22, []),
                ("flow", f"{LINK}/tenant:acme/vlan:1301/pair:gpu-0002~gpu-0004/flow:10.50.0.2~23553~10.50.0.4~5153~6~2048~forward", 56.8, 12, []),
                ("flow", f"{LINK}/tenant:acme/vlan:1301/pair:gpu-0002~gpu-0004/flow:10.50.0.4~5153~10.50.0.2~23552~6~2048~back", 39.0, 10, []),
            ]),
            ("pair", f"{LINK}/tenant:acme/vlan:1301/pair:gpu-0004~gpu-0006", 43.2, 10, []),
            ("pair", f"{LINK}/tenant:acme/vlan:1301/pair:gpu-0002~gpu-0006", 28.3, 8, []),
        ]),
        ("vlan", f"{LINK}/tenant:acme/vlan:1302", 25.9, 8, []),
        ("vlan", f"{LINK}/tenant:acme/vlan:1303", 19.8, 7, []),
    ]),
    ("tenant", f"{LINK}/tenant:globex", 236.3, 18, [("vlan", f"{LINK}/tenant:globex/vlan:1401", 236.3, 18, [])]),
    ("tenant", f"{LINK}/tenant:initech", 182.7, 22, [("vlan", f"{LINK}/tenant:initech/vlan:1501", 182.7, 22, [])]),
])
# What they were in the five minutes before, by the change since then.
BEFORE = {"acme": 413.5 / 3.12, "globex": 236.3 / 0.96, "initech": 182.7 / 0.96}
NETWORKS = {1301: ("acme", "train"), 1302: ("acme", "storage"), 1303: ("acme", "manage"), 1401: ("globex", "web"), 1501: ("initech", "batch")}
MINUTES = 5


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def bytes_of(rate):
    """Of a minute."""
    return round(rate * 1e6 / 8 * 60)


def square_of(bound):
    """The variance of a minute, of which five have this bound in 95 of 100 cases."""
    return (bound * 1e6 / 8 * 60 * MINUTES / 1.96) ** 2 / MINUTES


def sums(rate, bound):
    return f"{bytes_of(rate)}, {bytes_of(rate) // 1200}, {max(1, bytes_of(rate) // 1200000)}, {square_of(bound):.0f}"


def parts(node):
    return {name: value for name, _, value in (part.partition(":") for part in node[1].split("/"))}


def below(node, kind):
    return ([node] if node[0] == kind else []) + [one for part in node[4] for one in below(part, kind)]


def rows_of(at, shares, pairs, flows):
    """Inserts of one minute; `at` is SQL."""
    owner = "(select id from tenant where name = '{tenant}'), (select network_id from network_vlan where vlan = {network})"
    lines = [f"insert into traffic_bucket (step, at, writer, from_at, to_at, bytes) values (60, {at}, 'rows:1', {at}, {at} + interval '60 s', {bytes_of(1041)})"]
    for tenant, vlan, rate, bound in shares:
        lines.append("insert into traffic_share (step, at, switch_id, port, direction, tenant_id, network_id, tenant, network, vlan, bytes, packets, samples, square) "
                     f"select 60, {at}, s.id, 'up1', 'out', {owner.format(tenant=tenant, network=vlan)}, '{tenant}', '{NETWORKS[vlan][1]}', {vlan}, {sums(rate, bound)} from switch s where s.name = 'leaf3'")
    for tenant, vlan, a, b, rate, bound in pairs:
        lines.append("insert into traffic_pair (step, at, switch_id, port, direction, tenant_id, network_id, vlan, a, b, bytes, packets, samples, square) "
                     f"select 60, {at}, s.id, 'up1', 'out', {owner.format(tenant=tenant, network=vlan)}, {vlan}, '{a}', '{b}', {sums(rate, bound)} from switch s where s.name = 'leaf3'")
    for tenant, vlan, a, b, flow, rate, bound in flows:
        source, source_port, target, target_port, protocol, ethertype, way = flow.split("~")
        lines.append("insert into traffic_flow (step, at, switch_id, port, direction, tenant_id, network_id, vlan, a, b, forward, source, target, source_port, target_port, protocol, ethertype, bytes, packets, samples, square) "
                     f"select 60, {at}, s.id, 'up1', 'out', {owner.format(tenant=tenant, network=vlan)}, {vlan}, '{a}', '{b}', {way == 'forward'}, '{source}', '{target}', {source_port}, {target_port}, {protocol}, {ethertype}, {sums(rate, bound)} "
                     "from switch s where s.name = 'leaf3'")
    return lines


def fill(site):
    """On a site with tenants acme and globex and nodes gpu-0002 to gpu-0006 (page_site.py)."""
    site.sql("""insert into tenant (name) values ('initech');
        insert into tenant_name (name, tenant_id) select name, id from tenant on conflict do nothing;
        insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f1', 1300, 1999, 1299);
        insert into switch (name) values ('leaf3');
        insert into switch_endpoint (switch_id, fabric_id, address) select id, (select id from fabric where name = 'f1'), '10.255.0.3' from switch where name = 'leaf3';
        insert into port_observed (switch_id, name, if_index, admin_up, up, speed_bps, kind, seen_at)
            select s.id, p.name, p.number, true, true, p.speed, p.kind, now() from switch s, (values ('up1', 49, 1000000000, 'uplink'), ('c2', 2, 1000000000, 'edge'), ('c4', 4, 1000000000, 'edge'), ('mirror', 48, 1000000000, 'edge'))
                p (name, number, speed, kind) where s.name = 'leaf3'""")
    networks = ", ".join(f"('{tenant}', '{name}', {vlan})" for vlan, (tenant, name) in NETWORKS.items())
    site.sql(f"""create temp table n as select * from (values {networks}) x (tenant, name, vlan);
        insert into network (name, kind, tenant_id) select n.name, 'tenant', t.id from n join tenant t on t.name = n.tenant;
        insert into network_vlan (fabric_id, vlan, network_id, state) select f.id, n.vlan, w.id, 'used' from n join tenant t on t.name = n.tenant join network w on w.tenant_id = t.id and w.name = n.name, fabric f where f.name = 'f1';
        insert into vlan_history (fabric_id, vlan, network_id, network, tenant_id, valid_from)
            select v.fabric_id, v.vlan, w.id, w.name, w.tenant_id, now() - interval '1 d' from network_vlan v join network w on w.id = v.network_id join n on n.vlan = v.vlan""")
    end = site.sql("select to_char(date_trunc('minute', now()) - interval '8 min', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') from (select set_config('timezone', 'UTC', false)) x")
    minute = lambda back: f"(timestamptz '{end}' - interval '{back} min')"
    shares = [(parts(one)["tenant"], int(parts(one)["vlan"]), one[2], one[3]) for one in below(GOLDEN, "vlan")]
    pairs = [(parts(one)["tenant"], int(parts(one)["vlan"]), *parts(one)["pair"].split("~"), one[2], one[3]) for one in below(GOLDEN, "pair")]
    flows = [(parts(one)["tenant"], int(parts(one)["vlan"]), *parts(one)["pair"].split("~"), parts(one)["flow"], one[2], one[3]) for one in below(GOLDEN, "flow")]
    scaled = {tenant: rate / next(one[2] for one in below(GOLDEN, "tenant") if parts(one)["tenant"] == tenant) for tenant, rate in BEFORE.items()}
    lines = [f"select traffic_partitions_turn({minute(10)})"]
    for back in range(1, 2 * MINUTES + 1):
        # the first five minutes are smaller
        shrink = lambda rows: rows if back <= MINUTES else [(*row[:-2], row[-2] * scaled[row[0]], row[-1] * math.sqrt(scaled[row[0]])) for row in rows]
        lines += rows_of(minute(back), shrink(shares), shrink(pairs), shrink(flows) if back <= MINUTES else shrink(flows[1:]))
    suspects = [{"kind": "flow", "name": "10.50.0.2:23552 > 10.50.0.4:5153 (acme)", "score": 94, "reasons": "24 % of the link; all of the rise; began 5 s before", "drill": below(GOLDEN, "flow")[0][1]},
                {"kind": "pair", "name": "gpu-0002 ~ gpu-0004 (acme)", "score": 71, "reasons": "36 % of the link; both are in no other tenant's network", "drill": below(GOLDEN, "pair")[0][1]}]
    detail = json.dumps({"hint": "haasctl drill " + LINK, "value": 83.2, "peak": 84.1, "unit": "%", "window_s": 10, "drill": LINK, "suspects": suspects})
    lines.append("insert into alert (key, kind, severity, subject_kind, subject, message, detail, raised_at, seen_at) values ('traffic.utilisation:leaf3:up1', 'traffic.utilisation', 'critical', 'port', 'leaf3:up1', "
                 f"'port leaf3:up1 carries 83 % of 1 Gbit/s', {quoted(detail)}, {minute(4)}, now())")
    site.sql("; ".join(lines))
    return end
