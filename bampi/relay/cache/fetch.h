/* Downloads from the controller into objects: one for each object, however many follow it. */
#pragma once

#include <stdbool.h>

#include "bampi/relay/cache/cache.h"
#include "bampi/relay/cache/upstream.h"

struct fetches;

struct fetch_options {
	const char *target;
	const struct upstream_asker *asker;
	const char *tag; /* the answer must have it; "" = any */
	/* The content is named by its digest, so that a broken download may go on where it was. */
	bool resumable;
};

MUST_USE int fetches_new(struct loop *loop, struct upstream *upstream,
			 struct cache_counters *counters, struct fetches **ret);
void fetches_free(struct fetches *fetches);
/* Brings what `object` lacks, if nobody does already. When it breaks for good, an object that is
 * resumable stalls, another one fails. */
void fetch_start(struct fetches *fetches, struct object *object,
		 const struct fetch_options *options);
