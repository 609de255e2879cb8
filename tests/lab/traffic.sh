# Traffic on the lab's fabric that somebody looks at: switches that sample to peregrine-flowd in the management namespace, flows between nodes (iperf3), the alert they
# raise. The caller has `dir`, `state`, `bin`, `haasctl`, `sql` and the variables of fabric.env.
# shellcheck shell=bash disable=SC2154

# A veth calls itself a link of 10 Gbit/s; the user-space data plane carries some hundred Mbit/s.
traffic_lab_conf='alert_utilisation: { raise = 2; clear = 1; clear_s = 3; };'

traffic_sample() { # [COLLECTOR [ONE_IN]]: the address of the daemons on the management network; as docs/switches.md has it for Open vSwitch
	local name
	while read -r name _; do
		ovs-vsctl --db="unix:$dir/fabric/switch/$name/db.sock" -- --id=@s create sflow agent=mgmt0 "target=\"${1:-10.255.0.1}:6343\"" header=128 "sampling=${2:-50}" polling=1 \
			-- set bridge br0 sflow=@s >/dev/null
	done <"$dir/fabric/switches"
}

traffic_node() { # NODE SWITCH:PORT: who is behind the port, as the agent's inventory and the FDB would say
	local mac
	mac=$(ip -n "$FABRIC_PREFIX-$1" -o link show dev eth0 | sed 's/.*link.ether \([^ ]*\).*/\1/')
	sql "select node_put('{\"name\":\"$1\",\"class\":\"space\",\"nics\":[{\"name\":\"eth0\",\"mac\":\"$mac\"}]}', false, 'story')" >/dev/null
}

declare -A traffic_pids=()
traffic_flow() { # SOURCE TARGET FROM_PORT TO_PORT RATE SECONDS: TCP in frames of up to 64 KiB (the switches take part in TSO), which costs them little
	local address
	address=$(traffic_address "$2")
	ip netns exec "$FABRIC_PREFIX-$2" iperf3 -s -1 -p "$4" >"$dir/iperf.$4" 2>&1 &
	traffic_pids["$4"]=$!
	wait_for 30 traffic_listens "$2" "$4" || fail "iperf3 does not listen: $(cat "$dir/iperf.$4")"
	ip netns exec "$FABRIC_PREFIX-$1" iperf3 -c "$address" -p "$4" --cport "$3" -b "$5" -t "$6" >"$dir/iperf.$3" 2>&1 &
	traffic_pids["$3"]=$!
}
traffic_address() { ip -n "$FABRIC_PREFIX-$1" -4 -j addr show dev eth0 | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["addr_info"][0]["local"])'; }
traffic_listens() { ip netns exec "$FABRIC_PREFIX-$1" ss -Hltn "sport = :$2" | grep -q .; }
traffic_end() { # [PORT]: that flow, or all
	local port
	for port in ${1:-"${!traffic_pids[@]}"}; do
		[ -z "${traffic_pids[$port]:-}" ] || kill "${traffic_pids[$port]}" 2>/dev/null || true
		unset "traffic_pids[$port]"
	done
}

traffic_metrics() { curl -s --unix-socket "$state/run/peregrine-flowd.sock" http://flowd/metrics; }
traffic_samples() { # MANY: have come
	[ "$(traffic_metrics | sed -n 's/^haas_flow_samples_total //p')" -ge "$1" ]
}
traffic_alert() { # the number of the open one about an uplink
	haasctl -o jsonl alert list --kind traffic.utilisation | python3 -c 'import json, sys
found = []
for line in sys.stdin:
    alert = json.loads(line)
    if ":up" in alert["subject"]:
        found.append(alert["id"])
print(*found[:1])'
}
traffic_burns() { # alerts that cannot be listed are not none
	local alert
	alert=$(traffic_alert) || fail "the alerts cannot be listed"
	[ -n "$alert" ]
}
uplink_bytes() { # "LEAF:PORT BYTES" that each leaf has sent up
	local name
	while read -r name _; do
		[[ $name != leaf* ]] || ip -n "$FABRIC_PREFIX-$name" -s -j link | python3 -c 'import json, sys
for link in json.load(sys.stdin):
    if link["ifname"].startswith("up"):
        print(sys.argv[1] + ":" + link["ifname"], link["stats64"]["tx"]["bytes"])' "$name"
	done <"$dir/fabric/switches"
}
