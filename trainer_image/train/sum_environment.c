#include "trainer_image/train/sum_environment.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/macros.h"
#include "common/base/text.h"

static bool sum_environment_same(const struct sockaddr *a, const struct sockaddr *b)
{
	if (!a || a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return memcmp(&((const struct sockaddr_in *)(const void *)a)->sin_addr,
			      &((const struct sockaddr_in *)(const void *)b)->sin_addr,
			      sizeof(struct in_addr)) == 0;
	return a->sa_family == AF_INET6 &&
	       memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
		      &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr,
		      sizeof(struct in6_addr)) == 0;
}

/* False: no interface has the address. */
static bool sum_environment_interface(const char *host, char ret[IF_NAMESIZE])
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	struct ifaddrs *all = NULL;
	bool is_known = false;

	if (getaddrinfo(host, NULL, &hints, &found) != 0)
		return false;
	if (getifaddrs(&all) == 0) {
		for (struct ifaddrs *is = all; is && !is_known; is = is->ifa_next)
			is_known = sum_environment_same(is->ifa_addr, found->ai_addr) &&
				   text_copy(ret, IF_NAMESIZE, is->ifa_name);
		freeifaddrs(all);
	}
	freeaddrinfo(found);
	return is_known;
}

void sum_environment(const char *host)
{
	static const struct {
		const char *name, *value; /* NULL: it may not be there */
	} rows[] = {
		{"NCCL_COMM_BLOCKING", NULL}, /* calls would wait where nothing can stop them */
		{"NCCL_COMM_ID", NULL},       /* ranks find each other by the job's own id */
		/* Buffers of 12 MiB for each channel to each rank: NCCL's 32 take 2.7 GB of a GPU among eight. */
		{"NCCL_MAX_P2P_NCHANNELS", "8"},
		{"NCCL_NVLS_ENABLE", "0"}, /* memory for calls that sums do not make */
	};
	char interface[IF_NAMESIZE];
	char exactly[IF_NAMESIZE + 1];

	// NOLINTBEGIN(concurrency-mt-unsafe): there are no other threads
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].value)
			(void)setenv(rows[i].name, rows[i].value, 0);
		else
			(void)unsetenv(rows[i].name);
	/* NCCL's own choice is the first interface, which may not lead to the other machines. */
	if (host && sum_environment_interface(host, interface) &&
	    text_format(exactly, sizeof(exactly), "=%s", interface))
		(void)setenv("NCCL_SOCKET_IFNAME", exactly, 0);
	// NOLINTEND(concurrency-mt-unsafe)
}
