# Two controllers for the fleet: each a namespace with a name of its own (ctl-a, ctl-b) and its own daemons, one PostgreSQL with a synchronous
# standby, and keepalived with the configuration that we ship. Sourced like fleet_lab.sh, which it stands on.
#
#   two_lab NODES [OPTION of `fleet run`...]     everything up, nodes imported and accepted
#   two_cut and two_failover set $begin, the moment after the cut.
#   two_cut CONTROLLER, two_back CONTROLLER      its power is cut: all its programs are killed, its links go down; it is there again
#   two_failover                                 the primary's power is cut, and the standby promoted;  two_standby: a new standby
#   two_switch PORTS                             a switch of its own that logs what it changes, its ports parked
#   two_keep_up                                  starts what has ended, as systemd would;  two_leader DAEMON: the controller where it works
#
# Links: provisioning 10.127.0.0/17 (a bridge in $hall; .1 is shared, .11 and .12 are the controllers', a probe is there too), management 10.126.0.0/30.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/fleet_lab.sh"
two_daemons=(${TWO_DAEMONS:-bampi-bootd bampid portald})
declare -A two_space=([a]=ca$$ [b]=cb$$) two_on=() two_up=()
two_probe_space=cp$$
two_primary=$lab/pg two_copies=0
export PGTARGETSESSIONATTRS=read-write
[ -x /usr/sbin/keepalived ] || { echo "keepalived is not installed"; exit 77; }

two_stop() {
	local name
	for name in a b; do
		[ -z "${two_on[$name]:-}" ] || two_kill_all $name
	done
	fleet_lab_stop_hook
	local folder
	for folder in "$lab"/pg*; do "$root/tests/support/pg" stop "$folder" >/dev/null 2>&1 || true; done
	fleet_lab_stop
	ip netns del "$two_probe_space" 2>/dev/null || true
	for name in a b; do ip netns del "${two_space[$name]}" 2>/dev/null || true; done
}
fleet_lab_stop_hook() { [ -z "${two_writer:-}" ] || { kill "$two_writer" 2>/dev/null || true; wait "$two_writer" 2>/dev/null || true; }; }
trap two_stop EXIT

two_namespaces() {
	local name number=0 space
	ip netns add "$hall"
	ip netns add "$two_probe_space"
	ip -n "$hall" link set lo up
	ip -n "$hall" link add br0 type bridge
	ip -n "$hall" addr add 10.127.0.2/17 dev br0
	ip -n "$hall" link set br0 up
	ip -n "$hall" route add local 10.128.0.0/9 dev lo
	ip netns exec "$hall" sysctl -qw net.ipv4.tcp_tw_reuse=1 net.ipv4.ip_nonlocal_bind=1 || true
	ip -n "$hall" link add to_p type veth peer name eth0 netns "$two_probe_space"
	ip -n "$hall" link set to_p master br0 up
	ip -n "$two_probe_space" link set eth0 up
	for name in a b; do
		number=$((number + 1)) space=${two_space[$name]}
		ip netns add "$space"
		ip -n "$space" link set lo up
		ip -n "$hall" link add "to_$name" type veth peer name eth1 netns "$space"
		ip -n "$hall" link set "to_$name" master br0 up
		ip -n "$space" addr add "10.127.0.1$number/17" dev eth1
		ip -n "$space" link set eth1 up
		ip -n "$space" route add 10.128.0.0/9 via 10.127.0.2
	done
	# Through a switch: a cable from one to the other would lose its link on both.
	ip -n "$hall" link add br1 type bridge
	ip -n "$hall" link set br1 up
	number=0
	for name in a b; do
		number=$((number + 1))
		ip -n "$hall" link add "mgmt_$name" type veth peer name eth0 netns "${two_space[$name]}"
		ip -n "$hall" link set "mgmt_$name" master br1 up
		ip -n "${two_space[$name]}" addr add "10.126.0.$number/30" dev eth0
		ip -n "${two_space[$name]}" link set eth0 up
	done
}

