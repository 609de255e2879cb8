#include "portal/server/read_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/loop.h"

#include "portal/server/read_turn.h"

#define READ_POOL_LOOK_MS 1000

struct read_line {
	struct read_pool *pool;
	struct db *db;
	struct read_job *job; /* that runs; NULL = idle */
};

struct read_job {
	struct read_item item; /* first: a job is its item */
	struct read_line *line;
	struct read_ask ask;
	struct db_call calls[READ_POOL_CALLS]; /* the last has our callback */
	struct db_call last;                   /* as it came */
	void *params;                          /* of all calls */
	struct read_job *next;                 /* in `failed` */
	int rc;
};

struct read_pool {
	struct loop *loop;
	struct read_turn *turn;
	struct loop_timer *look;   /* has anything waited too long? */
	struct loop_timer *chores; /* what must not be called back inside a caller's call */
	struct read_job *failed;
	int64_t wait_ms;
	bool looking; /* the timer is armed */
	bool closing;
	unsigned count;
	struct read_line lines[];
};

static void read_pool_start(struct read_pool *pool);

/* --- jobs --- */

static void read_job_free(struct read_job *job)
{
	free(job->params);
	free(job);
}

static void read_job_fail(struct read_job *job, int rc, const char *why)
{
	struct problem problem = {0};
	struct db_call last = job->last;

	read_job_free(job);
	(void)problem_set(&problem, rc, "%s", why);
	problem_hint(&problem, "repeat it in a moment");
	last.fn(last.context, rc, NULL, &problem);
}

/* The parameters of all calls as one block: pointers first, so that they are aligned. */
static int read_job_keep(struct read_job *job, const struct db_call calls[], size_t count)
{
	size_t pointers = 0;
	size_t bytes = 0;
	const char **at;
	char *text;

	for (size_t i = 0; i < count; i++) {
		for (int p = 0; p < calls[i].query->param_count; p++) {
			pointers++;
			bytes += calls[i].params[p] ? strlen(calls[i].params[p]) + 1 : 0;
		}
	}
	job->params = malloc(pointers * sizeof(*at) + bytes + 1);
	if (!job->params)
		return -ENOMEM;
	at = job->params;
	text = (char *)(at + pointers);
	for (size_t i = 0; i < count; i++) {
		job->calls[i] = calls[i];
		job->calls[i].params = at;
		for (int p = 0; p < calls[i].query->param_count; p++) {
			const char *value = calls[i].params[p];
			size_t size = value ? strlen(value) + 1 : 0;

			*at++ = value ? memcpy(text, value, size) : NULL;
			text += size;
		}
	}
	return 0;
}

static void read_job_on_end(void *context, int rc, const PGresult *result,
			    const struct problem *problem)
{
	struct read_job *job = context;
	struct read_pool *pool = job->line->pool;
	struct db_call last = job->last;

	job->line->job = NULL;
	read_turn_done(pool->turn, &job->item, loop_now_ms(pool->loop));
	read_job_free(job);
	read_pool_start(pool); /* the database works while we make an answer of this one */
	last.fn(last.context, rc, result, problem);
}

/* --- turns --- */

/* An idle connection. When all are away it is one that refuses at once. */
static struct read_line *read_pool_line(struct read_pool *pool)
{
	struct read_line *away = NULL;
	bool any = read_pool_away(pool) == NULL;

	for (unsigned i = 0; i < pool->count; i++) {
		struct read_line *line = &pool->lines[i];

		if (!line->job && db_connected(line->db))
			return line;
		if (!line->job && !away)
			away = line;
	}
	return any ? NULL : away;
}

static void read_pool_put_by(struct read_pool *pool, struct read_job *job, int rc)
{
	job->rc = rc;
	job->next = pool->failed;
	pool->failed = job;
	loop_timer_arm(pool->chores, 0);
}

static void read_pool_run(struct read_pool *pool, struct read_line *line, struct read_job *job)
{
	int rc = E_UNAVAILABLE;

	if (!job->ask.wanted || job->ask.wanted(job->last.context)) {
		job->line = line;
		line->job = job;
		rc = db_submit_all(line->db, job->calls, job->ask.count);
	}
	if (rc == 0)
		return;
	line->job = NULL;
	read_turn_done(pool->turn, &job->item, loop_now_ms(pool->loop));
	read_pool_put_by(pool, job, rc);
}

