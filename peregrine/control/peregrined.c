#include "peregrine/control/peregrined.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/db_state.h"
#include "common/http/wipe.h"
#include "common/io/daemon.h"
#include "common/io/file.h"
#include "common/io/log.h"
#include "common/io/process.h"

#include "peregrine/control/peregrined_private.h"
#include "peregrine/switch/ovsdb/ovsdb_tls.h"
#include "peregrine/switch/snmp/snmp_client.h"
#include "peregrine/switch/switch_sign_table.h"

#define PEREGRINED_SUBJECT "peregrined"
#define CALLS_QUEUED_MAX   (1U << 14)

/* `network`: what ports shall be. `fabric`: switches, their plan. `inventory`: nodes. `capture`:
 * mirror sessions. */
static const char *const peregrined_channels[] = {"network", "fabric", "inventory", "capture",
						  NULL};

static void peregrined_on_db_state(void *context, bool connected)
{
	struct peregrined *peregrined = context;

	db_log_state(peregrined->db, PEREGRINED_SUBJECT, connected,
		     "switches are read but not changed");
	if (!peregrined->discovery)
		return;
	switches_db_state(peregrined->switches, connected);
	discovery_db_state(peregrined->discovery, connected);
	if (peregrined->reconcile)
		reconcile_db_state(peregrined->reconcile, connected);
	if (peregrined->beacons)
		beacons_db_state(peregrined->beacons, connected);
	if (peregrined->sampling)
		sampling_db_state(peregrined->sampling, connected);
	if (peregrined->mirrors)
		mirrors_db_state(peregrined->mirrors, connected);
	if (peregrined->health)
		health_db_state(peregrined->health, connected);
	if (peregrined->rotations)
		switch_rotations_db_state(peregrined->rotations, connected);
}

static void peregrined_on_notify(void *context, const char *channel)
{
	struct peregrined *peregrined = context;

	if (strcmp(channel, "capture") == 0) {
		if (peregrined->mirrors)
			mirrors_wake(peregrined->mirrors);
		return;
	}
	if (strcmp(channel, "fabric") == 0) {
		switches_wake(peregrined->switches);
		switches_rotate(peregrined->switches);
		if (peregrined->rotations)
			switch_rotations_wake(peregrined->rotations);
	}
	if (peregrined->sampling && strcmp(channel, "fabric") == 0)
		sampling_wake(peregrined->sampling);
	if (strcmp(channel, "network") != 0)
		discovery_wake(peregrined->discovery);
	if (peregrined->reconcile && strcmp(channel, "inventory") != 0)
		reconcile_wake(peregrined->reconcile);
}

static void on_reading(void *context, int64_t switch_id, const struct switch_reading *reading,
		       int64_t since_ms)
{
	const struct peregrined *peregrined = context;

	reconcile_note(peregrined->reconcile, switch_id, reading, since_ms);
	if (peregrined->mirrors)
		mirrors_seen(peregrined->mirrors, switch_id, reading->identity.uptime_ms);
}

/* A saving for a network may have caught the session: the switch would start with it. */
static void on_mirrors_ended(void *context, int64_t switch_id, int64_t since_ms)
{
	const struct peregrined *peregrined = context;

	reconcile_save_again(peregrined->reconcile, switch_id, since_ms);
}

static bool is_changing(void *context, int64_t switch_id)
{
	const struct peregrined *peregrined = context;

	return reconcile_is_changing(peregrined->reconcile, switch_id);
}

static void on_switch(void *context, int64_t switch_id, const struct switch_row *row)
{
	struct peregrined *peregrined = context;
	struct discovery_switch known = {.id = switch_id};

	if (!row) {
		discovery_remove(peregrined->discovery, switch_id);
		if (peregrined->health)
			health_remove(peregrined->health, switch_id);
		return;
	}
	known.fabric_id = row->fabric_id;
	known.since_us = row->since_us;
	known.poll_ms = row->poll_ms;
	known.managed = row->managed;
	known.problem = row->problem;
	(void)text_copy(known.name, sizeof(known.name), row->name);
	if (discovery_put(peregrined->discovery, &known) != 0 ||
	    (peregrined->health &&
	     health_put(peregrined->health, switch_id, row->fabric_id, row->name) != 0))
		log_error(PEREGRINED_SUBJECT, "no memory to poll switch %s", row->name);
}

/* --- start --- */

/* Without the process: after kill -9 the same owner goes on at once. */
static void peregrined_owner_of(const struct peregrined_conf *conf, char *ret, size_t room)
{
	char host[64];

	process_host_name(host, sizeof(host));
	(void)text_copy(ret, room, conf->name[0] ? conf->name : host);
}

