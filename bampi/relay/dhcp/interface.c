#include "bampi/relay/dhcp/interface.h"

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

static int parse_word(const char *word, struct interface *interface, struct problem *problem)
{
	if (strcmp(word, "trusted") == 0) {
		interface->trusted = true;
		return 0;
	}
	if (strncmp(word, "circuit=", 8) == 0 && word[8] &&
	    text_copy(interface->circuit, sizeof(interface->circuit), word + 8))
		return 0;
	if (strncmp(word, "address=", 8) == 0 &&
	    ipv4_parse(word + 8, &interface->wanted_address) == 0 && interface->wanted_address)
		return 0;
	(void)problem_set(problem, E_MALFORMED, "an interface says \"%s\"", word);
	problem_hint(problem,
		     "INTERFACE, then any of circuit=TEXT (%d characters at most), "
		     "address=A.B.C.D, trusted",
		     INTERFACE_CIRCUIT_MAX);
	return E_MALFORMED;
}

int interface_parse(const char *spec, struct interface *ret, struct problem *problem)
{
	struct interface interface = {0};
	char words[256];
	char *rest = words;
	char *word;
	int rc = 0;

	if (!text_copy(words, sizeof(words), spec))
		return problem_set(problem, E_LIMIT,
				   "an interface is described in more than %zu bytes",
				   sizeof(words) - 1);
	word = strtok_r(words, " \t", &rest);
	if (!word || !text_copy(interface.name, sizeof(interface.name), word))
		return problem_set(problem, E_MALFORMED, "\"%s\" is not an interface", spec);
	(void)text_copy(interface.circuit, sizeof(interface.circuit), interface.name);
	while (rc == 0 && (word = strtok_r(NULL, " \t", &rest)))
		rc = parse_word(word, &interface, problem);
	if (rc)
		return rc;
	*ret = interface;
	return 0;
}

int interfaces_init(struct interfaces *interfaces, const char *const *specs,
		    struct problem *problem)
{
	size_t count = 0;
	int rc = 0;

	while (specs && specs[count])
		count++;
	if (count > INTERFACES_MAX)
		return problem_set(problem, E_LIMIT, "more than %d interfaces", INTERFACES_MAX);
	interfaces->list = calloc(count ? count : 1, sizeof(*interfaces->list));
	if (!interfaces->list)
		return problem_set(problem, -ENOMEM, "out of memory");
	for (interfaces->count = 0; rc == 0 && interfaces->count < count; interfaces->count++) {
		struct interface *interface = &interfaces->list[interfaces->count];

		rc = interface_parse(specs[interfaces->count], interface, problem);
		for (size_t i = 0; rc == 0 && i < interfaces->count; i++) {
			if (strcmp(interfaces->list[i].name, interface->name) == 0)
				rc = problem_set(problem, E_CONFLICT,
						 "the interface %s is named twice",
						 interface->name);
		}
	}
	if (rc)
		interfaces_done(interfaces);
	return rc;
}

void interfaces_done(struct interfaces *interfaces)
{
	free(interfaces->list);
	interfaces->list = NULL;
	interfaces->count = 0;
}

static struct interface *interface_by_name(struct interfaces *interfaces, const char *name)
{
	for (size_t i = 0; i < interfaces->count; i++) {
		if (strcmp(interfaces->list[i].name, name) == 0)
			return &interfaces->list[i];
	}
	return NULL;
}

static void take_address(struct interfaces *interfaces, struct interface *interface,
			 const struct ifaddrs *each)
{
	uint32_t address =
		ntohl(((const struct sockaddr_in *)(const void *)each->ifa_addr)->sin_addr.s_addr);

	if (interfaces->own_count < OWN_ADDRESSES)
		interfaces->own[interfaces->own_count++] = address;
	if (!interface)
		return;
	/* A label ("eth1:0") names the same interface; the first address is its primary one. */
	if (interface->wanted_address ? address == interface->wanted_address : !interface->address)
		interface->address = address;
}

static void take_hardware(struct interface *interface, const struct ifaddrs *each)
{
	const struct sockaddr_ll *hardware =
		(const struct sockaddr_ll *)(const void *)each->ifa_addr;

	if (!interface)
		return;
	interface->index = hardware->sll_ifindex;
	if (hardware->sll_halen == sizeof(interface->mac.bytes))
		memcpy(interface->mac.bytes, hardware->sll_addr, sizeof(interface->mac.bytes));
}

static void make_option(const struct interfaces *interfaces, struct interface *interface)
{
	struct option82 option = {
		.circuit = interface->circuit,
		.circuit_size = strlen(interface->circuit),
		.remote = interface->mac.bytes,
		.remote_size = mac_is_zero(interface->mac) ? 0 : sizeof(interface->mac.bytes),
		.link_selection = interfaces->upstream_address ? interface->address : 0,
		.server_id = interfaces->server_override ? interface->address : 0,
	};

	if (option82_encode(&option, &interface->option))
		interface->option.size = 0; /* cannot be: INTERFACE_CIRCUIT_MAX leaves room */
}

int interfaces_refresh(struct interfaces *interfaces)
{
	struct ifaddrs *all = NULL;

	if (getifaddrs(&all) != 0)
		return -errno;
	interfaces->own_count = 0;
	for (size_t i = 0; i < interfaces->count; i++) {
		interfaces->list[i].index = 0;
		interfaces->list[i].address = 0;
		interfaces->list[i].mac = (struct mac){0};
	}
	for (const struct ifaddrs *each = all; each; each = each->ifa_next) {
		char name[IF_NAMESIZE];

		if (!each->ifa_addr || !text_copy(name, sizeof(name), each->ifa_name))
			continue;
		name[strcspn(name, ":")] = '\0';
		if (each->ifa_addr->sa_family == AF_INET)
			take_address(interfaces, interface_by_name(interfaces, name), each);
		else if (each->ifa_addr->sa_family == AF_PACKET)
			take_hardware(interface_by_name(interfaces, name), each);
	}
	freeifaddrs(all);
	for (size_t i = 0; i < interfaces->count; i++)
		make_option(interfaces, &interfaces->list[i]);
	return 0;
}

struct interface *interfaces_by_index(const struct interfaces *interfaces, int index)
{
	for (size_t i = 0; index > 0 && i < interfaces->count; i++) {
		if (interfaces->list[i].index == index)
			return &interfaces->list[i];
	}
	return NULL;
}

bool interfaces_own_address(const struct interfaces *interfaces, uint32_t address)
{
	for (size_t i = 0; i < interfaces->own_count; i++) {
		if (interfaces->own[i] == address)
			return true;
	}
	return address && address == interfaces->upstream_address;
}

uint32_t interfaces_giaddr(const struct interfaces *interfaces, const struct interface *interface)
{
	return interfaces->upstream_address && interface->address ? interfaces->upstream_address
								  : interface->address;
}
