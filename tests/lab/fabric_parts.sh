# The parts that `fabric` puts together. Sourced by it only; uses its variables. Names: namespace of switch or node X is $prefix-X.
# shellcheck shell=bash disable=SC2154

# --- topology -----------------------------------------------------------

fabric_generate() { # leaf L's port upS is cabled to spine S's port dnL; NIC I of node K is on leaf K+I (mod leaves); the controller on leaf1:c1
	local s l k i index nic line
	declare -A used=()
	for s in $(seq "$spines"); do echo "switch spine$s spine$([[ ,$ovsdb, != *,spine$s,* ]] || echo " ovsdb")"; done
	for l in $(seq "$leaves"); do echo "switch leaf$l leaf$([[ ,$ovsdb, != *,leaf$l,* ]] || echo " ovsdb")"; done
	for l in $(seq "$leaves"); do
		for s in $(seq "$spines"); do echo "link spine$s:dn$l leaf$l:up$s"; done
	done
	echo "park $park"
	echo "vlan 100 provisioning spine1"
	echo "machine ctl eth0=leaf1:c1@100"
	[ -z "$spares" ] || for l in $(seq "$leaves"); do echo "machine x$l eth0=leaf$l:s1"; done
	for k in $(seq "$nodes"); do
		line=$([ "$k" -le "$machines" ] && echo machine || echo node)" n$k"
		for i in $(seq 0 $((nics - 1))); do
			index=$(((k - 1 + i) % leaves + 1))
			used[$index]=$((${used[$index]:-0} + 1))
			nic=eth$i
			line+=" $nic=leaf$index:p${used[$index]}"
		done
		echo "$line"
	done
}

fabric_read() { # $dir/topology into arrays; a word that is not understood ends it
	switch_names=() node_names=() machine_names=() links=() vlans=() access_order=()
	declare -gA role=() options=() ports=() nics_of=() address=() trunk=() access=()
	local kind name rest a b nic at number=0 vid spine
	[ -s "$dir/topology" ] || fail "$dir: no topology there"
	while read -r kind name rest; do
		case $kind in
		'' | '#'*) ;;
		switch)
			switch_names+=("$name")
			role[$name]=${rest%% *}
			options[$name]=$([ "$rest" = "${rest#* }" ] || echo "${rest#* }")
			address[$name]=10.255.$((number / 200)).$((11 + number % 200))
			number=$((number + 1))
			;;
		link)
			links+=("$name $rest")
			for a in "$name" "$rest"; do ports[${a%%:*}]+=" ${a#*:}"; done
			;;
		node | machine)
			if [ "$kind" = node ]; then node_names+=("$name"); else machine_names+=("$name"); fi
			nics_of[$name]=$rest
			for nic in $rest; do
				at=${nic#*=}
				vid=-
				[ "$at" = "${at%@*}" ] || vid=@${at#*@}
				at=${at%@*}
				ports[${at%%:*}]+=" ${at#*:}"
				access[$at]=$vid
				access_order+=("$at")
			done
			;;
		vlan) vlans+=("$name $rest") ;;
		park) park=$name ;;
		*) fail "$dir/topology: '$kind' is no line of a topology" ;;
		esac
	done <"$dir/topology"
	[ ${#switch_names[@]} -gt 0 ] || fail "$dir/topology: no switches"
	for a in "${!ports[@]}"; do [ -n "${role[$a]:-}" ] || fail "$dir/topology: no switch $a"; done
	declare -A parked=()
	for at in "${access_order[@]}"; do # an access port is in its own VLAN, or in the parking one, wherever the line "park" stood
		a=${at%%:*}
		case ${access[$at]}$park in
		@*) access[$at]=${access[$at]#@} ;;
		*+) access[$at]=$((${park%+} + ${parked[$a]:-0})) parked[$a]=$((${parked[$a]:-0} + 1)) ;;
		*) access[$at]=$park ;;
		esac
	done
	for rest in "${vlans[@]}"; do
		read -r vid _ spine <<<"$rest"
		for at in "${links[@]}"; do
			read -r a b <<<"$at"
			for name in $spine; do
				[ "${a%%:*}" != "$name" ] && [ "${b%%:*}" != "$name" ] || {
					trunk[$a]+=,$vid
					trunk[$b]+=,$vid
				}
			done
		done
	done
}