/* Whether they are there only matters to switches that want them. */
static bool find_ovsdb_files(struct peregrined *peregrined)
{
	const char *folder = peregrined->conf->key_dir;
	char *paths = peregrined->ovsdb_paths[0];
	size_t room = sizeof(peregrined->ovsdb_paths[0]);

	peregrined->ovsdb_files = (struct ovsdb_files){.certificate = paths,
						       .key = peregrined->ovsdb_paths[1],
						       .ca = peregrined->ovsdb_paths[2]};
	return text_format(paths, room, "%s/ovsdb.crt", folder) &&
	       text_format(peregrined->ovsdb_paths[1], room, "%s/ovsdb.key", folder) &&
	       text_format(peregrined->ovsdb_paths[2], room, "%s/ovsdb-ca.crt", folder);
}

static struct switch_host peregrined_switch_host(const struct peregrined *peregrined)
{
	return (struct switch_host){.loop = peregrined->loop,
				    .worker = peregrined->worker,
				    .snmp = peregrined->snmp,
				    .ovsdb_files = &peregrined->ovsdb_files};
}

static int peregrined_start_queue(struct peregrined *peregrined, struct problem *problem)
{
	struct switch_queue_options options = {
		.catalog = {switch_driver_find, switch_family_find, switch_family_detect},
		.failing_calls = (unsigned)peregrined->conf->failing_calls};
	int rc = worker_new(peregrined->loop, (unsigned)peregrined->conf->switch_workers,
			    CALLS_QUEUED_MAX, &peregrined->worker);

	if (rc == 0)
		rc = snmp_client_new(peregrined->loop, &peregrined->snmp);
	if (rc)
		return rc;
	if (!find_ovsdb_files(peregrined))
		return E_LIMIT;
	rc = ovsdb_key_check(peregrined->ovsdb_files.key, problem);
	if (rc)
		return rc;
	options.host = peregrined_switch_host(peregrined);
	return switch_queue_new(&options, &peregrined->queue);
}

static int start_switches(struct peregrined *peregrined, struct problem *problem)
{
	char path[4096];
	const struct switches_options options = {.db = peregrined->db,
						 .queue = peregrined->queue,
						 .key_path = path,
						 .change = on_switch,
						 .context = peregrined};
	int rc = file_make_folder(peregrined->conf->key_dir, 0700);

	if (rc)
		return problem_set(problem, rc, "key_dir %s: %s", peregrined->conf->key_dir,
				   error_text(rc));
	if (!text_format(path, sizeof(path), "%s/peregrined-seal.key", peregrined->conf->key_dir))
		return problem_set(problem, E_LIMIT, "key_dir is too long");
	return switches_new(peregrined->loop, &options, &peregrined->switches, problem);
}

static int start_discovery(struct peregrined *peregrined)
{
	const struct discovery_options options = {.db = peregrined->db,
						  .queue = peregrined->queue,
						  .full_ms = peregrined->conf->full_read_s * 1000,
						  .seen_ms = peregrined->conf->seen_s * 1000};

	return discovery_new(peregrined->loop, &options, &peregrined->discovery);
}

/* Discovery looks at the switches anyway, and hands over what it reads. */
static int start_reconcile(struct peregrined *peregrined)
{
	const struct reconcile_options options = {
		.db = peregrined->db,
		.access = peregrined_access(peregrined),
		.owner = peregrined->owner,
		.claim_ms = (uint32_t)(peregrined->conf->claim_s * 1000),
		.no_looks = true};
	int rc = reconcile_new(peregrined->loop, &options, &peregrined->reconcile);

	if (rc == 0)
		discovery_listen(peregrined->discovery, on_reading, is_changing, peregrined);
	return rc;
}

static int64_t peregrined_claim_of(void *context, int64_t fabric_id)
{
	const struct peregrined *peregrined = context;

	return reconcile_claim(peregrined->reconcile, fabric_id);
}

static int start_mirrors(struct peregrined *peregrined)
{
	const struct mirrors_options options = {.db = peregrined->db,
						.queue = peregrined->queue,
						.ended = on_mirrors_ended,
						.context = peregrined};

	return mirrors_new(peregrined->loop, &options, &peregrined->mirrors);
}

static int peregrined_start_health(struct peregrined *peregrined)
{
	const struct health_options options = {.db = peregrined->db,
					       .queue = peregrined->queue,
					       .worker = peregrined->worker,
					       .conninfo = peregrined->conf->database,
					       .period_ms = peregrined->conf->health_s * 1000,
					       .claim = peregrined_claim_of,
					       .context = peregrined};

	return health_new(peregrined->loop, &options, &peregrined->health);
}

static int start_rotations(struct peregrined *peregrined)
{
	const struct switch_rotations_options options = {.db = peregrined->db,
							 .switches = peregrined->switches,
							 .queue = peregrined->queue,
							 .host = peregrined_switch_host(peregrined),
							 .is_changing = is_changing,
							 .context = peregrined};

	return switch_rotations_new(peregrined->loop, &options, &peregrined->rotations);
}

