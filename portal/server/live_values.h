/* The newest values of what moves, for streams that asked for them (values=true): progress of deployments, jobs,
 * nodes, alerts, and load. One reading of the database serves all, four times a second at most, and one
 * question a second to peregrine-flowd. While nobody looks nothing is asked. */
#pragma once

#include "portal/server/portal.h"
#include "portal/server/value_book.h"

struct live_values;

/* `changed` is called after each reading. */
MUST_USE int live_values_new(struct portal *portal, loop_fn changed, void *context,
			     struct live_values **ret);
void live_values_free(struct live_values *values);
/* Somebody of this tenant (its id; "": of the site) looks: reads again when it is time. */
void live_values_look(struct live_values *values, const char *tenant);
/* The event for this reader, borrowed until the next call; NULL: nothing is to be told. */
const char *live_values_event(struct live_values *values, struct value_reader *reader,
			      size_t *ret_size);
