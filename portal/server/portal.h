/* portald: the API. It decides nothing: it checks what it is told, writes intent by the SQL
 * functions, reads views, and relays the console from bampid's socket. One struct holds all that
 * changes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/db/db.h"
#include "common/http/server.h"
#include "common/io/conf.h"
#include "common/io/loop.h"
#include "common/io/worker.h"

struct daemon_spec;
struct access_cache;
struct console_relay;
struct daemon_call;
struct event_stream;
struct image_keys;
struct image_sweep;
struct upload_set;

/* portald.conf; the rows are in portal_conf_table.c. */
struct portal_conf {
	char *database; /* conninfo */
	char *user;     /* what to become when started as root; "" = stay */
	char *socket_path;
	char *socket_mode; /* octal text */
	char *operator_group;
	char *image_dir;
	char *image_keys;
	char *bampid_socket;
	char *peregrined_socket;
	char *flowd_socket;
	char *captured_socket;
	int64_t read_limit_s;
};

struct portal_counters {
	uint64_t reads, writes, refused,
		failed;             /* answers: 2xx/3xx of GET, 2xx of others, 4xx, 5xx */
	uint64_t streams, consoles; /* open now */
	uint64_t streamed_events;
	uint64_t upload_bytes;
	uint64_t database_connected;
};

struct portal {
	const struct portal_conf *conf;
	struct loop *loop;
	struct db *db;    /* writes: one after the other, each a transaction of its own */
	struct db *reads; /* lists and streams: not held up by a long write */
	struct {
		char limit[48];
		const char *statements[2];
	} reads_setup;
	struct http_server *http;
	struct http_route *routes; /* of `http`: route_tables, without what only we look at */
	struct worker *worker;
	struct access_cache *access;
	struct event_stream *stream;
	struct image_keys *image_keys;
	struct upload_set *uploads;
	struct image_sweep *sweep;
	struct console_relay *consoles; /* a list of the open ones */
	struct daemon_call *calls;      /* to daemons, under way */
	struct portal_counters counters;
};

extern const struct conf_table portal_conf_table;

extern const struct daemon_spec portal_daemon;
