# The lab of tests/bench/accuracy: a fabric of two leaves and a spine whose Open vSwitches sample to a real peregrine-flowd, with PostgreSQL and portald; twelve nodes of
# two tenants, six on each leaf. Prints "ready" when every port is where it should be and every switch knows every MAC, and takes all down when its standard input ends.
#
# usage: bash accuracy_site.sh DIR SAMPLING      (HAAS_BUILD: the build folder); DIR/nodes says "NODE TENANT NAMESPACE MAC SWITCH:PORT"
# shellcheck shell=bash disable=SC2154,SC2034
set -euo pipefail
dir=$1 sampling=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/story/isolation_site.sh
. "$here/../story/isolation_site.sh"
# shellcheck source=tests/lab/traffic.sh
. "$lab_folder/traffic.sh"
leave() {
	trap - EXIT
	site_down >&2
}
trap leave EXIT

daemon_names+=(peregrine-flowd)
site_up 2 12 --spines 1 >&2
traffic_sample 10.255.0.1 "$sampling"
for i in 1 2; do
	sql "insert into tenant (name) values ('t$i'); select network_create('net-t$i', 'tenant', 't$i', null, null, 'bench')" >/dev/null
done
for k in $(seq 12); do # odd ones are on leaf1, even ones on leaf2
	want "n$k" "net-t$(((k - 1) / 6 + 1))"
	traffic_node "n$k" "${port_of[n$k]}"
done
settled || fail "the ports are not applied"
for k in $(seq 12); do
	mac=$(ip -n "$FABRIC_PREFIX-n$k" -j link show dev eth0 | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["address"])')
	echo "n$k t$(((k - 1) / 6 + 1)) $FABRIC_PREFIX-n$k $mac ${port_of[n$k]}"
done >"$dir/nodes"
speaks() { # NODE: to the other one of its leaf pair, so that its broadcast and its answers pass every switch
	ip netns exec "$FABRIC_PREFIX-n$1" ping -q -c 1 -W 1 "10.77.0.$2" >/dev/null
}
for k in 1 3 5 7 9 11; do
	wait_for 30 speaks $k $((k + 1)) || fail "n$k does not reach n$((k + 1))"
done
wait_for 60 says "select count(*) from nic_location where port like 'p%' and mac in (select mac from nic)" 12 || fail "not every NIC is found: $(sql "select mac, port from nic_location")"
wait_for 60 traffic_samples 1 || fail "the switches do not sample: $(traffic_metrics | grep -v '^#')"
echo ready
cat >/dev/null # until nobody holds the other end
