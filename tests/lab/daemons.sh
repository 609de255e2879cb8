# The daemons of a site: their configuration files, their start in the rack's namespace, their end. Sourced by site.sh, which says what
# `bin`, `state` and `conninfo_host` are, after rack_load.
# shellcheck shell=bash disable=SC2154

daemon_names=(bampi-bootd bampid peregrined portald)

daemon_folders() { # what each daemon may read and write, and nothing more
	mkdir -p "$state"/{conf,run,boot,images,image-keys,keys,peregrine-keys,consoles,captures,log}
	chmod 0755 "$state" "$state"/{conf,boot,log,image-keys}
	chown haas-portald:haas-bootd "$state/images" && chmod 2750 "$state/images"
	chown haas-bampid: "$state"/{keys,consoles} && chmod 0700 "$state"/{keys,consoles}
	chown haas-peregrined: "$state/peregrine-keys" && chmod 0700 "$state/peregrine-keys"
	chown haas-captured: "$state/captures" && chmod 0700 "$state/captures"
	chown root:haas-portald "$state/run" && chmod 2755 "$state/run"
}

# What peregrined shows to switches of the fabric in $dir/fabric that speak OVSDB, and what it knows them by.
ovsdb_keys() {
	local kind
	for kind in crt key; do install -m 0600 -o haas-peregrined -g haas-peregrined "$dir/fabric/controller.$kind" "$state/peregrine-keys/ovsdb.$kind"; done
}
ovsdb_fingerprint() { openssl x509 -in "$dir/fabric/switch/$1/ovsdb.crt" -noout -fingerprint -sha256 | sed 's/.*=/SHA256:/'; }

daemon_database() { # ROLE
	echo "host=$conninfo_host dbname=haas user=$1"
}

# The array daemon_extra["NAME"] holds further lines for NAME's file; `bampid_poll` is how often bampid looks (seconds).
daemon_configs() {
	cat >"$state/conf/bampi-bootd.conf" <<-END
		database = "$(daemon_database bampi_bootd)";
		user = "haas-bootd";
		interfaces = [ "$HAAS_INTERFACE" ];
		ra_interfaces = [ "$HAAS_INTERFACE" ];
		http_address = "$HAAS_GATEWAY";
		metrics_socket = "$state/run/bampi-bootd.metrics";
		boot_dir = "$state/boot";
		image_dir = "$state/images";
	END
	cat >"$state/conf/bampid.conf" <<-END
		database = "$(daemon_database bampid)";
		user = "haas-bampid";
		socket: { path = "$state/run/bampid.sock"; };
		key_dir = "$state/keys";
		console_dir = "$state/consoles";
		image_keys = "$state/image-keys";
		signed_images = "$state/boot";
		poll = ${bampid_poll:-5};
	END
	cat >"$state/conf/peregrined.conf" <<-END
		database = "$(daemon_database peregrined)";
		user = "haas-peregrined";
		socket: { path = "$state/run/peregrined.sock"; };
		key_dir = "$state/peregrine-keys";
	END
	cat >"$state/conf/peregrine-flowd.conf" <<-END
		database = "$(daemon_database peregrine_flowd)";
		user = "haas-flowd";
		socket: { path = "$state/run/peregrine-flowd.sock"; };
	END
	cat >"$state/conf/peregrine-captured.conf" <<-END
		database = "$(daemon_database peregrine_captured)";
		user = "haas-captured";
		socket: { path = "$state/run/captured.sock"; };
		capture_dir = "$state/captures";
		program = "$(readlink -f "$bin")/peregrine-capture";
	END
	cat >"$state/conf/portald.conf" <<-END
		database = "$(daemon_database portald)";
		user = "haas-portald";
		socket: { path = "$state/run/portald.sock"; mode = "0666"; }; # the kernel tells who it is
		image_keys = "$state/image-keys";
		bampid_socket = "$state/run/bampid.sock";
		peregrined_socket = "$state/run/peregrined.sock";
		flowd_socket = "$state/run/peregrine-flowd.sock";
		captured_socket = "$state/run/captured.sock";
		image_dir = "$state/images";
		page_dir = "$(readlink -f "$bin/..")/page";
	END
	local name
	for name in "${daemon_names[@]}"; do
		[ -z "${daemon_extra[$name]:-}" ] || echo "${daemon_extra[$name]}" >>"$state/conf/$name.conf"
		"$bin/$name" --config "$state/conf/$name.conf" --check-config >"$state/log/$name.check" 2>&1 || {
			echo "$name: its configuration is refused: $(cat "$state/log/$name.check")" >&2
			return 1
		}
	done
}

# `ip netns exec` becomes the daemon, so its process is ours to signal. daemon_front["NAME"]: words before it, of a program that becomes it, too.
declare -A daemon_front=()
daemon_start() { # NAME
	local front
	read -ra front <<<"${daemon_front[$1]:-}"
	setsid "${front[@]}" ip netns exec "$HAAS_NS" "$bin/$1" --config "$state/conf/$1.conf" >>"$state/log/$1.log" 2>&1 </dev/null &
	echo $! >"$state/run/$1.pid"
	disown # the shell need not tell how it ended
}

daemon_signal() { # NAME SIGNAL
	kill -"$2" "$(cat "$state/run/$1.pid")"
}

daemon_kill() { # NAME: as a crash of the machine would
	daemon_signal "$1" KILL
	wait_for 30 daemon_gone "$1"
}

daemon_stop() { # NAME
	is_alive "$state/run/$1.pid" || return 0
	daemon_signal "$1" TERM
	wait_for 10 daemon_gone "$1" || daemon_signal "$1" KILL
	rm -f "$state/run/$1.pid"
}

# Stops all as systemd would: one that has ended before, that does not stop, or whose log has a sanitizer's report fails the story.
daemons_end() {
	local name
	for name in "${daemon_names[@]}"; do
		is_alive "$state/run/$name.pid" || fail "$name has ended before it was stopped"
		daemon_signal "$name" TERM
		wait_for 60 daemon_gone "$name" || fail "$name does not stop"
	done
	no_sanitizer "$state"/log/*.log
}

daemon_gone() {
	! is_alive "$state/run/$1.pid"
}

daemons_start() {
	local name
	for name in "${daemon_names[@]}"; do
		daemon_start "$name"
	done
	wait_for 60 daemons_answer || {
		for name in "${daemon_names[@]}"; do
			is_alive "$state/run/$name.pid" || echo "$name ended: $(tail -n 5 "$state/log/$name.log")" >&2
		done
		return 1
	}
}

# bampid and peregrined are ready once they have published the keys that secrets are sealed to.
daemons_answer() {
	local name keys
	for name in "${daemon_names[@]}"; do
		is_alive "$state/run/$name.pid" || return 1
	done
	keys=$(psql -qXAt -h "$conninfo_host" -U haas -d haas -c "select daemon from haas.daemon_key" 2>/dev/null) || return 1
	for name in "${daemon_names[@]}"; do
		case $name in bampid | peregrined) grep -qx "$name" <<<"$keys" || return 1 ;; esac
	done
	[ -S "$state/run/portald.sock" ] && HAAS_SOCKET=$state/run/portald.sock "$bin/haasctl" node list >/dev/null 2>&1
}