# --- namespaces and cables ----------------------------------------------

fabric_number() { # NAME POSITION: of nK it is K, whatever else there is
	if [[ $1 =~ ([1-9][0-9]*)$ ]]; then echo "${BASH_REMATCH[1]}"; else echo $((50000 + $2)); fi
}

fabric_mac() { # NODE_NUMBER NIC_NUMBER
	printf '52:54:01:%02x:%02x:%02x' $(($1 / 256)) $(($1 % 256)) "$2"
}

fabric_cables() { # one `ip` for the namespaces, one for the cables
	local name a b nic at i number position=0
	{
		for name in mgmt "${switch_names[@]}" "${node_names[@]}"; do echo "netns add $prefix-$name"; done
	} | ip -batch - || fail "namespaces cannot be made here"
	{
		for name in "${switch_names[@]}"; do
			echo "link add dev mgmt0 netns $prefix-$name type veth peer name $name netns $prefix-mgmt"
		done
		for at in "${links[@]}"; do
			read -r a b <<<"$at"
			echo "link add dev ${a#*:} netns $prefix-${a%%:*} type veth peer name ${b#*:} netns $prefix-${b%%:*}"
		done
		for name in "${node_names[@]}" "${machine_names[@]}"; do
			position=$((position + 1))
			number=$(fabric_number "$name" $position)
			i=0
			for nic in ${nics_of[$name]}; do
				at=${nic#*=}
				at=${at%@*}
				if [[ " ${node_names[*]} " == *" $name "* ]]; then
					a="peer name ${nic%%=*} address $(fabric_mac "$number" $i) netns $prefix-$name"
				else
					a="peer name $name-${nic%%=*} netns $prefix-mgmt" # until something is attached
				fi
				echo "link add dev ${at#*:} netns $prefix-${at%%:*} type veth $a"
				i=$((i + 1))
			done
		done
	} | ip -batch - || fail "the cables cannot be made (a port twice?)"
	ip -n "$prefix-mgmt" -batch - <<-END
		link set dev lo up
		link add dev brm type bridge
		addr add 10.255.0.1/16 dev brm
		link set dev brm up
		$(for name in "${switch_names[@]}"; do printf 'link set dev %s master brm up\n' "$name"; done)
	END
}

# A new cable at a port whose old one is gone. Open vSwitch would go on with the old device: the port is taken out and put back, with what it
# was set to and the number that it had.
fabric_cable() { # SWITCH:PORT NAMESPACE INTERFACE; false while the old one is there
	local port=${1#*:} db=unix:$dir/switch/${1%%:*}/db.sock set number
	! ip -n "$prefix-${1%%:*}" link show dev "$port" >/dev/null 2>&1 || return 1
	mapfile -t set < <(ovs-vsctl --db="$db" get port "$port" vlan_mode tag trunks)
	number=$(ovs-vsctl --db="$db" get interface "$port" ofport)
	ovs-vsctl --db="$db" del-port br0 "$port"
	ip link add dev "$port" netns "$prefix-${1%%:*}" type veth peer name "$3" netns "$2"
	ovs-vsctl --db="$db" add-port br0 "$port" -- set port "$port" "vlan_mode=${set[0]}" "tag=${set[1]}" "trunks=${set[2]}" \
		-- set interface "$port" "ofport_request=$number"
}

fabric_attach() { # NODE:NIC NAMESPACE INTERFACE
	local nic at
	for nic in ${nics_of[${1%%:*}]:-}; do
		[ "${nic%%=*}" = "${1#*:}" ] || continue
		at=${nic#*=}
		at=${at%@*}
	done
	[ -n "${at:-}" ] || fail "$1: no such cable in $dir/topology"
	ip -n "$prefix-mgmt" link set dev "${1%%:*}-${1#*:}" netns "$2" name "$3" 2>/dev/null ||
		# The cable went away with the namespace that it was plugged into, which takes the kernel a moment.
		wait_for 60 fabric_cable "$at" "$2" "$3" || fail "$1: is attached elsewhere"
	ip -n "$prefix-${at%%:*}" link set dev "${at#*:}" up
	ip -n "$2" link set dev "$3" up
}

# Two nodes' cables change places, as when somebody plugs them back wrongly: NICs keep their MACs, names and addresses.
fabric_swap() { # NODE:NIC NODE:NIC
	local one=$prefix-${1%%:*} other=$prefix-${2%%:*} a b
	a=$(fabric_nic "$one" "${1#*:}") b=$(fabric_nic "$other" "${2#*:}")
	[ -n "$a" ] && [ -n "$b" ] || fail "swap takes two NODE:NIC of namespaces"
	ip -n "$one" link set dev "${1#*:}" netns "$prefix-mgmt" name swap1
	ip -n "$other" link set dev "${2#*:}" netns "$prefix-mgmt" name swap2
	ip -n "$prefix-mgmt" link set dev swap2 netns "$one" name "${1#*:}" address "${a% *}"
	ip -n "$prefix-mgmt" link set dev swap1 netns "$other" name "${2#*:}" address "${b% *}"
	ip -n "$one" addr add "${a#* }" dev "${1#*:}"
	ip -n "$other" addr add "${b#* }" dev "${2#*:}"
	ip -n "$one" link set dev "${1#*:}" up
	ip -n "$other" link set dev "${2#*:}" up
}

# A node's cable is pulled out (its port loses its link, and stays without) and put into the port of a loose one. The NIC keeps its MAC, name
# and address. The loose cable's name is then that of the cable in the old port, so that the next move can go there.
fabric_move() { # NODE:NIC MACHINE:NIC
	local one=$prefix-${1%%:*} nic=${1#*:} loose=${2%%:*}-${2#*:} a
	a=$(fabric_nic "$one" "$nic")
	[ -n "$a" ] || fail "$1: no such NIC of a namespace"
	ip -n "$prefix-mgmt" link show dev "$loose" >/dev/null 2>&1 || fail "$2: no loose cable"
	ip -n "$one" link set dev "$nic" down
	ip -n "$one" link set dev "$nic" netns "$prefix-mgmt" name pulled
	sleep 0.2 # a hand takes longer
	ip -n "$prefix-mgmt" link set dev "$loose" netns "$one" name "$nic" address "${a% *}"
	ip -n "$prefix-mgmt" link set dev pulled name "$loose"
	ip -n "$one" addr add "${a#* }" dev "$nic"
	ip -n "$one" link set dev "$nic" up
}

fabric_nic() { # NAMESPACE NIC: its MAC and its address
	ip -n "$1" -o addr show dev "$2" 2>/dev/null | awk '$3 == "inet" {print $4; exit}' | {
		read -r address && echo "$(ip -n "$1" -br link show dev "$2" | awk '{print $3}') $address"
	}
}

fabric_manage() { # NAMESPACE ADDRESS
	local port=m${2##*.}
	ip link add dev mgmt0 netns "$1" type veth peer name "$port" netns "$prefix-mgmt" 2>/dev/null ||
		wait_for 60 ip link add dev mgmt0 netns "$1" type veth peer name "$port" netns "$prefix-mgmt" 2>/dev/null || fail "$1 is on the management network already"
	ip -n "$prefix-mgmt" link set dev "$port" master brm up
	ip -n "$1" addr add "$2/16" dev mgmt0
	ip -n "$1" link set dev mgmt0 up
}

# --- switches -----------------------------------------------------------

switch_config() { # NAME: what its daemons read
	local name=$1 d=$dir/switch/$1 word oid=1.3.6.1.4.1.8072.9999.9999.4 descr='lab' cisco='' port number=0 step
	mkdir -p "$d/snmp"
	lldpd_config "$d" "$name"
	: >"$d/faults"
	rm -f "$d/options"
	for word in ${options[$name]:-}; do
		case $word in
		oid=*) oid=${word#oid=} ;;
		descr=*) descr=${word#descr=} ;;
		save=*) echo "${word#save=}" >>"$d/save" ;;
		fault=*) echo "${word#fault=}" >>"$d/faults" ;;
		ovsdb)
			[ -e "$dir/controller.crt" ] || lab_certificate "$dir/controller" controller
			lab_certificate "$d/ovsdb" "$name" "${address[$name]}"
			;;
		sflow) echo --sflow >>"$d/options" ;; # SFLOW-MIB
		like=*) printf -- '--like\n%s\n' "${word#like=}" >>"$d/options" ;; # a family's manners: switch_agent --help
		cli=*) # FAMILY:PORT: its command line; the first port's name there and by SNMP and LLDP, where _ stands for a blank
			echo "$word" | sed 's/^cli=//; s/:.*//' >"$d/cli"
			word=${word#*:} word=${word//_/ }
			printf -- '--beside-cli\n--first-port\n%s\n' "$word" >>"$d/options"
			: >"$d/cli_faults"
			echo admin >"$d/password"
			step=1
			[ "$word" = "${word%+*}" ] || step=${word#*+} word=${word%+*}
			for port in ${ports[$name]:-}; do
				echo "$port ${word%"${word##*[!0-9]}"}$((${word##*[!0-9]} + number))" >>"$d/names"
				number=$((number + step))
			done
			switch_neighbors "$name" >"$d/seed"
			sed 's/^\([^ ]*\) \(.*\)/configure ports \1 lldp portidsubtype local "\2"/' "$d/names" >>"$d/run/lldpd.conf"
			;;
		netconf=*) echo "${word#netconf=}" >"$d/netconf" ;; # what that port speaks, when it is not the family's own
		cisco=*) cisco=${word#cisco=} ;; # the VLANs that have a BRIDGE-MIB of their own
		*) fail "switch $name: '$word' is no option" ;;
		esac
	done
	cat >"$d/snmpd.conf" <<-END
		agentaddress udp:${address[$name]}:161
		master agentx
		agentXSocket $d/run/agentx
		agentXPerms 0666 0755
		agentXTimeout 120
		agentXRetries 0
		sysName $name
		sysDescr ${descr//_/ } switch $name (${role[$name]})
		sysObjectID $oid
		rocommunity public
		rwcommunity private
		createUser haas SHA "lab-auth-pass" AES "lab-priv-pass"
		createUser haas256 SHA-256 "lab-auth-pass" AES "lab-priv-pass"
	END
	if [ -n "$cisco" ]; then switch_contexts "$cisco" >>"$d/snmpd.conf"; else printf 'rwuser haas%s authPriv\n' '' 256 >>"$d/snmpd.conf"; fi
	[ -z "$cisco" ] || echo --cisco >>"$d/options"
}

# What a command line shows of its neighbours does not change: the other ends of the links, by the MAC of their first port, as lldpd has it.
switch_neighbors() { # NAME
	local name=$1 number=0 port link a b mac
	for port in ${ports[$name]:-}; do
		number=$((number + 1))
		for link in "${links[@]}"; do
			read -r a b <<<"$link"
			[ "$b" != "$name:$port" ] || b=$a a=$name:$port
			[ "$a" = "$name:$port" ] || continue
			read -r a _ <<<"${ports[${b%%:*}]}"
			mac=$(ip -n "$prefix-${b%%:*}" -br link show dev "$a" | awk '{print $3}')
			echo "neighbor $number $mac ${b#*:} ${b%%:*}"
		done
	done
}

switch_contexts() { # VLANS with commas: community@vlan and contexts vlan-N, as Cisco has them
	local vid
	echo 'view all included .1'
	for vid in ${1//,/ }; do echo "rocommunity public@$vid default -V all vlan-$vid"; done
	printf 'group vlans usm haas%s\n' '' 256
	echo 'access vlans "" usm priv exact all all none'
	echo 'access vlans vlan- usm priv prefix all none none'
}

lab_certificate() { # PATH NAME [ADDRESS]: PATH.crt and PATH.key; nobody signs it but itself, so that whoever trusts it trusts nothing else
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj "/CN=$2" ${3:+-addext "subjectAltName=IP:$3"} -keyout "$1.key" -out "$1.crt" 2>/dev/null
}

switch_ovs() { # NAME: Open vSwitch with its ports; access ports parked, trunks with what the topology says, or with nothing
	local name=$1 d=$dir/switch/$1 port vids number=0 remote=()
	export OVS_RUNDIR=$d OVS_LOGDIR=$d OVS_DBDIR=$d OVS_SYSCONFDIR=$d
	ovsdb-tool create "$d/conf.db" /usr/share/openvswitch/vswitch.ovsschema
	[ ! -e "$d/ovsdb.crt" ] || remote=(--remote="pssl:6640:${address[$name]}" --private-key="$d/ovsdb.key" --certificate="$d/ovsdb.crt" --ca-cert="$dir/controller.crt")
	ovsdb-server "$d/conf.db" --remote="punix:$d/db.sock" "${remote[@]}" --pidfile="$d/ovsdb.pid" --log-file="$d/ovsdb.log" --detach --no-chdir \
		--unixctl="$d/ovsdb.ctl" -vconsole:off
	# QEMU's taps and the veths leave their checksum and segmentation offloads on: docs/decision/taps-on-userspace-switches.md.
	ovs-vsctl --db="unix:$d/db.sock" --no-wait init -- set Open_vSwitch . other_config:userspace-tso-enable=true
	ovs-vswitchd "unix:$d/db.sock" --pidfile="$d/vswitchd.pid" --log-file="$d/vswitchd.log" --detach --no-chdir --unixctl="$d/vswitchd.ctl" \
		-vconsole:off --disable-system
	local words=(add-br br0 -- set bridge br0 datapath_type=netdev fail-mode=standalone)
	for port in ${ports[$name]:-}; do
		number=$((number + 1))
		words+=(-- add-port br0 "$port")
		[ ! -e "$d/cli" ] || words+=(-- set interface "$port" "ofport_request=$number") # its command line counts
		words+=(-- set port "$port")
		if [ -n "${access[$name:$port]:-}" ]; then
			words+=(vlan_mode=access "tag=${access[$name:$port]}")
		elif [[ " ${options[$name]:-}" = *" like="* ]]; then
			words+=(vlan_mode=native-untagged tag=1 trunks=1) # as from the factory
		else
			vids=${trunk[$name:$port]:-,4095} # on no wire: an empty list would be every VLAN
			words+=(vlan_mode=trunk "trunks=${vids#,}")
		fi
	done
	ovs-vsctl --db="unix:$d/db.sock" "${words[@]}"
}

switch_snmpd() { # NAME
	local d=$dir/switch/$1
	SNMP_PERSISTENT_DIR=$d/snmp MIBS='' snmpd -C -c "$d/snmpd.conf" -Lf "$d/snmpd.log" -p "$d/snmpd.pid"
}

switch_agent() { # NAME: returns when it is known to snmpd
	local name=$1 d=$dir/switch/$1 saves=() more=() line
	if [ -s "$d/save" ]; then
		while read -r line; do saves+=(--save "$line"); done <"$d/save"
	fi
	[ ! -e "$d/options" ] || mapfile -t more <"$d/options"
	: >"$d/agent.out"
	# Net-SNMP loses a PDU of its own when it is shut down.
	ASAN_OPTIONS=detect_leaks=0 setsid "$agent" --database "$d/db.sock" --control "$d/vswitchd.ctl" --agentx "$d/run/agentx" --startup "$d/startup" --faults "$d/faults" \
		--openflow "$d/br0.mgmt" "${saves[@]}" "${more[@]}" >"$d/agent.out" 2>>"$d/agent.log" </dev/null &
	echo $! >"$d/agent.pid"
	wait_for 60 grep -q ready "$d/agent.out" || {
		tail -n 5 "$d/agent.log" >&2
		return 1
	}
}

switch_cli() { # NAME: the command line of the same bridge, on port 22; it has the configuration from here on
	local name=$1 d=$dir/switch/$1 count more=()
	[ -e "$d/cli" ] || return 0
	[ ! -e "$d/netconf" ] || more=(--netconf "$(cat "$d/netconf")")
	# shellcheck disable=SC2086
	count=$(printf '%s\n' ${ports[$name]} | wc -l)
	: >"$d/cli.out"
	setsid "${agent%/*}/switch_cli" --family "$(cat "$d/cli")" --hostname "$name" --listen "${address[$name]}" --port 22 --ports "$count" --host-key "$d/ssh_key" --seed "$d/seed" \
		--password-file "$d/password" --faults "$d/cli_faults" --database "$d/db.sock" --control "$d/vswitchd.ctl" "${more[@]}" >"$d/cli.out" 2>"$d/cli.log" </dev/null &
	echo $! >"$d/cli.pid"
	wait_for 60 grep -q ready "$d/cli.out" || {
		tail -n 5 "$d/cli.log" >&2
		return 1
	}
}

lldpd_config() { # FOLDER NAME: its own /etc/hosts (a look-up of the host name would block it for 12 s), its own /run (compiled in)
	local d=$1 name=$2
	# lldpd is another user, and meets the others in what is its own /run; above it, the folders are closed.
	mkdir -p "$d/run/lldpd"
	chmod 0755 "$d/run" "$d/run/lldpd"
	printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$name" >"$d/run/hosts"
	cat >"$d/run/lldpd.conf" <<-END
		configure system hostname $name
		configure system description "lab ${role[$name]:-node} $name"
		configure lldp tx-interval 2
		configure lldp portidsubtype ifname
		configure system ip management pattern 10.255.*
	END
	chmod 0644 "$d/run/lldpd.conf" "$d/run/hosts"
}

lldpd_start() { # FOLDER NAME PORTS [OPTION...], in its namespace; PORTS with commas
	# shellcheck disable=SC2016
	setsid unshare -m -u sh -c 'hostname "$1"; mount --bind "$2/run" /run; mount --bind /run/hosts /etc/hosts; ports=$3; shift 3
		exec lldpd -u /run/lldpd.sock -I "$ports" -C "$ports" -O /run/lldpd.conf "$@"' _ "$2" "$1" "${@:3}" >"$1/lldpd.log" 2>&1 </dev/null
}

switch_lldpd() { # NAME
	local list
	# shellcheck disable=SC2086
	list=$(printf '%s,' ${ports[$1]:-none})
	lldpd_start "$dir/switch/$1" "$1" "${list%,}" -x -X /run/agentx
}

switch_start() { # NAME: runs in the switch's namespace
	local name=$1 port
	{
		echo "link set dev lo up"
		echo "addr add ${address[$name]}/16 dev mgmt0"
		echo "link set dev mgmt0 up"
		for port in ${ports[$name]:-}; do echo "link set dev $port arp off addrgenmode none up"; done
	} | ip -batch -
	switch_ovs "$name"
	switch_snmpd "$name"
	switch_agent "$name"
	switch_cli "$name"
	switch_lldpd "$name"
}

fabric_in() { # NAMESPACE FUNCTION NAME: this program's own functions, inside of a namespace
	local where=$1
	shift
	ip netns exec "$prefix-$where" env FABRIC_INSIDE=1 bash -euo pipefail -c "$(declare -f wait_for fail "${parts[@]}"); $(declare -p "${facts[@]}" 2>/dev/null); \"\$@\"" _ "$@"
}
parts=(switch_start switch_ovs switch_snmpd switch_agent switch_cli switch_lldpd lldpd_start)
facts=(dir agent address ports access trunk options)

fabric_switches() { # all at once
	local name pids=() pid failed=0
	for name in "${switch_names[@]}"; do
		switch_config "$name"
		fabric_in "$name" switch_start "$name" >"$dir/switch/$name/start.log" 2>&1 </dev/null 9>&- &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
	[ $failed = 0 ] || {
		tail -n 5 "$dir"/switch/*/start.log >&2
		fail "a switch does not start (its log: $dir/switch/NAME/)"
	}
	for name in "${switch_names[@]}"; do echo "$name ${role[$name]} ${address[$name]}"; done >"$dir/switches"
}

# --- nodes --------------------------------------------------------------

fabric_nodes() { # NIC I of node nK has 10.(77+I).0.K: one subnet for all, so that only VLANs keep them apart
	local name nic i number position=0
	for name in "${node_names[@]}"; do
		position=$((position + 1))
		number=$(fabric_number "$name" $position)
		i=0
		{
			echo "link set dev lo up"
			for nic in ${nics_of[$name]}; do
				echo "addr add 10.$((77 + i)).$((number / 250)).$((number % 250))/16 dev ${nic%%=*}"
				echo "link set dev ${nic%%=*} up"
				i=$((i + 1))
			done
		} | ip -n "$prefix-$name" -batch -
		[ -z "$lldp" ] || {
			lldpd_config "$dir/node/$name" "$name"
			fabric_in "$name" lldpd_start "$dir/node/$name" "$name" "eth*"
		}
	done
}

fabric_env() {
	cat >"$dir/fabric.env" <<-END
		FABRIC_DIR=$dir
		FABRIC_PREFIX=$prefix
		FABRIC_NS=$prefix-mgmt
		FABRIC_AGENT=$agent
		FABRIC_PARK=$park
		FABRIC_COMMUNITY_RO=public
		FABRIC_COMMUNITY_RW=private
		FABRIC_V3_USER=haas256
		FABRIC_V3_AUTH=SHA-256:lab-auth-pass
		FABRIC_V3_PRIVACY=AES:lab-priv-pass
	END
}

# --- faults -------------------------------------------------------------

switch_reboot() { # NAME SECONDS, in its namespace: no link, no agents; back with what was saved
	local name=$1 d=$dir/switch/$1 port pid
	for port in mgmt0 ${ports[$name]:-}; do ip link set dev "$port" down; done
	for pid in agent snmpd; do kill -9 "$(cat "$d/$pid.pid")" 2>/dev/null || true; done
	sleep "$2"
	ovs-appctl -t "$d/vswitchd.ctl" fdb/flush br0 >/dev/null
	rm -f "$d/run/agentx"
	ip link set dev mgmt0 up
	switch_snmpd "$name"
	switch_agent "$name" # its configuration is in place before the first frame
	for port in ${ports[$name]:-}; do ip link set dev "$port" up; done
}

switch_broken_lldp() { # NAME: beside lldpd and before it
	local d=$dir/switch/$1
	: >"$d/broken_lldp.out"
	ASAN_OPTIONS=detect_leaks=0 setsid "$agent" --database "$d/db.sock" --control "$d/vswitchd.ctl" --agentx "$d/run/agentx" --broken-lldp \
		>"$d/broken_lldp.out" 2>>"$d/agent.log" </dev/null &
	echo $! >"$d/broken_lldp.pid"
	wait_for 60 grep -q ready "$d/broken_lldp.out"
}

# Its SNMP answers arrive cut short: whoever is in the management namespace meets a stand-in at its address, which asks the switch from inside.
fabric_cut() { # NAME
	local d=$dir/switch/$1
	ip -n "$prefix-mgmt" addr add "${address[$1]}/32" dev lo
	: >"$d/snmp_cut.out"
	ip netns exec "$prefix-mgmt" setsid python3 "$here/snmp_cut.py" "${address[$1]}" "/run/netns/$prefix-$1" >"$d/snmp_cut.out" 2>>"$d/agent.log" </dev/null &
	echo $! >"$d/snmp_cut.pid"
	wait_for 60 grep -q ready "$d/snmp_cut.out"
}

fabric_fault() { # SWITCH WORD...
	local name=$1 d=$dir/switch/$1 word words=()
	shift
	# shellcheck disable=SC1091
	. "$dir/fabric.env"
	agent=$FABRIC_AGENT
	parts+=(switch_reboot switch_broken_lldp)
	for word; do
		case $word in
		reboot) fabric_in "$name" switch_reboot "$name" 2 ;;
		reboot=*) fabric_in "$name" switch_reboot "$name" "${word#*=}" ;;
		hung) kill -STOP "$(cat "$d/snmpd.pid")" ;;
		awake) kill -CONT "$(cat "$d/snmpd.pid")" ;;
		unreachable) ip -n "$prefix-mgmt" link set dev "$name" down ;;
		reachable) ip -n "$prefix-mgmt" link set dev "$name" up ;;
		down=*) ip -n "$prefix-$name" link set dev "${word#*=}" down ;;
		up=*) ip -n "$prefix-$name" link set dev "${word#*=}" up ;;
		lldp_name=*) nsenter -t "$(cat "$d/run/lldpd.pid")" -m lldpcli -u /run/lldpd.sock configure system hostname "${word#*=}" >/dev/null ;;
		lldp=off) kill "$(cat "$d/run/lldpd.pid")" ;;
		lldp=broken) fabric_in "$name" switch_broken_lldp "$name" ;;
		lldp=well) kill "$(cat "$d/broken_lldp.pid")" ;;
		snmp=cut) fabric_cut "$name" ;;
		snmp=whole) kill "$(cat "$d/snmp_cut.pid")" && ip -n "$prefix-mgmt" addr del "${address[$name]}/32" dev lo ;;
		lldp=on) fabric_in "$name" switch_lldpd "$name" ;;
		*) words+=("$word") ;;
		esac
	done
	[ ${#words[@]} = 0 ] || {
		if [ "${words[0]}" = none ]; then printf '%s\n' "${words[@]:1}"; else
			cat "$d/faults"
			printf '%s\n' "${words[@]}"
		fi >"$d/faults.new"
		mv "$d/faults.new" "$d/faults"
	}
}

# --- status, end --------------------------------------------------------

fabric_status() {
	local name d answer
	printf '%-10s %-6s %-14s %-6s %-6s %-6s %s\n' SWITCH ROLE ADDRESS OVS SNMP AGENT FAULTS
	for name in "${switch_names[@]}"; do
		d=$dir/switch/$name
		answer=$(ip netns exec "$prefix-mgmt" snmpget -v2c -c public -r 0 -t 1 -Oqv "${address[$name]}" 1.3.6.1.2.1.17.1.2.0 2>/dev/null || echo -)
		printf '%-10s %-6s %-14s %-6s %-6s %-6s %s\n' "$name" "${role[$name]}" "${address[$name]}" \
			"$(is_alive "$d/vswitchd.pid" && echo up || echo down)" "$(is_alive "$d/snmpd.pid" && echo up || echo down)" \
			"$([[ $answer =~ ^[0-9]+$ ]] && echo "$answer" || echo down)" "$(tr '\n' ' ' <"$d/faults")"
	done
}

fabric_down() {
	local names pids name signal
	mapfile -t names < <(ip netns list 2>/dev/null | awk -v p="$prefix-" 'index($1, p) == 1 {print $1}')
	for signal in TERM KILL KILL; do
		pids=$(for name in "${names[@]}"; do ip netns pids "$name"; done)
		[ -n "$pids" ] || break
		# shellcheck disable=SC2086
		kill -CONT $pids 2>/dev/null || true
		# shellcheck disable=SC2086
		kill -"$signal" $pids 2>/dev/null || true
		for _ in $(seq 20); do
			[ -n "$(for name in "${names[@]}"; do ip netns pids "$name"; done)" ] || break
			sleep 0.1
		done
	done
	[ ${#names[@]} = 0 ] || printf 'netns del %s\n' "${names[@]}" | ip -batch - || true
	rm -f "$dir/fabric.env" # the logs stay
}
