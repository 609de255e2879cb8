#include "portal/server/standing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/error.h"

#include "portal/server/access.h"

#define STANDING_MS 3000
/* From one group's first question to the next one's: coprime to STANDING_MS, and near its golden section. So groups
 * that begin together ask apart. */
#define STANDING_APART_MS 1853

/* Those that stand by the same answer: one question is asked for all of them. A thousand streams of one person are
 * one group. */
struct standing_group {
	struct standing_group *prev, *next;
	struct portal *portal;
	struct exchange *exchange; /* of the first of them, held: it is asked in its scope */
	struct loop_timer *timer;
	const struct db_query *query;
	bool (*still)(const PGresult *result, struct problem *problem);
	char *param;
	struct standing *members;
	bool asked; /* while asked: the answer frees it */
};

struct standing {
	struct standing *prev, *next;
	struct standing_group *group; /* NULL: it is over */
	void (*over)(void *context, const struct problem *problem);
	void *context;
};

static void group_free(struct standing_group *group)
{
	loop_timer_free(group->timer);
	if (group->exchange)
		exchange_release(group->exchange);
	free(group->param);
	free(group);
}

/* The members are told one after the other; each may free itself and others from inside of that. */
static void group_over(struct standing_group *group, const struct problem *problem)
{
	group->asked = true; /* so that the last one does not free it */
	DL_DELETE(group->portal->standings, group);
	while (group->members) {
		struct standing *standing = group->members;

		DL_DELETE(group->members, standing);
		standing->group = NULL;
		standing->over(standing->context, problem);
	}
	group_free(group);
}

static void group_on_answer(void *context, int rc, const PGresult *result,
			    const struct problem *problem)
{
	struct standing_group *group = context;
	struct problem over = {0};

	group->asked = false;
	if (!group->members) {
		DL_DELETE(group->portal->standings, group);
		group_free(group);
		return;
	}
	if (rc == 0 && (!group->still || group->still(result, &over))) {
		loop_timer_arm(group->timer, STANDING_MS);
		return;
	}
	/* The database is away or slow: nobody has said no. */
	if (rc == E_UNAVAILABLE || rc == E_TIMEOUT) {
		loop_timer_arm(group->timer, STANDING_MS);
		return;
	}
	if (rc != 0 && strcmp(problem->message, "aborted") == 0) /* its scope was refused */
		(void)problem_set(&over, rc, "%s", problem->detail);
	else if (rc != 0)
		over = *problem;
	group_over(group, &over);
}

/* The database says of all but this: an operator by the group of the machine. */
static bool standing_is_of_group(const struct exchange *exchange)
{
	struct access access;

	if (!exchange->identity.by_group)
		return true;
	access = access_of(exchange->portal->access, &exchange->peer,
			   loop_now_ms(exchange->portal->loop));
	return access.operator;
}

static void group_on_timer(void *context)
{
	struct standing_group *group = context;
	const char *params[] = {group->param};
	struct problem over = {0};

	if (!standing_is_of_group(group->exchange)) {
		(void)problem_set(&over, E_DENIED, "this user is an operator no more");
		group_over(group, &over);
		return;
	}
	group->asked = exchange_ask_again(group->exchange, group->query, params, group_on_answer,
					  group) == 0;
	if (!group->asked)
		loop_timer_arm(group->timer, STANDING_MS);
}

static bool standing_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The kernel, or the same session or token, says the same of both, in the same scope. */
static bool standing_same_scope(const struct exchange *a, const struct exchange *b)
{
	return a->identity.way == b->identity.way && a->identity.role == b->identity.role &&
	       a->identity.by_group == b->identity.by_group && a->peer.local == b->peer.local &&
	       a->peer.uid == b->peer.uid && a->peer.gid == b->peer.gid &&
	       strcmp(a->tenant, b->tenant) == 0 &&
	       strcmp(a->identity.digest, b->identity.digest) == 0 &&
	       strcmp(a->identity.account, b->identity.account) == 0 &&
	       strcmp(a->identity.proof, b->identity.proof) == 0 &&
	       strcmp(a->identity.actor, b->identity.actor) == 0;
}

static struct standing_group *group_find(struct exchange *exchange,
					 const struct standing_options *options)
{
	struct standing_group *group;

	DL_FOREACH(exchange->portal->standings, group)
	{
		if (group->query == options->query && group->still == options->still &&
		    standing_same_text(group->param, options->param) &&
		    standing_same_scope(group->exchange, exchange))
			break;
	}
	return group;
}

static struct standing_group *group_new(struct exchange *exchange,
					const struct standing_options *options)
{
	struct portal *portal = exchange->portal;
	struct standing_group *group = calloc(1, sizeof(*group));

	if (!group)
		return NULL;
	group->portal = portal;
	group->query = options->query;
	group->still = options->still;
	group->param = options->param ? strdup(options->param) : NULL;
	if ((options->param && !group->param) ||
	    loop_timer_new(portal->loop, group_on_timer, group, &group->timer) != 0) {
		free(group->param);
		free(group);
		return NULL;
	}
	exchange_hold(exchange);
	group->exchange = exchange;
	DL_APPEND(portal->standings, group);
	portal->standing_phase_ms = (portal->standing_phase_ms + STANDING_APART_MS) % STANDING_MS;
	loop_timer_arm(group->timer, STANDING_MS - portal->standing_phase_ms);
	return group;
}

int standing_new(struct exchange *exchange, const struct standing_options *options,
		 struct standing **ret)
{
	struct standing *standing = calloc(1, sizeof(*standing));
	struct standing_group *group;

	if (!standing)
		return -ENOMEM;
	group = group_find(exchange, options);
	if (!group)
		group = group_new(exchange, options);
	if (!group) {
		free(standing);
		return -ENOMEM;
	}
	standing->group = group;
	standing->over = options->over;
	standing->context = options->context;
	DL_APPEND(group->members, standing);
	*ret = standing;
	return 0;
}

void standing_free(struct standing *standing)
{
	struct standing_group *group = standing ? standing->group : NULL;

	if (group) {
		DL_DELETE(group->members, standing);
		if (!group->members && !group->asked) {
			DL_DELETE(group->portal->standings, group);
			group_free(group);
		}
	}
	free(standing);
}