static int peregrined_start_parts(struct peregrined *peregrined, struct problem *problem)
{
	const struct db_options db = {
		.conninfo = peregrined->conf->database,
		.application = "peregrined",
		.daemon = "peregrined",
		.instance = peregrined->conf->name,
		.lead = "peregrined",
		.setup = db_plan_anew,
		.on_state = peregrined_on_db_state,
		.on_notify = peregrined_on_notify,
		.channels = peregrined_channels,
		.context = peregrined,
	};
	int rc = peregrined_start_queue(peregrined, problem);

	if (rc == 0)
		rc = db_new(peregrined->loop, &db, &peregrined->db);
	if (rc == 0)
		rc = start_switches(peregrined, problem);
	if (rc == 0)
		rc = start_discovery(peregrined);
	if (rc == 0)
		rc = start_reconcile(peregrined);
	if (rc == 0)
		rc = beacons_new(peregrined->loop, peregrined->db, peregrined->queue,
				 &peregrined->beacons);
	if (rc == 0)
		rc = sampling_new(peregrined->loop, peregrined->db, peregrined->queue,
				  &peregrined->sampling);
	if (rc == 0)
		rc = start_mirrors(peregrined);
	if (rc == 0)
		rc = peregrined_start_health(peregrined);
	if (rc == 0)
		rc = start_rotations(peregrined);
	if (rc && !problem_is_set(problem))
		(void)problem_set(problem, rc, "peregrined cannot start: %s", error_text(rc));
	return rc;
}

static int peregrined_start(void *state, struct loop *loop, const void *values,
			    struct problem *problem)
{
	const struct peregrined_conf *conf = values;
	struct peregrined *peregrined = state;
	int rc;

	if (sodium_init() < 0)
		return problem_set(problem, E_UNAVAILABLE, "libsodium does not start");
	wipe_json_memory(); /* secrets of switches are opened as JSON */
	peregrined->loop = loop;
	peregrined->conf = conf;
	process_claim_name(conf->name, peregrined->name, sizeof(peregrined->name));
	peregrined_owner_of(conf, peregrined->owner, sizeof(peregrined->owner));
	/* The socket may stand where only root may make one; everything else is ours as the user we
	 * become. */
	rc = peregrined_serve(peregrined, problem);
	if (rc == 0)
		rc = process_drop_privileges(conf->user, problem);
	if (rc == 0)
		rc = peregrined_start_parts(peregrined, problem);
	if (rc)
		return rc;
	log_info(PEREGRINED_SUBJECT, "working as %s", peregrined->name);
	return 0;
}

static void peregrined_reload(void *state)
{
	struct peregrined *peregrined = state;

	switches_wake(peregrined->switches);
	discovery_wake(peregrined->discovery);
	reconcile_wake(peregrined->reconcile);
	sampling_wake(peregrined->sampling);
}

/* The connection goes first: whoever waits for a row hears of it while all parts still stand. */
static void peregrined_stop(void *state)
{
	struct peregrined *peregrined = state;

	peregrined_serve_end(peregrined);
	http_server_free(peregrined->server);
	if (peregrined->reconcile)
		reconcile_db_state(peregrined->reconcile, false);
	if (peregrined->beacons)
		beacons_db_state(peregrined->beacons, false);
	if (peregrined->sampling)
		sampling_db_state(peregrined->sampling, false);
	if (peregrined->mirrors)
		mirrors_db_state(peregrined->mirrors, false);
	if (peregrined->health)
		health_db_state(peregrined->health, false);
	if (peregrined->rotations)
		switch_rotations_db_state(peregrined->rotations, false);
	db_free(peregrined->db);
	switch_rotations_free(peregrined->rotations);
	switches_free(peregrined->switches);
	discovery_free(peregrined->discovery);
	peregrined->discovery = NULL;
	switch_queue_free(peregrined->queue);
	sampling_free(peregrined->sampling);
	mirrors_free(peregrined->mirrors);
	beacons_free(peregrined->beacons);     /* it has heard of what it told to end */
	reconcile_free(peregrined->reconcile); /* the queue has answered what it asked */
	snmp_client_free(peregrined->snmp);
	worker_free(peregrined->worker);
	health_free(peregrined->health); /* the worker has ended what it wrote */
}

const struct daemon_spec peregrined_daemon = {
	.name = "peregrined",
	.summary = "tenant networks: finds the fabric, keeps ports as they are wanted",
	.default_conf = "/etc/haas/peregrined.conf",
	.conf = &peregrined_conf_table,
	.start = peregrined_start,
	.stop = peregrined_stop,
	.reload = peregrined_reload,
	.state_size = sizeof(struct peregrined),
};
