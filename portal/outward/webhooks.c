#include "portal/outward/webhooks.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/json_text.h"
#include "common/db/db.h"
#include "common/db/seal_rotation.h"
#include "common/http/fetch.h"
#include "common/io/file.h"
#include "common/io/log.h"
#include "common/io/loop.h"
#include "common/io/seal_key.h"
#include "common/io/work_cycle.h"

#include "portal/outward/address_guard.h"
#include "portal/outward/outward.h"
#include "portal/outward/outward_sql.h"
#include "portal/outward/webhook_sign.h"

#define WEBHOOKS_AT_ONCE     8
#define WEBHOOKS_PERIOD_MS   2000
#define WEBHOOKS_DEADLINE_MS 10000 /* webhook_take lends a delivery for three times as long */
#define WEBHOOKS_ANSWER_MAX  65536
#define WEBHOOKS_SECRET_SIZE 256

/* Networks of a site are no receivers of its tenants. Operators may mean them. */
static const char webhooks_private[] =
	"10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 192.0.0.0/24 198.18.0.0/15 fc00::/7";

/* One delivery at a time. */
struct webhook_slot {
	struct webhooks *owner;
	struct work_cycle cycle;
	struct address_guard guard; /* of this delivery */
	char delivery[24], generation[24], webhook[24];
	int64_t begun_ms;
	struct fetch *fetch;
};

struct webhooks {
	struct loop *loop;
	const struct outward_conf *conf;
	struct db *db;
	struct fetcher *fetcher;
	char key_path[PATH_MAX];
	struct seal_key_file key_file;
	struct seal_key *key;
	struct seal_rotation *rotation; /* NULL: not connected yet */
	struct work_cycle fill;
	struct webhook_slot slots[WEBHOOKS_AT_ONCE];
};

/* --- one delivery --- */

static void webhooks_on_written(void *context, int rc, const PGresult *result,
				const struct problem *problem)
{
	struct webhook_slot *slot = context;

	(void)result;
	if (rc)
		log_problem(LOG_LEVEL_WARN, "webhook", problem);
	work_cycle_end(&slot->cycle, rc ? WEBHOOKS_PERIOD_MS : 0);
}

/* `status` 0: there was no answer. */
static void webhooks_write_down(struct webhook_slot *slot, int status,
				const struct problem *problem)
{
	int64_t took_ms = loop_now_ms(slot->owner->loop) - slot->begun_ms;
	CLEANUP(text_done) struct text why = {0};
	char status_text[16];
	char ms_text[24];
	const char *params[] = {slot->delivery, slot->generation, status ? status_text : NULL,
				ms_text, NULL};

	(void)text_format(status_text, sizeof(status_text), "%d", status);
	(void)text_format(ms_text, sizeof(ms_text), "%" PRId64, took_ms);
	if (problem) {
		log_debug("webhook", "%s: %s (delivery=%s)", slot->webhook, problem->message,
			  slot->delivery);
		json_put_problem(&why, NULL, problem);
		params[4] = text_get(&why);
	}
	address_guard_done(&slot->guard);
	if (why.failed ||
	    db_submit(slot->owner->db, &webhook_done_query, params, webhooks_on_written, slot) != 0)
		work_cycle_end(&slot->cycle, WEBHOOKS_PERIOD_MS);
}

/* What a receiver answers is not kept: a tenant would read what stands at an address of the site. */
static void webhooks_on_answer(void *context, int rc, const struct fetch_answer *answer,
			       const struct problem *problem)
{
	struct webhook_slot *slot = context;
	struct problem refused = {0};

	slot->fetch = NULL;
	if (rc == E_DENIED) {
		(void)problem_set(&refused, E_DENIED,
				  "the receiver is at an address that is closed to us");
		problem_hint(&refused, "a receiver outside of the site; an operator may open "
				       "addresses: portal-outward.conf, webhooks");
		webhooks_write_down(slot, 0, &refused);
	} else if (rc) {
		webhooks_write_down(slot, 0, problem);
	} else if (answer->status < 200 || answer->status > 299) {
		(void)problem_set(&refused, E_UNAVAILABLE, "the receiver answered %d",
				  answer->status);
		problem_hint(&refused, "%s",
			     answer->status >= 300 && answer->status < 400
				     ? "no redirect is followed: give the URL that it leads to"
				     : "the receiver's own log says why");
		webhooks_write_down(slot, answer->status, &refused);
	} else {
		webhooks_write_down(slot, answer->status, NULL);
	}
}

static int webhooks_open_addresses(struct webhook_slot *slot, bool of_tenant, const char *closed)
{
	const struct outward_conf *conf = slot->owner->conf;
	char *const *allow = of_tenant ? conf->webhooks_allow : conf->allow;
	int rc = address_list_add(&slot->guard.closed, closed);

	if (rc == 0 && of_tenant)
		rc = address_list_add(&slot->guard.closed, webhooks_private);
	for (; rc == 0 && allow && *allow; allow++)
		rc = address_list_add(&slot->guard.allowed, *allow);
	return rc;
}

