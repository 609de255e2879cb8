#include "common/db/seal_rotation.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/json_text.h"
#include "common/base/text.h"
#include "common/db/seal_rotation_sql.h"
#include "common/io/log.h"
#include "common/io/work_cycle.h"

enum { SEAL_ROTATION_PERIOD_MS = 5000, SEAL_ROTATION_RETRY_MS = 1000 };

struct seal_rotation {
	struct loop *loop;
	struct seal_rotation_options options;
	struct work_cycle cycle;
	int64_t id;
	/* Of the pass over all rows: the last that was read, and those that no key opens. */
	int64_t at_id;
	char at_part[32];
	uint64_t lost;
	bool put;      /* rows were sealed anew: another pass follows */
	bool settling; /* the old key goes when this pass finds nothing that is sealed to it */
};

static void seal_rotation_end(struct seal_rotation *rotation, int rc)
{
	work_cycle_end(&rotation->cycle, rc ? SEAL_ROTATION_RETRY_MS : SEAL_ROTATION_PERIOD_MS);
}

/* --- what is written --- */

static void seal_rotation_on_stepped(void *context, int rc, const PGresult *result,
				     const struct problem *problem)
{
	struct seal_rotation *rotation = context;

	(void)result;
	(void)problem;
	if (rc == 0)
		work_cycle_wake(&rotation->cycle);
	seal_rotation_end(rotation, rc);
}

static void seal_rotation_step(struct seal_rotation *rotation, const char *state,
			       const struct problem *problem)
{
	CLEANUP(text_done) struct text json = {0};
	char id[24];
	char lost[24];
	const char *params[] = {rotation->options.daemon, id, state, lost, NULL};

	(void)text_format(id, sizeof(id), "%" PRId64, rotation->id);
	(void)text_format(lost, sizeof(lost), "%" PRIu64, rotation->lost);
	if (!problem)
		log_info("seal key", "%s",
			 strcmp(state, "sealing") == 0
				 ? "a new key lies beside the old one; all rows are sealed anew"
			 : strcmp(state, "both") == 0
				 ? "all rows are sealed to the new key; the old one is kept"
				 : "the old key is destroyed");
	if (problem) {
		json_begin_object(&json, NULL);
		json_put_string(&json, "message", problem->message);
		json_put_string(&json, "hint", problem->hint);
		json_end_object(&json);
		params[4] = text_get(&json);
	}
	if (db_submit(rotation->options.db, &seal_rotation_step_query, params,
		      problem ? NULL : seal_rotation_on_stepped, rotation) != 0 ||
	    problem)
		seal_rotation_end(rotation, 0);
}

/* --- rows --- */

static void seal_rotation_read(struct seal_rotation *rotation);
static void seal_rotation_settle(struct seal_rotation *rotation);

static void seal_rotation_on_put(void *context, int rc, const PGresult *result,
				 const struct problem *problem)
{
	struct seal_rotation *rotation = context;

	(void)result;
	(void)problem;
	if (rc)
		seal_rotation_end(rotation, rc);
	else
		seal_rotation_read(rotation);
}

/* Opened with the key before and sealed to the new one. False: it needs no change, or none can. */
static bool seal_rotation_reseal(struct seal_rotation *rotation, const char *hex,
				 char ret[2 * SEAL_SIZE_MAX + 1])
{
	const struct seal_key *key = rotation->options.key(rotation->options.context);
	uint8_t sealed[SEAL_SIZE_MAX];
	char plain[SEAL_SIZE_MAX];
	size_t size = strlen(hex) / 2;
	bool done = false;

	if (size > sizeof(sealed) || hex_decode(hex, sealed, size) != 0) {
		rotation->lost++;
		return false;
	}
	if (seal_key_is_current(key, sealed, size))
		return false;
	if (seal_key_open(key, sealed, size, plain, sizeof(plain)) == 0 &&
	    seal_key_seal(seal_key_public_key(key), plain, sealed, &size) == 0) {
		hex_encode(sealed, size, ret);
		done = true;
	}
	rotation->lost += !done;
	sodium_memzero(plain, sizeof(plain));
	return done;
}

static void seal_rotation_put(struct seal_rotation *rotation, const struct text *rows)
{
	char id[24];
	const char *params[] = {rotation->options.daemon, id, text_get(rows)};

	(void)text_format(id, sizeof(id), "%" PRId64, rotation->id);
	rotation->put = true;
	if (rows->failed || db_submit(rotation->options.db, &sealed_put_query, params,
				      seal_rotation_on_put, rotation) != 0)
		seal_rotation_end(rotation, -ENOMEM);
}

