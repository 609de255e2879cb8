#include "bampi/control/rotations.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/fence.h"
#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/http/json_reader.h"
#include "common/io/log.h"
#include "common/io/work_cycle.h"

#include "bampi/control/deploy/deploy_json.h"
#include "bampi/control/deploy/deploy_store.h"
#include "bampi/control/endpoint_store.h"
#include "bampi/control/endpoint_store_sql.h"
#include "bampi/control/rotations_sql.h"

LEAKS_LEFT_TO_SANITIZER

#define ROTATIONS_SUBJECT "rotation"

enum {
	ROTATIONS_PERIOD_MS = 5000,
	ROTATIONS_RETRY_MS = 1000,
	ROTATIONS_MAX = 16 /* as rotations.sql claims */
};

enum rotation_state { ROTATION_BEGUN, ROTATION_TRIAL, ROTATION_BOTH };

struct rotation {
	struct rotations *owner;
	int64_t id, generation, node_id;
	char node[64];
	enum rotation_state state;
	char next[2 * SEAL_SIZE_MAX + 1]; /* sealed, hex; "" = not made yet */
	char password[ENDPOINT_PASSWORD_SIZE];
	struct bmc_endpoint endpoint; /* as the database has it */
	struct fence *fence;          /* its claim's */
	uint64_t ticket;
	bool asked;
	struct rotation *prev, *next_one;
};

struct rotations {
	struct loop *loop;
	struct rotations_options options;
	struct work_cycle cycle;
	struct loop_timer *extend_timer;
	struct rotation *list;
	bool extending;
	int64_t claim_ms, extend_ms; /* clock_boot_ms when it was asked for */
};

static void rotation_free(struct rotation *rotation)
{
	if (rotation->asked)
		bmc_queue_cancel(rotation->owner->options.queue, rotation->ticket);
	fence_drop(rotation->fence);
	fence_unref(rotation->fence);
	DL_DELETE2(rotation->owner->list, rotation, prev, next_one);
	bmc_endpoint_wipe(&rotation->endpoint);
	sodium_memzero(rotation->password, sizeof(rotation->password));
	free(rotation);
}

/* --- decisions --- */

void rotation_password_make(char ret[ROTATION_PASSWORD_LENGTH + 1])
{
	static const char *const kinds[] = {"ABCDEFGHJKLMNPQRSTUVWXYZ", "abcdefghijkmnopqrstuvwxyz",
					    "23456789", "-_.+"};
	static const char all[] = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
	bool good = false;

	while (!good) {
		for (size_t i = 0; i < ROTATION_PASSWORD_LENGTH; i++)
			ret[i] = all[randombytes_uniform(sizeof(all) - 1)];
		/* A sign at the front is an option to some tools. */
		ret[1 + randombytes_uniform(ROTATION_PASSWORD_LENGTH - 2)] =
			kinds[3][randombytes_uniform(4)];
		ret[ROTATION_PASSWORD_LENGTH] = '\0';
		good = true;
		for (size_t i = 0; i < COUNT_OF(kinds); i++)
			good &= strpbrk(ret, kinds[i]) != NULL;
	}
}

/* Whether it was set is not known after silence, or after "wrong password", which may be the answer
 * to the one before: the new one is tried. */
const char *rotation_step_after_set(int rc)
{
	if (rc == 0 || rc == E_TIMEOUT || rc == E_AUTHENTICATION || rc == E_PROTOCOL)
		return "swap";
	return rc == E_UNAVAILABLE || rc == -EBUSY || rc == E_CONFLICT || rc == -ENOMEM ? "later"
											: "fail";
}

const char *rotation_step_after_use(int rc)
{
	if (rc == 0)
		return "proven";
	return rc == E_AUTHENTICATION ? "back" : "later";
}

/* --- steps --- */

/* The claim is gone, or the step is written: whoever claims it next goes on. */
static void rotation_on_stepped(void *context, int rc, const PGresult *result,
				const struct problem *problem)
{
	struct rotation *rotation = context;
	struct rotations *rotations = rotation->owner;

	(void)result;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, ROTATIONS_SUBJECT, problem);
	rotation_free(rotation);
	work_cycle_wake(&rotations->cycle);
}

