#include "portal/server/portal.h"

#include <errno.h>
#include <malloc.h>
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
#include "common/model/image_keys.h"

#include "portal/server/access.h"
#include "portal/server/console.h"
#include "portal/server/daemon_call.h"
#include "portal/server/demand_book.h"
#include "portal/server/event_stream.h"
#include "portal/server/exchange.h"
#include "portal/server/identity.h"
#include "portal/server/image_sweep.h"
#include "portal/server/image_upload.h"
#include "portal/server/listener.h"
#include "portal/server/login_gate.h"
#include "portal/server/login_key.h"
#include "portal/server/page.h"
#include "portal/server/shared_read.h"

#define WORKERS      2
#define WORKER_QUEUE 64
/* An answer of some hundred KiB is made, copied and freed. Its pages stay ours, or the kernel would clear
 * them for each one: a third of the time that it takes. Parts of uploads are larger, and go back. */
#define LARGE_FROM   (4 << 20)
#define FREE_KEPT    (32 << 20)
#define HASHERS      2 /* logins compared at the same time: 64 MiB each */
#define HASHER_QUEUE 64

/* --- start and stop --- */

static int portal_start_demand(struct portal *portal)
{
	const struct portal_limits *limits = &portal->conf->limits;
	const struct demand_options options = {
		.each = {.rate = {(uint32_t)limits->per_second, (uint32_t)limits->burst},
			 .requests = (unsigned)limits->requests,
			 .streams = (unsigned)limits->streams,
			 .bytes = (uint64_t)limits->mebibytes << 20},
		.address = {(uint32_t)limits->address_per_second, (uint32_t)limits->address_burst},
		.strangers = {(uint32_t)limits->strangers_per_second,
			      (uint32_t)limits->strangers_per_second},
	};

	return demand_book_new(portal->loop, &options, &portal->counters.demand, &portal->demand);
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
		rc = worker_new(portal->loop, HASHERS, HASHER_QUEUE, &portal->hasher);
	if (rc == 0)
		rc = portal_start_demand(portal);
	if (rc == 0)
		rc = login_gate_new(&portal->gate);
	if (rc == 0)
		rc = identity_book_new(portal, &portal->identities);
	if (rc == 0)
		rc = upload_set_new(portal->worker, portal->conf->image_dir, &portal->uploads);
	if (rc == 0)
		rc = event_stream_new(portal, &portal->stream);
	if (rc == 0)
		rc = shared_reads_new(portal, &portal->shared);
	if (rc == 0)
		rc = image_sweep_new(portal, &portal->sweep);
	if (rc == 0)
		rc = page_new(portal->conf->page_dir, &portal->page);
	if (rc != 0)
		return problem_set(problem, rc, "portald cannot start: %s", error_text(rc));
	rc = image_keys_read(portal->conf->image_keys, &portal->image_keys, problem);
	if (rc == 0)
		rc = portal_database_open(portal, problem);
	return rc == 0 ? login_key_new(portal, &portal->login_key, problem) : rc;
}

static int portal_start(void *state, struct loop *loop, const void *values, struct problem *problem)
{
	struct portal *portal = state;
	int rc;

	if (sodium_init() < 0)
		return problem_set(problem, E_UNAVAILABLE, "libsodium does not start");
	wipe_json_memory();
	// NOLINTBEGIN(concurrency-mt-unsafe): one thread yet
	(void)mallopt(M_MMAP_THRESHOLD, LARGE_FROM);
	(void)mallopt(M_TRIM_THRESHOLD, FREE_KEPT);
	// NOLINTEND(concurrency-mt-unsafe)
	portal->loop = loop;
	portal->conf = values;
	rc = listeners_new(portal, &portal->listeners, problem);
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
	worker_free(portal->hasher);
	portal_database_close(portal);
	event_stream_free(portal->stream);
	listeners_free(portal->listeners);
	shared_reads_free(portal->shared);
	page_free(portal->page);
	upload_set_free(portal->uploads);
	image_sweep_free(portal->sweep);
	image_keys_free(portal->image_keys);
	identity_book_free(portal->identities);
	demand_book_free(portal->demand);
	login_gate_free(portal->gate);
	login_key_free(portal->login_key);
	access_free(portal->access);
}

static void portal_on_drained(void *context)
{
	const struct portal *portal = context;

	loop_stop(portal->loop);
}

static void portal_drain(void *state)
{
	struct portal *portal = state;

	log_info("portald", "takes nobody new; requests under way are answered");
	listeners_drain(portal->listeners, portal_on_drained, portal);
}

static void portal_reload(void *state)
{
	struct portal *portal = state;
	struct image_keys *keys;
	struct problem problem = {0};

	listeners_reload(portal->listeners);
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
	.drain = portal_drain,
	.reload = portal_reload,
	.state_size = sizeof(struct portal),
};
