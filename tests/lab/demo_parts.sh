# The parts of `demo` that are not its plain story: whose folder it is, a shared volume, packets with a tenant's consent. Sourced by it only; uses its variables and functions.
# shellcheck shell=bash disable=SC2154,SC2034

# --- the folder: made anew each time, so it must be ours -------------------------------------------------------------------------------------

demo_mark=.haas-demo # in it: the folder's own name, so that neither a copy nor a moved one is taken for a demo

demo_is_ours() { [ "$(cat "$dir/$demo_mark" 2>/dev/null)" = "$dir" ]; }
demo_folder() { # ends it where the folder is somebody else's; `dir` is absolute from here on
	dir=$(realpath -m -- "$dir")
	case $dir in *[[:space:]]*) fail "$dir has a blank in its name, which the BMCs of the lab cannot take; name another folder with HAAS_DEMO_DIR" ;; esac
	demo_is_ours && return
	[ -z "$down" ] || fail "$dir holds no demo, so nothing was ended or removed; name the folder that it was started with: HAAS_DEMO_DIR=FOLDER $0 --down"
	[ ! -e "$dir" ] || { [ -d "$dir" ] && [ -z "$(ls -A "$dir")" ]; } || fail "$dir holds something else, and the demo empties its folder; name another one with HAAS_DEMO_DIR"
}
demo_clear() { # the mark goes last: a demo that was half removed is still one
	[ -d "$dir" ] || return 0
	find "$dir" -mindepth 1 -maxdepth 1 ! -name "$demo_mark" -exec rm -rf {} +
	[ -z "$down" ] || rm -rf "$dir"
}
demo_make() {
	mkdir -p "$dir/log"
	chmod 0755 "$dir"
	echo "$dir" >"$dir/$demo_mark"
}
demo_again() { # OPTION: the command that means this very demo
	echo "${HAAS_DEMO_DIR:+HAAS_DEMO_DIR=$(printf '%q' "$dir") }$0 $*"
}

# --- a shared volume -------------------------------------------------------------------------------------------------------------------------

# What the OS of a namespace would do for a network with a tag, beside its untagged address: an Open vSwitch of its own, since the kernel here has no 8021q.
tagged_door() { # NODE VLAN ADDRESS/LENGTH
	own_switch "$1" >"$dir/log/door-$1" 2>&1
	os_vsctl "$1" add-br br0 -- set bridge br0 datapath_type=netdev fail-mode=standalone -- add-port br0 eth0 -- add-port br0 t0 "tag=$2" -- set interface t0 type=internal \
		"mac=\"$(space "$1" cat /sys/class/net/eth0/address)\"" # as a VLAN interface has it
	os_tagged "$1" t0 "$2" "$3"
}
door_closes() { # NODE
	kill "$(cat "$dir/os/$1/vswitchd.pid")" "$(cat "$dir/os/$1/ovsdb.pid")"
}
reaches_portal() { space "$1" timeout 2 bash -c "exec 3<>/dev/tcp/$2/3260" 2>/dev/null; }

volume_used() { # WRITER READER STRANGER: a volume of acme, through its own network, and nobody else's
	local net portal user secret target node
	haasctl volume create data --tenant acme --size 16M --pdci acme --wait
	net=$(sql "select name from network where storage_id is not null")
	volume_vlan=$(field acme "$1" "$net" vlan)
	portal=$(sql "select split_part(portal, ':', 1) from volume_view where name = 'data'")
	haasctl volume show data | sed -n '/^storage/,/^keep/{/^keep/!p}'
	for node in "$1" "$2"; do tagged_door "$node" "$volume_vlan" "$(field acme "$node" "$net" address)/28"; done
	read -r user secret target < <(haasctl -o json volume secret data |
		python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["user"], d["secret"], d["target"])')
	initiator "$user" "$secret" "$target" "$portal"
	wait_for 30 reaches_portal "$1" "$portal" || fail "$1 does not reach the volume at $portal"
	io_of "$1" "write -P 0x5a 0 1M" "read -P 0x5a 0 1M" || fail "$1 cannot use the volume: $(cat "$dir/io.out")"
	echo "$1 logged in to $portal in VLAN $volume_vlan, wrote 1 MiB and read it back"
	wait_for 30 reaches_portal "$2" "$portal" || fail "$2 does not reach the volume at $portal"
	io_of "$2" "read -P 0x5a 0 1M" || fail "$2 reads something else: $(cat "$dir/io.out")"
	echo "$2 logged in and read what $1 wrote"
	space "$3" ip addr add 100.96.0.13/28 dev eth0 # as one who means ill would
	! reaches_portal "$3" "$portal" || fail "$3 of globex reaches acme's storage"
	space "$3" ip addr del 100.96.0.13/28 dev eth0
	echo "$3 of globex, with an address of that network, gets no connection"
	for node in "$1" "$2"; do door_closes "$node"; done
}

