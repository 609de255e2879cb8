/* Rows of configuration that several daemons have. `at` is the offset of the member. */
#pragma once

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
#define CONF_ROW_METRICS_SOCKET(at)                                          \
	{                                                                    \
		"metrics_socket", CONF_STRING, at, "", 0, 0, NULL, NULL,     \
			"Unix socket that serves GET /metrics; empty = none" \
	}