static int webhooks_open_secret(const struct webhook_slot *slot, const char *sealed_hex,
				char ret[WEBHOOKS_SECRET_SIZE], struct problem *problem)
{
	uint8_t sealed[SEAL_SIZE_MAX];
	size_t size = strlen(sealed_hex) / 2;
	int rc = E_MALFORMED;

	if (size <= sizeof(sealed) && hex_decode(sealed_hex, sealed, size) == 0)
		rc = seal_key_open(slot->owner->key, sealed, size, ret, WEBHOOKS_SECRET_SIZE);
	if (rc == 0)
		return 0;
	(void)problem_set(problem, rc, "its secret cannot be opened: %s", error_text(rc));
	problem_hint(problem,
		     "it was sealed to another key: haasctl webhook secret %s makes a new one",
		     slot->webhook);
	return rc;
}

static int webhooks_send(struct webhook_slot *slot, const PGresult *result, struct problem *problem)
{
	const char *body = db_text(result, 0, WEBHOOK_TAKE_BODY, "");
	char signature[WEBHOOK_SIGN_SIZE];
	char secret[WEBHOOKS_SECRET_SIZE];
	char delivery[64];
	char kind[128];
	const char *const headers[] = {"Content-Type: application/cloudevents+json", signature,
				       delivery, kind, NULL};
	int rc = webhooks_open_addresses(slot, db_bool(result, 0, WEBHOOK_TAKE_OF_TENANT),
					 db_text(result, 0, WEBHOOK_TAKE_CLOSED, ""));

	if (rc)
		return problem_set(problem, rc, "addresses cannot be compared: %s", error_text(rc));
	rc = webhooks_open_secret(slot, db_text(result, 0, WEBHOOK_TAKE_SECRET, ""), secret,
				  problem);
	if (rc)
		return rc;
	webhook_sign(secret, (int64_t)time(NULL), body, signature);
	sodium_memzero(secret, sizeof(secret));
	(void)text_format(delivery, sizeof(delivery), "Haas-Delivery: %s", slot->delivery);
	(void)text_format(kind, sizeof(kind), "Haas-Event: %s",
			  db_text(result, 0, WEBHOOK_TAKE_KIND, ""));
	rc = fetch_start(slot->owner->fetcher,
			 &(struct fetch_request){.peer = "the receiver",
						 .method = "POST",
						 .url = db_text(result, 0, WEBHOOK_TAKE_URL, ""),
						 .headers = headers,
						 .body = body,
						 .size = strlen(body),
						 .deadline_ms = WEBHOOKS_DEADLINE_MS,
						 .may_connect = address_guard_may_connect,
						 .may_connect_context = &slot->guard,
						 .answer_limit = WEBHOOKS_ANSWER_MAX},
			 webhooks_on_answer, slot, &slot->fetch);
	if (rc)
		problem_hint(problem, "write it as https://HOST/PATH");
	return rc ? problem_set(problem, rc, "the URL cannot be used") : 0;
}

static void webhooks_on_taken(void *context, int rc, const PGresult *result,
			      const struct problem *problem)
{
	struct webhook_slot *slot = context;
	struct problem refused = {0};

	if (rc)
		log_problem(LOG_LEVEL_WARN, "webhook", problem);
	if (rc || db_is_null(result, 0, WEBHOOK_TAKE_DELIVERY)) {
		work_cycle_end(&slot->cycle, WORK_CYCLE_NO_PAUSE);
		return;
	}
	(void)text_copy(slot->delivery, sizeof(slot->delivery),
			db_text(result, 0, WEBHOOK_TAKE_DELIVERY, ""));
	(void)text_copy(slot->generation, sizeof(slot->generation),
			db_text(result, 0, WEBHOOK_TAKE_GENERATION, ""));
	(void)text_copy(slot->webhook, sizeof(slot->webhook),
			db_text(result, 0, WEBHOOK_TAKE_WEBHOOK, ""));
	slot->begun_ms = loop_now_ms(slot->owner->loop);
	if (webhooks_send(slot, result, &refused) != 0)
		webhooks_write_down(slot, 0, &refused);
}

static void webhooks_begin_slot(void *context)
{
	struct webhook_slot *slot = context;

	if (db_submit(slot->owner->db, &webhook_take_query, NULL, webhooks_on_taken, slot) != 0)
		work_cycle_end(&slot->cycle, WEBHOOKS_PERIOD_MS);
}

/* --- what has happened becomes deliveries --- */

static void webhooks_on_filled(void *context, int rc, const PGresult *result,
			       const struct problem *problem)
{
	struct webhooks *webhooks = context;

	if (rc)
		log_problem(LOG_LEVEL_WARN, "webhook", problem);
	else if (db_bool(result, 0, WEBHOOK_FILL_DUE))
		for (size_t i = 0; i < WEBHOOKS_AT_ONCE; i++)
			work_cycle_wake(&webhooks->slots[i].cycle);
	work_cycle_end(&webhooks->fill, WEBHOOKS_PERIOD_MS);
}

