#include "bampi/control/bampid.h"

#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/db_state.h"
#include "common/io/daemon.h"
#include "common/io/file.h"
#include "common/io/log.h"
#include "common/io/process.h"

#include "bampi/control/bampid_private.h"
#include "bampi/control/health_feed.h"

#define BAMPID_SUBJECT "bampid"

static const char *const work_channels[] = {"deployment", NULL};
static const char *const watch_channels[] = {"inventory", NULL};

/* Work that waited for us is not begun before it is known who has a BMC: it would fail for having
 * none. */
static void tell_runners(struct bampid *bampid)
{
	bool ready = bampid->connected && bampid->bmcs_known;

	if (!bampid->event_seal)
		return;
	runner_db_state(bampid->runner, ready);
	action_runner_db_state(bampid->actions, ready);
	pdci_runner_db_state(bampid->pdcis, ready);
	rotations_db_state(bampid->rotations, ready);
	certificate_rotation_db_state(bampid->certificate_rotation, bampid->connected);
	event_seal_db_state(bampid->event_seal, bampid->connected);
}

static void bampid_on_db_state(void *context, bool connected)
{
	struct bampid *bampid = context;

	bampid->connected = connected;
	db_log_state(bampid->db, BAMPID_SUBJECT, connected, "no step begins until it is back");
	tell_runners(bampid);
}

static void on_bmcs_read(void *context)
{
	struct bampid *bampid = context;

	if (bampid->bmcs_known)
		return;
	bampid->bmcs_known = true;
	tell_runners(bampid);
}

static void on_watch_state(void *context, bool connected)
{
	struct bampid *bampid = context;

	if (!bampid->health)
		return;
	endpoints_db_state(bampid->endpoints, connected);
	health_db_state(bampid->health, connected);
}

static void on_deployment(void *context, const char *channel)
{
	struct bampid *bampid = context;

	(void)channel;
	runner_wake(bampid->runner);
	action_runner_wake(bampid->actions);
	pdci_runner_wake(bampid->pdcis);
	rotations_wake(bampid->rotations);
	certificate_rotation_wake(bampid->certificate_rotation);
}

static void bampid_on_inventory(void *context, const char *channel)
{
	struct bampid *bampid = context;

	(void)channel;
	endpoints_wake(bampid->endpoints);
	endpoints_rotate(bampid->endpoints);
}

/* --- start --- */

static void settings_of(const struct bampid_conf *conf, struct step_settings *ret)
{
	for (int step = 0; step < STEP_COUNT; step++)
		ret->deadline_ms[step] = conf->deadline_s[step] * 1000;
	ret->backoff_ms = conf->backoff_s * 1000;
	ret->fresh_ms = conf->agent_fresh_s * 1000;
	ret->stall_ms = conf->agent_stall_s * 1000;
	ret->bmc_patience_ms = conf->bmc_patience_s * 1000;
	ret->settle_ms = conf->settle_s * 1000;
	ret->let_down_ms = conf->let_down_s * 1000;
	ret->poll_ms = conf->poll_s * 1000;
}

static bool bampid_certificate_path(const struct bampid *bampid, char ret[PATH_MAX])
{
	return text_format(ret, PATH_MAX, "%s/bampid-certificate.key", bampid->conf->key_dir);
}

static int load_keys(struct bampid *bampid, struct problem *problem)
{
	char path[PATH_MAX];
	int rc = file_make_folder(bampid->conf->key_dir, 0700);

	if (rc)
		return problem_set(problem, rc, "key_dir %s: %s", bampid->conf->key_dir,
				   error_text(rc));
	if (!bampid_certificate_path(bampid, path))
		return problem_set(problem, E_LIMIT, "key_dir is too long");
	rc = certificate_key_load(path, &bampid->certificate_key, problem);
	if (rc == 0)
		rc = task_key_load(bampid->conf->key_dir, &bampid->task_key, problem);
	if (rc == 0)
		rc = image_trust_load(bampid->conf->image_keys, &bampid->trust, problem);
	if (rc == 0)
		log_info(
			BAMPID_SUBJECT,
			"%zu image keys, certificates are signed with %.16s..., tasks with %.16s...",
			bampid->trust.count, bampid->certificate_key.public_text,
			bampid->task_key.public_text);
	return rc;
}

static int bampid_start_queue(struct bampid *bampid, struct problem *problem)
{
	const struct sim_rack_options rack = {.path = bampid->conf->sim_rack};
	struct bmc_queue_options options = {.workers = (unsigned)bampid->conf->bmc_workers};
	int rc = 0;

	if (bampid->conf->sim_rack[0])
		rc = sim_rack_new(&rack, &bampid->rack);
	if (rc)
		return problem_set(problem, rc, "sim_rack %s: %s", bampid->conf->sim_rack,
				   error_text(rc));
	options.sim = bampid->rack;
	options.ca_file = bampid->conf->bmc_ca_file;
	options.session_keep_ms = bampid->conf->bmc_session_keep_s * 1000;
	rc = bmc_queue_new(bampid->loop, &options, &bampid->queue);
	return rc ? problem_set(problem, rc, "no BMC queue: %s", error_text(rc)) : 0;
}

