# What stories and benchmarks use of a virtual rack. Source it, then `rack_load DIR`; nothing here changes the rack.
# shellcheck shell=bash

# shellcheck source=tests/support/story.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/story.sh"

rack_load() { # DIR: the variables of lab.env: HAAS_NS, HAAS_DIR, HAAS_GATEWAY, HAAS_SUBNET, HAAS_NODES
	[ -s "$1/lab.env" ] || {
		echo "lab: $1: no rack there" >&2
		return 1
	}
	# shellcheck disable=SC1091
	. "$1/lab.env"
}

rack_exec() { # COMMAND...: runs it where the daemons of the product run
	ip netns exec "$HAAS_NS" "$@"
}

rack_nodes() { # the nodes' folders in order
	local n
	for n in $(seq "$HAAS_NODES"); do
		echo "$HAAS_DIR/node/n$n"
	done
}

is_alive() { # PIDFILE: a zombie is not alive, unless threads of it are still on their way out and hold its sockets
	local pid state
	pid=$(cat "$1" 2>/dev/null) && [ -n "$pid" ] && read -r _ _ state _ 2>/dev/null <"/proc/$pid/stat" &&
		{ [ "$state" != Z ] || [ "$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)" -gt 1 ]; }
}

ipmi() { # NODE COMMAND...: ipmitool beside the product; -C 3, because without it every command waits 10 s
	local d=$HAAS_DIR/node/$1
	shift
	# shellcheck disable=SC1091
	(. "$d/node.env" && rack_exec ipmitool -I lanplus -C 3 -H "$BMC_ADDRESS" -U admin -f "$d/password" "$@")
}

node_digest() { # NODE [BYTES]: BLAKE2b-256 of the disk, or of its first BYTES
	local disk=$HAAS_DIR/node/$1/disk.raw
	head -c "${2:-$(stat -c %s "$disk")}" "$disk" | b2sum -l 256 | cut -d' ' -f1
}

node_file() { # NODE PATH: a file of the root file system on its disk; debugfs takes the partition's place as an offset
	local disk=$HAAS_DIR/node/$1/disk.raw start
	start=$(sfdisk -J "$disk" 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["partitiontable"]["partitions"][1]["start"])')
	debugfs -R "cat $2" "$disk?offset=$((start * 512))" 2>/dev/null
}

node_mac() { # NODE
	# shellcheck disable=SC1091
	(. "$HAAS_DIR/node/$1/node.env" && echo "$MAC")
}

chassis_log() { # NODE: `<time> get|set parameter value...` and `<time> start device=D`, a line each
	cat "$HAAS_DIR/node/$1/chassis.log" 2>/dev/null || true
}

serial() { # NODE: what its console has said, over all power cycles
	cat "$HAAS_DIR/node/$1/serial.log" 2>/dev/null || true
}

# Pings until SECONDS are over: ping alone gives up at the first error, and ARP for a node that just moved still fails by requests from before.
answers_within() { # NAMESPACE ADDRESS SECONDS
	local end=$((${EPOCHREALTIME/[.,]/} + $3 * 1000000)) left
	while left=$((end - ${EPOCHREALTIME/[.,]/})) && [ $left -gt 0 ]; do
		ip netns exec "$1" ping -n -q -c 1 -w $((left / 1000000 + 1)) -i 0.4 "$2" >/dev/null 2>&1 && return
		sleep 0.05
	done
	return 1
}
matrix() { # NODES [WANTED]: prints the pairs of n1, n2, ... of the fabric lab that answer, "n1-n2", one direction each, all at once; where WANTED says who should, others have 2 s
	local a b most
	for a in $(seq "$1"); do
		for b in $(seq "$1"); do
			[ "$a" != "$b" ] || continue
			if [ $# = 1 ]; then most=4; elif [[ " ${2//$'\n'/ } " == *" n$a-n$b "* ]]; then most=10; else most=2; fi
			{ answers_within "$FABRIC_PREFIX-n$a" "10.77.0.$b" $most && echo "n$a-n$b"; } &
		done
	done | sort
	wait
}
pairs() { # NODE...: what `matrix` prints when these answer each other
	local a b
	for a; do for b; do [ "$a" = "$b" ] || echo "$a-$b"; done; done
}
