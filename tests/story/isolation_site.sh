# What tests/story/isolation and isolation_faults share: a fabric of the lab, a database, peregrined and portald that know its switches, a
# prober in every node. The caller sets `dir`, has `set -euo pipefail`, and sources this.
# shellcheck shell=bash disable=SC2034,SC2154

lab_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../lab" && pwd)
fabric=$lab_folder/fabric
build=${HAAS_BUILD:-$lab_folder/../../build/dev}
bin=$build/bin
declare -A daemon_extra=()
# shellcheck source=tests/lab/lib.sh
. "$lab_folder/lib.sh"
# shellcheck source=tests/lab/daemons.sh
. "$lab_folder/daemons.sh"
daemon_names=(peregrined portald)
prober_pid='' ovsdb_leaves='' more_secrets='' parking=4000
declare -A switch_words=() # of `haasctl switch add`, by switch

on_failure() {
	tail -n 15 "$state/log/peregrined.log" || true
	sql "select s.name, port, wanted_version, applied_version, problem from port_intent i join switch s on s.id = i.switch_id
	     where wanted_version <> applied_version" || true
	sql "select id, reason, state, problem from change_batch order by id desc limit 5" || true
	[ ! -e "$dir/prober.log" ] || tail -n 5 "$dir/prober.log"
}

haasctl() { HAAS_SOCKET=$state/run/portald.sock "$bin/haasctl" "$@"; }
address() { awk -v n="$1" '$1 == n {print $3}' "$dir/fabric/switches"; }
fault() { "$fabric" fault --dir "$dir/fabric" "$@"; }
vsctl() { ovs-vsctl --db="unix:$dir/fabric/switch/$1/db.sock" "${@:2}"; }

site_needs() {
	story_needs switch_agent prober peregrined portald
}

site_up() { # LEAVES NODES [OPTION...]: and every port of a node adopted, parked
	state=$dir/state
	conninfo_host=$dir/pg
	chmod 0755 "$dir"
	"$fabric" up --dir "$dir/fabric" --spines 2 --leaves "$1" --nodes "$2" --park "$parking" --ovsdb "$ovsdb_leaves" "${@:3}"
	. "$dir/fabric/fabric.env"
	! declare -F site_prepare >/dev/null || site_prepare # what an operator does before we know of the switches
	HAAS_NS=$FABRIC_NS HAAS_INTERFACE=lo HAAS_GATEWAY=127.0.0.1
	daemon_folders
	"$lab_folder/../support/pg" start "$dir/pg" >/dev/null
	daemon_extra[peregrined]="full_read = 5; ${daemon_extra[peregrined]:-}" # neighbours may speak after the first reading
	daemon_configs
	[ -z "$ovsdb_leaves" ] || ovsdb_keys
	daemons_start
	haasctl fabric create f1 --vlans 201-220 --parking "$parking" --quarantine 2s >/dev/null
	sql "update fabric set parking_count = 16" >/dev/null # free ports of one switch do not meet either
	printf 'snmp_community=public\nsnmp_write_community=private\n%s' "$more_secrets" >"$dir/secrets"
	local name role _ way
	while read -r name role _; do
		read -ra way <<<"${switch_words[$name]:-}"
		[[ ,$ovsdb_leaves, != *,$name,* ]] || way=(--family openvswitch-ovsdb --ovsdb-peer "$(ovsdb_fingerprint "$name")")
		haasctl switch add "$name" --address "$(address "$name")" --role "$role" --secrets "$dir/secrets" --snmp-insecure yes --poll 2s "${way[@]}" >/dev/null
	done <"$dir/fabric/switches"
	cables_known || fail "the cables are not found: $(sql "select state, count(*) from link group by 1")"
	node_ports
	local node
	for node in $(seq "$2"); do
		sql "select port_park('${port_of[n$node]%%:*}', '${port_of[n$node]#*:}', 'story')" >/dev/null
	done
	settled || fail "the ports are not adopted"
}

cables_known() { # both ends of every link of the topology
	wait_for 60 says "select count(*) from link where state = 'confirmed'" "$(grep -c ^link "$dir/fabric/topology")"
}

