#include "bampi/bootd/identify/observation.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/array.h"
#include "common/io/log.h"

#include "bampi/bootd/identify/observation_sql.h"

#define OBSERVATION_FLUSH_MS 1000
#define DETAIL_SIZE          128
#define WAITING_MAX          65536 /* (node, kind) pairs while PostgreSQL is away */
#define OBSERVATION_BUCKETS  1024
#define NUMBER_SIZE          24
#define OBSERVATION_SUBJECT  "observation"

struct observation {
	struct observation *next; /* in its bucket */
	int64_t node_id;
	enum observation_kind kind;
	int64_t at_us;
	int64_t deployment_id;
	uint64_t bytes;
	char token[TOKEN_TEXT_SIZE];
	char detail[DETAIL_SIZE];
};

/* At most one per (node, kind). */
struct observation_set {
	struct observation *buckets[OBSERVATION_BUCKETS];
	size_t count;
};

struct observations {
	struct loop *loop;
	struct db *db;
	struct loop_timer *timer;
	struct observation_set waiting; /* not sent yet */
	struct observation_set flying;  /* in the statement under way */
	bool urgent;                    /* a step waits for something in `waiting` */
	bool armed;
	bool failed; /* of the statement under way */
	unsigned calls;
};

static const char *const kind_words[OBSERVATION_KINDS] = {
	[OBSERVATION_DHCP] = "dhcp",       [OBSERVATION_TFTP] = "tftp",
	[OBSERVATION_SCRIPT] = "script",   [OBSERVATION_KERNEL] = "kernel",
	[OBSERVATION_RAMDISK] = "ramdisk", [OBSERVATION_AGENT] = "agent",
	[OBSERVATION_IMAGE] = "image",     [OBSERVATION_CALLBACK] = "callback",
	[OBSERVATION_LOADER] = "loader",
};

/* What a step of a deployment waits for. */
static const bool kind_urgent[OBSERVATION_KINDS] = {
	[OBSERVATION_AGENT] = true,
	[OBSERVATION_CALLBACK] = true,
};

enum observation_column {
	OBSERVATION_COLUMN_NODE,
	COLUMN_KIND,
	COLUMN_AT,
	COLUMN_TOKEN,
	COLUMN_DETAIL,
	COLUMN_BYTES,
	COLUMN_TOUCHED,
	OBSERVATION_COLUMNS
};

static struct observation **observation_bucket_of(struct observation_set *set, int64_t node_id,
						  enum observation_kind kind)
{
	return &set->buckets[((uint64_t)node_id * OBSERVATION_KINDS + (uint64_t)kind) %
			     OBSERVATION_BUCKETS];
}

static struct observation *observation_find(struct observation_set *set, int64_t node_id,
					    enum observation_kind kind)
{
	struct observation *at = *observation_bucket_of(set, node_id, kind);

	while (at && (at->node_id != node_id || at->kind != kind))
		at = at->next;
	return at;
}

static void observation_add(struct observation_set *set, struct observation *observation)
{
	struct observation **bucket =
		observation_bucket_of(set, observation->node_id, observation->kind);

	observation->next = *bucket;
	*bucket = observation;
	set->count++;
}

/* Takes any out; NULL when the set is empty. *bucket is where the search goes on. */
static struct observation *take_any(struct observation_set *set, size_t *bucket)
{
	struct observation *taken;

	while (*bucket < OBSERVATION_BUCKETS && !set->buckets[*bucket])
		(*bucket)++;
	if (*bucket == OBSERVATION_BUCKETS)
		return NULL;
	taken = set->buckets[*bucket];
	set->buckets[*bucket] = taken->next;
	set->count--;
	return taken;
}

static void drop_all(struct observation_set *set)
{
	struct observation *each;
	size_t bucket = 0;

	while ((each = take_any(set, &bucket)))
		free(each);
}

/* What did not reach the database waits again, unless something newer does. */
static void observation_put_back(struct observations *observations)
{
	struct observation *each;
	size_t bucket = 0;

	while ((each = take_any(&observations->flying, &bucket))) {
		if (observation_find(&observations->waiting, each->node_id, each->kind)) {
			free(each);
			continue;
		}
		observation_add(&observations->waiting, each);
		observations->urgent |= kind_urgent[each->kind];
	}
}

static void observation_arm(struct observations *observations)
{
	if (observations->armed || observations->waiting.count == 0)
		return;
	loop_timer_arm(observations->timer, OBSERVATION_FLUSH_MS);
	observations->armed = true;
}

static void on_result(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct observations *observations = context;

	(void)result;
	if (rc) {
		observations->failed = true;
		if (rc != E_UNAVAILABLE)
			log_problem(LOG_LEVEL_WARN, OBSERVATION_SUBJECT, problem);
	}
	if (--observations->calls > 0)
		return;

	if (observations->failed) {
		observation_put_back(observations);
		observation_arm(observations);
		return;
	}
	drop_all(&observations->flying);
	if (observations->urgent)
		observations_flush(observations);
	else
		observation_arm(observations);
}

