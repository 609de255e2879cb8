# The parts that `rack` puts together: namespace, bridge, BMCs; and what takes them down. Sourced by it only; uses its variables.
# shellcheck shell=bash disable=SC2154

rack_namespace() {
	ip netns add "$ns" || fail "the namespace $ns exists already, or none can be made here"
	ip -n "$ns" link set lo up
	cat >"$dir/lab.env" <<-END
		HAAS_NS=$ns
		HAAS_DIR=$dir
		HAAS_NODES=$count
		HAAS_GATEWAY=192.168.77.1
		HAAS_SUBNET=192.168.77.0/24
		HAAS_INTERFACE=br0
		HAAS_FIRMWARE=$firmware
		export OVS_RUNDIR=$dir/ovs OVS_LOGDIR=$dir/ovs OVS_DBDIR=$dir/ovs
	END
	# shellcheck disable=SC1091
	. "$dir/lab.env"
}

rack_bridge() {
	local n
	mkdir -p "$dir/ovs"
	ovsdb-tool create "$dir/ovs/conf.db" /usr/share/openvswitch/vswitch.ovsschema
	rack_exec ovsdb-server "$dir/ovs/conf.db" --remote="punix:$dir/ovs/db.sock" --pidfile --detach --log-file -vconsole:off 9>&-
	ovs-vsctl --db="unix:$dir/ovs/db.sock" --no-wait init
	rack_exec ovs-vswitchd "unix:$dir/ovs/db.sock" --pidfile --detach --log-file --disable-system -vconsole:off 9>&-
	local ports=(add-br br0 -- set bridge br0 datapath_type=netdev)
	# A port of a switch has no address and says nothing by itself. Left alone, the kernel answers ARP for the gateway on each port too, with
	# the port's own MAC, and nodes talk past the bridge, or not, as the two answers happen to race.
	for n in $(seq "$count"); do
		ip -n "$ns" tuntap add "tap$n" mode tap
		ip -n "$ns" link set "tap$n" arp off addrgenmode none up
		ports+=(-- add-port br0 "tap$n")
	done
	ovs-vsctl --db="unix:$dir/ovs/db.sock" "${ports[@]}"
	rack_address
}

rack_address() {
	ip -n "$ns" addr add 192.168.77.1/24 dev br0
	ip -n "$ns" addr add fd77::1/64 dev br0 nodad
	ip -n "$ns" link set br0 up
}

# QEMU opens its tap in its own namespace, the cable ends at a switch in another: a bridge of two ports is the plug between them. It
# learns nothing that matters and lets LLDP through (group_fwd_mask), which a bridge otherwise keeps to itself.
rack_fabric() {
	local n
	for n in $(seq "$count"); do
		"$here/fabric" attach --dir "$fabric" "n$n:eth0" "$ns" "wire$n" || fail "$fabric has no machine n$n"
		ip -n "$ns" -batch - <<-END
			tuntap add dev tap$n mode tap
			link add dev plug$n type bridge forward_delay 0 mcast_snooping 0 group_fwd_mask 0x4000
			link set dev tap$n master plug$n up
			link set dev wire$n master plug$n up
			link set dev plug$n up
		END
		ip netns exec "$ns" sysctl -qw "net.ipv6.conf.plug$n.disable_ipv6=1" # it is a plug, not a participant
	done
	"$here/fabric" attach --dir "$fabric" ctl:eth0 "$ns" br0
	"$here/fabric" manage --dir "$fabric" "$ns"
	rack_address
}