static void read_pool_start(struct read_pool *pool)
{
	struct read_line *line;

	while (!pool->closing && (line = read_pool_line(pool)) != NULL) {
		struct read_item *item = read_turn_next(pool->turn, loop_now_ms(pool->loop));

		if (!item)
			return;
		read_pool_run(pool, line, (struct read_job *)item);
	}
}

/* While anything waits. */
static void read_pool_watch(struct read_pool *pool)
{
	if (pool->looking || read_turn_waiting(pool->turn) == 0)
		return;
	pool->looking = true;
	loop_timer_arm(pool->look, READ_POOL_LOOK_MS);
}

static void read_pool_on_chores(void *context)
{
	struct read_pool *pool = context;

	while (pool->failed) {
		struct read_job *job = pool->failed;

		pool->failed = job->next;
		read_job_fail(job, job->rc, "the read could not be handed to the database");
	}
	read_pool_start(pool);
}

static void read_pool_on_look(void *context)
{
	struct read_pool *pool = context;
	int64_t before_ms = loop_now_ms(pool->loop) - pool->wait_ms;
	struct read_item *item;

	while ((item = read_turn_late(pool->turn, before_ms)) != NULL)
		read_job_fail((struct read_job *)item, E_UNAVAILABLE,
			      "too many reads were before this one");
	pool->looking = false;
	read_pool_start(pool);
	read_pool_watch(pool);
}

int read_pool_submit(struct read_pool *pool, const struct read_ask *ask)
{
	struct read_job *job;
	int rc;

	if (pool->closing)
		return E_UNAVAILABLE;
	if (ask->count == 0 || ask->count > READ_POOL_CALLS || !ask->calls[ask->count - 1].fn)
		return -EINVAL;
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	job->ask = *ask;
	job->item.since_ms = loop_now_ms(pool->loop);
	job->last = ask->calls[ask->count - 1];
	rc = read_job_keep(job, ask->calls, ask->count);
	if (rc == 0)
		rc = read_turn_add(pool->turn, ask->asker, &job->item);
	if (rc != 0) {
		read_job_free(job);
		return rc;
	}
	job->calls[ask->count - 1].fn = read_job_on_end;
	job->calls[ask->count - 1].context = job;
	read_pool_start(pool);
	read_pool_watch(pool);
	return 0;
}

/* --- begin and end --- */

const struct db *read_pool_away(const struct read_pool *pool)
{
	for (unsigned i = 0; i < pool->count; i++) {
		if (pool->lines[i].db && db_connected(pool->lines[i].db))
			return NULL;
	}
	return pool->lines[0].db;
}

size_t read_pool_waiting(const struct read_pool *pool)
{
	return read_turn_waiting(pool->turn);
}

int read_pool_new(struct loop *loop, const struct read_pool_options *options,
		  struct read_pool **ret)
{
	struct read_pool *pool =
		calloc(1, sizeof(*pool) + options->connections * sizeof(pool->lines[0]));
	int rc;

	if (!pool)
		return -ENOMEM;
	pool->loop = loop;
	pool->wait_ms = options->wait_ms;
	pool->count = options->connections;
	rc = read_turn_new(options->connections, options->among, &pool->turn);
	if (rc == 0)
		rc = loop_timer_new(loop, read_pool_on_look, pool, &pool->look);
	if (rc == 0)
		rc = loop_timer_new(loop, read_pool_on_chores, pool, &pool->chores);
	for (unsigned i = 0; i < pool->count && rc == 0; i++) {
		pool->lines[i].pool = pool;
		rc = db_new(loop, &options->db, &pool->lines[i].db);
	}
	*ret = pool;
	return rc;
}

void read_pool_free(struct read_pool *pool)
{
	struct read_item *item;

	if (!pool)
		return;
	pool->closing = true;
	for (unsigned i = 0; i < pool->count; i++) {
		struct db *db = pool->lines[i].db;

		pool->lines[i].db = NULL; /* whoever is called back may ask for it */
		db_free(db);
	}
	while (pool->turn && (item = read_turn_late(pool->turn, INT64_MAX)) != NULL)
		read_job_fail((struct read_job *)item, E_UNAVAILABLE, "the program is stopping");
	read_pool_on_chores(pool);
	loop_timer_free(pool->look);
	loop_timer_free(pool->chores);
	read_turn_free(pool->turn);
	free(pool);
}
