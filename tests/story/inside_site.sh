# What runs inside of a lab's nodes, for stories that play the installed OS: Open vSwitch for bonds and tags, since the kernel here may have neither. Sourced after
# isolation_site.sh.
# shellcheck shell=bash disable=SC2034,SC2154

inside=() # processes in nodes, by pid: the caller ends them
at() { "$fabric" exec --dir "$dir/fabric" "$@"; } # NODE COMMAND...
pings() { at "$1" ping -n -c 2 -i 0.2 -W 1 "$2" >/dev/null 2>&1; }

own_switch() { # NODE: Open vSwitch in its namespace, for bonds and tags; the kernel here has neither
	local d=$dir/os/$1
	mkdir -p "$d"
	ovsdb-tool create "$d/conf.db" /usr/share/openvswitch/vswitch.ovsschema
	OVS_RUNDIR=$d OVS_LOGDIR=$d OVS_DBDIR=$d OVS_SYSCONFDIR=$d at "$1" bash -euc "
		ovsdb-server $d/conf.db --remote=punix:$d/db.sock --pidfile=$d/ovsdb.pid -vconsole:off --log-file=$d/ovsdb.log --detach --no-chdir --unixctl=$d/ovsdb.ctl
		ovs-vsctl --db=unix:$d/db.sock --no-wait init -- set Open_vSwitch . other_config:userspace-tso-enable=true
		ovs-vswitchd unix:$d/db.sock --pidfile=$d/vswitchd.pid -vconsole:off --log-file=$d/vswitchd.log --detach --no-chdir --unixctl=$d/vswitchd.ctl --disable-system"
}
os_vsctl() { ovs-vsctl --db="unix:$dir/os/$1/db.sock" "${@:2}"; }

os_pids() { inside+=("$(cat "$dir/os/$1/vswitchd.pid")" "$(cat "$dir/os/$1/ovsdb.pid")"); }

field() { # PDCI NODE NETWORK MEMBER, of its NIC there
	haasctl pdci show "$1" -o json | python3 -c 'import json, sys
rows = [n for d in json.load(sys.stdin)["nodes"] if d["node"] == sys.argv[1] and not d["released_at"] for n in d["nics"] if n["network"] == sys.argv[2]]
print(rows[0][sys.argv[3]])' "$2" "$3" "$4"
}
os_up() { # PDCI NODE: what its installed OS would do: front untagged
	own_switch "$2"
	os_pids "$2"
	os_vsctl "$2" add-br br0 -- set bridge br0 datapath_type=netdev fail-mode=standalone -- add-port br0 eth0
	at "$2" ip addr add "$(field "$1" "$2" front address)/24" dev br0
	at "$2" ip link set dev br0 up
	at "$2" ip link set dev lo up
}
os_tagged() { # NODE INTERFACE VLAN ADDRESS/LENGTH
	os_vsctl "$1" --may-exist add-port br0 "$2" "tag=$3" -- set interface "$2" type=internal
	at "$1" ip addr replace "$4" dev "$2"
	at "$1" ip link set dev "$2" up
}