static int rotation_submit(struct rotation *rotation, const char *step, const char *sealed,
			   const struct problem *problem, db_result_fn fn)
{
	char id[24];
	char generation[24];
	json_t *json = problem ? json_of_problem(problem) : NULL;
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	const char *params[] = {id, generation, step, sealed, text};
	int rc;

	(void)text_format(id, sizeof(id), "%lld", (long long)rotation->id);
	(void)text_format(generation, sizeof(generation), "%lld", (long long)rotation->generation);
	rc = db_submit(rotation->owner->options.db, &rotation_step_query, params, fn, rotation);
	json_decref(json);
	free(text);
	return rc;
}

static const char *rotation_sentence(const char *step)
{
	static const char *const sentences[][2] = {
		{"swap", "a new password was sent to the BMC"},
		{"proven", "a login has proven the new password at the BMC"},
		{"end", "the old password is forgotten for the BMC"},
	};

	for (size_t i = 0; i < COUNT_OF(sentences); i++) {
		if (strcmp(step, sentences[i][0]) == 0)
			return sentences[i][1];
	}
	return step;
}

/* Its claim runs out when this cannot be written: then it is done again. */
static void rotation_step(struct rotation *rotation, const char *step,
			  const struct problem *problem)
{
	if (problem)
		log_problem(LOG_LEVEL_WARN, ROTATIONS_SUBJECT, problem);
	else
		log_info(ROTATIONS_SUBJECT, "%s of node %s", rotation_sentence(step),
			 rotation->node);
	if (rotation_submit(rotation, step, NULL, problem, rotation_on_stepped) != 0)
		rotation_free(rotation);
}

/* --- at the BMC --- */

static void rotation_ask(struct rotation *rotation, struct bmc_request *request, bmc_done_fn fn)
{
	const struct bmc_ask ask = {.bmc_id = rotation->node_id,
				    .request = request,
				    .priority = CALL_CHANGE,
				    .person = true};
	struct problem problem = {0};
	int rc;

	request->fence = rotation->fence;
	rc = bmc_queue_submit(rotation->owner->options.queue, &ask, fn, rotation,
			      &rotation->ticket);

	sodium_memzero(request, sizeof(*request));
	rotation->asked = rc == 0;
	if (rc == 0)
		return;
	(void)problem_set(&problem, rc, "the BMC of node %s could not be asked: %s", rotation->node,
			  error_text(rc));
	rotation_step(rotation, "later", &problem);
}

static void rotation_on_used(void *context, int rc, const struct bmc_result *result,
			     const struct problem *problem)
{
	struct rotation *rotation = context;

	(void)result;
	rotation->asked = false;
	rotation_step(rotation, rotation_step_after_use(rc), rc ? problem : NULL);
}

static void rotation_on_set(void *context, int rc, const struct bmc_result *result,
			    const struct problem *problem)
{
	struct rotation *rotation = context;
	const char *step = rotation_step_after_set(rc);
	struct problem ignored = {0};

	(void)result;
	rotation->asked = false;
	if (rc == E_LAPSED) {
		/* As if we had died: whoever claims it next goes on. */
		log_problem(LOG_LEVEL_WARN, ROTATIONS_SUBJECT, problem);
		rotation_free(rotation);
		return;
	}
	/* What waits for this BMC goes on with the new one, before PostgreSQL has it. */
	if (rc == 0) {
		memcpy(rotation->endpoint.password, rotation->password, ENDPOINT_PASSWORD_SIZE);
		(void)!bmc_queue_put(rotation->owner->options.queue, &rotation->endpoint, &ignored);
	}
	rotation_step(rotation, step, strcmp(step, "swap") != 0 ? problem : NULL);
}

static void rotation_set(struct rotation *rotation)
{
	struct bmc_request request = {.op = BMC_PASSWORD_SET};

	(void)text_copy(request.password, sizeof(request.password), rotation->password);
	rotation_ask(rotation, &request, rotation_on_set);
}

/* --- the new password --- */

static void rotation_on_stored(void *context, int rc, const PGresult *result,
			       const struct problem *problem)
{
	struct rotation *rotation = context;

	if (rc == 0 && PQntuples(result) == 1 && db_bool(result, 0, ROTATION_STEP_HELD)) {
		rotation_set(rotation);
		return;
	}
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, ROTATIONS_SUBJECT, problem);
	rotation_free(rotation);
}

