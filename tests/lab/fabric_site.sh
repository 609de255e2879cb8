# A site on a fabric: 2 spines, 4 leaves, QEMU machines n1, n2, .. (class demo) and namespaces s1, s2, .. that stand for nodes (class space; their
# BMCs and agents are simulated by tests/sim/simnodes, their NICs and cables are real). Sourced after site.sh; `fabric_site_up` takes the place of site_up.
# shellcheck shell=bash disable=SC2154

fabric_machines=2 fabric_spaces=4
# Switches that are written by OVSDB, with commas; further lines of the topology.
fabric_ovsdb='' fabric_more=''

fabric_topology() { # the cables as they are, and as wiring.csv plans them
	local i s
	for s in 1 2; do echo "switch spine$s spine"; done
	for i in 1 2 3 4; do echo "switch leaf$i leaf$([[ ,$fabric_ovsdb, != *,leaf$i,* ]] || echo ' ovsdb')"; done
	for i in 1 2 3 4; do
		for s in 1 2; do echo "link spine$s:dn$i leaf$i:up$s"; done
	done
	echo "vlan 100 first spine1"
	echo "park 4000+" # nodes that nobody manages yet do not meet
	echo "machine ctl eth0=leaf1:c1@100"
	for i in $(seq "$fabric_machines"); do echo "machine n$i eth0=leaf$i:p1"; done
	for i in $(seq "$fabric_spaces"); do echo "node s$i eth0=leaf$(((i - 1) / 2 + 3)):p$((i + 1))"; done
	[ -z "$fabric_more" ] || echo "$fabric_more"
}

fabric_wiring() {
	echo "switch,port,node,nic,peer_switch,peer_port"
	sed -n 's/^link \([^:]*\):\([^ ]*\) \([^:]*\):\(.*\)$/\1,\2,,,\3,\4/p; s/^\(machine n\|node s\)\([0-9]*\) eth0=\([^:]*\):\(.*\)$/\3,\4,\1\2,eth0,,/p' "$dir/topology" |
		sed 's/,machine n/,n/; s/,node s/,s/'
}

space_mac() { printf '52:54:00:99:00:%02x' "$1"; } # as simnodes has it

# A namespace that stands for a node has the MAC of its simulated twin; who stands behind which port is then for the switches to say.
fabric_spaces_up() {
	local i
	for i in $(seq "$fabric_spaces"); do
		space "s$i" ip link set dev eth0 address "$(space_mac "$i")"
		space "s$i" ip addr flush dev eth0
	done
}
space() { # NODE COMMAND...
	"$lab/fabric" exec --dir "$dir/fabric" "$@"
}

fabric_site_up() { # [OPTION of rack up...]
	site_shared
	fabric_site_start "$@"
}

