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

#include "portal/server/demand_book.h"

struct daemon_spec;
struct access_cache;
struct console_relay;
struct demand_book;
struct daemon_call;
struct event_stream;
struct identity_book;
struct image_keys;
struct image_sweep;
struct listeners;
struct login_gate;
struct page;
struct read_pool;
struct login_key;
struct standing_group;
struct shared_reads;
struct upload_set;

/* How strangers come in. */
struct portal_listen {
	char *edge; /* "" = no proxy here */
	int64_t per_address, handshakes, handshakes_per_address;
	uint32_t address;
	int64_t port;
	char *certificate, *key; /* "" = no TLS */
};

/* Who has to show a second factor: the words of login.second_factor. */
enum portal_factor_demand { FACTOR_NONE, FACTOR_OPERATORS, FACTOR_ALL };

/* How people log in. */
struct portal_login {
	char *name;        /* of the site, for authenticators */
	int second_factor; /* enum portal_factor_demand */
	char *url; /* ours, where browsers are sent back to; "" = nobody logs in by a provider */
};

/* What one may ask of us. */
struct portal_limits {
	int64_t per_second, burst, requests, streams, mebibytes;
	int64_t address_per_second, address_burst, strangers_per_second;
};

/* portald.conf; the rows are in portal_conf_table.c. */
struct portal_conf {
	char *database;        /* conninfo */
	char *tenant_database; /* conninfo; "" = `database`, with the role portald_tenant */
	char *user;            /* what to become when started as root; "" = stay */
	char *socket_path;
	char *socket_mode; /* octal text */
	char *operator_group;
	char *image_dir;
	char *image_keys;
	char *bampid_socket;
	char *peregrined_socket;
	char *flowd_socket;
	char *captured_socket;
	char *outward_socket;
	int64_t read_limit_s, write_limit_s;
	int64_t read_connections;
	char *key_dir;
	char *page_dir;
	struct portal_listen listen;
	struct portal_login login;
	struct portal_limits limits;
};

struct portal_counters {
	uint64_t reads, writes, refused,
		failed;             /* answers: 2xx/3xx of GET, 2xx of others, 4xx, 5xx */
	uint64_t streams, consoles; /* open now */
	uint64_t streamed_events;
	uint64_t upload_bytes;
	uint64_t database_connected;
	uint64_t reads_waiting; /* for a connection to the database, now */
	struct demand_counters demand;
	struct http_server_counters strangers; /* connections by TLS and the edge */
	uint64_t certificate_end_s;            /* of the wall clock; 0 = no TLS */
};

struct portal {
	const struct portal_conf *conf;
	struct loop *loop;
	struct db *db; /* writes: one after the other, each a transaction of its own */
	struct db *
		live; /* notifications, events, who asks: short statements that wait for nobody's */
	struct read_pool *reads;
	/* The same for what is asked in a tenant's scope, under a role that sees nothing else. */
	struct db *tenant_db, *tenant_live;
	struct read_pool *tenant_reads;
	struct portal_setup {
		char limit[48];
		const char *statements[2];
	} reads_setup, writes_setup;
	struct listeners *listeners;
	struct page *page;
	struct worker *worker;
	struct worker *hasher; /* argon2id alone: nothing else waits behind it */
	struct login_gate *gate;
	struct login_key *login_key;
	struct identity_book *identities;
	struct access_cache *access;
	struct demand_book *demand;
	struct event_stream *stream;
	struct standing_group *standings; /* a list */
	int64_t standing_phase_ms;        /* of the newest: apart from that of the others */
	struct shared_reads *shared;
	struct image_keys *image_keys;
	struct upload_set *uploads;
	struct image_sweep *sweep;
	struct console_relay *consoles; /* a list of the open ones */
	struct daemon_call *calls;      /* to daemons, under way */
	struct portal_counters counters;
};

extern const struct conf_table portal_conf_table;

extern const struct daemon_spec portal_daemon;

/* portal_database.c */
MUST_USE int portal_database_open(struct portal *portal, struct problem *problem);
/* What is in flight is called back: answers go out as 503. */
void portal_database_close(struct portal *portal);
/* The first connection that is away; NULL: all are there. */
const struct db *portal_database_away(const struct portal *portal);