bmc_config() { # NODE_DIR PASSWORD: what ipmi_sim reads; the password is nowhere but in files of mode 0600
	local d=$1
	cat >"$d/lan.conf" <<-END
		name "$NODE_NAME"
		set_working_mc 0x20
		  startlan 1
		    addr $BMC_ADDRESS 623
		    priv_limit admin
		    allowed_auths_callback none md2 md5 straight
		    allowed_auths_user none md2 md5 straight
		    allowed_auths_operator none md2 md5 straight
		    allowed_auths_admin none md2 md5 straight
		    guid ${UUID//-/}
		    lan_config_program "$here/bmc/lan_config $d"
		  endlan
		  chassis_control "$here/bmc/chassis $d"
		  serial 15 $BMC_ADDRESS 9002 codec VM
		  console $BMC_ADDRESS 9004
		  user 1 false "" "" user 10 none md2 md5 straight
		  user 2 true "admin" "$2" admin 10 none md2 md5 straight
		  sol "telnet:$BMC_ADDRESS:9003" 115200 history=16384
	END
	cat >"$d/sim.emu" <<-END
		mc_setbmc 0x20
		mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
		sel_enable 0x20 1000 0x0a
		sensor_add 0x20 0 1 0x01 0x01
		sensor_set_value 0x20 0 1 0x1e 0
		sensor_set_threshold 0x20 0 1 settable 111000 0xa0 0x90 0x70 00 00 00
		sensor_set_event_support 0x20 0 1 enable scanning per-state 000111111000000 000111111000000 000111111000000 000111111000000
		mc_enable 0x20
		mc_add_fru_data 0x20 0 256 file 0 "$d/fru.bin"
	END
}

bmc_start() { # NODE_DIR...: one entry into the namespace for all of them
	# shellcheck disable=SC2016
	ip netns exec "$ns" bash -c 'for d; do
		setsid ipmi_sim -n -c "$d/lan.conf" -f "$d/sim.emu" -s "$d/state" >"$d/bmc.log" 2>&1 </dev/null &
		echo $! >"$d/bmc.pid"
	done' _ "$@"
}

bmc_listens() { # N: so many BMCs have their port
	[ "$(ip netns exec "$ns" ss -Huln 'sport = 623' | wc -l)" -ge "$1" ]
}

rack_bmcs() {
	local n d bits sdr=$dir/sensors.bin passwords
	rm -rf "$dir/node" # of an earlier rack
	sdrcomp -o "$sdr" "$here/bmc/sensors.sdrs"
	mapfile -t passwords < <(head -c $((8 * count)) /dev/urandom | od -An -v -tx1 -w8 | tr -d ' ')
	# shellcheck disable=SC2046
	mkdir -p $(for n in $(seq "$count"); do echo "$dir/node/n$n/state/ipmi_sim/n$n"; done)
	echo "name,class,rack,unit,firmware,secure_boot,serial,nic,mac,bmc_driver,bmc_address,bmc_port,bmc_username,bmc_password,bmc_cipher_suite,bmc_workarounds" \
		>"$dir/inventory.csv"
	# Hundreds of BMCs are asked for: nothing in this loop starts a process that a builtin can spare.
	for n in $(seq "$count"); do
		d=$dir/node/n$n
		printf -v BMC_ADDRESS '127.0.%d.%d' $((1 + (n - 1) / 250)) $((1 + (n - 1) % 250)) # all of 127/8 is the namespace's own
		printf -v MAC '52:54:00:77:%02x:%02x' $((n / 256)) $((n % 256))
		printf -v SERIAL 'HAAS%05d' "$n"
		printf -v bits '%012d' "$n"
		NODE_NAME=n$n UUID=68616173-6c61-4000-8000-$bits
		printf '%s' "${passwords[n - 1]}" >"$d/password"
		printf '%s\n' "NODE_NAME=n$n" "NODE_KIND=$node_kind" "FIRMWARE=$firmware" "ACCEL=$accel" "MEMORY_MIB=$memory_mib" \
			"CPUS=$cpus" "BOOT_ORDER=$order" "BOOT_MODE=$boot_mode" "BMC_ADDRESS=$BMC_ADDRESS" "TAP=tap$n" "MAC=$MAC" \
			"SECURE_BOOT=$secure_boot" "SERIAL=$SERIAL" "DISK_SERIAL=DISK$bits" "UUID=$UUID" >"$d/node.env"
		ln -s "$here/bmc/start" "$d/start"
		: >"$d/chassis.log"
		[ "$node_kind" = bare ] || truncate -s "${disk_mib}M" "$d/disk.raw"
		bmc_config "$d" "${passwords[n - 1]}"
		echo "$SERIAL $NODE_NAME $d/fru.bin"
		echo "n$n,demo,r1,$n,$firmware,${secure_boot:+signed},$SERIAL,eth0,$MAC,ipmi,$BMC_ADDRESS,623,admin,${passwords[n - 1]},3,opensesspriv" >>"$dir/inventory.csv"
	done > >("$here/bmc/fru")
	wait $!
	# shellcheck disable=SC2046
	for d in $(rack_nodes); do
		cp "$sdr" "$d/state/ipmi_sim/${d##*/}/sdr.20.main"
	done
	# shellcheck disable=SC2046
	bmc_start $(rack_nodes)
	wait_for 60 bmc_listens "$count" || fail "the BMCs do not all listen: $(cat "$dir"/node/*/bmc.log | tail -n 3)"
}

bmc_fault() { # NODE FAULT
	local d=$HAAS_DIR/node/$1
	ns=$HAAS_NS
	[ -d "$d" ] || fail "$1: no such node"
	# shellcheck disable=SC1091
	. "$d/node.env"
	case $2 in
	slow=*) echo "${2#slow=}" >"$d/slow" ;; # every chassis request takes so long
	dead) kill -9 "$(cat "$d/bmc.pid")" ;;  # its port answers "unreachable"
	hung) kill -STOP "$(cat "$d/bmc.pid")" ;; # silence
	password | none)
		rm -f "$d/slow"
		if is_alive "$d/bmc.pid"; then
			kill -9 "$(cat "$d/bmc.pid")"
			wait_for 60 bmc_gone "$d"
		fi
		rm -f "$d/state/ipmi_sim/$1/"lan* "$d/state/ipmi_sim/$1/"user* # what was persisted would win over the file
		bmc_config "$d" "$([ "$2" = none ] && cat "$d/password" || echo another-password)"
		bmc_start "$d"
		wait_for 60 bmc_answers "$BMC_ADDRESS" || fail "$1: the BMC does not come back"
		;;
	*) fail "no fault '$2'" ;;
	esac
}

bmc_answers() { # ADDRESS
	ip netns exec "$ns" ss -Huln "src $1:623" | grep . >/dev/null
}

bmc_gone() {
	! is_alive "$1/bmc.pid"
}

rack_down() { # NAMESPACE DIR
	local ns=$1 pids signal
	[ -e "/run/netns/$ns" ] || return 0
	for signal in TERM KILL KILL; do
		pids=$(ip netns pids "$ns")
		[ -n "$pids" ] || break
		# shellcheck disable=SC2086
		kill -CONT $pids 2>/dev/null || true
		# shellcheck disable=SC2086
		kill -"$signal" $pids 2>/dev/null || true
		for _ in $(seq 30); do
			[ -n "$(ip netns pids "$ns")" ] || break
			sleep 0.1
		done
	done
	# The kernel ends a namespace when it likes; cables to a fabric must be free for the next rack now.
	ip -n "$ns" -br link show type veth | awk '{sub(/@.*/, "", $1); print "link del dev", $1}' | ip -n "$ns" -batch -
	ip netns del "$ns"
	rm -rf "$2/ovs"
}
