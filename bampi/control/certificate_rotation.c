#include "bampi/control/certificate_rotation.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/base/text.h"
#include "common/io/log.h"
#include "common/io/work_cycle.h"

#include "bampi/control/certificate_rotation_sql.h"

#define CERTIFICATE_ROTATION_SUBJECT "certificate key"

enum { CERTIFICATE_ROTATION_PERIOD_MS = 5000, CERTIFICATE_ROTATION_RETRY_MS = 1000 };

struct certificate_rotation {
	struct certificate_rotation_options options;
	struct work_cycle cycle;
	char path[PATH_MAX - 8];
	char next_path[PATH_MAX];
};

static void certificate_rotation_end(struct certificate_rotation *rotation, int rc)
{
	work_cycle_end(&rotation->cycle,
		       rc ? CERTIFICATE_ROTATION_RETRY_MS : CERTIFICATE_ROTATION_PERIOD_MS);
}

/* --- what is written --- */

static void certificate_rotation_on_written(void *context, int rc, const PGresult *result,
					    const struct problem *problem)
{
	struct certificate_rotation *rotation = context;

	(void)result;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, CERTIFICATE_ROTATION_SUBJECT, problem);
	if (rc == 0)
		work_cycle_wake(&rotation->cycle);
	certificate_rotation_end(rotation, rc);
}

static void certificate_rotation_write(struct certificate_rotation *rotation,
				       const struct db_query *query, const char *const params[])
{
	if (db_submit(rotation->options.db, query, params, certificate_rotation_on_written,
		      rotation) != 0)
		certificate_rotation_end(rotation, -ENOMEM);
}

/* It waits, and whoever lists the exchanges reads why. */
static void certificate_rotation_wait(struct certificate_rotation *rotation, const char *id,
				      const char *state, const struct problem *problem)
{
	CLEANUP(text_done) struct text json = {0};

	json_begin_object(&json, NULL);
	json_put_string(&json, "message", problem->message);
	json_put_string(&json, "hint", problem->hint);
	json_end_object(&json);
	const char *const params[] = {id, state, text_get(&json)};
	(void)!db_submit(rotation->options.db, &certificate_rotation_step_query, params, NULL,
			 NULL);
	certificate_rotation_end(rotation, 0);
}

/* --- steps --- */

/* The old key says since when the new one is believed. */
static void certificate_rotation_make(struct certificate_rotation *rotation, const char *id,
				      const char *since)
{
	CLEANUP(certificate_key_wipe) struct certificate_key next = {0};
	CLEANUP(text_done) struct text statement = {0};
	const struct certificate_key *key = rotation->options.key;
	char hash[DIGEST_TEXT_SIZE];
	char signature[CERTIFICATE_SIGNATURE_TEXT_SIZE];
	struct problem problem = {0};

	if (certificate_key_load(rotation->next_path, &next, &problem) != 0) {
		certificate_rotation_wait(rotation, id, "begun", &problem);
		return;
	}
	certificate_key_statement(key->public_text, next.public_text, since, &statement);
	if (statement.failed) {
		certificate_rotation_end(rotation, -ENOMEM);
		return;
	}
	certificate_sign(text_get(&statement), key->secret, hash, signature);
	log_info(CERTIFICATE_ROTATION_SUBJECT, "a new key is made: %.16s...", next.public_text);
	certificate_rotation_write(rotation, &certificate_rotation_known_query,
				   (const char *const[]){id, key->public_text, next.public_text,
							 text_get(&statement), signature});
}

/* The new file takes the place of the old one, unless it did before bampid was started. */
static int certificate_rotation_replace(struct certificate_rotation *rotation, const char *public,
					struct problem *problem)
{
	CLEANUP(certificate_key_wipe) struct certificate_key next = {0};
	int rc;

	if (strcmp(rotation->options.key->public_text, public) == 0)
		return 0;
	if (access(rotation->next_path, F_OK) != 0) {
		(void)problem_set(problem, E_NOT_FOUND, "the new certificate key %s is gone",
				  rotation->next_path);
		problem_hint(problem, "put it back from a backup of the keys");
		return E_NOT_FOUND;
	}
	rc = certificate_key_load(rotation->next_path, &next, problem);
	if (rc)
		return rc;
	if (strcmp(next.public_text, public) != 0)
		return problem_set(problem, E_CONFLICT, "%s is not the key that was made known",
				   rotation->next_path);
	if (rename(rotation->next_path, rotation->path) != 0)
		return problem_set(problem, -errno, "%s cannot take the place of the old key: %s",
				   rotation->next_path, error_text(-errno));
	*rotation->options.key = next;
	log_info(CERTIFICATE_ROTATION_SUBJECT, "certificates are signed with %.16s... from now on",
		 next.public_text);
	return 0;
}