/* Stored before it is set: bampid may end in between. */
static void rotation_make(struct rotation *rotation)
{
	const struct seal_key *key = endpoints_key(rotation->owner->options.endpoints);
	uint8_t sealed[SEAL_SIZE_MAX];
	size_t size = 0;

	rotation_password_make(rotation->password);
	if (seal_key_seal(seal_key_public_key(key), rotation->password, sealed, &size) != 0) {
		rotation_free(rotation);
		return;
	}
	hex_encode(sealed, size, rotation->next);
	if (rotation_submit(rotation, "next", rotation->next, NULL, rotation_on_stored) != 0)
		rotation_free(rotation);
}

static void rotation_go_on(struct rotation *rotation)
{
	struct bmc_request look = {.op = BMC_POWER_STATUS};
	struct problem problem = {0};

	if (rotation->state == ROTATION_TRIAL) {
		rotation_ask(rotation, &look, rotation_on_used);
	} else if (rotation->next[0] == '\0') {
		rotation_make(rotation);
	} else if (endpoint_password_open(rotation->next,
					  endpoints_key(rotation->owner->options.endpoints),
					  rotation->password) == 0) {
		rotation_set(rotation);
	} else {
		(void)problem_set(&problem, E_DENIED,
				  "the new BMC password of node %s cannot be opened",
				  rotation->node);
		problem_hint(&problem, "it was sealed to another key: begin anew");
		rotation_step(rotation, "fail", &problem);
	}
}

/* The queue may have another password than the one that counts now. */
static void rotation_on_endpoint(void *context, int rc, const PGresult *result,
				 const struct problem *problem)
{
	struct rotation *rotation = context;
	struct rotations *rotations = rotation->owner;
	struct problem why = {0};

	if (rc == 0 && PQntuples(result) == 1)
		rc = endpoint_row_read(result, 0, endpoints_key(rotations->options.endpoints),
				       &rotation->endpoint, &why);
	else if (rc == 0)
		rc = problem_set(&why, E_NOT_FOUND, "node %s has no BMC any more", rotation->node);
	else
		why = *problem;
	if (rc == 0)
		rc = bmc_queue_put(rotations->options.queue, &rotation->endpoint, &why);
	if (rc == 0)
		rotation_go_on(rotation);
	else
		rotation_step(rotation, "later", &why);
}

/* --- claims --- */

static enum rotation_state rotation_state_of(const char *word)
{
	if (strcmp(word, "begun") == 0)
		return ROTATION_BEGUN;
	return strcmp(word, "trial") == 0 ? ROTATION_TRIAL : ROTATION_BOTH;
}

static void rotation_start(struct rotations *rotations, const PGresult *result, int row)
{
	struct rotation *rotation = calloc(1, sizeof(*rotation));

	if (!rotation)
		return; /* claimed again when the claim has passed */
	if (fence_new(fence_end_ms(rotations->claim_ms, rotations->options.claim_ms),
		      &rotation->fence) != 0) {
		free(rotation);
		return;
	}
	rotation->owner = rotations;
	rotation->id = db_int(result, row, ROTATION_CLAIM_ID, 0);
	rotation->generation = db_int(result, row, ROTATION_CLAIM_GENERATION, 0);
	rotation->node_id = db_int(result, row, ROTATION_CLAIM_NODE_ID, 0);
	rotation->state = rotation_state_of(db_text(result, row, ROTATION_CLAIM_STATE, ""));
	(void)text_copy(rotation->node, sizeof(rotation->node),
			db_text(result, row, ROTATION_CLAIM_NODE, ""));
	(void)text_copy(rotation->next, sizeof(rotation->next),
			db_text(result, row, ROTATION_CLAIM_NEXT, ""));
	DL_APPEND2(rotations->list, rotation, prev, next_one);
	if (rotation->state == ROTATION_BOTH)
		rotation_step(rotation, "end", NULL);
	else if (endpoint_store_read_one(rotations->options.db, rotation->node_id,
					 rotation_on_endpoint, rotation) != 0)
		rotation_free(rotation);
}