static int start_endpoints(struct bampid *bampid, struct problem *problem)
{
	char path[4096];
	struct endpoints_options options = {.db = bampid->watch_db,
					    .queue = bampid->queue,
					    .key_path = path,
					    .change = consoles_endpoint,
					    .read = on_bmcs_read,
					    .read_context = bampid};
	const struct consoles_options consoles = {
		.folder = bampid->conf->console_dir,
		.watch = (enum console_watch)bampid->conf->console_watch,
		.seats = (size_t)bampid->conf->console_sessions};
	int rc = consoles_new(bampid->loop, &consoles, &bampid->consoles);

	if (rc)
		return rc;
	consoles_db(bampid->consoles, bampid->watch_db);
	if (!text_format(path, sizeof(path), "%s/bampid-seal.key", bampid->conf->key_dir))
		return problem_set(problem, E_LIMIT, "key_dir is too long");
	for (int which = 0; which < REFRESH_COUNT; which++)
		options.period_ms[which] = bampid->conf->refresh_s[which] * 1000;
	options.context = bampid->consoles;
	return endpoints_new(bampid->loop, &options, &bampid->endpoints, problem);
}

/* A deployment may have to stop, or may go on. */
static void on_health_changed(void *context)
{
	struct bampid *bampid = context;

	notify_mark(bampid->notify, NOTIFY_EVENT);
	if (bampid->runner)
		runner_wake(bampid->runner);
}

static int bampid_start_health(struct bampid *bampid)
{
	const struct health_options options = {
		.db = bampid->watch_db, .changed = on_health_changed, .context = bampid};
	int rc = health_new(bampid->loop, &options, &bampid->health);

	return rc ? rc : health_feed(bampid->endpoints, bampid->health);
}

/* Deployments of a PDCI were made, or asked to cancel. */
static void on_pdci_changed(void *context)
{
	struct bampid *bampid = context;

	notify_mark(bampid->notify, NOTIFY_EVENT);
	runner_wake(bampid->runner);
}

static int bampid_start_certificate_rotation(struct bampid *bampid)
{
	char path[PATH_MAX];
	const struct certificate_rotation_options options = {
		.db = bampid->db, .path = path, .key = &bampid->certificate_key};

	return bampid_certificate_path(bampid, path)
		       ? certificate_rotation_new(bampid->loop, &options,
						  &bampid->certificate_rotation)
		       : -ENAMETOOLONG;
}

static int bampid_start_event_seal(struct bampid *bampid)
{
	const struct event_seal_options options = {.db = bampid->db,
						   .period_ms = bampid->conf->seal_s * 1000,
						   .key = &bampid->certificate_key};

	return event_seal_new(bampid->loop, &options, &bampid->event_seal);
}

static int start_runners(struct bampid *bampid)
{
	const struct runner_options runner = {
		.db = bampid->db,
		.queue = bampid->queue,
		.notify = bampid->notify,
		.trust = &bampid->trust,
		.signed_images = bampid->conf->signed_images,
		.settings = &bampid->settings,
		.key = &bampid->certificate_key,
		.task_key = &bampid->task_key,
		.owner = bampid->name,
		.claim_ms = bampid->conf->claim_s * 1000,
		.http_port = (unsigned)bampid->conf->boot_http_port,
		.console = consoles_tail,
		.console_holds = consoles_holds,
		.console_listen = consoles_listen,
		.active = consoles_active,
		.context = bampid->consoles,
	};
	const struct action_runner_options actions = {
		.db = bampid->db,
		.queue = bampid->queue,
		.notify = bampid->notify,
		.owner = bampid->name,
		.claim_ms = bampid->conf->claim_s * 1000,
	};
	const struct pdci_runner_options pdcis = {
		.db = bampid->db,
		.owner = bampid->name,
		.claim_ms = bampid->conf->claim_s * 1000,
		.changed = on_pdci_changed,
		.context = bampid,
	};
	const struct rotations_options rotations = {
		.db = bampid->db,
		.queue = bampid->queue,
		.endpoints = bampid->endpoints,
		.owner = bampid->name,
		.claim_ms = bampid->conf->claim_s * 1000,
	};
	int rc = runner_new(bampid->loop, &runner, &bampid->runner);

	if (rc == 0)
		rc = action_runner_new(bampid->loop, &actions, &bampid->actions);
	if (rc == 0)
		rc = pdci_runner_new(bampid->loop, &pdcis, &bampid->pdcis);
	if (rc == 0)
		rc = rotations_new(bampid->loop, &rotations, &bampid->rotations);
	if (rc == 0)
		rc = bampid_start_certificate_rotation(bampid);
	return rc ? rc : bampid_start_event_seal(bampid);
}

