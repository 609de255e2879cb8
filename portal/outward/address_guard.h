/* May this connection be made? What address_policy says of the addresses that a name leads to. */
#pragma once

#include <stdbool.h>

#include "portal/outward/address_policy.h"

struct sockaddr;

struct address_guard {
	struct address_list allowed; /* by the configuration */
	struct address_list closed;  /* by the database, at that time */
};

/* fetch_request.may_connect; the context is a guard. */
bool address_guard_may_connect(void *context, const struct sockaddr *address);
void address_guard_done(struct address_guard *guard);
