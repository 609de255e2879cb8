#include "portal/server/portal.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/http/wipe.h"
#include "common/io/daemon.h"
#include "common/io/file.h"
#include "common/io/log.h"
#include "common/io/process.h"

#include "portal/server/access.h"
#include "portal/server/console.h"
#include "portal/server/daemon_call.h"
#include "portal/server/event_stream.h"
#include "portal/server/exchange.h"
#include "portal/server/image_keys.h"
#include "portal/server/image_sweep.h"
#include "portal/server/image_upload.h"

#define BODY_LIMIT   (UPLOAD_PART_MAX + 65536)
#define WORKERS      2
#define WORKER_QUEUE 64

/* The functions of the database notify these; whoever writes events without them is seen within a
 * second. */
static const char *const portal_channels[] = {"deployment", "inventory", "address",
					      "network",    "event",     NULL};

/* --- callbacks --- */

static void on_database(void *context, bool connected)
{
	struct portal *portal = context;

	portal->counters.database_connected =
		db_connected(portal->db) && db_connected(portal->reads);
	if (connected) {
		event_stream_wake(portal->stream);
		image_sweep_soon(portal->sweep);
		if (portal->counters.database_connected)
			log_info("database", "connected");
	} else {
		const struct db *away = db_connected(portal->db) ? portal->reads : portal->db;

		log_warn("database", "away: %s", db_away(away)->message);
	}
}

static void portal_on_notify(void *context, const char *channel)
{
	struct portal *portal = context;

	(void)channel;
	event_stream_wake(portal->stream);
}

static void portal_count(struct portal_counters *counters, enum http_method method, int status)
{
	if (status >= 500)
		counters->failed++;
	else if (status >= 400)
		counters->refused++;
	else if (method == HTTP_GET || method == HTTP_HEAD)
		counters->reads++;
	else
		counters->writes++;
}

/* Paths hold no secrets; bodies are never logged. */
static void after_answer(void *context, const struct http_request *request, int status,
			 int64_t elapsed_us)
{
	struct portal *portal = context;
	enum http_method method = http_request_method(request);
	bool read = method == HTTP_GET || method == HTTP_HEAD;

	portal_count(&portal->counters, method, status);
	log_line(read && status < 500 ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO, "request",
		 "%s %s: %d (uid=%u ms=%lld)", route_method_text(method),
		 http_request_path(request), status, (unsigned)http_request_peer(request)->uid,
		 (long long)(elapsed_us / 1000));
}

/* --- start and stop --- */

static int listen_http(struct portal *portal, struct problem *problem)
{
	const struct portal_conf *conf = portal->conf;
	mode_t mode = (mode_t)strtoul(conf->socket_mode, NULL, 8);
	struct http_route *routes = calloc(route_count(), sizeof(*routes));
	struct http_server_options options = {.routes = routes,
					      .context = portal,
					      .body_limit = BODY_LIMIT,
					      .slash_in_names = true,
					      .after = after_answer};
	int rc;

	if (!routes)
		return problem_set(problem, -ENOMEM, "out of memory");
	portal->routes = routes;
	for (const struct route *const *table = route_tables; *table; table++) {
		for (const struct route *route = *table; route->pattern; route++)
			routes[options.route_count++] =
				(struct http_route){.method = route->method,
						    .pattern = route->pattern,
						    .handler = exchange_dispatch};
	}
	rc = http_server_new(portal->loop, &options, &portal->http);
	if (rc != 0)
		return problem_set(problem, rc, "no HTTP server: %s", error_text(rc));
	return http_server_listen_unix(portal->http, conf->socket_path, mode, problem);
}