static void webhooks_begin_fill(void *context)
{
	struct webhooks *webhooks = context;

	if (db_submit(webhooks->db, &webhook_fill_query, NULL, webhooks_on_filled, webhooks) != 0)
		work_cycle_end(&webhooks->fill, WEBHOOKS_PERIOD_MS);
}

/* --- start and stop --- */

static int webhooks_publish(struct webhooks *webhooks)
{
	char hex[2 * SEAL_KEY_SIZE + 1];
	const char *const params[] = {hex};

	hex_encode(seal_key_public_key(webhooks->key), SEAL_KEY_SIZE, hex);
	return db_submit(webhooks->db, &webhook_key_put_query, params, NULL, NULL);
}

void webhooks_db_state(struct webhooks *webhooks, bool connected)
{
	if (connected && webhooks_publish(webhooks) != 0)
		log_warn("webhook", "the key that secrets are sealed to is not published yet");
	seal_rotation_db_state(webhooks->rotation, connected);
	work_cycle_connected(&webhooks->fill, connected);
	for (size_t i = 0; i < WEBHOOKS_AT_ONCE; i++)
		work_cycle_connected(&webhooks->slots[i].cycle, connected);
}

void webhooks_wake(struct webhooks *webhooks)
{
	work_cycle_wake(&webhooks->fill);
}

static const struct seal_key *webhooks_present_key(void *context)
{
	const struct webhooks *webhooks = context;

	return webhooks->key;
}

static int webhooks_reload_key(void *context, struct problem *problem)
{
	struct webhooks *webhooks = context;
	int rc = seal_key_reload(&webhooks->key_file, &webhooks->key, problem);

	if (rc)
		return rc;
	rc = webhooks_publish(webhooks);
	return rc ? problem_set(problem, rc,
				"the public key for secrets of webhooks was not published")
		  : 0;
}

int webhooks_connect(struct webhooks *webhooks, struct db *db, struct fetcher *fetcher)
{
	webhooks->db = db;
	webhooks->fetcher = fetcher;
	return seal_rotation_new(webhooks->loop,
				 &(struct seal_rotation_options){.db = db,
								 .daemon = "portal-outward",
								 .file = &webhooks->key_file,
								 .key = webhooks_present_key,
								 .reload = webhooks_reload_key,
								 .context = webhooks},
				 &webhooks->rotation);
}

int webhooks_new(struct loop *loop, const struct outward_conf *conf, struct webhooks **ret,
		 struct problem *problem)
{
	struct webhooks *webhooks = calloc(1, sizeof(*webhooks));
	int rc = 0;

	if (!webhooks)
		return problem_set(problem, -ENOMEM, "no memory");
	webhooks->loop = loop;
	webhooks->conf = conf;
	webhooks->key_file = (struct seal_key_file){
		.path = webhooks->key_path,
		.what = "key for secrets of webhooks",
		.exposed_hint = "chmod 600 it; if others may have read it, make a new one, and new "
				"secrets: haasctl webhook secret"};
	rc = file_make_folder(conf->key_dir, 0700);
	if (rc)
		(void)problem_set(problem, rc, "key_dir %s cannot be made: %s", conf->key_dir,
				  error_text(rc));
	else if (!text_format(webhooks->key_path, sizeof(webhooks->key_path),
			      "%s/portal-outward-seal.key", conf->key_dir))
		rc = problem_set(problem, E_LIMIT, "key_dir is too long");
	else
		rc = seal_key_load(&webhooks->key_file, &webhooks->key, problem);
	if (rc == 0)
		rc = work_cycle_open(&webhooks->fill, loop, webhooks_begin_fill, webhooks);
	for (size_t i = 0; i < WEBHOOKS_AT_ONCE && rc == 0; i++) {
		webhooks->slots[i].owner = webhooks;
		rc = work_cycle_open(&webhooks->slots[i].cycle, loop, webhooks_begin_slot,
				     &webhooks->slots[i]);
	}
	if (rc) {
		webhooks_free(webhooks);
		return rc;
	}
	*ret = webhooks;
	return 0;
}

void webhooks_stop(struct webhooks *webhooks)
{
	work_cycle_stop(&webhooks->fill);
	for (size_t i = 0; i < WEBHOOKS_AT_ONCE; i++) {
		struct webhook_slot *slot = &webhooks->slots[i];

		work_cycle_stop(&slot->cycle);
		if (slot->fetch)
			fetch_cancel(slot->fetch);
		slot->fetch = NULL;
	}
}

void webhooks_free(struct webhooks *webhooks)
{
	if (!webhooks)
		return;
	work_cycle_close(&webhooks->fill);
	for (size_t i = 0; i < WEBHOOKS_AT_ONCE; i++) {
		work_cycle_close(&webhooks->slots[i].cycle);
		address_guard_done(&webhooks->slots[i].guard);
	}
	seal_rotation_free(webhooks->rotation);
	seal_key_free(webhooks->key);
	free(webhooks);
}