/* Two connections: what ten thousand BMCs report must not stand in line before a claim. */
static int start_databases(struct bampid *bampid)
{
	const struct db_options work = {
		.conninfo = bampid->conf->database,
		.application = "bampid",
		.daemon = "bampid",
		.instance = bampid->conf->name,
		.lead = "bampid",
		.setup = db_plan_anew,
		.on_state = bampid_on_db_state,
		.on_notify = on_deployment,
		.channels = work_channels,
		.context = bampid,
	};
	struct db_options watch = {
		.conninfo = bampid->conf->database,
		.application = "bampid watch",
		.instance = bampid->conf->name,
		.lead = "bampid/watch",
		.setup = db_plan_anew,
		.on_state = on_watch_state,
		.on_notify = bampid_on_inventory,
		.channels = watch_channels,
		.context = bampid,
	};
	int rc = db_new(bampid->loop, &work, &bampid->db);

	watch.lead_of = bampid->db;
	return rc ? rc : db_new(bampid->loop, &watch, &bampid->watch_db);
}

static int bampid_start_parts(struct bampid *bampid, struct problem *problem)
{
	int rc = bampid_start_queue(bampid, problem);

	if (rc)
		return rc;
	rc = start_databases(bampid);
	if (rc == 0)
		rc = notify_new(bampid->loop, bampid->db, &bampid->notify);
	if (rc == 0)
		rc = start_endpoints(bampid, problem);
	if (rc == 0)
		rc = bampid_start_health(bampid);
	if (rc == 0)
		rc = start_runners(bampid);
	if (rc && !problem_is_set(problem))
		(void)problem_set(problem, rc, "bampid cannot start: %s", error_text(rc));
	return rc;
}

static int bampid_start(void *state, struct loop *loop, const void *values, struct problem *problem)
{
	const struct bampid_conf *conf = values;
	struct bampid *bampid = state;
	int rc;

	if (sodium_init() < 0)
		return problem_set(problem, E_UNAVAILABLE, "libsodium does not start");
	bampid->loop = loop;
	bampid->conf = conf;
	settings_of(conf, &bampid->settings);
	process_claim_name(conf->name, bampid->name, sizeof(bampid->name));
	/* The socket may stand where only root may make one; everything else is ours as the user we
	 * become. */
	rc = bampid_serve(bampid, problem);
	if (rc == 0)
		rc = process_drop_privileges(conf->user, problem);
	if (rc == 0)
		rc = load_keys(bampid, problem);
	if (rc == 0)
		rc = bampid_start_parts(bampid, problem);
	if (rc)
		return rc;
	log_info(BAMPID_SUBJECT, "working as %s", bampid->name);
	return 0;
}

static void bampid_reload(void *state)
{
	struct bampid *bampid = state;
	struct image_trust trust;
	struct problem problem = {0};

	if (image_trust_load(bampid->conf->image_keys, &trust, &problem) == 0)
		bampid->trust = trust;
	else
		log_problem(LOG_LEVEL_ERROR, BAMPID_SUBJECT, &problem);
	endpoints_wake(bampid->endpoints);
}

/* The connections go first: whoever waits for a row hears of it while all parts still stand.
 * Claims are left to run out: the work goes on elsewhere, or here after the start. */
static void bampid_stop(void *state)
{
	struct bampid *bampid = state;

	http_server_free(bampid->server);
	db_free(bampid->db);
	db_free(bampid->watch_db);
	event_seal_free(bampid->event_seal);
	certificate_rotation_free(bampid->certificate_rotation);
	rotations_free(bampid->rotations);
	pdci_runner_free(bampid->pdcis);
	action_runner_free(bampid->actions);
	runner_free(bampid->runner);
	consoles_free(bampid->consoles);
	endpoints_free(bampid->endpoints);
	health_free(bampid->health);
	notify_free(bampid->notify);
	bmc_queue_free(bampid->queue);
	sim_rack_free(bampid->rack);
	certificate_key_wipe(&bampid->certificate_key);
	task_key_wipe(&bampid->task_key);
}

const struct daemon_spec bampid_daemon = {
	.name = "bampid",
	.summary = "step runner, BMCs, consoles and certificates",
	.default_conf = "/etc/haas/bampid.conf",
	.conf = &bampid_conf_table,
	.start = bampid_start,
	.stop = bampid_stop,
	.reload = bampid_reload,
	.state_size = sizeof(struct bampid),
};