declare -A port_of=()
node_ports() { # node -> switch:port, from the topology, as the switch calls it
	local line at
	while read -r line; do
		set -- $line
		at=${3#eth0=} at=${at%@*}
		[ ! -e "$dir/fabric/switch/${at%%:*}/names" ] || at=${at%%:*}:$(awk -v p="${at#*:}" '$1 == p {sub("^[^ ]* ", ""); print}' "$dir/fabric/switch/${at%%:*}/names")
		port_of[$2]=$at
	done < <(grep ^node "$dir/fabric/topology")
}

want() { # NODE NETWORK|-: access in it, or parked
	local switch=${port_of[$1]%%:*} port=${port_of[$1]#*:}
	if [ "$2" = - ]; then
		sql "select port_park('$switch', '$port', 'story')" >/dev/null
	else
		sql "begin; select port_park('$switch', '$port', 'story');
		     select attachment_put('$switch', '$port', (select id from network where name = '$2'), 'access', 'story'); commit" >/dev/null
	fi
}

settled() { # [SECONDS]
	wait_for "${1:-60}" says "select count(*) from port_intent where applied_version <> wanted_version" 0
}

site_down() {
	local name
	[ -n "${state:-}" ] || return 0 # it never was up
	[ -z "$prober_pid" ] || kill "$prober_pid" 2>/dev/null || true
	for name in "${daemon_names[@]}"; do
		[ ! -e "$state/run/$name.pid" ] || daemon_stop "$name"
	done
	"$lab_folder/../support/pg" stop "$dir/pg" 2>/dev/null || true
	"$fabric" down --dir "$dir/fabric" || true
}

# --- the prober ----------------------------------------------------------

declare -A tenant_of=() between=()
members() { # writes the prober's file from tenant_of, or for nodes that change hands from between ("red,blue"); a prober that runs has read it
	local name read_before
	{
		echo "tags 100 $(seq -s ' ' 201 220) $parking"
		echo "grace ${grace_ms:-30000}"
		for name in "${!tenant_of[@]}"; do echo "probe $name $FABRIC_PREFIX-$name eth0 ${between[$name]:-${tenant_of[$name]}}"; done
	} >"$dir/members.new"
	read_before=$(prober_reads)
	mv "$dir/members.new" "$dir/members"
	[ -z "$prober_pid" ] || wait_for 60 prober_reads_more_than "$read_before" || fail "the prober does not read its members again"
}
prober_reads() { grep -c ^ready "$dir/prober.log" 2>/dev/null || true; }
prober_reads_more_than() { [ "$(prober_reads)" -gt "$1" ]; }
prober_start() {
	members
	: >"$dir/prober.log" # the one before it was ready, too
	"$bin/prober" --members "$dir/members" --interval 100 --report 500 >"$dir/prober.log" &
	prober_pid=$!
	wait_for 60 grep -q ready "$dir/prober.log" || fail "the prober does not start: $(cat "$dir/prober.log")"
}
prober_end() { # sets prober_status: 0 nothing leaked, 1 something did
	prober_status=0
	kill "$prober_pid"
	wait "$prober_pid" || prober_status=$?
	prober_pid=''
}

# Nodes that change hands. From the moment when that is asked for until the database says that it was read back (port_intent.applied_version =
# wanted_version) their ports are either tenant's: the fault decides how long, so no time is set for it. From then on, and without a grace, they
# are their new tenant's alone, and whatever reaches them then from the old one is a leak, however long ago it was sent.
changing=()
swap() { # those of `changing`, of red and of blue
	local node
	for node in "${changing[@]}"; do
		between[$node]=red,blue
		if [ "${tenant_of[$node]}" = red ]; then tenant_of[$node]=blue; else tenant_of[$node]=red; fi
	done
	members
	for node in "${changing[@]}"; do want "$node" "${tenant_of[$node]}"; done
}
wanted_pairs() { # how many pairs, both directions, tenant_of means to talk
	local a b count=0
	for a in "${!tenant_of[@]}"; do
		for b in "${!tenant_of[@]}"; do [ "$a" = "$b" ] || [ "${tenant_of[$a]}" = - ] || [ "${tenant_of[$a]}" != "${tenant_of[$b]}" ] || count=$((count + 1)); done
	done
	echo $count
}
heard_since() { # LINE READY: a report after that line of the log, which knows the members of that reading, heard every wanted pair in its last 1.5 s
	awk -v line="$1" -v ready="$2" -v want="pairs=$(wanted_pairs)" '
		/^ready/ {read++; all = 0}
		/^report/ && NR > line && read >= ready {all = $5 == want && $6 == "heard=" substr(want, 7)}
		END {exit !all}' "$dir/prober.log"
}
nobody_else() { # NAME: all is applied: what was heard is nobody else's, and everybody is heard by all of its own
	local ready lines
	between=()
	ready=$(($(grep -c ^ready "$dir/prober.log") + 1))
	members
	sleep 2 # older than what a report counts as heard
	lines=$(wc -l <"$dir/prober.log")
	wait_for 60 heard_since "$lines" "$ready" || fail "$1: of $(wanted_pairs) wanted pairs: $(grep ^report "$dir/prober.log" | tail -n 1)"
	! grep -m 3 '^leak' "$dir/prober.log" >&2 || fail "$1: a frame of one tenant reached the other"
	kill -0 "$prober_pid" || fail "$1: the prober has ended"
	faults=$((faults + 1))
	say "$1"
}
answers() { ip netns exec "$FABRIC_PREFIX-$1" ping -n -q -c 2 -i 0.3 -W 1 "10.77.0.${2#n}" >/dev/null 2>&1; }
talking() { # NAME: while the fault lasts, the nodes that stay reach their own
	local a b
	for a in "${!tenant_of[@]}"; do
		for b in "${!tenant_of[@]}"; do
			[[ $a < $b && ${tenant_of[$a]} = "${tenant_of[$b]}" && " ${changing[*]} " != *" $a "* && " ${changing[*]} " != *" $b "* ]] || continue
			wait_for 30 answers "$a" "$b" || fail "$1: $a does not reach $b, and neither changes hands"
		done
	done
}

# The prober is worth something: a port that somebody puts into the wrong VLAN is found, before peregrined repairs it.
prober_finds_a_leak() { # NODE NETWORK-OF-ANOTHER
	local switch=${port_of[$1]%%:*} port=${port_of[$1]#*:} vlan
	vlan=$(sql "select vlan from network_vlan v join network n on n.id = v.network_id where n.name = '$2'")
	prober_start
	daemon_signal peregrined STOP
	vsctl "$switch" set port "$port" tag="$vlan"
	wait_for 60 grep -q '^leak' "$dir/prober.log" || fail "the prober misses $1 in VLAN $vlan"
	daemon_signal peregrined CONT
	prober_end
	[ $prober_status = 1 ] || fail "the prober found a leak and says $prober_status"
	wait_for 60 port_is "$switch" "$port" "$(vlan_of "${tenant_of[$1]}")" || fail "a foreign change is not repaired"
}
vlan_of() { sql "select vlan from network_vlan v join network n on n.id = v.network_id where n.name = '$1'"; }
port_is() { [ "$(vsctl "$1" get port "$2" tag)" = "$3" ]; }
