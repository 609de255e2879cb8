/* Who takes part in lock_order_test.c: a connection, what it has under way, and chance. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "common/db/array.h"
#include "common/db/db.h"

#include "bampi/bootd/identify/observation.h"
#include "bampi/control/deploy/deploy_store.h"
#include "tests/support/cmocka.h"

#define NODES   24
#define BATCH   12 /* most of an order that is not that of the ids */
#define OPS_MAX 8

struct actor {
	const struct role *role;
	struct db *db;
	struct observations *observations;
	char owner[16];
	bool connected;
	unsigned seed;
	unsigned next;                     /* op */
	unsigned done[OPS_MAX];            /* of each op: transactions that went through */
	unsigned failed;                   /* and statements that did not */
	unsigned op;                       /* under way */
	char why[256];                     /* the first failure */
	struct claimed works[CLAIM_LIMIT]; /* of a claim, until it is saved */
	struct advance advances[CLAIM_LIMIT];
	size_t work_count, claimed, saved;
	const struct task_key *task_key;
	size_t taken, ended, forged; /* tasks */
	int64_t tasks[BATCH];        /* taken */
	char tokens[BATCH][TOKEN_TEXT_SIZE];
	size_t task_count;
};

struct role {
	const char *name, *user;
	void (*ops[OPS_MAX])(struct actor *actor);
};

/* --- chance --- */

static inline unsigned roll(struct actor *actor, unsigned sides)
{
	return (unsigned)rand_r(&actor->seed) % sides;
}

/* BATCH different nodes, in any order. */
static inline void pick(struct actor *actor, int ret[BATCH])
{
	int all[NODES];

	for (int i = 0; i < NODES; i++)
		all[i] = i + 1;
	for (unsigned i = 0; i < BATCH; i++) {
		unsigned from = i + roll(actor, NODES - i);

		ret[i] = all[from];
		all[from] = all[i];
	}
}

static inline void token_of(int64_t node, char ret[TOKEN_TEXT_SIZE])
{
	assert_true(text_format(ret, TOKEN_TEXT_SIZE, "%032llx", (unsigned long long)node));
}

/* {"n3","n1",...} */
static inline void names_of(struct actor *actor, struct text *ret)
{
	int nodes[BATCH];

	pick(actor, nodes);
	array_begin(ret);
	for (size_t i = 0; i < BATCH; i++) {
		char name[16];

		assert_true(text_format(name, sizeof(name), "n%d", nodes[i]));
		array_add(ret, name);
	}
	array_end(ret);
}

/* [{"node_id": 3, MEMBERS}, ...] */
static inline void rows_of(struct actor *actor, const char *const members[2], struct text *ret)
{
	int nodes[BATCH];

	pick(actor, nodes);
	for (size_t i = 0; i < BATCH; i++)
		text_addf(ret, "%s{\"node_id\":%d,%s}", i ? "," : "[", nodes[i],
			  members[roll(actor, 2)]);
	text_add(ret, "]");
}

/* --- answers --- */

static inline void failed(struct actor *actor, const struct problem *problem)
{
	if (actor->failed++ == 0)
		(void)text_format(actor->why, sizeof(actor->why), "%.60s: %.160s", problem->message,
				  problem->detail);
}

static inline void on_answer(void *context, int rc, const PGresult *result,
			     const struct problem *problem)
{
	struct actor *actor = context;

	(void)result;
	if (rc)
		failed(actor, problem);
	else
		actor->done[actor->op]++;
}

static inline void on_part(void *context, int rc, const PGresult *result,
			   const struct problem *problem)
{
	(void)result;
	if (rc)
		failed(context, problem);
}

static inline void ask(struct actor *actor, const struct db_query *query,
		       const char *const params[])
{
	assert_int_equal(db_submit(actor->db, query, params, on_answer, actor), 0);
}
