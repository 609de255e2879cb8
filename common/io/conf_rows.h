/* Rows of configuration that several daemons have. `at` is the offset of the member. */
#pragma once

#include "common/io/conf.h"

/* `role` is the daemon's own in PostgreSQL. */
#define CONF_ROW_DATABASE(at, role)                                                                \
	{                                                                                          \
		"database", CONF_STRING, at, "host=/var/lib/haas/pg dbname=haas user=" role, 0, 0, \
			NULL, NULL,                                                                \
			"where PostgreSQL is (libpq conninfo); a password belongs into ~/.pgpass"  \
	}
#define CONF_ROW_USER(at, name)                                             \
	{                                                                   \
		"user", CONF_STRING, at, name, 0, 0, NULL, NULL,            \
			"user to become when started as root; empty = stay" \
	}
#define CONF_ROW_SOCKET_GROUP(at)                                          \
	{                                                                  \
		"socket.group", CONF_STRING, at, "haas", 0, 0, NULL, NULL, \
			"who may connect to it; empty = only our user"     \
	}
#define CONF_ROW_METRICS_SOCKET(at)                                          \
	{                                                                    \
		"metrics_socket", CONF_STRING, at, "", 0, 0, NULL, NULL,     \
			"Unix socket that serves GET /metrics; empty = none" \
	}
