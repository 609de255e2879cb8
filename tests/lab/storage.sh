# A storage of the lab: tgtd and bampi-stored in a node's namespace, with accounts and folders of their own as deploy/storage makes them, the namespace's NIC on an Open vSwitch of its own (the kernel here has no 8021q). Sourced after
# tests/story/inside_site.sh; uses `at`, `haasctl`, `sql`, and of the site `dir`, `state`, `bin`.
# shellcheck shell=bash disable=SC2154

storage=$dir/storage
as_stored=(setpriv --reuid haas-stored --regid haas-stored --clear-groups) as_tgtd=(setpriv --reuid haas-tgtd --regid haas-tgtd --clear-groups --no-new-privs)
tgtadm_show() { "${as_stored[@]}" env TGT_IPC_SOCKET="$storage/run/tgtd" tgtadm --lld iscsi --op show --mode "$1"; }

storage_up() { # NODE SWITCH:PORT: storage s1, known and heard of; portals in 100.96.0.0/24
	install -d -m 2710 -o haas-stored -g haas-tgtd "$storage/disk"
	install -d -m 2710 -o haas-tgtd -g haas-stored "$storage/run"
	install -d -m 0700 -o haas-stored -g haas-stored "$storage/keys"
	at "$1" ip link set dev lo up
	own_switch "$1"
	os_pids "$1"
	os_vsctl "$1" add-br br0 -- set bridge br0 datapath_type=netdev fail-mode=standalone -- add-port br0 eth0
	chgrp haas-stored "$dir/os/$1/db.sock" && chmod 0660 "$dir/os/$1/db.sock"
	# Both with the umask of their units. root's shell is ended with it; the daemon is the child that unshare became
	at "$1" bash -c "echo \$\$ >$dir/tgtd.pid; umask 0007; exec setsid ${as_tgtd[*]} env TGT_IPC_SOCKET=$storage/run/tgtd unshare --user tgtd -f --iscsi portal=127.0.0.1:3260" >/dev/null 2>&1 </dev/null &
	disown
	wait_for 60 tgtadm_show target >/dev/null 2>&1 || fail "tgtd does not start"
	cat >"$dir/stored.conf" <<-END
		database = "$(daemon_database bampi_stored)";
		storage = "s1";
		dir = "$storage/disk";
		key_dir = "$storage/keys";
		control = "$storage/run/tgtd.0";
		uplink = "$dir/os/$1/db.sock";
		network_program = "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/storage_network";
		period = 300;
	END
	at "$1" bash -c "echo \$\$ >$dir/stored.pid; umask 0027; exec ${as_stored[*]} --inh-caps=+net_admin --ambient-caps=+net_admin $bin/bampi-stored --config $dir/stored.conf" >>"$state/log/stored.log" 2>&1 </dev/null &
	disown
	haasctl storage set s1 --portal 10.4.0.2:3260 --capacity 1G --port "$2" --prefix 100.96.0.0/24 >/dev/null
	wait_for 60 storage_is_heard || fail "the storage is not ready"
}
storage_is_heard() { [ "$(sql "select count(*) from storage where seen_at is not null and problem is null and total_bytes is not null")" = 1 ]; }

storage_down() {
	[ ! -s "$dir/tgtd.pid" ] || kill -9 "$(cat "$dir/tgtd.pid")" # it waits for its targets to go
	[ ! -s "$dir/stored.pid" ] || kill "$(cat "$dir/stored.pid")"
}

# --- initiators that need no kernel ---

initiator() { # USER SECRET TARGET PORTAL [NAME]: options of qemu-io; the secret goes into a file
	printf '%s' "$2" >"$dir/chap.$1"
	io=(--object "secret,id=s,file=$dir/chap.$1" --image-opts "driver=iscsi,transport=tcp,portal=$4:3260,target=$3,lun=1,user=$1,password-secret=s,initiator-name=${5:-iqn.2026-11.test:story}")
}
io_of() { # NODE COMMAND...: with `io`; false when it cannot log in, or reads something else
	local node=$1 words=() word out
	shift
	for word; do words+=(-c "$word"); done
	out=$(at "$node" timeout 60 qemu-io "${words[@]}" "${io[@]}" 2>&1) || { echo "$out" >"$dir/io.out"; return 1; }
	echo "$out" >"$dir/io.out"
	! grep -qE "can't open|failed|Pattern verification" "$dir/io.out"
}
