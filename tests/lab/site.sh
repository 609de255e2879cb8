# A whole site on one machine: private database, virtual rack, the daemons, a signed image, nodes imported and accepted. `demo` and the
# stories are made of it. The caller sets `dir` (the site's folder), has `set -euo pipefail`, and sources this.
#
# HAAS_BUILD: the build folder whose programs are used (default build/dev). What every site needs alike is made once, in build/site.
# shellcheck shell=bash disable=SC2154,SC2034

lab=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$lab/../.." && pwd)
build=${HAAS_BUILD:-build/dev}
case $build in /*) ;; *) build=$top/$build ;; esac
bin=$build/bin
shared=$top/build/site
declare -A daemon_extra=()
# shellcheck source=tests/lab/lib.sh
. "$lab/lib.sh"
# shellcheck source=tests/lab/daemons.sh
. "$lab/daemons.sh"

haasctl() {
	HAAS_SOCKET=$state/run/portald.sock "$bin/haasctl" "$@"
}

quietly() { # LOG COMMAND...: what it says matters only when it fails
	local log=$1
	shift
	"$@" >"$log" 2>&1 || {
		tail -n 30 "$log" >&2
		echo "failed: $* (all of it: $log)" >&2
		return 1
	}
}

# The agent of a sanitizer build is not static and cannot run in the ramdisk; then one is built beside it.
site_agent() {
	agent=$bin/bampi-agent
	[ ! -x "$agent" ] || readelf -l "$agent" | grep INTERP >/dev/null || return 0
	local folder=$top/build/agent-static
	[ -f "$folder/build.ninja" ] ||
		quietly "$shared/agent.log" cmake -S "$top" -B "$folder" -G Ninja -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=RelWithDebInfo
	quietly "$shared/agent.log" cmake --build "$folder" --target bampi-agent
	agent=$folder/bin/bampi-agent
}

# A site by HTTPS: the caller sets `site_https` to the mode of bampi-bootd. The CA is that of all such sites here. Sets `boot_files`.
site_https_files() { # CA and what holds it
	[ -s "$shared/ca/ca.crt" ] || quietly "$shared/ca.log" "$bin/haasctl" ca create "$shared/ca" --site lab
	quietly "$shared/ramdisk.log" "$top/bampi/agent/ramdisk/build" --agent "$agent" --image-key "$shared/image.key.pub" --task-key "$shared/task.key.pub" \
		--site-ca "$shared/ca/ca.crt" --out "$boot_files"
}
# Mode "required" needs an iPXE that knows the CA. It is made once, in build/ipxe, of HAAS_IPXE_SOURCE or Debian's sources: minutes of CPU, so beside the lock of
# what every site needs.
site_https_ipxe() {
	local folder=$top/build/ipxe source=${HAAS_IPXE_SOURCE:-$top/build/ipxe/source}
	mkdir -p "$folder"
	exec 7>"$folder/lock"
	flock 7
	[ -d "$source/src" ] || quietly "$folder/fetch.log" "$top/bampi/bootd/ipxe/fetch" --out "$source" || {
		echo "missing: the source package ipxe of Debian 13 (HAAS_IPXE_SOURCE names a folder with it)"
		exit 77
	}
	quietly "$folder/build.log" "$top/bampi/bootd/ipxe/build" --source "$source" --ca "$shared/ca/ca.crt" --out "$folder/boot"
	install -m 0644 "$folder"/boot/* "$boot_files/"
	exec 7>&-
}
site_https_conf() { # the certificate of this site's bampi-bootd
	"$bin/haasctl" ca issue bootd --ca "$shared/ca" --role controller --address "$HAAS_GATEWAY" --out "$state/conf" >/dev/null
	daemon_extra[bampi-bootd]+="tls: { certificate = \"$state/conf/bootd.crt\"; key = \"$state/conf/bootd.key\"; ca = \"$shared/ca/ca.crt\"; mode = \"$site_https\"; };"
}

# The demo image (or `site_recipe`), its signature and the ramdisk that trusts the keys: nothing in them belongs to one site, so they are
# made once. bampid makes its task key itself; here all sites share one, as two controllers of a site do. Sets `manifest`.
site_shared() {
	mkdir -p "$shared"
	exec 8>"$shared/lock"
	flock 8
	manifest=$(quietly "$shared/image.log" "$top/trainer_image/builder/build" "${site_recipe:-demo}" --out "$shared/image" && tail -n 1 "$shared/image.log")
	[ -s "$shared/image.key" ] || "$bin/haasctl" image keygen "$shared/image.key" >/dev/null
	"$bin/haasctl" image sign --key "$shared/image.key" "$manifest" >/dev/null
	[ -s "$shared/task.key" ] || "$bin/haasctl" image keygen "$shared/task.key" >/dev/null
	site_agent
	boot_files=$shared/boot${site_https:+-$site_https}
	if [ -n "${site_https:-}" ]; then
		site_https_files
	else
		quietly "$shared/ramdisk.log" "$top/bampi/agent/ramdisk/build" --agent "$agent" --image-key "$shared/image.key.pub" --task-key "$shared/task.key.pub" \
			--out "$boot_files"
	fi
	exec 8>&-
	[ "${site_https:-}" != required ] || site_https_ipxe
}

site_folders() { # sets `state` and `conninfo_host`; then calls on_folders, if the caller has one
	state=$dir/state
	conninfo_host=$dir/pg
	mkdir -p "$dir/log"
	chmod 0755 "$dir"
	daemon_folders
	install -m 0644 "$shared/image.key.pub" "$state/image-keys/image.pub"
	python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.stdin.read()))' <"$shared/task.key" >"$dir/task.key"
	install -m 0600 -o haas-bampid -g haas-bampid "$dir/task.key" "$state/keys/bampid-task.key" && rm "$dir/task.key"
	cp "$boot_files"/* "$state/boot/"
	chmod 0644 "$state"/boot/*
	! declare -F on_folders >/dev/null || on_folders
}

site_rack() { # NODES [OPTION of rack up...]
	"$lab/rack" up --dir "$dir/rack" --nodes "$@"
	rack_load "$dir/rack"
}

site_records() { # the subnet, the nodes from their sheet, the image
	local nodes=() n
	for n in $(seq "$HAAS_NODES"); do
		nodes+=("n$n")
	done
	haasctl subnet set lab --prefix "$HAAS_SUBNET" --boot-server "$HAAS_GATEWAY" --gateway "$HAAS_GATEWAY" \
		--pool-low 192.168.77.50 --pool-high 192.168.77.200
	haasctl node import "$dir/rack/inventory.csv"
	haasctl node accept "${nodes[@]}"
	haasctl image import --public "$manifest"
}

site_up() { # NODES [OPTION of rack up...]: all of it
	site_shared
	site_folders
	"$bin/haasctl" db init --dir "$dir/pg" >"$dir/log/db" 2>&1
	site_rack "$@" >"$dir/log/rack" 2>&1
	[ -z "${site_https:-}" ] || site_https_conf
	daemon_configs
	daemons_start
	quietly "$dir/log/records" site_records
}

site_down() {
	local name
	if [ -e "$dir/rack/lab.env" ]; then
		rack_load "$dir/rack"
		for name in "${daemon_names[@]}"; do
			daemon_stop "$name"
		done
		"$lab/rack" down --dir "$dir/rack"
	fi
	if [ -d "$dir/pg" ] && [ -x "$bin/haasctl" ]; then
		"$bin/haasctl" db stop --dir "$dir/pg" >/dev/null 2>&1 || true
	fi
	! declare -F on_site_down >/dev/null || on_site_down
}

site_logs() { # LINES: the last words of everybody who may know why
	local log
	for log in "$dir"/log/rack "$dir"/state/log/*.log "$dir"/rack/node/*/serial.log "$dir"/rack/node/*/start.out; do
		[ -s "$log" ] || continue
		printf '\n-- %s\n' "${log#"$dir"/}"
		tail -n "$1" "$log" | tr -d '\r'
	done
}

member() { # JSONL_OBJECT KEY: one member of what `haasctl -o jsonl` printed
	python3 -c 'import json, sys; print(json.loads(sys.argv[1])[sys.argv[2]])' "$1" "$2"
}
