#include "bampi/relay/dhcp/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/net/ipv4.h"

static int parse_word(const char *word, struct link *link, struct problem *problem)
{
	if (strcmp(word, "trusted") == 0) {
		link->trusted = true;
		return 0;
	}
	if (strncmp(word, "circuit=", 8) == 0 && word[8] &&
	    text_copy(link->circuit, sizeof(link->circuit), word + 8))
		return 0;
	if (strncmp(word, "address=", 8) == 0 && ipv4_parse(word + 8, &link->wanted_address) == 0 &&
	    link->wanted_address)
		return 0;
	(void)problem_set(problem, E_MALFORMED, "a link says \"%s\"", word);
	problem_hint(problem,
		     "INTERFACE, then any of circuit=TEXT (%d characters at most), "
		     "address=A.B.C.D, trusted",
		     LINK_CIRCUIT_MAX);
	return E_MALFORMED;
}

int link_parse(const char *spec, struct link *ret, struct problem *problem)
{
	struct link link = {0};
	char words[256];
	char *rest = words;
	char *word;
	int rc = 0;

	if (!text_copy(words, sizeof(words), spec))
		return problem_set(problem, E_LIMIT, "a link is described in more than %zu bytes",
				   sizeof(words) - 1);
	word = strtok_r(words, " \t", &rest);
	if (!word || !text_copy(link.name, sizeof(link.name), word))
		return problem_set(problem, E_MALFORMED, "\"%s\" is no interface", spec);
	(void)text_copy(link.circuit, sizeof(link.circuit), link.name);
	while (rc == 0 && (word = strtok_r(NULL, " \t", &rest)))
		rc = parse_word(word, &link, problem);
	if (rc)
		return rc;
	*ret = link;
	return 0;
}

int links_init(struct links *links, const char *const *specs, struct problem *problem)
{
	size_t count = 0;
	int rc = 0;

	while (specs && specs[count])
		count++;
	if (count > LINKS_MAX)
		return problem_set(problem, E_LIMIT, "more than %d links", LINKS_MAX);
	links->links = calloc(count ? count : 1, sizeof(*links->links));
	if (!links->links)
		return problem_set(problem, -ENOMEM, "out of memory");
	for (links->count = 0; rc == 0 && links->count < count; links->count++) {
		struct link *link = &links->links[links->count];

		rc = link_parse(specs[links->count], link, problem);
		for (size_t i = 0; rc == 0 && i < links->count; i++) {
			if (strcmp(links->links[i].name, link->name) == 0)
				rc = problem_set(problem, E_CONFLICT,
						 "the interface %s is named twice", link->name);
		}
	}
	if (rc)
		links_done(links);
	return rc;
}

void links_done(struct links *links)
{
	free(links->links);
	links->links = NULL;
	links->count = 0;
}

static struct link *by_name(struct links *links, const char *name)
{
	for (size_t i = 0; i < links->count; i++) {
		if (strcmp(links->links[i].name, name) == 0)
			return &links->links[i];
	}
	return NULL;
}

static void take_address(struct links *links, struct link *link, const struct ifaddrs *each)
{
	uint32_t address =
		ntohl(((const struct sockaddr_in *)(const void *)each->ifa_addr)->sin_addr.s_addr);

	if (links->own_count < OWN_ADDRESSES)
		links->own[links->own_count++] = address;
	if (!link)
		return;
	/* A label ("eth1:0") names the same interface; the first address is its primary one. */
	if (link->wanted_address ? address == link->wanted_address : !link->address)
		link->address = address;
}

static void take_hardware(struct link *link, const struct ifaddrs *each)
{
	const struct sockaddr_ll *hardware =
		(const struct sockaddr_ll *)(const void *)each->ifa_addr;

	if (!link)
		return;
	link->index = hardware->sll_ifindex;
	if (hardware->sll_halen == sizeof(link->mac.bytes))
		memcpy(link->mac.bytes, hardware->sll_addr, sizeof(link->mac.bytes));
}

static void make_option(const struct links *links, struct link *link)
{
	struct option82 option = {
		.circuit = link->circuit,
		.circuit_size = strlen(link->circuit),
		.remote = link->mac.bytes,
		.remote_size = mac_is_zero(link->mac) ? 0 : sizeof(link->mac.bytes),
		.link_selection = links->upstream_address ? link->address : 0,
		.server_id = links->server_override ? link->address : 0,
	};

	if (option82_encode(&option, &link->option))
		link->option.size = 0; /* cannot be: LINK_CIRCUIT_MAX leaves room */
}

int links_refresh(struct links *links)
{
	struct ifaddrs *all = NULL;

	if (getifaddrs(&all) != 0)
		return -errno;
	links->own_count = 0;
	for (size_t i = 0; i < links->count; i++) {
		links->links[i].index = 0;
		links->links[i].address = 0;
		links->links[i].mac = (struct mac){0};
	}
	for (const struct ifaddrs *each = all; each; each = each->ifa_next) {
		char name[IF_NAMESIZE];

		if (!each->ifa_addr || !text_copy(name, sizeof(name), each->ifa_name))
			continue;
		name[strcspn(name, ":")] = '\0';
		if (each->ifa_addr->sa_family == AF_INET)
			take_address(links, by_name(links, name), each);
		else if (each->ifa_addr->sa_family == AF_PACKET)
			take_hardware(by_name(links, name), each);
	}
	freeifaddrs(all);
	for (size_t i = 0; i < links->count; i++)
		make_option(links, &links->links[i]);
	return 0;
}

struct link *links_by_index(const struct links *links, int index)
{
	for (size_t i = 0; index > 0 && i < links->count; i++) {
		if (links->links[i].index == index)
			return &links->links[i];
	}
	return NULL;
}

bool links_own_address(const struct links *links, uint32_t address)
{
	for (size_t i = 0; i < links->own_count; i++) {
		if (links->own[i] == address)
			return true;
	}
	return address && address == links->upstream_address;
}

uint32_t links_giaddr(const struct links *links, const struct link *link)
{
	return links->upstream_address && link->address ? links->upstream_address : link->address;
}
