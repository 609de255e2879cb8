# A whole site for the fleet (tests/sim/README.md): two network namespaces, one with PostgreSQL's clients bampi-bootd, bampid and portald, the
# other with the machines. Sourced by stories and by tests/bench/scale; the caller has `set -euo pipefail`. HAAS_BUILD: a build folder.
#
#   fleet_lab NODES [OPTION of `fleet run`...]      everything up, nodes imported and accepted, image demo, machines off
#   $lab: its folder; $site, $hall: the namespaces. FLEET_DURABLE=1: PostgreSQL as `haasctl db init` makes it, with fsync.
#   FLEET_REDFISH=SHARE: so many of the BMCs speak Redfish, over HTTPS with one key that bampid is told of.
# shellcheck shell=bash
build=${HAAS_BUILD:-build/dev}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
case $build in /*) ;; *) build=$root/$build ;; esac
bin=$build/bin
. "$root/tests/support/story.sh"
for program in bampi-bootd bampid portald haasctl fleet; do
	[ -x "$bin/$program" ] || { echo "$bin/$program is not built"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "network namespaces need root"; exit 77; }
lab=$(mktemp -d "${TMPDIR:-/tmp}/haas-fleet.XXXXXX")
chmod 755 "$lab"
conninfo_host=$lab/pg
site=fs$$ hall=fh$$
declare -A pids=()
fleet_image_bytes=${FLEET_IMAGE_BYTES:-65536}
fleet_bmcs=()
[ -z "${FLEET_REDFISH:-}" ] || fleet_bmcs=(--redfish "$FLEET_REDFISH" --certificate "$lab/bmc.pem")

haasctl() { HAAS_SOCKET=$lab/run/portald.sock "$bin/haasctl" "$@"; }
on_failure() {
	sql "select plan, state, step, count(*), min(problem ->> 'message') from deployment group by 1, 2, 3 order by 1, 2, 3" || true
	sql "select at, kind, subject, message, detail -> 'problem' ->> 'detail' from event order by id desc limit 20" || true
	local log
	for log in "$lab"/log/*; do
		printf -- '--- %s\n' "${log##*/}"
		tail -n 15 "$log"
	done
}
ended() { await_true "$1" "select count(*) = 0 from deployment where due_at is not null"; }

fleet_lab_stop() {
	local name
	for name in "${!pids[@]}"; do
		kill -CONT "${pids[$name]}" 2>/dev/null || true
		kill -9 "${pids[$name]}" 2>/dev/null || true
		wait "${pids[$name]}" 2>/dev/null || true
	done
	pg_stop || true
	ip netns del "$site" 2>/dev/null || true
	ip netns del "$hall" 2>/dev/null || true
	[ -n "${LAB_KEEP:-}" ] || rm -rf "$lab"
}
trap fleet_lab_stop EXIT

# --- PostgreSQL ---
pg_start() {
	if [ -n "${FLEET_DURABLE:-}" ]; then
		"$bin/haasctl" db init --dir "$lab/pg" >"$lab/log/pg" 2>&1
	else
		"$root/tests/support/pg" start "$lab/pg" >"$lab/log/pg" 2>&1
	fi || { cat "$lab/log/pg"; exit 1; }
}
pg_stop() {
	if [ -n "${FLEET_DURABLE:-}" ]; then
		"$bin/haasctl" db stop --dir "$lab/pg"
	else
		"$root/tests/support/pg" stop "$lab/pg"
	fi >/dev/null 2>&1
}