static void build_row(const struct observation *each, struct text columns[OBSERVATION_COLUMNS])
{
	char number[NUMBER_SIZE];

	array_add_int(&columns[OBSERVATION_COLUMN_NODE], each->node_id);
	array_add(&columns[COLUMN_KIND], kind_words[each->kind]);
	array_add_int(&columns[COLUMN_AT], each->at_us);
	array_add(&columns[COLUMN_TOKEN], each->token);
	array_add(&columns[COLUMN_DETAIL], each->detail);
	(void)text_format(number, sizeof(number), "%" PRIu64, each->bytes);
	array_add(&columns[COLUMN_BYTES], number);
	if (kind_urgent[each->kind] && each->deployment_id)
		array_add_int(&columns[COLUMN_TOUCHED], each->deployment_id);
}

/* The parameters of a batch, in the order of enum column. */
static void observation_build(const struct observation_set *set,
			      struct text columns[OBSERVATION_COLUMNS])
{
	for (size_t i = 0; i < OBSERVATION_COLUMNS; i++)
		array_begin(&columns[i]);
	for (size_t i = 0; i < OBSERVATION_BUCKETS; i++) {
		for (const struct observation *each = set->buckets[i]; each; each = each->next)
			build_row(each, columns);
	}
	for (size_t i = 0; i < OBSERVATION_COLUMNS; i++)
		array_end(&columns[i]);
}

static int observation_submit(struct observations *observations, bool urgent)
{
	struct text columns[OBSERVATION_COLUMNS] = {0};
	const char *params[OBSERVATION_COLUMNS];
	bool failed = false;
	int rc = -ENOMEM;

	observation_build(&observations->flying, columns);
	for (size_t i = 0; i < OBSERVATION_COLUMNS; i++) {
		params[i] = text_get(&columns[i]);
		failed |= columns[i].failed;
	}
	if (!failed) {
		/* Deployments are locked before what was seen. */
		const struct db_call calls[] = {
			{&observation_touch_query, &params[COLUMN_TOUCHED], on_result,
			 observations},
			{&observation_notify_query, NULL, on_result, observations},
			{&observation_put_query, params, on_result, observations},
		};

		observations->calls = urgent ? 3 : 1;
		observations->failed = false;
		rc = db_submit_all(observations->db, &calls[3 - observations->calls],
				   observations->calls);
	}
	for (size_t i = 0; i < OBSERVATION_COLUMNS; i++)
		text_done(&columns[i]);
	return rc;
}

void observations_flush(struct observations *observations)
{
	bool urgent = observations->urgent;

	/* One statement at a time; what comes meanwhile forms the next one. */
	if (observations->flying.count > 0 || observations->waiting.count == 0)
		return;
	if (!db_connected(observations->db)) {
		observation_arm(observations);
		return;
	}
	observations->flying = observations->waiting;
	observations->waiting = (struct observation_set){0};
	observations->urgent = false;
	if (observation_submit(observations, urgent)) {
		observation_put_back(observations);
		observation_arm(observations);
	}
}

static void observation_on_timer(void *context)
{
	struct observations *observations = context;

	observations->armed = false;
	observations_flush(observations);
}

static void copy_detail(char ret[DETAIL_SIZE], const char *detail)
{
	(void)text_copy(ret, DETAIL_SIZE, detail ? detail : "");
	for (char *at = ret; *at; at++) {
		/* Names and paths come from the wire: only what is safe in any encoding and
		 * terminal is kept. */
		if (!isascii((unsigned char)*at) || iscntrl((unsigned char)*at))
			*at = '?';
	}
}

void observation_record(struct observations *observations, const struct inventory_node *node,
			enum observation_kind kind, const char *detail, uint64_t bytes)
{
	struct observation *seen = observation_find(&observations->waiting, node->id, kind);

	if (!seen) {
		seen = observations->waiting.count < WAITING_MAX ? calloc(1, sizeof(*seen)) : NULL;
		if (!seen)
			return;
		seen->node_id = node->id;
		seen->kind = kind;
		observation_add(&observations->waiting, seen);
	}
	seen->at_us = clock_wall_us();
	seen->deployment_id = node->intent.deployment_id;
	seen->bytes = bytes;
	(void)text_copy(seen->token, sizeof(seen->token), node->intent.token);
	copy_detail(seen->detail, detail);

	if (kind_urgent[kind]) {
		observations->urgent = true;
		observations_flush(observations);
	}
	observation_arm(observations);
}

int observations_new(struct loop *loop, struct db *db, struct observations **ret)
{
	struct observations *observations = calloc(1, sizeof(*observations));
	int rc;

	if (!observations)
		return -ENOMEM;
	*observations = (struct observations){.loop = loop, .db = db};
	rc = loop_timer_new(loop, observation_on_timer, observations, &observations->timer);
	if (rc) {
		free(observations);
		return rc;
	}
	*ret = observations;
	return 0;
}

void observations_free(struct observations *observations)
{
	if (!observations)
		return;
	drop_all(&observations->waiting);
	drop_all(&observations->flying);
	loop_timer_free(observations->timer);
	free(observations);
}