static int open_database(struct portal *portal, struct problem *problem)
{
	struct db_options options = {
		.conninfo = portal->conf->database,
		.application = "portald",
		.daemon = "portald",
		.on_state = on_database,
		.context = portal,
	};
	int rc = db_new(portal->loop, &options, &portal->db);

	(void)text_format(portal->reads_setup.limit, sizeof(portal->reads_setup.limit),
			  "set statement_timeout = '%" PRId64 "s'", portal->conf->read_limit_s);
	portal->reads_setup.statements[0] = portal->reads_setup.limit;
	options.daemon = NULL; /* one connection tells of us */
	options.setup = portal->reads_setup.statements;
	options.on_notify = portal_on_notify;
	options.channels = portal_channels;
	if (rc == 0)
		rc = db_new(portal->loop, &options, &portal->reads);
	return rc == 0 ? 0
		       : problem_set(problem, rc, "no database connection can be made: %s",
				     error_text(rc));
}

/* What needs no privileges, and must not have them. */
static int portal_start_parts(struct portal *portal, struct problem *problem)
{
	int rc = file_make_folder(portal->conf->image_dir, 0750);

	if (rc != 0)
		return problem_set(problem, rc, "image_dir %s cannot be made: %s",
				   portal->conf->image_dir, error_text(rc));
	rc = access_new(portal->conf->operator_group, &portal->access);
	if (rc == 0)
		rc = worker_new(portal->loop, WORKERS, WORKER_QUEUE, &portal->worker);
	if (rc == 0)
		rc = upload_set_new(portal->worker, portal->conf->image_dir, &portal->uploads);
	if (rc == 0)
		rc = event_stream_new(portal, &portal->stream);
	if (rc == 0)
		rc = image_sweep_new(portal, &portal->sweep);
	if (rc != 0)
		return problem_set(problem, rc, "portald cannot start: %s", error_text(rc));
	rc = image_keys_read(portal->conf->image_keys, &portal->image_keys, problem);
	return rc == 0 ? open_database(portal, problem) : rc;
}

static int portal_start(void *state, struct loop *loop, const void *values, struct problem *problem)
{
	struct portal *portal = state;
	int rc;

	if (sodium_init() < 0)
		return problem_set(problem, E_UNAVAILABLE, "libsodium does not start");
	wipe_json_memory();
	portal->loop = loop;
	portal->conf = values;
	rc = listen_http(portal, problem);
	if (rc == 0)
		rc = process_drop_privileges(portal->conf->user, problem);
	if (rc == 0)
		rc = portal_start_parts(portal, problem);
	if (rc)
		return rc;
	log_info("portald", "listening (socket=%s keys=%zu)", portal->conf->socket_path,
		 image_keys_count(portal->image_keys));
	return 0;
}

/* Backwards: first nobody new, then what is under way ends, then the parts that it used. */
static void portal_stop(void *state)
{
	struct portal *portal = state;

	console_end_all(portal);
	daemon_call_end_all(portal);
	worker_free(portal->worker);
	db_free(portal->db); /* calls back what is in flight: answers go out as 503 */
	db_free(portal->reads);
	event_stream_free(portal->stream);
	http_server_free(portal->http);
	free(portal->routes);
	upload_set_free(portal->uploads);
	image_sweep_free(portal->sweep);
	image_keys_free(portal->image_keys);
	access_free(portal->access);
}

static void portal_reload(void *state)
{
	struct portal *portal = state;
	struct image_keys *keys;
	struct problem problem = {0};

	if (image_keys_read(portal->conf->image_keys, &keys, &problem) != 0) {
		log_problem(LOG_LEVEL_ERROR, "image keys", &problem);
		return;
	}
	image_keys_free(portal->image_keys);
	portal->image_keys = keys;
	log_info("image keys", "read again (keys=%zu)", image_keys_count(keys));
}

const struct daemon_spec portal_daemon = {
	.name = "portald",
	.summary =
		"the API: checks requests, writes intent, reads views, relays consoles (--print-routes lists what it answers)",
	.default_conf = "/etc/haas/portald.conf",
	.conf = &portal_conf_table,
	.start = portal_start,
	.stop = portal_stop,
	.reload = portal_reload,
	.state_size = sizeof(struct portal),
};
