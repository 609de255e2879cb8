#include "peregrine/control/switch_rotations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/base/text.h"
#include "common/io/log.h"
#include "common/io/work_cycle.h"

#include "peregrine/control/rotation_policy.h"
#include "peregrine/control/switch_rotations_sql.h"
#include "peregrine/control/switch_store.h"
#include "peregrine/control/switch_store_sql.h"
#include "peregrine/switch/switch_proof.h"

LEAKS_LEFT_TO_SANITIZER

#define SWITCH_ROTATIONS_SUBJECT "rotation"

enum {
	SWITCH_ROTATIONS_PERIOD_MS = 5000,
	SWITCH_ROTATIONS_RETRY_MS = 1000,
	SWITCH_ROTATIONS_ROOM = 64
};

/* switch_row_read() reads both. */
static_assert((int)SWITCH_ROTATION_DUE_SWITCH_ID == (int)SWITCH_READ_SWITCH_ID &&
		      (int)SWITCH_ROTATION_DUE_CREDENTIALS == (int)SWITCH_READ_CREDENTIALS &&
		      (int)SWITCH_ROTATION_DUE_SECRETS == (int)SWITCH_READ_SECRETS &&
		      (int)SWITCH_ROTATION_DUE_SINCE_US == (int)SWITCH_READ_SINCE_US,
	      "the columns of a switch come first, in the order of switch_read");

/* A step that is found out, or being written. */
struct switch_rotation {
	struct switch_rotations *owner;
	int64_t id, switch_id;
	char name[64];
	struct switch_endpoint present, other; /* other: with the new or the former secrets */
	enum rotation_proof proving;
	struct switch_proof *proof;
	struct problem refusal; /* of the present ones */
	struct switch_rotation *prev, *next;
};

struct switch_rotations {
	struct loop *loop;
	struct switch_rotations_options options;
	struct work_cycle cycle;
	struct switch_rotation *list;
	unsigned count;
};

static void switch_rotation_free(struct switch_rotation *rotation)
{
	DL_DELETE(rotation->owner->list, rotation);
	rotation->owner->count--;
	switch_proof_free(rotation->proof);
	switch_endpoint_wipe(&rotation->present);
	switch_endpoint_wipe(&rotation->other);
	free(rotation);
}

/* --- steps --- */

static void switch_rotation_on_stepped(void *context, int rc, const PGresult *result,
				       const struct problem *problem)
{
	struct switch_rotation *rotation = context;
	struct switch_rotations *rotations = rotation->owner;

	(void)result;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, SWITCH_ROTATIONS_SUBJECT, problem);
	switch_rotation_free(rotation);
	work_cycle_wake(&rotations->cycle);
}

static void switch_rotation_step(struct switch_rotation *rotation, const char *step,
				 const char *sentence, const struct problem *problem)
{
	CLEANUP(text_done) struct text json = {0};
	char id[24];
	const char *params[] = {id, step, NULL};

	log_info(SWITCH_ROTATIONS_SUBJECT, "switch %s: %s", rotation->name, sentence);
	if (problem) {
		log_problem(LOG_LEVEL_WARN, SWITCH_ROTATIONS_SUBJECT, problem);
		json_put_problem(&json, NULL, problem);
		params[2] = text_get(&json);
	}
	(void)text_format(id, sizeof(id), "%lld", (long long)rotation->id);
	if (db_submit(rotation->owner->options.db, &switch_rotation_step_query, params,
		      switch_rotation_on_stepped, rotation) != 0)
		switch_rotation_free(rotation); /* the row is read again */
}

static void switch_rotation_on_proven(void *context, enum switch_proof_end end,
				      const struct problem *problem);

/* Not 0, with a problem: it did not begin. */
static int switch_rotation_prove(struct switch_rotation *rotation, struct problem *problem)
{
	bool present = rotation->proving == ROTATION_PRESENT ||
		       rotation->proving == ROTATION_PRESENT_AGAIN;

	return switch_proof_new(&rotation->owner->options.host,
				present ? &rotation->present : &rotation->other,
				switch_rotation_on_proven, rotation, &rotation->proof, problem);
}