fabric_site_start() { # what site_shared made is there
	site_folders
	"$bin/haasctl" db init --dir "$dir/pg" >"$dir/log/db" 2>&1
	fabric_topology >"$dir/topology"
	mkdir -p "$dir/fabric" "$dir/sim"
	HAAS_BUILD=$build "$lab/fabric" up --dir "$dir/fabric" --topology "$dir/topology" >"$dir/log/fabric" 2>&1
	# shellcheck disable=SC1091
	. "$dir/fabric/fabric.env"
	fabric_spaces_up
	site_rack "$fabric_machines" --fabric "$dir/fabric" "$@" >"$dir/log/rack" 2>&1
	: | tee "$dir"/sim/{rack,faults,journal}
	chown -R haas-bampid:haas-bootd "$dir/sim" && chmod 0770 "$dir/sim" && chmod 0660 "$dir"/sim/*
	daemon_extra[bampid]="sim_rack = \"$dir/sim/rack\";"
	daemon_configs
	[ -z "$fabric_ovsdb" ] || ovsdb_keys
	daemons_start
	quietly "$dir/log/records" site_records
	quietly "$dir/log/fabric_records" fabric_records
	simulate_spaces
}

fabric_records() { # the fabric, its switches, the plan of the cables, the provisioning network and our own cable in it
	local name role address i way
	haasctl fabric create main --vlans 1300-1399 --parking 4000-4015 --quarantine 10s
	while read -r name role address; do
		way=()
		[[ ,$fabric_ovsdb, != *,$name,* ]] || way=(--family openvswitch-ovsdb --ovsdb-peer "$(ovsdb_fingerprint "$name")")
		printf 'snmp_auth_secret=lab-auth-pass\nsnmp_priv_secret=lab-priv-pass\n' |
			haasctl switch add "$name" --fabric main --role "$role" --address "$address" --snmp-user haas256 --snmp-auth sha256 --snmp-priv aes \
				--secrets - --poll 2s "${way[@]}"
	done <"$dir/fabric/switches"
	for i in $(seq "$fabric_spaces"); do
		[ "$i" != 1 ] || echo "name,class,rack,firmware,nic,mac,bmc_driver,bmc_address"
		echo "s$i,space,r$(((i - 1) / 2 + 3)),bios,eth0,$(space_mac "$i"),sim,10.99.0.$i"
	done >"$dir/spaces.csv"
	haasctl node import "$dir/spaces.csv"
	# shellcheck disable=SC2046
	haasctl node accept $(seq -f 's%g' "$fabric_spaces")
	sql "insert into lease (address, mac, subnet_id, expires_at) select '192.168.77.240'::inet + row_number() over (order by x.mac), x.mac, s.id, now() + interval '1 day'
		from nic x join node n on n.id = x.node_id, subnet s where n.class = 'space'"
	fabric_wiring >"$dir/wiring.csv"
	haasctl wiring import "$dir/wiring.csv"
	haasctl network create provisioning --kind provisioning --prefix 192.168.77.0/24
	haasctl network attach provisioning leaf1:c1
}

simulate_spaces() { # simnodes is bampi-bootd, agent and OS of the namespaces: as the role, and the OS user, of bampi-bootd
	setsid setpriv --reuid haas-bootd --regid haas-bootd --clear-groups "$bin/simnodes" run "$(daemon_database bampi_bootd)" "$dir/sim" "$fabric_spaces" 20 20 20 500 \
		>"$dir/log/simnodes" 2>&1 </dev/null &
	echo $! >"$dir/sim/pid"
	disown
}

# --- the prober: in every namespace, all the time ---

# Who may meet whom, as the database says, for the prober: nodes in use their tenant's nodes alone; nodes that are being installed or erased for a tenant also ours. So at no
# time two tenants', nor anybody a node in use.
prober_members() {
	sql "select format('probe %s %s eth0 %s', n.name, '$FABRIC_PREFIX-' || n.name, case when n.state = 'active' and p.place = 'tenant' then t.name else concat_ws(',', 'ours', t.name) end)
		from node n left join node_place p on p.node_id = n.id left join tenant t on t.id = n.tenant_id where n.class = 'space' order by n.name" >"$dir/members.new"
	echo "grace 3000${prober_tags:+
tags $prober_tags}" >>"$dir/members.new"
	cmp -s "$dir/members.new" "$dir/members" || mv "$dir/members.new" "$dir/members"
}
prober_follows() { while prober_members 2>/dev/null; do sleep 0.3; done; }
prober='' prober_follower='' prober_tags='100 1300 1301 1302 1303 1304 4000 4001' # it sends these tags, too
prober_begin() {
	prober_members
	prober_follows &
	prober_follower=$!
	"$bin/prober" --members "$dir/members" --report 1000 >"$dir/log/prober" 2>&1 &
	prober=$!
}
prober_report() { grep '^report' "$dir/log/prober" | tail -n 1; }
prober_leaks() { [[ $(prober_report) =~ \ leaked=[1-9] ]]; } # it has found one; without a report it has not
prober_reports() { grep -c '^report' "$dir/log/prober" || true; }
prober_reports_more_than() { [ "$(prober_reports)" -gt "$1" ]; }
prober_is_quiet() { # it looks, it knows who may meet whom now, and nobody has got a frame that he may not have, of all that was sent until now
	wait_for 30 prober_reports_more_than $(($(prober_reports) + 1)) && kill -0 "$prober" "$prober_follower" && [[ $(prober_report) == *" leaked=0" ]]
}
prober_end() { # 0: nothing leaked; 1: something did
	[ -n "$prober" ] || return 0
	local pid=$prober
	kill "$prober_follower" || true
	prober='' prober_follower=''
	kill -INT "$pid"
	wait "$pid"
}

on_site_down() { # site_down calls it at its end
	prober_end 2>/dev/null || true
	! is_alive "$dir/sim/pid" || kill "$(cat "$dir/sim/pid")"
	[ ! -d "$dir/fabric" ] || "$lab/fabric" down --dir "$dir/fabric" >/dev/null 2>&1 || true
}

# What the installed OS would do: the namespace takes the address that its PDCI gave it, and a way to everybody else's.
space_address() { # NODE PREFIX...
	local node=$1 address prefix
	shift
	address=$(sql "select a ->> 'address' from deployment d, jsonb_array_elements(d.params -> 'addresses') a where d.node = '$node' order by d.id desc limit 1")
	space "$node" ip addr flush dev eth0
	[ -n "$address" ] || fail "$node has no address"
	space "$node" ip addr add "$address" dev eth0
	for prefix; do
		space "$node" ip route replace "$prefix" dev eth0 2>/dev/null || true
	done
}
