#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/conf_rows.h"

#include "peregrine/flowd/flowd.h"

#define FLOWD_CONF_TABLE_AT(member) offsetof(struct flowd_conf, member)

/* Of one kind of alert: its name, thresholds, how long they must last, and their unit. */
/* clang-format off */
#define ALERT_ROWS(name, kind, most, unit, raise_at, clear_at, raise_for, clear_for, what) \
	{"alert_" name ".raise", CONF_INT, FLOWD_CONF_TABLE_AT(alerts[kind].raise), raise_at, 0, most, NULL, unit, what "; 0 = never"}, \
	{"alert_" name ".clear", CONF_INT, FLOWD_CONF_TABLE_AT(alerts[kind].clear), clear_at, 0, most, NULL, unit, "it is over below"}, \
	{"alert_" name ".raise_s", CONF_INT, FLOWD_CONF_TABLE_AT(alerts[kind].raise_s), raise_for, 1, 86400, NULL, "seconds", "that it must last before it is told"}, \
	{"alert_" name ".clear_s", CONF_INT, FLOWD_CONF_TABLE_AT(alerts[kind].clear_s), clear_for, 1, 86400, NULL, "seconds", "that it must be below before it is over"}
/* clang-format on */

/* clang-format off */
static const struct conf_row flowd_conf_rows[] = {
	CONF_ROW_DATABASE(FLOWD_CONF_TABLE_AT(database), "peregrine_flowd"),
	CONF_ROW_USER(FLOWD_CONF_TABLE_AT(user), "haas-flowd"),
	{"name", CONF_STRING, FLOWD_CONF_TABLE_AT(name), "", 0, 0, NULL, NULL, "of this collector among several, in its rows; empty = the host's"},
	{"socket.path", CONF_TEXT, FLOWD_CONF_TABLE_AT(socket_path), "/run/haas/peregrine-flowd/socket", 0, 0, NULL, NULL, "where the last seconds, agents and metrics are served"},
	CONF_ROW_SOCKET_CALLER(FLOWD_CONF_TABLE_AT(socket_caller)),
	{"listen.address", CONF_TEXT, FLOWD_CONF_TABLE_AT(listen_address), "::", 0, 0, NULL, NULL, "where sFlow comes in; :: = every address of IPv4 and IPv6"},
	{"listen.shared_address", CONF_STRING, FLOWD_CONF_TABLE_AT(shared_address), "", 0, 0, NULL, NULL,
	 "of two controllers: the address that switches send to (VRRP); it works where that address is, and stands by elsewhere; empty = anywhere"},
	{"listen.port", CONF_INT, FLOWD_CONF_TABLE_AT(listen_port), "6343", 0, 65535, NULL, NULL, "UDP; 0 = any"},
	{"listen.ipfix_port", CONF_INT, FLOWD_CONF_TABLE_AT(ipfix_port), "4739", 0, 65535, NULL, NULL,
	 "UDP, for IPFIX of switches without sFlow (NetFlow 9 is understood there, too); 0 = none"},
	{"listen.netflow_port", CONF_INT, FLOWD_CONF_TABLE_AT(netflow_port), "2055", 0, 65535, NULL, NULL, "UDP, the same for NetFlow 9; 0 = none"},
	{"receivers", CONF_INT, FLOWD_CONF_TABLE_AT(receivers), "1", 1, 64, NULL, "threads", "for sFlow, each with a socket of its own; about two million samples a second each"},
	{"receive_buffer", CONF_INT, FLOWD_CONF_TABLE_AT(receive_buffer), "8388608", 65536, 1073741824, NULL, "bytes",
	 "queue of each socket; more than net.core.rmem_max only with CAP_NET_ADMIN"},
	{"samples_max", CONF_INT, FLOWD_CONF_TABLE_AT(samples_max), "0", 0, 1000000000, NULL, NULL,
	 "samples that one receiver uses in a second; of more it draws one in 2, 4 .. 64 and says so; 0 = all, until its queue overflows"},
	{"agent_datagrams", CONF_INT, FLOWD_CONF_TABLE_AT(agent_datagrams), "20000", 0, 10000000, NULL, NULL,
	 "datagrams that one switch may send in a second: addresses of UDP can be forged; the rest is refused and counted; 0 = all"},
	{"flow_slots", CONF_INT, FLOWD_CONF_TABLE_AT(flow_slots), "18", 10, 24, NULL, "bits", "different flows in one second, of each receiver: 18 = 262144, 64 MiB"},
	{"sources", CONF_INT, FLOWD_CONF_TABLE_AT(sources), "65536", 16, 4194304, NULL, NULL, "sampling sources (usually ports) that are watched for losses"},
	{"ring_seconds", CONF_INT, FLOWD_CONF_TABLE_AT(ring_seconds), "360", 10, 3600, NULL, "seconds", "of the past that are answered from memory, second by second: windows that are a minute shorter, for a minute; each port with traffic takes memory for them, too: 2.3 kB at 360, 18 kB at 3600"},
	{"ring_bytes", CONF_INT, FLOWD_CONF_TABLE_AT(ring_bytes), "536870912", 1048576, 17179869184, NULL, "bytes", "of those seconds at most: with very many ports and owners fewer seconds are kept"},
	{"shares", CONF_INT, FLOWD_CONF_TABLE_AT(shares), "262144", 1024, 16777216, NULL, NULL, "owners at all ports in one minute; traffic of further ones is only counted as lost"},
	{"pairs", CONF_INT, FLOWD_CONF_TABLE_AT(pairs), "262144", 1024, 16777216, NULL, NULL, "pairs of nodes at all ports kept in one minute; the others are their ports' \"other\""},
	{"flows", CONF_INT, FLOWD_CONF_TABLE_AT(flows), "524288", 1024, 16777216, NULL, NULL, "flows kept in one minute"},
	{"pairs_kept", CONF_INT, FLOWD_CONF_TABLE_AT(pairs_kept), "64", 1, 4096, NULL, NULL, "pairs of one port and network that are written"},
	{"flows_kept", CONF_INT, FLOWD_CONF_TABLE_AT(flows_kept), "32", 1, 4096, NULL, NULL, "flows of one pair that are written"},
	{"waiting_bytes", CONF_INT, FLOWD_CONF_TABLE_AT(waiting_bytes), "268435456", 1048576, 17179869184, NULL, "bytes",
	 "of buckets that wait while PostgreSQL is away; then they lose their pairs and flows"},
	{"kafka.brokers", CONF_STRING, FLOWD_CONF_TABLE_AT(kafka.brokers), "", 0, 0, NULL, NULL, "HOST:PORT,... of Kafka, where each minute's sums go as well; empty = they do not"},
	{"kafka.topics", CONF_STRING, FLOWD_CONF_TABLE_AT(kafka.topics), "haas.traffic", 0, 0, NULL, NULL, "the begin of the names of topics: haas.traffic.share.v1, pair, flow, port, bucket"},
	{"kafka.tls", CONF_BOOL, FLOWD_CONF_TABLE_AT(kafka.tls), "false", 0, 0, NULL, NULL, "brokers prove who they are by certificates that name their hosts"},
	{"kafka.ca_file", CONF_STRING, FLOWD_CONF_TABLE_AT(kafka.ca_file), "", 0, 0, NULL, NULL, "who may sign these (PEM); empty = the system's authorities"},
	{"kafka.certificate_file", CONF_STRING, FLOWD_CONF_TABLE_AT(kafka.certificate_file), "", 0, 0, NULL, NULL, "ours (PEM), if brokers ask for one"},
	{"kafka.key_file", CONF_STRING, FLOWD_CONF_TABLE_AT(kafka.key_file), "", 0, 0, NULL, NULL, "its key (PEM, without a password); not to be read by everybody"},
	{"kafka.sasl", CONF_ENUM, FLOWD_CONF_TABLE_AT(kafka.sasl), "none", 0, 0, kafka_sasl_words, NULL, "how a password is proven; plain only with TLS"},
	{"kafka.user", CONF_STRING, FLOWD_CONF_TABLE_AT(kafka.user), "", 0, 0, NULL, NULL, "user name of the password"},
	{"kafka.password_file", CONF_STRING, FLOWD_CONF_TABLE_AT(kafka.password_file), "", 0, 0, NULL, NULL, "its first line is the password; not to be read by everybody; read again with each connection that failed"},
	{"kafka.compression", CONF_ENUM, FLOWD_CONF_TABLE_AT(kafka.compression), "lz4", 0, 0, kafka_compression_words, NULL, "of messages"},
	{"kafka.linger_ms", CONF_INT, FLOWD_CONF_TABLE_AT(kafka.linger_ms), "20", 0, 10000, NULL, "ms", "that messages wait for others to go with them"},
	{"kafka.waiting_bytes", CONF_INT, FLOWD_CONF_TABLE_AT(kafka.waiting_bytes), "268435456", 65536, 17179869184, NULL, "bytes",
	 "of buckets that wait while Kafka is away; then they lose their pairs and flows, and then they go"},
	ALERT_ROWS("utilisation", ALERT_UTILISATION, 100, "percent", "90", "75", "1", "30", "of its speed that leaves a port"),
	ALERT_ROWS("errors", ALERT_ERRORS, 1000000000, "frames/s", "2", "1", "10", "60", "of a port, in and out"),
	ALERT_ROWS("discards", ALERT_DISCARDS, 1000000000, "frames/s", "100", "10", "5", "60", "of a port, in and out"),
	ALERT_ROWS("imbalance", ALERT_IMBALANCE, 100, "percent", "40", "25", "30", "60", "of its speed that the busiest member of an aggregate, or uplink of a switch, has above their mean"),
	ALERT_ROWS("share", ALERT_SHARE, 100, "percent", "60", "45", "10", "30", "of an uplink that one of several tenants on it has"),
	ALERT_ROWS("gap", ALERT_GAP, 100, "percent", "5", "1", "5", "60", "of a switch's samples that do not come"),
	ALERT_ROWS("silent", ALERT_SILENT, 86400, "seconds", "60", "10", "1", "1", "without a datagram of a switch that has sent some"),
};
/* clang-format on */

static int flowd_conf_check(const void *values, struct problem *problem)
{
	const struct flowd_conf *conf = values;
	struct in6_addr address;

	for (size_t i = 0; i < ALERT_KIND_COUNT; i++)
		if (conf->alerts[i].raise && conf->alerts[i].clear > conf->alerts[i].raise)
			return problem_set(problem, E_MALFORMED,
					   "alert_%s: clear must not be above raise",
					   strchr(alert_kind_rows[i].name, '.') + 1);
	if (conf->shared_address[0] && inet_pton(AF_INET, conf->shared_address, &address) != 1 &&
	    inet_pton(AF_INET6, conf->shared_address, &address) != 1)
		return problem_set(problem, E_MALFORMED,
				   "listen.shared_address \"%s\" is no IP address",
				   conf->shared_address);
	return kafka_conf_check(&conf->kafka, problem);
}

const struct conf_table flowd_conf_table = {
	.rows = flowd_conf_rows,
	.count = COUNT_OF(flowd_conf_rows),
	.values_size = sizeof(struct flowd_conf),
	.check = flowd_conf_check,
};
