/* Who waits first is served first: which free nodes are kept for a request that waits longer than
 * the one in hand. A pure decision over all nodes as they are now. */
#pragma once

#include "bampi/control/alloc/alloc_policy.h"

/* Marks as kept the nodes that `request` gets now, all of it or the nearest that is possible. A
 * request that the whole site could not meet, were every node of it given back, keeps none: it
 * would keep them for ever. -ENOMEM, or -EINVAL as of alloc_choose. */
MUST_USE int alloc_keep(struct alloc_node nodes[], size_t count,
			const struct alloc_request *request);
