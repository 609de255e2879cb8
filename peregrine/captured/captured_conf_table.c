#include <stddef.h>

#include "common/io/conf_rows.h"

#include "peregrine/captured/captured.h"

#define AT(member) offsetof(struct captured_conf, member)

/* clang-format off */
static const struct conf_row captured_conf_rows[] = {
	CONF_ROW_DATABASE(AT(database), "peregrine_captured"),
	CONF_ROW_USER(AT(user), "haas-captured"),
	{"name", CONF_TEXT, AT(name), "main", 0, 0, NULL, NULL, "of this collector among several: mirror ports name it (haasctl capture point)"},
	{"socket.path", CONF_TEXT, AT(socket_path), "/run/haas/peregrine-captured/socket", 0, 0, NULL, NULL, "where packets are served to portald"},
	CONF_ROW_SOCKET_CALLER(AT(socket_caller)),
	{"capture_dir", CONF_TEXT, AT(capture_dir), "/var/lib/haas/peregrine-captured/captures", 0, 0, NULL, NULL, "where packets are kept, a folder for each capture"},
	{"program", CONF_TEXT, AT(program), "/usr/bin/peregrine-capture", 0, 0, NULL, NULL, "started for each capture"},
	{"capture_user", CONF_STRING, AT(capture_user), "haas-capture", 0, 0, NULL, NULL, "user that such a process becomes before it reads a packet; empty = stay"},
	{"keep.days", CONF_INT, AT(keep_days), "30", 1, 3650, NULL, "d", "packets are deleted so long after their capture ended"},
	{"keep.bytes", CONF_INT, AT(keep_bytes), "107374182400", 1048576, INT64_MAX, NULL, "B", "of all packets; a capture that could exceed it is refused"},
	{"keep.tenant_bytes", CONF_INT, AT(tenant_bytes), "21474836480", 1048576, INT64_MAX, NULL, "B", "of the packets of one tenant"},
	{"limit", CONF_INT, AT(limit), "16", 1, 256, NULL, "captures", "at the same time"},
};
/* clang-format on */

const struct conf_table captured_conf_table = {
	.rows = captured_conf_rows,
	.count = COUNT_OF(captured_conf_rows),
	.values_size = sizeof(struct captured_conf),
};
