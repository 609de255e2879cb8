/* What a machine needs before `site init` writes anything: those checks of `site check` that make sense now,
 * and what the plan says about this machine. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/net/ipv4.h"

#include "portal/cli/site_check.h"
#include "portal/cli/site_dhcp.h"
#include "portal/cli/site_plan.h"

/* The first word: "eth1 circuit=rack7" of a relay. */
static bool site_init_check_name(const char *text, char ret[IF_NAMESIZE])
{
	return text_format(ret, IF_NAMESIZE, "%.*s", (int)strcspn(text, " "), text);
}

/* Calls `each` with every interface of the plan. */
static size_t site_init_check_each(struct site_check *check,
				   void (*each)(struct site_check *check, const char *name,
						void *context),
				   void *context)
{
	char *const *const lists[] = {check->plan->interfaces, check->plan->relay_interfaces};
	static const char *const roles[] = {"controller", "relay"};
	size_t count = 0;

	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		if (!site_plan_has(check->plan, roles[i]))
			continue;
		for (char *const *at = lists[i]; at && *at; at++, count++) {
			char name[IF_NAMESIZE];

			if (site_init_check_name(*at, name))
				each(check, name, context);
			else
				site_check_wrong(check, *at, "this is no name of an interface");
		}
	}
	return count;
}

/* --- interfaces and addresses --- */

/* An IPv4 address of this machine; `name` NULL: of any interface, `address` 0: any. */
static bool site_init_check_has(const char *name, uint32_t address)
{
	struct ifaddrs *all = NULL;
	bool found = false;

	if (getifaddrs(&all) < 0)
		return false;
	for (const struct ifaddrs *each = all; each && !found; each = each->ifa_next) {
		struct sockaddr_in own;

		if (!each->ifa_addr || each->ifa_addr->sa_family != AF_INET ||
		    (name && strcmp(each->ifa_name, name) != 0))
			continue;
		memcpy(&own, each->ifa_addr, sizeof(own));
		found = address == 0 || ntohl(own.sin_addr.s_addr) == address;
	}
	freeifaddrs(all);
	return found;
}

static void site_init_check_interface(struct site_check *check, const char *name, void *context)
{
	(void)context;
	if (if_nametoindex(name) == 0) {
		site_check_wrong(check, name, "this interface is not there");
		site_check_hint(check, "ip link shows the names");
	} else if (!site_init_check_has(name, 0)) {
		site_check_wrong(check, name, "this interface has no IPv4 address");
	}
}

static void site_init_check_interfaces(struct site_check *check)
{
	size_t count = site_init_check_each(check, site_init_check_interface, NULL);

	site_check_say(check, "%zu", count);
	if (count == 0)
		site_check_skip(check, "the plan has none for this machine");
}

static void site_init_check_addresses(struct site_check *check)
{
	size_t count = 0;

	for (char **each = check->plan->subnets; each && *each; each++) {
		struct problem problem = {0};
		struct site_subnet subnet;
		uint32_t server = 0;

		if (site_subnet_parse(*each, &subnet, &problem) ||
		    ipv4_parse(subnet.server, &server))
			continue;
		count++;
		/* With two controllers it may be a shared address that the other one has now. */
		if (check->plan->controllers == 1 && !site_init_check_has(NULL, server))
			site_check_wrong(check, subnet.name,
					 "its server %s is no address of this machine",
					 subnet.server);
	}
	if (check->plan->controllers == 2 &&
	    !site_init_check_has(NULL, check->plan->server_address))
		site_check_wrong(check, "server_address", "it is no address of this machine");
	site_check_say(check, "%zu subnets", count);
}

/* --- packages, names, routes --- */

static void site_init_check_packages(struct site_check *check)
{
	static const struct {
		const char *role, *unit;
	} rows[] = {
		{"controller", "portald"}, {"storage", "bampi-stored"}, {"relay", "bampi-relay"}};
	size_t count = 0;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char path[64];

		(void)text_format(path, sizeof(path), "/usr/bin/%s", rows[i].unit);
		if (!site_plan_has(check->plan, rows[i].role))
			continue;
		count++;
		if (!site_check_exists(check, path))
			site_check_wrong(check, rows[i].role, "%s is not there", path);
	}
	site_check_say(check, "%zu roles", count);
}

/* Leases and alerts name this machine; a daemon that looks its own name up must not wait for DNS. */
static void site_init_check_dns(struct site_check *check)
{
	struct addrinfo *found = NULL;
	char host[65] = "";
	int rc;

	(void)gethostname(host, sizeof(host) - 1);
	rc = getaddrinfo(host, NULL, NULL, &found);
	if (rc == 0)
		freeaddrinfo(found);
	site_check_say(check, "this machine is %s", host);
	if (rc != 0)
		site_check_wrong(check, host, "its own name has no address: %s", gai_strerror(rc));
}