# --- programs ---
# That cluster knows its roles by OS user, so there the daemons are who they are in production.
daemon_user() { [ -z "${FLEET_DURABLE:-}" ] || echo "haas-$1"; }
folders() {
	mkdir -p "$lab"/{log,run,keys,image-keys,boot,images}
	[ -n "${FLEET_DURABLE:-}" ] || return 0
	chown haas-portald:haas-bootd "$lab/images" && chmod 2750 "$lab/images"
	chown haas-bampid: "$lab/keys" && chmod 0700 "$lab/keys"
	chmod 0777 "$lab/run"
}
run_in() { # NAMESPACE NAME COMMAND...: in the background; a second one of a name appends to its log
	local namespace=$1 name=$2
	shift 2
	ip netns exec "$namespace" "$@" >>"$lab/log/$name" 2>&1 </dev/null &
	pids[$name]=$!
}
daemon_start() { run_in "$site" "$1" "$bin/${1%_*}" --config "$lab/$1.conf"; } # bampid_two is a bampid
daemon_kill() { kill -9 "${pids[$1]}"; wait "${pids[$1]}" 2>/dev/null || true; unset "pids[$1]"; }
daemon_stop() {
	kill -TERM "${pids[$1]}"
	wait "${pids[$1]}" || fail "$1 did not stop cleanly"
	unset "pids[$1]"
}
bampid_conf() { # NAME: FLEET_BAMPID adds lines
	cat >"$lab/$1.conf" <<-CONF
		database = "host=$lab/pg dbname=haas user=bampid";
		user = "$(daemon_user bampid)"; name = "$1"; socket = { path = "$lab/run/$1.sock"; };
		key_dir = "$lab/keys"; image_keys = "$lab/image-keys"; console_dir = "";
		${FLEET_BAMPID:-}
	CONF
}
confs() {
	cat >"$lab/bampi-bootd.conf" <<-CONF
		database = "host=$lab/pg dbname=haas user=bampi_bootd";
		user = "$(daemon_user bootd)"; boot_dir = "$lab/boot"; image_dir = "$lab/images"; metrics_socket = "$lab/run/bootd.sock";
		${FLEET_BOOTD:-}
	CONF
	cat >"$lab/portald.conf" <<-CONF
		database = "host=$lab/pg dbname=haas user=portald";
		user = "$(daemon_user portald)"; socket = { path = "$lab/run/portald.sock"; };
		image_keys = "$lab/image-keys"; bampid_socket = "$lab/run/bampid.sock"; image_dir = "$lab/images";
	CONF
	bampid_conf bampid
}
namespaces() {
	ip netns add "$site"
	ip netns add "$hall"
	ip -n "$site" link add to_hall type veth peer name to_site netns "$hall"
	ip -n "$site" link set lo up
	ip -n "$hall" link set lo up
	ip -n "$site" addr add 10.127.0.1/30 dev to_hall
	ip -n "$hall" addr add 10.127.0.2/30 dev to_site
	ip -n "$site" link set to_hall up
	ip -n "$hall" link set to_site up
	ip -n "$site" route add 10.128.0.0/9 via 10.127.0.2
	ip -n "$hall" route add local 10.128.0.0/9 dev lo
	ip netns exec "$hall" sysctl -qw net.ipv4.tcp_tw_reuse=1 net.ipv4.ip_nonlocal_bind=1 || true
}
boot_files() {
	head -c 4000 /dev/urandom >"$lab/boot/undionly.kpxe"
	head -c 6000 /dev/urandom >"$lab/boot/snponly.efi"
	head -c 6000 /dev/urandom >"$lab/boot/snponly-arm64.efi"
	head -c 8000 /dev/urandom >"$lab/boot/vmlinuz"
	head -c 16000 /dev/urandom >"$lab/boot/agent.img"
	chmod 644 "$lab"/boot/*
}
image() { # a signed image of random bytes; nothing unpacks it here
	local digest file=$lab/demo-1.img.zst manifest=$lab/demo-1.manifest.json
	head -c "$fleet_image_bytes" /dev/urandom >"$file"
	digest=$(b2sum -l 256 "$file" | cut -d' ' -f1)
	printf '{"name":"demo","version":"1","arch":"x86_64","format":"raw+zstd","digest":"%s","size_bytes":%d,"stored_digest":"%s","stored_bytes":%d,"root_partition":1,"firmware":["bios","uefi"],"created":"2026-01-01T00:00:00Z"}\n' \
		"$digest" $((4 * fleet_image_bytes)) "$digest" "$fleet_image_bytes" >"$manifest"
	"$bin/haasctl" image keygen "$lab/demo.key" >/dev/null
	"$bin/haasctl" image sign --key "$lab/demo.key" "$manifest" >/dev/null
	cp "$lab/demo.key.pub" "$lab/image-keys/demo.pub"
}
certificate() { # of all Redfish BMCs
	[ ${#fleet_bmcs[@]} != 0 ] || return 0
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=bmc -keyout "$lab/bmc.key" -out "$lab/bmc.crt" 2>"$lab/log/openssl" ||
		fail "no certificate: $(cat "$lab/log/openssl")"
	cat "$lab/bmc.crt" "$lab/bmc.key" >"$lab/bmc.pem"
}
ready() {
	[ "$(sql "select count(*) from daemon_key where daemon = 'bampid'" 2>/dev/null)" = 1 ] && haasctl node list >/dev/null 2>&1
}

in_thousands() { # COMMAND...: with the words of stdin, a thousand at a time
	xargs -n 1000 env HAAS_SOCKET="$lab/run/portald.sock" "$@"
}
names() { seq -f 'f%g' "$1" "$2"; }

fleet_sheet() { "$bin/fleet" sheet --nodes "$1" "${fleet_bmcs[@]}"; } # NODES
fleet_nodes() { # NODES: imported and accepted
	fleet_sheet "$1" >"$lab/sheet.csv"
	haasctl node import "$lab/sheet.csv" >"$lab/log/import" 2>&1 || fail "import: $(cat "$lab/log/import")"
	fleet_accept
}
fleet_accept() { # a thousand nodes are one transaction
	sql "select name from node where state = 'discovered' order by id" | in_thousands "$bin/haasctl" node accept >"$lab/log/accept" 2>&1 ||
		fail "accept: $(grep -v ' free$' "$lab/log/accept" | sort | uniq -c | sort -n | tail -n 4)"
}
machines_start() { # NODES OPTION...
	local nodes=$1
	shift
	run_in "$hall" fleet "$bin/fleet" run --nodes "$nodes" "${fleet_bmcs[@]}" --database "host=$lab/pg dbname=haas user=haas" "$@"
}
# The machines' verdict: ends them, prints it, fails when an invariant broke.
machines_end() {
	kill -TERM "${pids[fleet]}"
	local status=0
	wait "${pids[fleet]}" || status=$?
	unset "pids[fleet]"
	tail -n 3 "$lab/log/fleet"
	[ $status = 0 ] || fail "the fleet's verdict: $(grep -c VIOLATION "$lab/log/fleet") violations: $(grep VIOLATION "$lab/log/fleet" | head -n 10)"
}
# One of the machines' counters, once they have ended.
fleet_counter() { grep -o " $1=[0-9]*" "$lab/log/fleet" | tail -n 1 | cut -d= -f2; }
# Stops every daemon as systemd would; a leak or a crash is a failure.
fleet_lab_end() {
	local name
	for name in "${!pids[@]}"; do
		[ "$name" = fleet ] || daemon_stop "$name" # while the BMCs still answer to a goodbye
	done
	machines_end
	no_sanitizer "$lab"/log/*
	say ok
}

site_up() { # database, daemons, image; no nodes
	folders
	pg_start
	namespaces
	boot_files
	certificate
	image
	confs
	daemon_start portald
	daemon_start bampid
	daemon_start bampi-bootd
	local end=$((SECONDS + 60))
	until ready; do
		[ $SECONDS -lt $end ] || fail "the daemons do not answer"
		sleep 0.1
	done
	haasctl image import --public "$lab/demo-1.manifest.json" >/dev/null
}
fleet_subnets() { # NODES
	eval "$("$bin/fleet" subnets --nodes "$1")" >/dev/null
}
fleet_lab() { # NODES OPTION...
	local nodes=$1
	site_up
	fleet_subnets "$nodes"
	machines_start "$@"
	fleet_nodes "$nodes"
}
deploy() { # PLAN FIRST LAST: asked for in one go
	local image=null
	case $1 in install | reinstall) image="'demo'" ;; esac
	sql "select count(*) from deployment_create('$1', array(select 'f' || i from generate_series($2, $3) i), $image, null, '{}', 'fleet') where refused is null"
}
