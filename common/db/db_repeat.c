/* A transaction that PostgreSQL ended for the sake of another one (deadlock, serialization: 40P01
 * and 40001) has done nothing, and done again it most likely goes through. */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/db/db_private.h"

#define REPEATS_MAX 5
#define PAUSE_MS    10 /* before the first; doubles, and as much again by chance */

static size_t copy_size(const struct db_call *call)
{
	size_t size = 0;

	for (int i = 0; i < call->query->param_count; i++)
		size += sizeof(char *) + (call->params[i] ? strlen(call->params[i]) + 1 : 0);
	return size;
}

/* Pointers first, so that they are aligned. */
static const char *const *copy_params(const struct db_call *call, void *block)
{
	char **params = block;
	char *at = (char *)(params + call->query->param_count);

	for (int i = 0; i < call->query->param_count; i++) {
		const char *value = call->params[i];
		size_t size = value ? strlen(value) + 1 : 0;

		params[i] = value ? memcpy(at, value, size) : NULL;
		at += size;
	}
	return (const char *const *)block;
}

int db_segment_keep(struct db_segment *segment, const struct db_call calls[])
{
	for (size_t i = 0; i < segment->count; i++) {
		struct db_pending *call = &segment->calls[i];
		size_t size = copy_size(&calls[i]);

		call->query = calls[i].query;
		call->kept = size > 0 ? malloc(size) : NULL;
		if (size > 0 && !call->kept)
			return -ENOMEM;
		call->params = size > 0 ? copy_params(&calls[i], call->kept) : NULL;
	}
	return 0;
}

static bool met_another(const PGresult *result)
{
	const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;

	return state && (strcmp(state, "40P01") == 0 || strcmp(state, "40001") == 0);
}

static void db_repeat_arm(struct db *db)
{
	const struct db_segment *segment = db->repeats.first;
	int64_t now_ms = clock_monotonic_ms();
	int64_t due_ms = segment ? segment->due_ms : 0;

	for (; segment; segment = segment->next)
		due_ms = segment->due_ms < due_ms ? segment->due_ms : due_ms;
	if (db->repeats.first)
		loop_timer_arm(db->repeat, due_ms > now_ms ? due_ms - now_ms : 0);
}

bool db_repeat(struct db *db, struct db_segment *segment)
{
	uint32_t pause_ms = (uint32_t)PAUSE_MS << segment->repeats;
	bool met = met_another(segment->commit_failure);

	for (size_t i = 0; i < segment->count; i++)
		met = met || met_another(segment->calls[i].result);
	if (!met || segment->repeats == REPEATS_MAX)
		return false;
	for (size_t i = 0; i < segment->count; i++) {
		PQclear(segment->calls[i].result);
		segment->calls[i].result = NULL;
	}
	PQclear(segment->commit_failure);
	segment->commit_failure = NULL;
	segment->at = 0;
	segment->repeats++;
	segment->due_ms = clock_monotonic_ms() + pause_ms + randombytes_uniform(pause_ms);
	db_queue_add(&db->repeats, segment);
	db_repeat_arm(db);
	return true;
}

/* The loop calls this; a lost connection fails what waits (db_connect_lost), so it is there. */
void db_repeat_due(void *context)
{
	struct db *db = context;
	struct db_queue waiting = db->repeats;
	struct db_segment *segment;

	if (!waiting.first)
		return;
	db->repeats = (struct db_queue){.last = &db->repeats.first};
	while ((segment = db_queue_take(&waiting)) != NULL) {
		if (segment->due_ms <= clock_monotonic_ms())
			db_send(db, segment);
		else
			db_queue_add(&db->repeats, segment);
	}
	db_repeat_arm(db);
}
