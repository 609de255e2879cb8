#include <stddef.h>

#include "common/io/conf_rows.h"

#include "peregrine/control/peregrined.h"

#define PEREGRINED_CONF_TABLE_AT(member) offsetof(struct peregrined_conf, member)

/* clang-format off */
static const struct conf_row peregrined_conf_rows[] = {
	CONF_ROW_DATABASE(PEREGRINED_CONF_TABLE_AT(database), "peregrined"),
	CONF_ROW_USER(PEREGRINED_CONF_TABLE_AT(user), "haas-peregrined"),
	{"name", CONF_STRING, PEREGRINED_CONF_TABLE_AT(name), "", 0, 0, NULL, NULL, "of this peregrined among several, in claims; empty = host and process id"},
	{"socket.path", CONF_TEXT, PEREGRINED_CONF_TABLE_AT(socket_path), "/run/haas/peregrined/socket", 0, 0, NULL, NULL, "where differences, readings and metrics are served"},
	CONF_ROW_SOCKET_CALLER(PEREGRINED_CONF_TABLE_AT(socket_caller)),
	{"key_dir", CONF_TEXT, PEREGRINED_CONF_TABLE_AT(key_dir), "/var/lib/haas/peregrined/keys", 0, 0, NULL, NULL,
	 "folder of peregrined-seal.key (opens the secrets of switches), made when missing; of ovsdb.crt, ovsdb.key and ovsdb-ca.crt for OVSDB over TLS"},
	{"switch_workers", CONF_INT, PEREGRINED_CONF_TABLE_AT(switch_workers), "32", 1, 256, NULL, "threads", "for calls that block: SSH sessions of switches; SNMP needs none"},
	{"failing_calls", CONF_INT, PEREGRINED_CONF_TABLE_AT(failing_calls), "16", 1, 256, NULL, NULL, "at once at switches that failed last"},
	{"full_read", CONF_INT, PEREGRINED_CONF_TABLE_AT(full_read_s), "120", 1, 86400, NULL, "seconds",
	 "a switch is read whole this often even if it seems unchanged; how often it is asked at all is its poll_s"},
	{"seen", CONF_INT, PEREGRINED_CONF_TABLE_AT(seen_s), "60", 1, 3600, NULL, "seconds", "unchanged findings are marked as seen in the database this often"},
	{"health", CONF_INT, PEREGRINED_CONF_TABLE_AT(health_s), "60", 1, 600, NULL, "seconds", "counters of all ports are asked for by SNMP this often; spanning tree, aggregates and sensors each fifth time"},
	{"claim", CONF_INT, PEREGRINED_CONF_TABLE_AT(claim_s), "30", 5, 3600, NULL, "seconds", "after so long without a sign of life another peregrined takes a fabric over"},
};
/* clang-format on */

const struct conf_table peregrined_conf_table = {
	.rows = peregrined_conf_rows,
	.count = COUNT_OF(peregrined_conf_rows),
	.values_size = sizeof(struct peregrined_conf),
};
