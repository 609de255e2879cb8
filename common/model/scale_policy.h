/* Scales samples of a link by its interface's counters: a ratio estimator (Cochran, "Sampling
 * Techniques", 6). Counters are exact. So the errors that a part shares with the whole go, and the
 * error of its share is left.
 *
 * A whole and its parts have one factor, also when one of them is asked for later. The factor is of
 * intervals that were summed up in the window, when the seconds of their later readings were over
 * (port_time of peregrine/flowd/flow/port_counters.h). Nothing is added to a second that is over,
 * and no second under way is answered. */
#pragma once

#include <stdbool.h>

#include "common/model/traffic_sums.h"

struct link_scale {
	bool known;
	double factor; /* counted / sampled, of the same seconds */
	/* The part of the window of which that is known, less what of it lies beside the window (at
	 * its ends: port_scale in db/schema). Below 1. */
	double covered;
	struct traffic_sums link; /* all that the asking one may see of what was sampled there */
};

/* The link itself: its bytes are exact where all of the window is covered (square 0). */
struct traffic_sums scale_whole(const struct link_scale *scale, const struct traffic_sums *whole);
/* Some of what left there. Bytes are rounded down, so that parts are no more than their whole. */
struct traffic_sums scale_part(const struct link_scale *scale, const struct traffic_sums *part);
/* The same for a tenant. The factor is the only number that others on the link have a part in. It
 * is near 1 whoever's the traffic is, and says nothing of shares. Its scatter over many windows
 * tells roughly how many samples the port had. */
struct traffic_sums scale_own(const struct link_scale *scale, const struct traffic_sums *own);
/* Do counters and samples differ by more than chance? */
bool scale_is_odd(const struct link_scale *scale);