static void certificate_rotation_begin(struct certificate_rotation *rotation, const char *id,
				       const PGresult *result)
{
	int64_t instances = db_int(result, 0, CERTIFICATE_ROTATION_NOW_INSTANCES, 0);
	struct problem problem = {0};

	if (instances > 1) {
		(void)problem_set(&problem, E_CONFLICT,
				  "%" PRId64 " instances of bampid are running", instances);
		problem_hint(&problem,
			     "stop all but one until this has ended, then copy its keys to them");
		certificate_rotation_wait(rotation, id, "begun", &problem);
		return;
	}
	certificate_rotation_make(rotation, id,
				  db_text(result, 0, CERTIFICATE_ROTATION_NOW_SINCE, ""));
}

static void certificate_rotation_on_now(void *context, int rc, const PGresult *result,
					const struct problem *problem)
{
	struct certificate_rotation *rotation = context;
	struct problem why = {0};
	const char *state;
	char id[24];

	(void)problem;
	if (rc || PQntuples(result) == 0) {
		certificate_rotation_end(rotation, rc);
		return;
	}
	state = db_text(result, 0, CERTIFICATE_ROTATION_NOW_STATE, "");
	(void)text_format(id, sizeof(id), "%" PRId64,
			  db_int(result, 0, CERTIFICATE_ROTATION_NOW_ID, 0));
	if (strcmp(state, "begun") == 0) {
		certificate_rotation_begin(rotation, id, result);
	} else if (strcmp(state, "known") == 0) {
		if (certificate_rotation_replace(
			    rotation, db_text(result, 0, CERTIFICATE_ROTATION_NOW_NEXT, ""),
			    &why) != 0)
			certificate_rotation_wait(rotation, id, "known", &why);
		else
			certificate_rotation_write(rotation, &certificate_rotation_use_query,
						   (const char *const[]){id});
	} else if (db_bool(result, 0, CERTIFICATE_ROTATION_NOW_ENDED)) {
		log_info(CERTIFICATE_ROTATION_SUBJECT, "the old key has ended");
		certificate_rotation_write(rotation, &certificate_rotation_step_query,
					   (const char *const[]){id, "done", NULL});
	} else {
		certificate_rotation_end(rotation, 0);
	}
}

static void certificate_rotation_look(void *context)
{
	struct certificate_rotation *rotation = context;

	if (db_submit(rotation->options.db, &certificate_rotation_now_query, NULL,
		      certificate_rotation_on_now, rotation) != 0)
		certificate_rotation_end(rotation, -ENOMEM);
}

/* --- life --- */

void certificate_rotation_wake(struct certificate_rotation *rotation)
{
	work_cycle_wake(&rotation->cycle);
}

void certificate_rotation_db_state(struct certificate_rotation *rotation, bool connected)
{
	work_cycle_connected(&rotation->cycle, connected);
}

int certificate_rotation_new(struct loop *loop, const struct certificate_rotation_options *options,
			     struct certificate_rotation **ret)
{
	struct certificate_rotation *rotation = calloc(1, sizeof(*rotation));
	int rc;

	if (!rotation)
		return -ENOMEM;
	rotation->options = *options;
	rc = text_copy(rotation->path, sizeof(rotation->path), options->path) &&
			     text_format(rotation->next_path, sizeof(rotation->next_path),
					 "%s.next", options->path)
		     ? 0
		     : -ENAMETOOLONG;
	if (rc == 0)
		rc = work_cycle_open(&rotation->cycle, loop, certificate_rotation_look, rotation);
	if (rc) {
		free(rotation);
		return rc;
	}
	*ret = rotation;
	return 0;
}

void certificate_rotation_free(struct certificate_rotation *rotation)
{
	if (!rotation)
		return;
	work_cycle_close(&rotation->cycle);
	free(rotation);
}
