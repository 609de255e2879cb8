/* Scales samples of a link by its interface's counters: a ratio estimator (Cochran, "Sampling
 * Techniques", 6). Counters are exact. So the errors that a part shares with the whole cancel out,
 * and only the error of the part's share remains.
 *
 * A whole and its parts have one factor, also when one of them is asked for later. The factor is
 * computed from the counter intervals whose later reading lies in the window (port_time of
 * peregrine/flowd/flow/port_counters.h). An interval is summed up when the second of that reading
 * has ended. No interval is added to an ended second, and no answer covers the current second. */
#pragma once

#include <stdbool.h>

#include "common/model/traffic_sums.h"

struct link_scale {
	bool known;
	double factor; /* counted / sampled, of the same seconds */
	/* Share of the window that the counter intervals cover, less their parts outside the window
	 * (at its ends: port_scale in db/schema). Below 1. */
	double covered;
	struct traffic_sums link; /* the samples there that the caller may see */
};

/* The link itself. Its bytes are exact (square 0) if intervals cover all of the window. */
struct traffic_sums scale_whole(const struct link_scale *scale, const struct traffic_sums *whole);
/* A part of the link's traffic. Bytes are rounded down, so the parts never exceed their whole. */
struct traffic_sums scale_part(const struct link_scale *scale, const struct traffic_sums *part);
/* The same for a tenant. Only the factor depends on the traffic of other tenants on the link. It is
 * near 1 for any mix of tenants, and reveals no share. Its scatter over many windows reveals
 * roughly how many samples the port had. */
struct traffic_sums scale_own(const struct link_scale *scale, const struct traffic_sums *own);
/* Do counters and samples differ by more than chance? */
bool scale_is_odd(const struct link_scale *scale);
