/* The last totals (octetTotalCount, packetTotalCount) of flows whose exporters tell nothing else.
 * The growth since then is what counts.
 *
 * A flow's first total counts whole where the flow began after its exporter was first heard. Else
 * a part of it, nobody knows which, was before: then it is only remembered. A total that goes back
 * is a counter that wrapped, a message that came late, or a flow that began anew.
 *
 * Bounded: TOTAL_FLOWS of one receiver. A new flow takes the place of one that was heard of longest
 * ago. One that lost its place is never counted whole again. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/flow_key.h"

enum { TOTAL_WAYS = 8, TOTAL_SETS = 8192, TOTAL_FLOWS = TOTAL_WAYS * TOTAL_SETS };

#define TOTAL_UNTOLD INT64_MIN

struct total_book;

/* Which flow. Hashed as bytes: no padding. */
struct total_key {
	struct flow_key flow;
	uint64_t identity; /* a hash of what else tells flows apart, their begin among it */
	uint64_t domain;
};

_Static_assert(sizeof(struct total_key) == sizeof(struct flow_key) + 16, "hashed as bytes");

/* What a record told. Times are by the exporter's clock. */
struct total_said {
	uint64_t bytes, packets;
	uint8_t byte_width, packet_width; /* octets of the counter; packet_width 0 = not told */
	bool late;                        /* its message came behind a later one */
	int64_t began_ms;                 /* the flow; TOTAL_UNTOLD */
	int64_t heard_ms;                 /* since when the exporter is heard */
};

struct total_growth {
	bool first;  /* only remembered: nothing to count yet */
	bool forgot; /* another flow lost its place */
	uint64_t bytes, packets;
};

/* `seed`: of the hash; who sends traffic does not know it. */
MUST_USE int total_book_new(uint64_t seed, struct total_book **ret);
void total_book_free(struct total_book *book);
struct total_growth total_book_take(struct total_book *book, const struct total_key *key,
				    const struct total_said *said);