/* A proof has ended, or did not begin: to the next proof, or to the step. The problem that is kept
 * in the row is the one of the secrets that count, or shall count. */
static void switch_rotation_go_on(struct switch_rotation *rotation, enum switch_proof_end end,
				  const struct problem *problem)
{
	struct rotation_verdict verdict = rotation_judge(rotation->proving, end);
	struct problem why = problem ? *problem : (struct problem){0};
	bool good;

	if (rotation->proving == ROTATION_NEW || rotation->proving == ROTATION_PRESENT)
		rotation->refusal = why;
	while (!verdict.step) {
		int rc;

		rotation->proving = verdict.next;
		rc = switch_rotation_prove(rotation, &why);
		if (rc == 0)
			return;
		end = switch_proof_end_of(rc, NULL);
		verdict = rotation_judge(rotation->proving, end);
	}
	good = end == SWITCH_PROOF_TAKEN && strcmp(verdict.step, "back") != 0;
	switch_rotation_step(rotation, verdict.step, verdict.text,
			     good ? NULL : &rotation->refusal);
}

static void switch_rotation_on_proven(void *context, enum switch_proof_end end,
				      const struct problem *problem)
{
	struct switch_rotation *rotation = context;

	switch_proof_free(rotation->proof);
	rotation->proof = NULL;
	switch_rotation_go_on(rotation, end, problem);
}

/* --- rows --- */

static void switch_rotation_open(struct switch_rotation *rotation, const PGresult *result, int row)
{
	const struct switch_rotations *rotations = rotation->owner;
	const struct seal_key *key = switches_key(rotations->options.switches);
	struct switch_row known;
	struct problem problem = {0};
	int rc = switch_row_read(result, row, key, &known, &rotation->present);

	if (rc)
		problem = known.problem;
	else
		rc = switch_endpoint_renew(
			&rotation->present,
			db_text(result, row, SWITCH_ROTATION_DUE_OTHER_CREDENTIALS, "{}"),
			db_text(result, row, SWITCH_ROTATION_DUE_OTHER_SECRETS, ""), key,
			&rotation->other, &problem);
	if (rc == 0 && rotation->proving == ROTATION_NEW)
		rc = switch_proof_covers(&rotation->present, &rotation->other, &problem);
	if (rc && rotation->proving != ROTATION_NEW) {
		switch_rotation_step(rotation, "later", "has secrets that cannot be read",
				     &problem);
		return;
	}
	if (rc == 0)
		rc = switch_rotation_prove(rotation, &problem);
	if (rc)
		switch_rotation_go_on(rotation, switch_proof_end_of(rc, NULL), &problem);
}

static bool switch_rotations_has(const struct switch_rotations *rotations, int64_t switch_id)
{
	const struct switch_rotation *rotation;

	DL_FOREACH(rotations->list, rotation)
	{
		if (rotation->switch_id == switch_id)
			return true;
	}
	return false;
}

static void switch_rotation_start(struct switch_rotations *rotations, const PGresult *result,
				  int row)
{
	int64_t id = db_int(result, row, SWITCH_ROTATION_DUE_ID, 0);
	int64_t switch_id = db_int(result, row, SWITCH_ROTATION_DUE_SWITCH_ID, 0);
	const char *name = db_text(result, row, SWITCH_ROTATION_DUE_NAME, "");
	bool begun = db_bool(result, row, SWITCH_ROTATION_DUE_BEGUN);
	bool ended = db_bool(result, row, SWITCH_ROTATION_DUE_ENDED);
	struct switch_rotation *rotation;

	if (switch_rotations_has(rotations, switch_id) ||
	    rotations->options.is_changing(rotations->options.context, switch_id))
		return;
	rotation = calloc(1, sizeof(*rotation));
	if (!rotation)
		return; /* the row is read again */
	*rotation = (struct switch_rotation){.owner = rotations,
					     .id = id,
					     .switch_id = switch_id,
					     .proving = begun ? ROTATION_NEW : ROTATION_PRESENT};
	(void)text_copy(rotation->name, sizeof(rotation->name), name);
	DL_APPEND(rotations->list, rotation);
	rotations->count++;
	if (ended)
		switch_rotation_step(rotation, "end", "its former secrets are forgotten", NULL);
	else
		switch_rotation_open(rotation, result, row);
}

