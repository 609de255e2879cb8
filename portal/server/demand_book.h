/* Who asks how much of us now. One who is logged in is counted by its name, whatever number of connections, sessions and tokens it has. Of
 * strangers only their address is known: they are slowed by it before anybody looks up who they are. */
#pragma once

#include "common/base/macros.h"
#include "common/io/loop.h"

#include "portal/server/demand_policy.h"

struct demand_book;
struct demand_ticket;
struct http_request;

struct demand_options {
	struct demand_limits each;
	struct rate_limit address, strangers; /* of one address; of all together */
};

/* Since the start, by why. */
struct demand_counters {
	uint64_t too_fast, too_many, too_many_streams, too_large, strangers;
};

MUST_USE int demand_book_new(struct loop *loop, const struct demand_options *options,
			     struct demand_counters *counters, struct demand_book **ret);
/* After the last ticket. */
void demand_book_free(struct demand_book *book);
/* Whoever is not known yet, by its address: false, when it has to wait. */
bool demand_stranger(struct demand_book *book, uint32_t address);
/* A request of one who is known. DEMAND_FINE: *ret is its ticket, which ends with the request, when its answer is taken. Else
 * *ret_wait_s says when to come back. DEMAND_VERDICTS: no memory. */
enum demand_verdict demand_ask(struct demand_book *book, const char *name, enum demand_kind kind,
			       struct http_request *request, struct demand_ticket **ret,
			       unsigned *ret_wait_s);
/* An answer of so many bytes is on its way. NULL: nobody counts. */
void demand_add(struct demand_ticket *ticket, uint64_t bytes);