/* /proc/net/route: "iface destination gateway flags ...", destination 00000000 is the default. */
static void site_init_check_routes(struct site_check *check)
{
	char path[PATH_MAX];
	char line[256];
	char name[IF_NAMESIZE] = "";
	FILE *file;

	file = site_check_path(check, path, "/proc/net/route") ? fopen(path, "re") : NULL;
	if (!file) {
		site_check_skip(check, "/proc/net/route cannot be read");
		return;
	}
	while (!name[0] && fgets(line, sizeof(line), file)) {
		char *rest = line;
		const char *interface = strsep(&rest, "\t");
		const char *target = strsep(&rest, "\t");

		if (target && strcmp(target, "00000000") == 0)
			(void)text_copy(name, sizeof(name), interface);
	}
	(void)fclose(file);
	site_check_say(check, "the default route leaves by %s", name[0] ? name : "nothing");
	for (char **each = check->plan->interfaces; each && *each; each++) {
		if (strcmp(*each, name) == 0)
			site_check_wrong(check, name,
					 "the default route leaves by the provisioning network");
	}
}

/* --- DHCP --- */

static void site_init_check_link(struct site_check *check, const char *name, void *context)
{
	struct site_dhcp *dhcp = context;
	int index = (int)if_nametoindex(name);

	(void)check;
	if (index > 0 && dhcp->interface_count < SITE_DHCP_LINKS)
		dhcp->interfaces[dhcp->interface_count++] = index;
}

/* Is it that of the plan? Another controller may serve the same subnets already. */
static bool site_init_check_is_ours(const struct site_plan *plan, const char *address)
{
	for (char **each = plan->subnets; each && *each; each++) {
		struct problem problem = {0};
		struct site_subnet subnet;

		if (site_subnet_parse(*each, &subnet, &problem) == 0 &&
		    strcmp(subnet.server, address) == 0)
			return true;
	}
	return false;
}

static void site_init_check_dhcp(struct site_check *check)
{
	struct site_dhcp dhcp = {0};
	struct problem problem = {0};
	size_t foreign = 0;

	(void)site_init_check_each(check, site_init_check_link, &dhcp);
	if (dhcp.interface_count == 0) {
		site_check_skip(check, "there is no interface to ask on");
		return;
	}
	if (site_dhcp_ask(&dhcp, &problem) < 0) {
		site_check_skip(check, "%s: %s", problem.message, problem.detail);
		return;
	}
	for (size_t i = 0; i < dhcp.answer_count; i++) {
		char address[IPV4_TEXT_SIZE];
		char name[IF_NAMESIZE] = "";
		char mac[MAC_TEXT_SIZE];

		(void)ipv4_text(dhcp.answers[i].server, address);
		if (site_init_check_is_ours(check->plan, address))
			continue;
		(void)if_indextoname((unsigned)dhcp.answers[i].interface, name);
		site_check_wrong(check, name, "a DHCP server answers already: %s, MAC %s", address,
				 mac_text(dhcp.answers[i].mac, mac));
		foreign++;
	}
	site_check_say(check, "%zu interfaces asked, %zu servers answer", dhcp.interface_count,
		       foreign);
}

/* clang-format off */
const struct site_check_row site_init_rows[] = {
	{"packages",   site_init_check_packages,   "apt install ./haas-{}_*.deb"},
	{"interfaces", site_init_check_interfaces, "ip address add ADDRESS/LENGTH dev {}; make it last over a restart"},
	{"addresses",  site_init_check_addresses,  "correct the subnet, or give this machine the address"},
	{"routes",     site_init_check_routes,     "the default route belongs into the management network"},
	{"dns",        site_init_check_dns,        "add a line with its management address and {} to /etc/hosts"},
	{"postgresql", site_check_postgresql,      "apt install postgresql-15"},
	{"memory",     site_check_memory,          "give this machine more memory, or move the database to another"},
	{"disks",      site_check_disks,           "make room on the disk of {}, or enlarge it"},
	{"clock",      site_check_clock,           "apt install chrony; chronyc tracking"},
	{"ports",      site_check_ports,           "stop and disable that program: its answers reach our nodes"},
	{"dhcp",       site_init_check_dhcp,       "switch that server off, or bar its port"},
};
/* clang-format on */
const size_t site_init_row_count = COUNT_OF(site_init_rows);
