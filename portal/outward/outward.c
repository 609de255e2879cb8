#include "portal/outward/outward.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/db/db_state.h"
#include "common/http/fetch.h"
#include "common/http/local_server.h"
#include "common/io/file.h"
#include "common/io/log.h"
#include "common/io/process.h"
#include "common/io/work_cycle.h"
#include "common/io/worker.h"

#include "portal/outward/oidc.h"
#include "portal/outward/outward_sql.h"
#include "portal/outward/receiver.h"
#include "portal/outward/webhooks.h"

#define OUTWARD_PERIOD_MS    2000
#define OUTWARD_SECRET_LIMIT 4096

struct outward {
	struct loop *loop;
	const struct outward_conf *conf;
	struct db *db;     /* of alerts: one instance at a time has it */
	struct db *logins; /* of logins: each instance has it */
	struct oidc *oidc;
	struct webhooks *webhooks;
	struct http_server *server;
	struct fetcher *fetcher;
	struct worker *worker;
	char *secret;
	struct receiver receivers[RECEIVER_COUNT];
};

/* --- one message: take, tell, write down --- */

static void outward_forget_message(struct receiver *receiver)
{
	free(receiver->alerts);
	free(receiver->states);
	free(receiver->body);
	receiver->alerts = receiver->states = receiver->body = NULL;
	address_list_done(&receiver->guard.closed);
}

static void outward_on_written(void *context, int rc, const PGresult *result,
			       const struct problem *problem)
{
	struct receiver *receiver = context;

	(void)result;
	if (rc)
		log_problem(LOG_LEVEL_WARN, receiver->row->name, problem);
	/* More may be due: a message has a hundred alerts at most. */
	work_cycle_end(&receiver->cycle, rc || receiver->failing ? OUTWARD_PERIOD_MS : 0);
}

static void outward_log_change(struct receiver *receiver, int rc, const struct problem *problem)
{
	if (rc && !receiver->failing)
		log_problem(LOG_LEVEL_WARN, receiver->row->name, problem);
	else if (!rc && receiver->failing)
		log_info(receiver->row->name, "takes alerts again");
	receiver->failing = rc != 0;
}

static void outward_on_told(struct receiver *receiver, int rc, const struct problem *problem)
{
	struct outward *outward = receiver->owner;
	CLEANUP(text_done) struct text why = {0};
	const char *params[] = {receiver->row->name, receiver->alerts, receiver->states, NULL};

	outward_log_change(receiver, rc, problem);
	if (rc) {
		json_put_problem(&why, NULL, problem);
		params[3] = text_get(&why);
	}
	if (why.failed ||
	    db_submit(outward->db, &notice_done_query, params, outward_on_written, receiver) != 0)
		work_cycle_end(&receiver->cycle, OUTWARD_PERIOD_MS);
	outward_forget_message(receiver);
}

static int outward_keep_message(struct receiver *receiver, const PGresult *result)
{
	receiver->alerts = strdup(db_text(result, 0, NOTICE_TAKE_ALERTS, ""));
	receiver->states = strdup(db_text(result, 0, NOTICE_TAKE_STATES, ""));
	receiver->body = strdup(db_text(result, 0, NOTICE_TAKE_BODY, ""));
	if (!receiver->alerts || !receiver->states || !receiver->body)
		return -ENOMEM;
	return address_list_add(&receiver->guard.closed,
				db_text(result, 0, NOTICE_TAKE_CLOSED, ""));
}

static void outward_on_taken(void *context, int rc, const PGresult *result,
			     const struct problem *problem)
{
	struct receiver *receiver = context;
	struct problem refused = {0};

	if (rc)
		log_problem(LOG_LEVEL_WARN, receiver->row->name, problem);
	if (rc || db_is_null(result, 0, NOTICE_TAKE_BODY)) {
		work_cycle_end(&receiver->cycle, OUTWARD_PERIOD_MS);
		return;
	}
	rc = outward_keep_message(receiver, result);
	if (rc)
		(void)problem_set(&refused, rc, "the message cannot be kept: %s", error_text(rc));
	else
		rc = receiver->row->tell(receiver, &refused);
	if (rc)
		outward_on_told(receiver, rc, &refused);
}