static void switch_rotations_on_due(void *context, int rc, const PGresult *result,
				    const struct problem *problem)
{
	struct switch_rotations *rotations = context;
	int rows = rc ? 0 : PQntuples(result);

	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, SWITCH_ROTATIONS_SUBJECT, problem);
	for (int row = 0; row < rows; row++)
		switch_rotation_start(rotations, result, row);
	work_cycle_end(&rotations->cycle, SWITCH_ROTATIONS_PERIOD_MS);
}

/* Arrays of PostgreSQL, without their braces. */
struct switch_rotations_ask {
	const struct switch_rotations *rotations;
	struct text refusing, waiting;
};

static void switch_rotations_sort(void *context, int64_t switch_id,
				  const struct switch_state *state)
{
	struct switch_rotations_ask *ask = context;
	const struct switch_rotations_options *options = &ask->rotations->options;

	if (switch_rotations_has(ask->rotations, switch_id) ||
	    options->is_changing(options->context, switch_id))
		text_addf(&ask->waiting, "%s%lld", ask->waiting.size ? "," : "{",
			  (long long)switch_id);
	else if (state->may_refuse)
		text_addf(&ask->refusing, "%s%lld", ask->refusing.size ? "," : "{",
			  (long long)switch_id);
}

static int switch_rotations_ask(struct switch_rotations *rotations)
{
	CLEANUP(text_done) struct text refusing = {0};
	CLEANUP(text_done) struct text waiting = {0};
	struct switch_rotations_ask ask = {.rotations = rotations};
	char room[12];
	const char *params[3] = {NULL, NULL, room};

	(void)text_format(room, sizeof(room), "%u", SWITCH_ROTATIONS_ROOM - rotations->count);
	switch_queue_each(rotations->options.queue, switch_rotations_sort, &ask);
	refusing = ask.refusing;
	waiting = ask.waiting;
	text_add(&refusing, refusing.size ? "}" : "{}");
	text_add(&waiting, waiting.size ? "}" : "{}");
	if (refusing.failed || waiting.failed)
		return -ENOMEM;
	params[0] = text_get(&refusing);
	params[1] = text_get(&waiting);
	return db_submit(rotations->options.db, &switch_rotation_due_query, params,
			 switch_rotations_on_due, rotations);
}

static void switch_rotations_look(void *context)
{
	struct switch_rotations *rotations = context;

	if (rotations->count >= SWITCH_ROTATIONS_ROOM)
		work_cycle_end(&rotations->cycle, SWITCH_ROTATIONS_PERIOD_MS);
	else if (switch_rotations_ask(rotations) != 0)
		work_cycle_end(&rotations->cycle, SWITCH_ROTATIONS_RETRY_MS);
}

/* --- life --- */

void switch_rotations_wake(struct switch_rotations *rotations)
{
	work_cycle_wake(&rotations->cycle);
}

void switch_rotations_db_state(struct switch_rotations *rotations, bool connected)
{
	work_cycle_connected(&rotations->cycle, connected);
}

int switch_rotations_new(struct loop *loop, const struct switch_rotations_options *options,
			 struct switch_rotations **ret)
{
	struct switch_rotations *rotations = calloc(1, sizeof(*rotations));
	int rc;

	if (!rotations)
		return -ENOMEM;
	*rotations = (struct switch_rotations){.loop = loop, .options = *options};
	rc = work_cycle_open(&rotations->cycle, loop, switch_rotations_look, rotations);
	if (rc) {
		switch_rotations_free(rotations);
		return rc;
	}
	*ret = rotations;
	return 0;
}

void switch_rotations_free(struct switch_rotations *rotations)
{
	struct switch_rotation *rotation;
	struct switch_rotation *next;

	if (!rotations)
		return;
	DL_FOREACH_SAFE(rotations->list, rotation, next)
	switch_rotation_free(rotation);
	work_cycle_close(&rotations->cycle);
	free(rotations);
}
