#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/conf.h"
#include "common/io/conf_rows.h"

#include "portal/server/portal.h"

/* clang-format off */
static const struct conf_row portal_conf_rows[] = {
	CONF_ROW_DATABASE(offsetof(struct portal_conf, database), "portald"),
	{"read_limit", CONF_INT, offsetof(struct portal_conf, read_limit_s), "20", 1, 3600, NULL, "seconds",
	 "a longer read of the database is cancelled: all other requests wait behind it"},
	CONF_ROW_USER(offsetof(struct portal_conf, user), "haas-portald"),
	{"socket.path", CONF_TEXT, offsetof(struct portal_conf, socket_path), "/run/haas/portald/socket", 0, 0, NULL, NULL, "where the API listens"},
	{"socket.mode", CONF_STRING, offsetof(struct portal_conf, socket_mode), "0660", 0, 0, NULL, NULL,
	 "who may connect to it, octal"},
	{"operator_group", CONF_STRING, offsetof(struct portal_conf, operator_group), "haas-operators", 0, 0, NULL, NULL,
	 "members of this group are operators, as is root"},
	{"image_dir", CONF_TEXT, offsetof(struct portal_conf, image_dir), "/var/lib/haas/images", 0, 0, NULL, NULL,
	 "where images are stored"},
	{"image_keys", CONF_STRING, offsetof(struct portal_conf, image_keys), "/etc/haas/image-keys", 0, 0, NULL, NULL,
	 "folder of public keys (NAME.pub, hex) that may sign images"},
	{"bampid_socket", CONF_STRING, offsetof(struct portal_conf, bampid_socket), "/run/haas/bampid/socket", 0, 0, NULL, NULL,
	 "bampid's socket, for consoles"},
	{"peregrined_socket", CONF_STRING, offsetof(struct portal_conf, peregrined_socket), "/run/haas/peregrined/socket", 0, 0, NULL, NULL,
	 "peregrined's socket, for questions that only a switch can answer"},
	{"flowd_socket", CONF_STRING, offsetof(struct portal_conf, flowd_socket), "/run/haas/peregrine-flowd/socket", 0, 0, NULL, NULL,
	 "peregrine-flowd's socket, for traffic of the last seconds"},
	{"captured_socket", CONF_STRING, offsetof(struct portal_conf, captured_socket), "/run/haas/peregrine-captured/socket", 0, 0, NULL, NULL,
	 "peregrine-captured's socket, for packets"},
};
/* clang-format on */

static int portal_conf_check(const void *values, struct problem *problem)
{
	const struct portal_conf *conf = values;

	if (strlen(conf->socket_mode) > 4 || conf->socket_mode[0] == '\0' ||
	    strspn(conf->socket_mode, "01234567") != strlen(conf->socket_mode)) {
		(void)problem_set(problem, E_MALFORMED, "socket.mode is \"%s\"", conf->socket_mode);
		problem_hint(problem, "octal, like \"0660\"");
		return E_MALFORMED;
	}
	return 0;
}

const struct conf_table portal_conf_table = {
	.rows = portal_conf_rows,
	.count = COUNT_OF(portal_conf_rows),
	.values_size = sizeof(struct portal_conf),
	.check = portal_conf_check,
};