static void outward_begin(void *context)
{
	struct receiver *receiver = context;
	struct outward *outward = receiver->owner;
	const char *const params[] = {receiver->row->name, receiver->row->repeat_s,
				      outward->conf->mail_to};

	if (db_submit(outward->db, &notice_take_query, params, outward_on_taken, receiver) != 0)
		work_cycle_end(&receiver->cycle, OUTWARD_PERIOD_MS);
}

/* --- the socket: portald asks about logins --- */

static void outward_begin_login(void *context, struct http_request *request)
{
	oidc_begin(((struct outward *)context)->oidc, request);
}

static void outward_finish_login(void *context, struct http_request *request)
{
	oidc_finish(((struct outward *)context)->oidc, request);
}

static void outward_list_providers(void *context, struct http_request *request)
{
	oidc_list(((struct outward *)context)->oidc, request);
}

static void outward_get_health(void *context, struct http_request *request)
{
	const struct outward *outward = context;

	local_server_answer_health(request, db_connected(outward->logins));
}

static const struct http_route outward_routes[] = {
	{HTTP_GET, "/healthz", outward_get_health},
	{HTTP_GET, "/oidc/providers", outward_list_providers},
	{HTTP_POST, "/oidc/begin", outward_begin_login},
	{HTTP_POST, "/oidc/finish", outward_finish_login},
};

/* --- start and stop --- */

static void outward_on_database(void *context, bool connected)
{
	struct outward *outward = context;

	db_log_state(outward->db, "database", connected, "alerts are told when it is back");
	for (size_t i = 0; i < RECEIVER_COUNT; i++) {
		if (outward->receivers[i].cycle.timer)
			work_cycle_connected(&outward->receivers[i].cycle, connected);
	}
	webhooks_db_state(outward->webhooks, connected);
}

/* Alerts are written with events, so a new one is told at once. */
static void outward_on_notify(void *context, const char *channel)
{
	struct outward *outward = context;

	(void)channel;
	for (size_t i = 0; i < RECEIVER_COUNT; i++) {
		if (outward->receivers[i].cycle.timer)
			work_cycle_wake(&outward->receivers[i].cycle);
	}
	webhooks_wake(outward->webhooks);
}

static int outward_read_secret(struct outward *outward, struct problem *problem)
{
	const char *path = outward->conf->webhook_secret_file;
	size_t size;
	int rc;

	if (!path[0])
		return 0;
	rc = file_read(path, OUTWARD_SECRET_LIMIT, &outward->secret, &size);
	if (rc)
		return problem_set(problem, rc, "webhook.secret_file %s cannot be read: %s", path,
				   error_text(rc));
	outward->secret[strcspn(outward->secret, "\r\n")] = '\0';
	if (outward->secret[0])
		return 0;
	(void)problem_set(problem, E_MALFORMED, "webhook.secret_file %s is empty", path);
	problem_hint(problem, "openssl rand -hex 32 makes a key; the receiver needs the same");
	return E_MALFORMED;
}

static int outward_open_receivers(struct outward *outward)
{
	int rc = 0;

	for (size_t i = 0; i < RECEIVER_COUNT && rc == 0; i++) {
		struct receiver *receiver = &outward->receivers[i];

		*receiver = (struct receiver){.row = &receiver_rows[i],
					      .owner = outward,
					      .conf = outward->conf,
					      .fetcher = outward->fetcher,
					      .worker = outward->worker,
					      .secret = outward->secret,
					      .told = outward_on_told};
		for (char **each = outward->conf->allow; each && *each && rc == 0; each++)
			rc = address_list_add(&receiver->guard.allowed, *each);
		if (rc == 0 && receiver_rows[i].is_wanted(outward->conf))
			rc = work_cycle_open(&receiver->cycle, outward->loop, outward_begin,
					     receiver);
	}
	return rc;
}

