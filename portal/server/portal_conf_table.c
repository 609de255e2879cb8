#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/conf.h"
#include "common/io/conf_rows.h"

#include "portal/server/portal.h"

static const char *const portal_factor_words[] = {"none", "operators", "all", NULL};

/* clang-format off */
static const struct conf_row portal_conf_rows[] = {
	CONF_ROW_DATABASE(offsetof(struct portal_conf, database), "portald"),
	{"tenant_database", CONF_STRING, offsetof(struct portal_conf, tenant_database), "", 0, 0, NULL, NULL,
	 "the same for what tenants ask; empty = `database` with user=portald_tenant"},
	{"read_limit", CONF_INT, offsetof(struct portal_conf, read_limit_s), "20", 1, 3600, NULL, "seconds",
	 "a longer statement that reads is cancelled (504); a read that waits as long for a connection is given up (503)"},
	{"write_limit", CONF_INT, offsetof(struct portal_conf, write_limit_s), "120", 1, 3600, NULL, "seconds",
	 "a longer statement that writes is taken back (504): the writes of all wait behind it"},
	{"read_connections", CONF_INT, offsetof(struct portal_conf, read_connections), "4", 1, 32, NULL, "connections",
	 "for reads of operators, and as many for those of tenants; one person uses half of them at most, a tenant a quarter while others are about"},
	CONF_ROW_USER(offsetof(struct portal_conf, user), "haas-portald"),
	{"socket.path", CONF_TEXT, offsetof(struct portal_conf, socket_path), "/run/haas/portald/socket", 0, 0, NULL, NULL, "where the API listens"},
	{"socket.mode", CONF_STRING, offsetof(struct portal_conf, socket_mode), "0660", 0, 0, NULL, NULL,
	 "who may connect to it, octal"},
	{"listen.edge", CONF_STRING, offsetof(struct portal_conf, listen.edge), "", 0, 0, NULL, NULL,
	 "Unix socket for a proxy, /run/haas/edge/socket: it says for whom it asks (Forwarded); empty = none"},
	{"listen.connections_per_address", CONF_INT, offsetof(struct portal_conf, listen.per_address), "512", 1, 4096, NULL, "connections",
	 "of one address at the same time, by TLS"},
	{"listen.handshakes", CONF_INT, offsetof(struct portal_conf, listen.handshakes), "400", 1, 100000, NULL, "per second",
	 "handshakes of TLS, of all strangers; each takes half a millisecond"},
	{"listen.handshakes_per_address", CONF_INT, offsetof(struct portal_conf, listen.handshakes_per_address), "20", 1, 100000, NULL, "per second",
	 "handshakes of TLS, of one address"},
	{"listen.tls.address", CONF_ADDRESS, offsetof(struct portal_conf, listen.address), "0.0.0.0", 0, 0, NULL, NULL,
	 "where portald listens for HTTPS, unless portald-tls.socket does for it"},
	{"listen.tls.port", CONF_INT, offsetof(struct portal_conf, listen.port), "8443", 0, 65535, NULL, NULL,
	 "the same; a port below 1024 needs portald-tls.socket"},
	{"listen.tls.certificate", CONF_STRING, offsetof(struct portal_conf, listen.certificate), "", 0, 0, NULL, NULL,
	 "PEM, with those between it and the CA, as /etc/haas/tls/portald.crt; empty = no HTTPS"},
	{"listen.tls.key", CONF_STRING, offsetof(struct portal_conf, listen.key), "/run/credentials/portald.service/secret_tls.key", 0, 0, NULL, NULL,
	 "its key; systemd hands over /etc/haas/secret/portald/tls.key under this name"},
	{"login.name", CONF_TEXT, offsetof(struct portal_conf, login.name), "HaaS", 0, 0, NULL, NULL,
	 "how authenticators name this site"},
	{"login.second_factor", CONF_ENUM, offsetof(struct portal_conf, login.second_factor), "none", 0, 0, portal_factor_words, NULL,
	 "who has to show a second factor; who has none yet can do no more than enable one"},
	{"login.url", CONF_STRING, offsetof(struct portal_conf, login.url), "", 0, 0, NULL, NULL,
	 "ours, as browsers know it, \"https://haas.example\"; empty = nobody logs in by OpenID Connect"},
	{"key_dir", CONF_TEXT, offsetof(struct portal_conf, key_dir), "/var/lib/haas/portald/keys", 0, 0, NULL, NULL,
	 "where the key lies that seals secrets of second factors, and logins under way"},
	{"operator_group", CONF_STRING, offsetof(struct portal_conf, operator_group), "haas-operators", 0, 0, NULL, NULL,
	 "members of this group are operators, as is root"},
	{"limits.requests_per_second", CONF_INT, offsetof(struct portal_conf, limits.per_second), "100", 1, 100000, NULL, "per second",
	 "of one account, by all its sessions and tokens; more are 429. root and the operators' group on the local socket have no limits"},
	{"limits.requests_burst", CONF_INT, offsetof(struct portal_conf, limits.burst), "400", 1, 1000000, NULL, "requests",
	 "that an account may save up"},
	{"limits.requests_at_once", CONF_INT, offsetof(struct portal_conf, limits.requests), "64", 1, 4096, NULL, "requests",
	 "of one account, until their answers are taken"},
	{"limits.streams_at_once", CONF_INT, offsetof(struct portal_conf, limits.streams), "64", 1, 2000, NULL, "streams",
	 "of events and consoles, of one account"},
	{"limits.bytes_in_flight", CONF_INT, offsetof(struct portal_conf, limits.mebibytes), "64", 1, 65536, NULL, "MiB",
	 "of one account: bodies that are read, answers that are not taken"},
	{"limits.address_per_second", CONF_INT, offsetof(struct portal_conf, limits.address_per_second), "50", 1, 100000, NULL, "per second",
	 "requests of one address of which it is not known who asks: logins, tokens that were not seen lately"},
	{"limits.address_burst", CONF_INT, offsetof(struct portal_conf, limits.address_burst), "200", 1, 1000000, NULL, "requests",
	 "the same, that an address may save up"},
	{"limits.strangers_per_second", CONF_INT, offsetof(struct portal_conf, limits.strangers_per_second), "2000", 1, 1000000, NULL, "per second",
	 "the same, of all addresses together"},
	{"image_dir", CONF_TEXT, offsetof(struct portal_conf, image_dir), "/var/lib/haas/images", 0, 0, NULL, NULL,
	 "where images are stored"},
	{"image_keys", CONF_STRING, offsetof(struct portal_conf, image_keys), "/etc/haas/image-keys", 0, 0, NULL, NULL,
	 "folder of public keys (NAME.pub, hex) that may sign images"},
	{"page_dir", CONF_TEXT, offsetof(struct portal_conf, page_dir), "/usr/share/haas/page", 0, 0, NULL, NULL,
	 "the page for browsers, as portal/web makes it"},
	{"bampid_socket", CONF_STRING, offsetof(struct portal_conf, bampid_socket), "/run/haas/bampid/socket", 0, 0, NULL, NULL,
	 "bampid's socket, for consoles"},
	{"peregrined_socket", CONF_STRING, offsetof(struct portal_conf, peregrined_socket), "/run/haas/peregrined/socket", 0, 0, NULL, NULL,
	 "peregrined's socket, for questions that only a switch can answer"},
	{"flowd_socket", CONF_STRING, offsetof(struct portal_conf, flowd_socket), "/run/haas/peregrine-flowd/socket", 0, 0, NULL, NULL,
	 "peregrine-flowd's socket, for traffic of the last seconds"},
	{"captured_socket", CONF_STRING, offsetof(struct portal_conf, captured_socket), "/run/haas/peregrine-captured/socket", 0, 0, NULL, NULL,
	 "peregrine-captured's socket, for packets"},
	{"outward_socket", CONF_STRING, offsetof(struct portal_conf, outward_socket), "/run/haas/portal-outward/socket", 0, 0, NULL, NULL,
	 "portal-outward's socket, for logins by OpenID Connect"},
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
	if (conf->login.url[0] != '\0' &&
	    (strncmp(conf->login.url, "https://", 8) != 0 || strpbrk(conf->login.url, "?# \t\""))) {
		(void)problem_set(problem, E_MALFORMED, "login.url is \"%s\"", conf->login.url);
		problem_hint(problem, "https://HOST or https://HOST:PORT");
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
