/* The tenants of each probe over time: the prober judges frames by them. The sender's tenants count
 * when the frame is sent, the receiver's when it arrives, both by the wall clock. So a delay in a
 * queue or in the prober does not change the verdict. Pure: text and times in, verdict out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define PROBER_PROBES  256
#define PROBER_TENANTS 64 /* a bit each */
#define PROBER_TAGS    64
#define PROBER_NAME    32
#define PROBER_SPANS   8 /* of a probe, the newest first; what is older is forgotten */

struct prober_span {
	int64_t from_us, until_us; /* the latter with the grace */
	uint64_t tenants; /* bits; none: the port is nobody's, whatever it hears is a leak */
};

struct prober_probe {
	char name[PROBER_NAME], netns[64], interface[16];
	bool active; /* in the newest file */
	struct prober_span spans[PROBER_SPANS];
	size_t span_count;
};

struct prober_members {
	struct prober_probe
		probes[PROBER_PROBES]; /* never moves: a frame names its sender by place */
	size_t count;
	char tenants[PROBER_TENANTS][PROBER_NAME];
	size_t tenant_count;
	uint16_t tags[PROBER_TAGS]; /* VLAN IDs that nodes try to get out with */
	size_t tag_count;
	int64_t grace_ms;
};

/* A file's text, true from `at_us` on: lines "probe NAME NETNS INTERFACE TENANT[,TENANT]..."
 * (TENANT "-": nobody's), "tags VID...", "grace MS", "# ...". Known probes keep their places. A
 * probe whose tenants change has the old tenants as well for the grace. A probe that the file no
 * longer names becomes inactive. E_MALFORMED or E_LIMIT with the line's number in *ret_line leaves
 * `members` as it was. */
MUST_USE int prober_members_follow(struct prober_members *members, const char *text, int64_t at_us,
				   unsigned *ret_line);
/* May what `from` sent at `sent_us` reach `to` at `arrived_us`? */
bool prober_may_hear(const struct prober_members *members, size_t from, int64_t sent_us, size_t to,
		     int64_t arrived_us);
/* The tenants of a probe as text, "a", "a,b" or "-". */
const char *prober_tenants_text(const struct prober_members *members, size_t probe, char *ret,
				size_t room);
