#include <stddef.h>

#include "common/base/error.h"

#include "peregrine/captured/captured.h"

#define AT(member) offsetof(struct captured_conf, member)

/* clang-format off */
const struct conf_row captured_conf_rows[] = {
	{"database", CONF_STRING, AT(database), "host=/var/lib/haas/pg dbname=haas user=peregrine_captured", 0, 0, NULL, NULL,
	 "where PostgreSQL is (libpq conninfo); a password belongs into ~/.pgpass"},
	{"user", CONF_STRING, AT(user), "haas-captured", 0, 0, NULL, NULL, "user to become when started as root; empty = stay"},
	{"name", CONF_STRING, AT(name), "main", 0, 0, NULL, NULL, "of this collector among several: mirror ports name it (haasctl capture point)"},
	{"socket.path", CONF_STRING, AT(socket_path), "/run/haas/peregrine-captured.sock", 0, 0, NULL, NULL, "where packets are served to portald"},
	{"socket.group", CONF_STRING, AT(socket_group), "haas", 0, 0, NULL, NULL, "portald's, so that it reaches the socket"},
	{"socket.client", CONF_STRING, AT(socket_client), "haas-portald", 0, 0, NULL, NULL, "the only user that is answered, besides root and our own: portald, which checks who may read"},
	{"capture_dir", CONF_STRING, AT(capture_dir), "/var/lib/haas/captures", 0, 0, NULL, NULL, "where packets are kept, a folder for each capture"},
	{"program", CONF_STRING, AT(program), "/usr/bin/peregrine-capture", 0, 0, NULL, NULL, "started for each capture"},
	{"capture_user", CONF_STRING, AT(capture_user), "haas-capture", 0, 0, NULL, NULL, "user that such a process becomes before it reads a packet; empty = stay"},
	{"keep.days", CONF_INT, AT(keep_days), "30", 1, 3650, NULL, "d", "packets are deleted so long after their capture ended"},
	{"keep.bytes", CONF_INT, AT(keep_bytes), "107374182400", 1048576, INT64_MAX, NULL, "B", "of all packets; a capture that could exceed it is refused"},
	{"keep.tenant_bytes", CONF_INT, AT(tenant_bytes), "21474836480", 1048576, INT64_MAX, NULL, "B", "of the packets of one tenant"},
	{"limit", CONF_INT, AT(limit), "16", 1, 256, NULL, "captures", "at the same time"},
};
/* clang-format on */

const size_t captured_conf_row_count = COUNT_OF(captured_conf_rows);

int captured_conf_check(const void *values, struct problem *problem)
{
	const struct captured_conf *conf = values;

	if (!conf->socket_path[0] || !conf->capture_dir[0] || !conf->program[0] || !conf->name[0])
		return problem_set(problem, E_MALFORMED,
				   "name, socket.path, capture_dir and program must not be empty");
	return 0;
}
