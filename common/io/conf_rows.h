/* Rows of configuration that several daemons have. `at` is the offset of the member. */
#pragma once

#include <stddef.h>

#include "common/io/conf.h"

/* `role` is the daemon's own in PostgreSQL. */
#define CONF_ROW_DATABASE(at, role)                                                                        \
	{                                                                                                  \
		"database", CONF_STRING, at, "host=/var/lib/haas/pg dbname=haas user=" role, 0, 0,         \
			NULL, NULL,                                                                        \
			"where PostgreSQL is (libpq conninfo); a password belongs into ~/.pgpass; by TCP " \
			"sslmode is verify-full unless said otherwise"                                     \
	}
#define CONF_ROW_USER(at, name)                                             \
	{                                                                   \
		"user", CONF_STRING, at, name, 0, 0, NULL, NULL,            \
			"user to become when started as root; empty = stay" \
	}
#define CONF_ROW_SOCKET_CALLER(at)                                                      \
	{                                                                               \
		"socket.caller", CONF_STRING, at, "haas-portald", 0, 0, NULL, NULL,     \
			"the only user answered there, beside root and ours: portald, " \
			"which checks who may see; metrics and health are anybody's"    \
	}
/* Of HTTPS; struct conf_tls is `at`. The rows stand together. */
struct conf_tls {
	char *certificate, *key, *ca; /* "" = no HTTPS */
	int mode;
};
enum { CONF_TLS_REQUIRED, CONF_TLS_OFFERED };
#define CONF_TLS_WORDS ((const char *const[]){"required", "offered", NULL})
#define CONF_ROWS_TLS(at, program)                                                                \
	{"tls.certificate",                                                                       \
	 CONF_STRING,                                                                             \
	 (at) + offsetof(struct conf_tls, certificate),                                           \
	 "",                                                                                      \
	 0,                                                                                       \
	 0,                                                                                       \
	 NULL,                                                                                    \
	 NULL,                                                                                    \
	 "certificate of haasctl ca issue, as /etc/haas/tls/" program ".crt; empty = no HTTPS"},  \
		{"tls.key",                                                                       \
		 CONF_STRING,                                                                     \
		 (at) + offsetof(struct conf_tls, key),                                           \
		 "/run/credentials/" program ".service/secret_tls.key",                           \
		 0,                                                                               \
		 0,                                                                               \
		 NULL,                                                                            \
		 NULL,                                                                            \
		 "its key; systemd hands over /etc/haas/secret/" program                          \
		 "/tls.key under this name"},                                                     \
		{"tls.ca",                                                                        \
		 CONF_STRING,                                                                     \
		 (at) + offsetof(struct conf_tls, ca),                                            \
		 "/etc/haas/tls/ca.crt",                                                          \
		 0,                                                                               \
		 0,                                                                               \
		 NULL,                                                                            \
		 NULL,                                                                            \
		 "certificates of the CAs that are believed; haasctl ca trust adds one"},         \
	{                                                                                         \
		"tls.mode", CONF_ENUM, (at) + offsetof(struct conf_tls, mode), "required", 0, 0,  \
			CONF_TLS_WORDS, NULL,                                                     \
			"required: without HTTPS there are loaders and callbacks only; offered: " \
			"boot scripts too, for iPXE without the site's CA"                        \
	}

#define CONF_ROW_METRICS_SOCKET(at)                                          \
	{                                                                    \
		"metrics_socket", CONF_STRING, at, "", 0, 0, NULL, NULL,     \
			"Unix socket that serves GET /metrics; empty = none" \
	}
