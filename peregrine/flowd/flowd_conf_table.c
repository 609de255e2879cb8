#include <stddef.h>

#include "common/base/error.h"

#include "peregrine/flowd/flowd.h"

#define AT(member) offsetof(struct flowd_conf, member)

/* clang-format off */
const struct conf_row flowd_conf_rows[] = {
	{"database", CONF_STRING, AT(database), "host=/var/lib/haas/pg dbname=haas user=peregrine_flowd", 0, 0, NULL, NULL,
	 "where PostgreSQL is (libpq conninfo); a password belongs into ~/.pgpass"},
	{"user", CONF_STRING, AT(user), "haas-flowd", 0, 0, NULL, NULL, "user to become when started as root; empty = stay"},
	{"name", CONF_STRING, AT(name), "", 0, 0, NULL, NULL, "of this collector among several, in what it writes; empty = the host's"},
	{"socket.path", CONF_STRING, AT(socket_path), "/run/haas/peregrine-flowd.sock", 0, 0, NULL, NULL,
	 "where the last seconds, agents and metrics are served"},
	{"socket.group", CONF_STRING, AT(socket_group), "haas", 0, 0, NULL, NULL, "who may connect to it; empty = only our user"},
	{"listen.address", CONF_STRING, AT(listen_address), "::", 0, 0, NULL, NULL, "where sFlow comes in; :: = every address of IPv4 and IPv6"},
	{"listen.port", CONF_INT, AT(listen_port), "6343", 0, 65535, NULL, NULL, "UDP; 0 = any"},
	{"listen.ipfix_port", CONF_INT, AT(ipfix_port), "4739", 0, 65535, NULL, NULL,
	 "UDP, for IPFIX of switches without sFlow (NetFlow 9 is understood there, too); 0 = none"},
	{"listen.netflow_port", CONF_INT, AT(netflow_port), "2055", 0, 65535, NULL, NULL, "UDP, the same for NetFlow 9; 0 = none"},
	{"receivers", CONF_INT, AT(receivers), "1", 1, 64, NULL, "threads", "for sFlow, each with a socket of its own; about two million samples a second each"},
	{"receive_buffer", CONF_INT, AT(receive_buffer), "8388608", 65536, 1073741824, NULL, "bytes",
	 "queue of each socket; more than net.core.rmem_max only with CAP_NET_ADMIN"},
	{"flow_slots", CONF_INT, AT(flow_slots), "18", 10, 24, NULL, "bits", "different flows in one second, of each receiver: 18 = 262144, 64 MiB at most"},
	{"sources", CONF_INT, AT(sources), "65536", 16, 4194304, NULL, NULL, "sampling sources (ports, as a rule) whose losses are watched"},
	{"ring_seconds", CONF_INT, AT(ring_seconds), "300", 10, 3600, NULL, "seconds", "of the past that are answered from memory, second by second"},
	{"ring_bytes", CONF_INT, AT(ring_bytes), "536870912", 1048576, 17179869184, NULL, "bytes", "of those seconds at most: with very many ports and owners fewer seconds are kept"},
	{"shares", CONF_INT, AT(shares), "262144", 1024, 16777216, NULL, NULL, "owners at all ports in one minute; traffic of further ones is only counted as lost"},
	{"pairs", CONF_INT, AT(pairs), "262144", 1024, 16777216, NULL, NULL, "pairs of nodes at all ports kept in one minute; the others are their ports' \"other\""},
	{"flows", CONF_INT, AT(flows), "524288", 1024, 16777216, NULL, NULL, "flows kept in one minute"},
	{"pairs_kept", CONF_INT, AT(pairs_kept), "64", 1, 4096, NULL, NULL, "pairs of one port and network that are written"},
	{"flows_kept", CONF_INT, AT(flows_kept), "32", 1, 4096, NULL, NULL, "flows of one pair that are written"},
	{"waiting_bytes", CONF_INT, AT(waiting_bytes), "268435456", 1048576, 17179869184, NULL, "bytes",
	 "of buckets that wait while PostgreSQL is away; then they lose their pairs and flows"},
};
/* clang-format on */

const size_t flowd_conf_row_count = COUNT_OF(flowd_conf_rows);

int flowd_conf_check(const void *values, struct problem *problem)
{
	const struct flowd_conf *conf = values;

	if (!conf->socket_path[0] || !conf->listen_address[0])
		return problem_set(problem, E_MALFORMED,
				   "socket.path and listen.address must not be empty");
	return 0;
}
