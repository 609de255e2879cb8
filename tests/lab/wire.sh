# What the rack's wire carries: kept while a story runs, looked at by the story, and shown when it failed. Sourced by story.sh.
# shellcheck shell=bash disable=SC2154

# All interfaces of the namespace, ports of the bridge included: who asks for whom, and the beginning and end of each connection. The
# BMCs' own addresses are not of interest. Two files of 8 MB in turns.
wire_start() {
	setsid ip netns exec "$HAAS_NS" tcpdump -i any -y LINUX_SLL2 --immediate-mode -U -s 128 -C 8 -W 2 -Z root -w "$HAAS_DIR/wire" \
		'not net 127.0.0.0/8 and (arp or icmp or ip6 or udp or tcp[tcpflags] & (tcp-syn | tcp-fin | tcp-rst) != 0)' \
		>"$dir/log/wire" 2>&1 </dev/null &
	disown
	wait_for 60 grep -q 'listening on' "$dir/log/wire" || fail "the wire cannot be watched: $(cat "$dir/log/wire")"
}

# The last packet may be in the middle of being written, which tcpdump complains of.
wire_read() { # OPTION or FILTER...
	local file
	# shellcheck disable=SC2045
	for file in $(ls -tr "$HAAS_DIR"/wire[01]); do
		rack_exec tcpdump -nn -r "$file" "$@" 2>/dev/null || true
	done
}

# The rack stands for nodes behind a switch. When ports of the bridge answer ARP for the gateway beside the bridge, or nodes leave their
# checksums to somebody who does not make them, all is well until the answers come in another order; then each TCP segment of a node
# is dropped as damaged, while ARP and ping work.
wire_is_a_switch() {
	local got bridge
	bridge=$(ip -n "$HAAS_NS" -o link show "$HAAS_INTERFACE" | sed 's/.*link.ether \([^ ]*\).*/\1/')
	got=$(wire_read 'arp[6:2] = 2' | sed -nE "s/.* Reply $HAAS_GATEWAY is-at ([0-9a-f:]+).*/\1/p" | sort -u)
	[ "$got" = "$bridge" ] || fail "$HAAS_GATEWAY is at ${got:-no address}, not only at $bridge"
	wire_read -vv "tcp and src net $HAAS_SUBNET and not src host $HAAS_GATEWAY" >"$dir/segments"
	grep 'cksum.*(correct)' "$dir/segments" >/dev/null || fail "no TCP of a node was seen"
	! grep -m 3 'cksum.*(incorrect' "$dir/segments" || fail "a node leaves its checksums to others"
}

# What tells, afterwards, why a node and a daemon did not hear each other.
wire_show() {
	echo "-- sockets of boot HTTP"
	rack_exec ss -Hatnpo '( sport = :8080 )' | head -n 20
	echo "-- what TCP and bampi-bootd counted"
	rack_exec nstat -asz TcpInCsumErrors TcpInErrs TcpRetransSegs TcpExtListenDrops TcpExtTCPReqQFullDrop | tail -n +2
	[ ! -S "$state/run/bampi-bootd.metrics" ] ||
		curl -sS --max-time 5 --unix-socket "$state/run/bampi-bootd.metrics" http://bootd/metrics | grep '^haas_http\|callback'
	echo "-- neighbours"
	rack_exec ip neigh
	rack_exec ip -br link
	ovs-appctl -T 5 fdb/show "$HAAS_INTERFACE"
	echo "-- the wire"
	wire_read -tttt -e "not (icmp6 and ip6[40] = 134)" | tail -n 40 | cut -c1-220
}