static int outward_start_parts(struct outward *outward, struct problem *problem)
{
	static const char *const channels[] = {"event", NULL};
	int rc = fetcher_new(outward->loop,
			     &(struct fetcher_options){.ca_file = outward->conf->ca_file},
			     &outward->fetcher);

	if (rc == 0)
		rc = worker_new(outward->loop, 1, RECEIVER_COUNT, &outward->worker);
	if (rc == 0)
		rc = outward_open_receivers(outward);
	if (rc == 0)
		rc = db_new(outward->loop,
			    &(struct db_options){.conninfo = outward->conf->database,
						 .application = "portal-outward",
						 .daemon = "portal-outward",
						 .lead = "portal-outward",
						 .on_state = outward_on_database,
						 .on_notify = outward_on_notify,
						 .channels = channels,
						 .context = outward},
			    &outward->db);
	if (rc == 0)
		rc = webhooks_connect(outward->webhooks, outward->db, outward->fetcher);
	return rc ? problem_set(problem, rc, "portal-outward cannot start: %s", error_text(rc)) : 0;
}

static int outward_start_logins(struct outward *outward, struct problem *problem)
{
	const struct outward_conf *conf = outward->conf;
	int rc = db_new(
		outward->loop,
		&(struct db_options){.conninfo = conf->database, .application = "portal-outward"},
		&outward->logins);

	if (rc != 0)
		return problem_set(problem, rc, "portal-outward cannot start: %s", error_text(rc));
	oidc_connect(outward->oidc, outward->logins, outward->fetcher);
	return local_server_new(
		outward->loop,
		&(struct http_server_options){.routes = outward_routes,
					      .route_count = COUNT_OF(outward_routes),
					      .context = outward,
					      .caller = conf->socket_caller},
		conf->socket_path, &outward->server, problem);
}

static int outward_start(void *state, struct loop *loop, const void *values,
			 struct problem *problem)
{
	struct outward *outward = state;
	int rc;

	if (sodium_init() < 0)
		return problem_set(problem, E_UNAVAILABLE, "libsodium does not start");
	outward->loop = loop;
	outward->conf = values;
	/* The key may be readable by root alone. */
	rc = outward_read_secret(outward, problem);
	if (rc == 0)
		rc = oidc_new(outward->conf->oidc_folder, outward->conf->allow, &outward->oidc,
			      problem);
	if (rc == 0)
		rc = process_drop_privileges(outward->conf->user, problem);
	if (rc == 0)
		rc = webhooks_new(loop, outward->conf, &outward->webhooks, problem);
	if (rc == 0)
		rc = outward_start_parts(outward, problem);
	if (rc == 0)
		rc = outward_start_logins(outward, problem);
	if (rc)
		return rc;
	for (size_t i = 0; i < RECEIVER_COUNT; i++)
		log_info(receiver_rows[i].name, "%s",
			 outward->receivers[i].cycle.timer ? "is told alerts"
							   : "is not configured");
	return 0;
}

/* A message under way is told again after its lease: nobody knows whether the receiver took it. */
static void outward_stop(void *state)
{
	struct outward *outward = state;

	for (size_t i = 0; i < RECEIVER_COUNT; i++) {
		work_cycle_stop(&outward->receivers[i].cycle);
		receiver_cancel(&outward->receivers[i]);
	}
	if (outward->webhooks)
		webhooks_stop(outward->webhooks);
	worker_free(outward->worker);
	db_free(outward->db);
	db_free(outward->logins); /* its questions are answered: it is away */
	oidc_free(outward->oidc);
	http_server_free(outward->server);
	fetcher_free(outward->fetcher);
	webhooks_free(outward->webhooks);
	for (size_t i = 0; i < RECEIVER_COUNT; i++) {
		work_cycle_close(&outward->receivers[i].cycle);
		address_list_done(&outward->receivers[i].guard.allowed);
		outward_forget_message(&outward->receivers[i]);
	}
	if (outward->secret)
		sodium_memzero(outward->secret, strlen(outward->secret));
	free(outward->secret);
}

const struct daemon_spec outward_daemon = {
	.name = "portal-outward",
	.summary =
		"calls out: tells alerts to a webhook, an Alertmanager, and by mail; tells events to webhooks; asks providers of OpenID Connect",
	.default_conf = "/etc/haas/portal-outward.conf",
	.conf = &outward_conf_table,
	.start = outward_start,
	.stop = outward_stop,
	.state_size = sizeof(struct outward),
};