volume_closed() { # no portal, no VLAN at the storage's cable
	! tgtadm_show portal | grep -qF 100.96. && ! ovs-vsctl --db="unix:$dir/fabric/switch/leaf2/db.sock" --columns=tag,trunks list port x1 | grep -qw "$volume_vlan"
}
volume_deleted() { # no file of it, no target
	[ -z "$(find "$storage/disk/volumes" -type f)" ] && ! tgtadm_show target | grep -q 'volume\.'
}

# --- packets, with consent -------------------------------------------------------------------------------------------------------------------

# An admin of the tenant, as the kernel says: no operator consents for a tenant.
tenant_person() { HAAS_SOCKET=$state/run/portald.sock setpriv --reuid haas-relay --regid haas-relay --clear-groups "$bin/haasctl" "$@"; }
capture_is() { [ "$(sql "select state from capture where id = $1")" = "$2" ]; }
capture_has() { [ "$(sql "select coalesce((result ->> 'packets')::int, 0) from capture where id = $1")" -ge "$2" ]; }
capture_mirrors() { ovs-vsctl --db="unix:$dir/fabric/switch/leaf3/db.sock" --bare --columns=name list mirror; }

capture_point() { # the cable from leaf3 to where the packets are kept
	"$lab/fabric" attach --dir "$dir/fabric" cap:eth0 "$HAAS_NS" cap1
	ip -n "$HAAS_NS" link set dev cap1 up
	haasctl capture point leaf3 --port x1 --interface cap1
}
capture_seen() { # NODE PEER: packets of the pair
	local id file=$dir/pair.pcapng
	id=$(member "$(haasctl -o jsonl capture start --node "$1" --peer "$2" --filter icmp --seconds 60 --reason "slow since ten")" id)
	haasctl account invite capturer --role tenant-admin --tenant acme --os-user haas-relay >/dev/null 2>&1
	tenant_person capture list
	capture_is "$id" waiting && [ -z "$(capture_mirrors)" ] || fail "something was captured without consent"
	tenant_person capture approve "$id"
	wait_for 30 capture_is "$id" running || fail "capture $id does not run: $(haasctl capture show "$id")"
	space "$1" ping -n -q -i 0.1 -c 20 "${address_of[$2]}" >/dev/null
	wait_for 30 capture_has "$id" 20 || fail "no packets come: $(haasctl capture show "$id")"
	haasctl capture stop "$id"
	wait_for 30 capture_is "$id" ended || fail "capture $id does not end"
	[ -z "$(capture_mirrors)" ] || fail "the mirror session stays: $(capture_mirrors)"
	haasctl capture show "$id" | sed -n '/^applications/,$p'
	haasctl capture download "$id" "$file"
	tcpdump -n -r "$file" 2>/dev/null >"$dir/pair.txt" || fail "tcpdump cannot read the file"
	head -n 4 "$dir/pair.txt"
	echo "... $(wc -l <"$dir/pair.txt") packets"
	! grep -v "${address_of[$1]}.*${address_of[$2]}\|${address_of[$2]}.*${address_of[$1]}" "$dir/pair.txt" || fail "packets of others are in the file"
	haasctl capture remove "$id"
	wait_for 30 capture_removed "$id" || fail "the packets stay"
}
capture_removed() { [ ! -e "$state/captures/$1" ]; }

