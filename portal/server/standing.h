/* What was opened ends when it could not be opened any more: the node went to another tenant, the
 * tenant is gone. While it stands the question that let it in is asked again, every 3 s at least. */
#pragma once

#include "portal/server/exchange.h"

struct standing;

struct standing_options {
	const struct db_query *query;
	const char *param; /* its one parameter, borrowed for the call; NULL = it has none */
	/* Looks at the answer; false with a problem: no longer. NULL: any answer will do. */
	bool (*still)(const PGresult *result, struct problem *problem);
	/* Called once. The standing is freed by its owner, also from inside of this. */
	void (*over)(void *context, const struct problem *problem);
	void *context;
};

/* Asked in the scope of the exchange, once for all that stand by the same answer. */
MUST_USE int standing_new(struct exchange *exchange, const struct standing_options *options,
			  struct standing **ret);
void standing_free(struct standing *standing);
