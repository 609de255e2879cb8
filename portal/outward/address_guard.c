#include "portal/outward/address_guard.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/log.h"

/* IPv4 as ::ffff:a.b.c.d. False: neither kind of IP. */
static bool address_guard_bytes(const struct sockaddr *address, uint8_t ret[16])
{
	static const uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff};

	memcpy(ret, mapped, sizeof(mapped));
	if (address->sa_family == AF_INET) {
		struct sockaddr_in four;

		memcpy(&four, address, sizeof(four));
		memcpy(ret + 12, &four.sin_addr, 4);
		return true;
	}
	if (address->sa_family == AF_INET6) {
		struct sockaddr_in6 six;

		memcpy(&six, address, sizeof(six));
		memcpy(ret, &six.sin6_addr, 16);
		return true;
	}
	return false;
}

/* Those that interfaces of this machine have now: one may have come since the last call. */
static int address_guard_own(struct address_list *ret)
{
	struct ifaddrs *all = NULL;
	uint8_t bytes[16];
	int rc = getifaddrs(&all) == 0 ? 0 : -errno;

	for (const struct ifaddrs *one = all; one && rc == 0; one = one->ifa_next) {
		if (one->ifa_addr && address_guard_bytes(one->ifa_addr, bytes))
			rc = address_list_add_one(ret, bytes);
	}
	freeifaddrs(all);
	return rc;
}

/* The address itself is looked at, whatever name led there. */
bool address_guard_may_connect(void *context, const struct sockaddr *address)
{
	const struct address_guard *guard = context;
	struct address_list own = {0};
	uint8_t bytes[16];
	bool may;
	int rc;

	if (!address_guard_bytes(address, bytes))
		return false;
	rc = address_guard_own(&own);
	if (rc)
		log_warn("address",
			 "the addresses of this machine cannot be read: %s; nobody is called",
			 error_text(rc));
	may = rc == 0 && address_policy_why(bytes, &guard->allowed, &guard->closed, &own) == NULL;
	address_list_done(&own);
	return may;
}

void address_guard_done(struct address_guard *guard)
{
	address_list_done(&guard->allowed);
	address_list_done(&guard->closed);
}
