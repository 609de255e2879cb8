/* Load of links, from the memory of peregrine-flowd: kind "load", name SWITCH:PORT, {"bits_per_second", "at"}. The site sees
 * all of a link, a tenant its own part. Whoever looks, flowd is asked once a second: of those that look in turn. */
#pragma once

#include "portal/server/portal.h"
#include "portal/server/value_book.h"

struct live_load;

/* `changed` is called when an answer was put into the book. */
MUST_USE int live_load_new(struct portal *portal, struct value_book *book, loop_fn changed,
			   void *context, struct live_load **ret);
void live_load_free(struct live_load *load);
/* `tenant` is its id; "" = the site. */
void live_load_look(struct live_load *load, const char *tenant);