static void rotations_on_claimed(void *context, int rc, const PGresult *result,
				 const struct problem *problem)
{
	struct rotations *rotations = context;
	int rows = rc ? 0 : PQntuples(result);

	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, ROTATIONS_SUBJECT, problem);
	for (int row = 0; row < rows; row++)
		rotation_start(rotations, result, row);
	work_cycle_end(&rotations->cycle, ROTATIONS_PERIOD_MS);
}

static void rotations_claim(void *context)
{
	struct rotations *rotations = context;
	char claim_ms[24];
	const char *params[] = {rotations->options.owner, claim_ms};
	const struct rotation *rotation;
	int under_way;

	DL_COUNT2(rotations->list, rotation, under_way, next_one);
	if (under_way > ROTATIONS_MAX * 3) { /* more than rotations_extend could keep */
		work_cycle_end(&rotations->cycle, ROTATIONS_RETRY_MS);
		return;
	}
	(void)text_format(claim_ms, sizeof(claim_ms), "%lld",
			  (long long)rotations->options.claim_ms);
	rotations->claim_ms = clock_boot_ms();
	if (db_submit(rotations->options.db, &rotation_claim_query, params, rotations_on_claimed,
		      rotations) != 0)
		work_cycle_end(&rotations->cycle, ROTATIONS_RETRY_MS);
}

/* Rows are the claims that are still ours. One that was lost goes on: its steps are refused by their
 * generation, and nothing of it is sent after its fence. */
static void rotations_on_extended(void *context, int rc, const PGresult *result,
				  const struct problem *problem)
{
	struct rotations *rotations = context;
	int rows = rc ? 0 : PQntuples(result);
	struct rotation *rotation;

	(void)problem;
	rotations->extending = false;
	for (int row = 0; row < rows; row++) {
		DL_FOREACH2(rotations->list, rotation, next_one)
		{
			if (rotation->id == db_int(result, row, ROTATION_EXTEND_ID, 0) &&
			    rotation->generation ==
				    db_int(result, row, ROTATION_EXTEND_GENERATION, 0))
				fence_extend(rotation->fence,
					     fence_end_ms(rotations->extend_ms,
							  rotations->options.claim_ms));
		}
	}
}

static void rotations_extend(void *context)
{
	struct rotations *rotations = context;
	struct claim_key keys[ROTATIONS_MAX * 4];
	struct extend_options options = {.owner = rotations->options.owner,
					 .claim_ms = rotations->options.claim_ms,
					 .keys = keys};
	const struct rotation *rotation;

	loop_timer_arm(rotations->extend_timer, rotations->options.claim_ms / 3);
	DL_FOREACH2(rotations->list, rotation, next_one)
	{
		if (options.count < COUNT_OF(keys))
			keys[options.count++] =
				(struct claim_key){rotation->id, rotation->generation};
	}
	if (options.count == 0 || !rotations->cycle.connected || rotations->extending)
		return;
	rotations->extend_ms = clock_boot_ms();
	rotations->extending = claim_extend(rotations->options.db, &rotation_extend_query, &options,
					    rotations_on_extended, rotations) == 0;
}

/* --- life --- */

void rotations_wake(struct rotations *rotations)
{
	work_cycle_wake(&rotations->cycle);
}

void rotations_db_state(struct rotations *rotations, bool ready)
{
	work_cycle_connected(&rotations->cycle, ready);
}

int rotations_new(struct loop *loop, const struct rotations_options *options,
		  struct rotations **ret)
{
	struct rotations *rotations = calloc(1, sizeof(*rotations));
	int rc;

	if (!rotations)
		return -ENOMEM;
	*rotations = (struct rotations){.loop = loop, .options = *options};
	rc = work_cycle_open(&rotations->cycle, loop, rotations_claim, rotations);
	if (rc == 0)
		rc = loop_timer_new(loop, rotations_extend, rotations, &rotations->extend_timer);
	if (rc) {
		rotations_free(rotations);
		return rc;
	}
	loop_timer_arm(rotations->extend_timer, options->claim_ms / 3);
	*ret = rotations;
	return 0;
}

void rotations_free(struct rotations *rotations)
{
	struct rotation *rotation;
	struct rotation *next;

	if (!rotations)
		return;
	DL_FOREACH_SAFE2(rotations->list, rotation, next, next_one)
	rotation_free(rotation);
	work_cycle_close(&rotations->cycle);
	loop_timer_free(rotations->extend_timer);
	free(rotations);
}
