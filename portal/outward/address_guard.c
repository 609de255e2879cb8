#include "portal/outward/address_guard.h"

#include <netinet/in.h>
#include <string.h>

/* The address itself is looked at, whatever name led there. */
bool address_guard_may_connect(void *context, const struct sockaddr *address)
{
	const struct address_guard *guard = context;
	uint8_t bytes[16] = {[10] = 0xff, [11] = 0xff};

	if (address->sa_family == AF_INET) {
		struct sockaddr_in four;

		memcpy(&four, address, sizeof(four));
		memcpy(bytes + 12, &four.sin_addr, 4);
	} else if (address->sa_family == AF_INET6) {
		struct sockaddr_in6 six;

		memcpy(&six, address, sizeof(six));
		memcpy(bytes, &six.sin6_addr, 16);
	} else {
		return false;
	}
	return address_policy_why(bytes, &guard->allowed, &guard->closed) == NULL;
}

void address_guard_done(struct address_guard *guard)
{
	address_list_done(&guard->allowed);
	address_list_done(&guard->closed);
}