# --- people log in, from outside of the namespace ---------------------------------------------------------------------------------------------

on_folders() { # of site_folders: a certificate for the address outside, and the port there
	"$bin/haasctl" ca create "$dir/ca" --site demo >"$dir/log/ca"
	"$bin/haasctl" ca issue portald --ca "$dir/ca" --role portal --name localhost --address 127.0.0.1 --out "$state/conf" >>"$dir/log/ca"
	daemon_extra[portald]="listen: { tls: { certificate = \"$state/conf/portald.crt\"; key = \"$state/conf/portald.key\"; }; };"
	daemon_front[portald]="$lab/hand_over $dir/port tls"
}
portal_url() { echo "https://127.0.0.1:$(cat "$dir/port")"; }
portal() { # PATH [OPTION of curl...]: as somebody on this machine who is outside of the namespace; a body comes by stdin
	curl -sS --cacert "$dir/ca/ca.crt" -H 'Content-Type: application/json' "${@:2}" "$(portal_url)/api/v1/$1"
}
declare -A password_of=() login_of=() # the header of a session
person() { # ACCOUNT ROLE [TENANT]: an operator invites, the person chooses a password and logs in
	local link
	link=$(member "$(curl -sS --unix-socket "$state/run/portald.sock" -H 'Content-Type: application/json' --data @- http://localhost/api/v1/accounts \
		<<<"{\"name\": \"${1##*/}\", \"role\": \"$2\"${3:+, \"tenant\": \"$3\"}}")" link)
	password_of[$1]=$(openssl rand -hex 10)
	portal links/use --data @- <<<"{\"link\": \"$link\", \"password\": \"${password_of[$1]}\"}" >/dev/null
	login_of[$1]="Authorization: Bearer $(member "$(portal login --data @- <<<"{\"account\": \"$1\", \"password\": \"${password_of[$1]}\"}")" secret)"
}
portal_nodes() { # HEADER: names, sorted
	portal nodes -H "$1" | python3 -c 'import json, sys; print(*sorted(row["name"] for row in json.load(sys.stdin)["items"]))'
}
people_log_in() { # NODE: one that is not globex's
	local token own
	curl -sS --cacert "$dir/ca/ca.crt" "$(portal_url)/" | grep -q '<title>' || fail "no page at $(portal_url)/: $(curl -sS --cacert "$dir/ca/ca.crt" "$(portal_url)/")"
	person boss operator
	person globex/gina tenant-admin globex
	[ "$(portal_nodes "${login_of[boss]}" | wc -w)" = 6 ] || fail "the operator sees $(portal_nodes "${login_of[boss]}")"
	token="Authorization: Bearer $(member "$(portal tokens -H "${login_of[globex/gina]}" --data @- <<<'{"name": "script", "role": "tenant-member", "scopes": ["node:read"], "expires_s": 3600}')" token)"
	own=$(members globex | cut -d ' ' -f 1 | sort | xargs)
	[ "$(portal_nodes "$token")" = "$own" ] || fail "globex's token sees $(portal_nodes "$token"), and its nodes are $own"
	echo "globex's token sees $own"
	[ "$(portal "nodes/$1" -H "$token" -o "$dir/refused" -w '%{http_code}')" = 404 ] || fail "globex's token sees $1: $(cat "$dir/refused")"
	[ "$(portal nodes -H "$token" -H 'X-Haas-Tenant: acme' -o "$dir/refused" -w '%{http_code}')" = 403 ] || fail "globex's token sees as acme: $(cat "$dir/refused")"
	echo "$1 does not exist for it, and it may not see as acme"
	[ "$(portal nodes -o "$dir/refused" -w '%{http_code}')" = 401 ] || fail "root has no name outside: $(cat "$dir/refused")"
	echo "without a login nobody sees anything: $(member "$(cat "$dir/refused")" title)"
}

# --- the site is well ------------------------------------------------------------------------------------------------------------------------

site_is_calm() { [ -z "$(haasctl -o jsonl alert list)" ] && haasctl status >/dev/null; }