static void seal_rotation_on_rows(void *context, int rc, const PGresult *result,
				  const struct problem *problem)
{
	struct seal_rotation *rotation = context;
	CLEANUP(text_done) struct text json = {0};
	char fresh[2 * SEAL_SIZE_MAX + 1];
	int rows = rc ? 0 : PQntuples(result);
	bool any = false;

	(void)problem;
	json_begin_array(&json, NULL);
	for (int row = 0; row < rows; row++) {
		const char *sealed = db_text(result, row, SEALED_ROWS_SEALED, "");

		rotation->at_id = db_int(result, row, SEALED_ROWS_ID, 0);
		(void)text_copy(rotation->at_part, sizeof(rotation->at_part),
				db_text(result, row, SEALED_ROWS_PART, ""));
		if (!seal_rotation_reseal(rotation, sealed, fresh))
			continue;
		json_begin_object(&json, NULL);
		json_put_int(&json, "id", rotation->at_id);
		json_put_string(&json, "part", rotation->at_part);
		json_put_string(&json, "old", sealed);
		json_put_string(&json, "new", fresh);
		json_end_object(&json);
		any = true;
	}
	json_end_array(&json);
	if (rc) {
		seal_rotation_end(rotation, rc);
	} else if (any) {
		seal_rotation_put(rotation, &json);
	} else if (rows > 0) {
		seal_rotation_read(rotation);
	} else if (rotation->put) { /* what was given meanwhile, to the old key? */
		work_cycle_wake(&rotation->cycle);
		seal_rotation_end(rotation, 0);
	} else if (rotation->settling) {
		seal_rotation_settle(rotation);
	} else {
		seal_rotation_step(rotation, "both", NULL);
	}
}

static void seal_rotation_read(struct seal_rotation *rotation)
{
	char id[24];
	const char *params[] = {rotation->options.daemon, id, rotation->at_part};

	(void)text_format(id, sizeof(id), "%" PRId64, rotation->at_id);
	if (db_submit(rotation->options.db, &sealed_rows_query, params, seal_rotation_on_rows,
		      rotation) != 0)
		seal_rotation_end(rotation, -ENOMEM);
}

/* --- steps --- */

/* Two instances have a copy of the key each, and only this one would get the new one. */
static void seal_rotation_begin(struct seal_rotation *rotation, int64_t instances)
{
	struct problem problem = {0};
	int rc;

	if (instances > 1) {
		(void)problem_set(&problem, E_CONFLICT, "%" PRId64 " instances of %s are running",
				  instances, rotation->options.daemon);
		problem_hint(&problem,
			     "stop all but one until this has ended, then copy its keys to them");
		seal_rotation_step(rotation, "begun", &problem);
		return;
	}
	rc = seal_key_rotate(rotation->options.file, &problem);
	if (rc == 0)
		rc = rotation->options.reload(rotation->options.context, &problem);
	seal_rotation_step(rotation, rc ? "begun" : "sealing", rc ? &problem : NULL);
}

static void seal_rotation_settle(struct seal_rotation *rotation)
{
	struct problem problem = {0};
	int rc = seal_key_settle(rotation->options.file, &problem);

	if (rc == 0)
		rc = rotation->options.reload(rotation->options.context, &problem);
	seal_rotation_step(rotation, rc ? "both" : "done", rc ? &problem : NULL);
}

static void seal_rotation_on_now(void *context, int rc, const PGresult *result,
				 const struct problem *problem)
{
	struct seal_rotation *rotation = context;
	struct problem why = {0};
	const char *state;

	(void)problem;
	if (rc || PQntuples(result) == 0) {
		seal_rotation_end(rotation, rc);
		return;
	}
	state = db_text(result, 0, SEAL_ROTATION_NOW_STATE, "");
	rotation->id = db_int(result, 0, SEAL_ROTATION_NOW_ID, 0);
	rotation->at_id = 0;
	rotation->at_part[0] = '\0';
	rotation->lost = 0;
	rotation->put = false;
	rotation->settling =
		strcmp(state, "both") == 0 && db_bool(result, 0, SEAL_ROTATION_NOW_ENDED);
	if (!rotation->options.key(rotation->options.context) &&
	    rotation->options.reload(rotation->options.context, &why) != 0)
		seal_rotation_step(rotation, state, &why);
	else if (strcmp(state, "begun") == 0)
		seal_rotation_begin(rotation, db_int(result, 0, SEAL_ROTATION_NOW_INSTANCES, 0));
	else if (strcmp(state, "sealing") == 0 || rotation->settling)
		seal_rotation_read(rotation);
	else
		seal_rotation_end(rotation, 0);
}

static void seal_rotation_look(void *context)
{
	struct seal_rotation *rotation = context;
	const char *params[] = {rotation->options.daemon};

	if (db_submit(rotation->options.db, &seal_rotation_now_query, params, seal_rotation_on_now,
		      rotation) != 0)
		seal_rotation_end(rotation, -ENOMEM);
}

/* --- life --- */

void seal_rotation_wake(struct seal_rotation *rotation)
{
	work_cycle_wake(&rotation->cycle);
}

void seal_rotation_db_state(struct seal_rotation *rotation, bool connected)
{
	work_cycle_connected(&rotation->cycle, connected);
}

int seal_rotation_new(struct loop *loop, const struct seal_rotation_options *options,
		      struct seal_rotation **ret)
{
	struct seal_rotation *rotation = calloc(1, sizeof(*rotation));
	int rc;

	if (!rotation)
		return -ENOMEM;
	*rotation = (struct seal_rotation){.loop = loop, .options = *options};
	rc = work_cycle_open(&rotation->cycle, loop, seal_rotation_look, rotation);
	if (rc) {
		free(rotation);
		return rc;
	}
	*ret = rotation;
	return 0;
}

void seal_rotation_free(struct seal_rotation *rotation)
{
	if (!rotation)
		return;
	work_cycle_close(&rotation->cycle);
	free(rotation);
}
