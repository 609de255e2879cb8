#include "portal/server/standing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "portal/server/access.h"

#define STANDING_MS 3000

struct standing {
	struct exchange *exchange;
	struct loop_timer *timer;
	struct standing_options options;
	char *param;
	bool asked;
	bool freed; /* while asked: the answer frees it */
};

static void standing_destroy(struct standing *standing)
{
	loop_timer_free(standing->timer);
	exchange_release(standing->exchange);
	free(standing->param);
	free(standing);
}

static void standing_on_answer(void *context, int rc, const PGresult *result,
			       const struct problem *problem)
{
	struct standing *standing = context;
	struct problem over = {0};

	standing->asked = false;
	if (standing->freed) {
		standing_destroy(standing);
		return;
	}
	if (rc == 0 && (!standing->options.still || standing->options.still(result, &over))) {
		loop_timer_arm(standing->timer, STANDING_MS);
		return;
	}
	/* The database is away or slow: nobody has said no. */
	if (rc == E_UNAVAILABLE || rc == E_TIMEOUT) {
		loop_timer_arm(standing->timer, STANDING_MS);
		return;
	}
	if (rc != 0 && strcmp(problem->message, "aborted") == 0) /* its scope was refused */
		(void)problem_set(&over, rc, "%s", problem->detail);
	else if (rc != 0)
		over = *problem;
	standing->options.over(standing->options.context, &over);
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

static void standing_on_timer(void *context)
{
	struct standing *standing = context;
	const char *params[] = {standing->param};
	struct problem over = {0};

	if (!standing_is_of_group(standing->exchange)) {
		(void)problem_set(&over, E_DENIED, "this user is an operator no more");
		standing->options.over(standing->options.context, &over);
		return;
	}
	standing->asked = exchange_ask_again(standing->exchange, standing->options.query, params,
					     standing_on_answer, standing) == 0;
	if (!standing->asked)
		loop_timer_arm(standing->timer, STANDING_MS);
}

int standing_new(struct exchange *exchange, const struct standing_options *options,
		 struct standing **ret)
{
	struct standing *standing = calloc(1, sizeof(*standing));
	int rc;

	if (!standing)
		return -ENOMEM;
	standing->options = *options;
	standing->param = options->param ? strdup(options->param) : NULL;
	rc = loop_timer_new(exchange->portal->loop, standing_on_timer, standing, &standing->timer);
	if (rc != 0) {
		free(standing->param);
		free(standing);
		return rc;
	}
	exchange_hold(exchange);
	standing->exchange = exchange;
	loop_timer_arm(standing->timer, STANDING_MS);
	*ret = standing;
	return 0;
}

void standing_free(struct standing *standing)
{
	if (!standing)
		return;
	if (standing->asked) {
		standing->freed = true;
		loop_timer_disarm(standing->timer);
		return;
	}
	standing_destroy(standing);
}