two_database() { echo "host=$lab/pg,$lab/pg1 dbname=haas user=$1"; } # ROLE; after a rebuild the same two folders
two_confs() {
	local name number=0 other
	cp "$root/deploy/controller/boot-server-answers" "$lab/" # nobody can read it there
	for name in a b; do
		number=$((number + 1)) other=$((3 - number))
		mkdir -p "$lab/$name"
		cat >"$lab/$name/bampi-bootd.conf" <<-CONF
			database = "$(two_database bampi_bootd)";
			user = ""; boot_dir = "$lab/boot"; image_dir = "$lab/images"; metrics_socket = "$lab/$name/bootd.sock";
			interfaces = [ "eth1" ]; server_address = "10.127.0.1$number";
		CONF
		cat >"$lab/$name/portald.conf" <<-CONF
			database = "$(two_database portald)";
			user = ""; socket = { path = "$lab/$name/portald.sock"; };
			image_keys = "$lab/image-keys"; bampid_socket = "$lab/$name/bampid.sock"; image_dir = "$lab/images";
		CONF
		cat >"$lab/$name/bampid.conf" <<-CONF
			database = "$(two_database bampid)";
			user = ""; socket = { path = "$lab/$name/bampid.sock"; };
			key_dir = "$lab/keys"; image_keys = "$lab/image-keys"; console_dir = "";
			${FLEET_BAMPID:-}
		CONF
		cat >"$lab/$name/peregrined.conf" <<-CONF
			database = "$(two_database peregrined)";
			user = ""; socket = { path = "$lab/$name/peregrined.sock"; }; key_dir = "$lab/switch-keys";
			${TWO_PEREGRINED:-}
		CONF
		cat >"$lab/$name/portal-outward.conf" <<-CONF
			database = "$(two_database portal_outward)";
			socket: { path = "$lab/$name/outward.sock"; }; key_dir = "$lab/outward-keys";
			user = ""; ${TWO_OUTWARD:-}
		CONF
		sed -e "s/priority 100 .*/priority $((110 - number * 10))/" -e "s/192.0.2.11 .*/10.126.0.$number/" -e "s/192.0.2.12 .*/10.126.0.$other/" \
			-e "s,10.2.0.1/24,10.127.0.1/17," -e "s,/usr/lib/haas/,$lab/," \
			"$root/deploy/controller/keepalived.conf" >"$lab/$name/keepalived.conf"
	done
}

# two_run CONTROLLER NAME COMMAND...: in its namespace, under its name
two_run() {
	local name=$1 what=$2
	shift 2
	# shellcheck disable=SC2016
	ip netns exec "${two_space[$name]}" unshare --uts sh -c 'hostname "$0"; exec "$@"' "ctl-$name" "$@" >>"$lab/log/$what-$name" 2>&1 </dev/null &
	two_up[$name/$what]=$!
}
two_start() { # CONTROLLER DAEMON
	case $2 in
	keepalived) two_run "$1" keepalived /usr/sbin/keepalived -n -l -P -f "$lab/$1/keepalived.conf" -p "$lab/$1/keepalived.pid" -r "$lab/$1/vrrp.pid" ;;
	*) two_run "$1" "$2" "$bin/$2" --config "$lab/$1/$2.conf" ;;
	esac
}
two_on() { # CONTROLLER
	local daemon
	two_on[$1]=yes
	for daemon in "${two_daemons[@]}" keepalived; do two_start "$1" "$daemon"; done
}
two_kill() { # CONTROLLER DAEMON
	local pid=${two_up[$1/$2]}
	[ "$2" != keepalived ] || kill -9 $(ps -o pid= --ppid "$pid") 2>/dev/null || true
	kill -CONT "$pid" 2>/dev/null || true
	kill -9 "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
}
two_kill_all() {
	local daemon
	unset "two_on[$1]"
	for daemon in keepalived "${two_daemons[@]}"; do two_kill "$1" "$daemon"; done
}
two_cut() {
	ip -n "${two_space[$1]}" link set eth1 down
	ip -n "${two_space[$1]}" link set eth0 down
	two_kill_all "$1"
	begin=$(two_now) # after the last of it: what ended before is no recovery
}
two_back() {
	local space=${two_space[$1]}
	ip -n "$space" addr del 10.127.0.1/17 dev eth1 2>/dev/null || true
	ip -n "$space" link set eth0 up
	ip -n "$space" link set eth1 up
	ip -n "$space" route replace 10.128.0.0/9 via 10.127.0.2
	two_on "$1"
}
two_keep_up() {
	local name daemon
	for name in "${!two_on[@]}"; do
		for daemon in "${two_daemons[@]}" keepalived; do
			kill -0 "${two_up[$name/$daemon]}" 2>/dev/null || two_start "$name" "$daemon"
		done
	done
	return 0
}
two_leader() { sql "select right(instance, 1) from daemon_lead where name = '$1'"; }
two_haasctl() { # CONTROLLER COMMAND...
	local name=$1
	shift
	HAAS_SOCKET=$lab/$name/portald.sock "$bin/haasctl" "$@"
}

# --- the databases: $lab/pg and $lab/pg1, either may be the primary ---
two_standby() { # of the primary; a folder that was a primary is made anew
	local folder=$lab/pg
	[ "$two_primary" != "$lab/pg" ] || folder=$lab/pg1
	"$root/tests/support/pg" stop "$folder" >/dev/null 2>&1 || true
	rm -rf "$folder"
	"$root/tests/support/pg" standby "$folder" "$two_primary" >"$lab/log/pg-standby" 2>&1 || fail "no standby: $(tail -n 3 "$lab/log/pg-standby")"
}
two_failover() {
	local standby=$lab/pg
	[ "$two_primary" != "$lab/pg" ] || standby=$lab/pg1
	"$root/tests/support/pg" kill "$two_primary" 2>/dev/null
	begin=$(two_now)
	"$root/tests/support/pg" promote "$standby"
	two_primary=$standby
}

# The one that is there first leads of every daemon: a power cut then takes all of them.
two_lead_first() { # CONTROLLER
	local daemon count=0
	for daemon in "${two_daemons[@]}"; do case $daemon in bampid | peregrined | portal-outward) count=$((count + 1)) ;; esac done
	await_true 60 "select count(*) = $count from daemon_lead where instance = 'ctl-$1' and name in ('bampid', 'peregrined', 'portal-outward')" || fail "ctl-$1 does not lead"
}
two_ready() {
	[ "$(sql "select count(*) from daemon_key where daemon = 'bampid'" 2>/dev/null)" = 1 ] && two_haasctl a node list >/dev/null 2>&1 && two_haasctl b node list >/dev/null 2>&1
}
two_lab() { # NODES OPTION...
	local nodes=$1 end
	folders
	mkdir -p "$lab/switch-keys"
	pg_start
	conninfo_host=$lab/pg,$lab/pg1
	two_standby
	two_namespaces
	boot_files
	certificate
	image
	two_confs
	two_on a
	two_lead_first a
	two_on b
	end=$((SECONDS + 60))
	until two_ready; do
		[ $SECONDS -lt $end ] || fail "the daemons do not answer"
		two_keep_up
		sleep 0.1
	done
	haasctl() { two_haasctl a "$@"; }
	ln -sf ../a/portald.sock "$lab/run/portald.sock"
	haasctl image import --public "$lab/demo-1.manifest.json" >/dev/null
	fleet_subnets "$nodes"
	haasctl subnet set link --prefix 10.127.0.0/17 --boot-server 10.127.0.1 --pool-low 10.127.1.0 --pool-high 10.127.63.250 --open >/dev/null
	shift
	run_in "$hall" fleet "$bin/fleet" run --nodes "$nodes" "${fleet_bmcs[@]}" --database "$(two_database haas)" "$@"
	fleet_nodes "$nodes"
}
# Every daemon ends as systemd would end it; then the machines' verdict.
two_lab_end() {
	local name daemon
	for name in "${!two_on[@]}"; do
		for daemon in "${two_daemons[@]}"; do
			kill -TERM "${two_up[$name/$daemon]}"
			wait "${two_up[$name/$daemon]}" || fail "$daemon of ctl-$name did not stop cleanly"
		done
		two_kill "$name" keepalived
		unset "two_on[$name]"
	done
	machines_end
	no_sanitizer "$lab"/log/*
	say ok
}

# --- a switch: emulated, reached from both controllers (10.127.0.2); its own log says who changed what, and when ---
two_switch() { # PORTS
	local port
	run_in "$hall" switch "$bin/switch_cli" --family nxos --hostname leaf1 --listen 10.127.0.2 --port 22 --ports 12 --host-key "$lab/switch.key" \
		--faults "$lab/switch.faults" --log "$lab/switch.log"
	haasctl fabric create f1 --vlans 201-220 --parking 3900 --quarantine 2s >/dev/null
	sql "select network_create('provisioning', 'provisioning', null, null, null, 'story')" >/dev/null # steps about switches want one; no node is at this switch
	printf 'ssh_password=admin\n' >"$lab/switch.secrets"
	haasctl switch add leaf1 --address 10.127.0.2 --role leaf --secrets "$lab/switch.secrets" --ssh-user admin --host-key any --poll 2s --family cisco-nxos >/dev/null
	await_true 30 "select count(*) >= $1 from port_observed p join switch s on s.id = p.switch_id where s.name = 'leaf1' and p.native_vlan is not null" || fail "the switch is not read"
	for port in $(seq "$1"); do sql "select port_park('leaf1', 'Ethernet1/$port', 'story')" >/dev/null; done
	two_switch_settled 30 || fail "the ports are not parked: $(sql "select port, problem from port_intent where applied_version <> wanted_version")"
}
two_switch_settled() { await_true "$1" "select count(*) = 0 from port_intent where applied_version <> wanted_version"; } # SECONDS
# two_switch_want NETWORK PORT...: access in it, "-": parked
two_switch_want() {
	local port words='begin;' network=$1
	shift
	for port in "$@"; do
		words+="select port_park('leaf1', 'Ethernet1/$port', 'story');"
		[ "$network" = - ] || words+="select attachment_put('leaf1', 'Ethernet1/$port', (select id from network where name = '$network'), 'access', 'story');"
	done
	sql "$words commit" >/dev/null
}

# --- witnesses ---
# A new client each time, a whole DORA on the provisioning link: lines "ack TIME MAC ADDRESS", "silent TIME".
two_probe() {
	ip netns exec "$two_probe_space" python3 "$root/tests/sim/fleet/dora_probe.py" eth0 >"$lab/probe" 2>"$lab/log/probe" &
	pids[probe]=$!
}
# Tenants, made at the one controller and at the other: what the API took ("0") is in $lab/acknowledged.
two_write() {
	(
		number=0
		: >"$lab/acknowledged"
		while :; do
			number=$((number + 1))
			name=a
			[ $((number % 2)) = 0 ] || name=b
			! timeout 20 env HAAS_SOCKET="$lab/$name/portald.sock" "$bin/haasctl" tenant create "t$number" >/dev/null 2>&1 || echo "t$number" >>"$lab/acknowledged"
			sleep 0.5
		done
	) &
	two_writer=$!
}
two_now() { date +%s.%N; }
# Seconds from TIME to the first DORA that began after it; nothing: none yet.
two_dora() { awk -v t="$1" '$1 == "ack" && $2 > t { printf "%.2f", $3 - t; exit }' "$lab/probe"; }
# Seconds from TIME to the end of the first step that ended after it.
two_step() {
	sql "select round(extract(epoch from min(ended_at) - to_timestamp($1))::numeric, 2) from deployment_step where state = 'done' and ended_at > to_timestamp($1)" 2>/dev/null
}
# two_measure TIME LIMIT: waits for both; sets $dora and $first_step
two_measure() {
	local end=$((SECONDS + $2))
	dora='' first_step=''
	while [ -z "$dora" ] || [ -z "$first_step" ]; do
		[ $SECONDS -lt $end ] || fail "no DORA ($dora) or no step ($first_step) within $2 s"
		two_keep_up
		[ -n "$dora" ] || dora=$(two_dora "$1")
		[ -n "$first_step" ] || first_step=$(two_step "$1")
		sleep 0.1
	done
}
two_ended() { # SECONDS
	local end=$((SECONDS + $1))
	until says "select count(*) from deployment where due_at is not null" 0; do
		[ $SECONDS -lt $end ] || return 1
		two_keep_up
		sleep 0.2
	done
}
# What must hold at the end, whatever happened.
two_invariants() {
	local lost
	[ -z "${two_writer:-}" ] || { kill "$two_writer"; wait "$two_writer" 2>/dev/null || true; two_writer=; }
	expect "select count(*) from (select from agent_task where kind = 'write_image' and state = 'done' group by deployment_id having count(*) > 1) x" 0 "images written twice"
	expect "select count(*) from (select from event where kind in ('deployment.done', 'step.done')
		group by detail ->> 'deployment', kind, detail ->> 'step', detail ->> 'attempt' having count(*) > 1) x" 0 "steps told twice"
	lost=$(comm -23 <(sort "$lab/acknowledged") <(sql "select name from tenant" | sort))
	[ -z "$lost" ] || fail "the API took them, and they are gone:" $lost
	lost=$(awk '$1 == "ack" { print $5, $4 }' "$lab/probe" | sort | comm -23 - <(sql "select host(address), mac from lease" | tr '|' ' ' | sort))
	[ -z "$lost" ] || fail "addresses that were acknowledged, and nobody knows: $lost"
	[ -z "$(awk '$1 == "ack" { print $5 }' "$lab/probe" | sort | uniq -d)" ] || fail "an address was given to two clients"
	say "$(wc -l <"$lab/acknowledged") tenants and $(grep -c ^ack "$lab/probe") leases were acknowledged, and are there"
}
