#include <string.h>

#include "common/base/error.h"
#include "common/io/conf_rows.h"

#include "bampi/relay/relay.h"

#define RELAY_CONF_TABLE_AT(member) offsetof(struct relay_conf, member)

static const struct conf_row relay_conf_rows[] = {
	{"user", CONF_STRING, RELAY_CONF_TABLE_AT(user), "haas-relay", 0, 0, NULL, NULL,
	 "user to become when the ports are bound; empty = stay who we are"},
	{"interfaces", CONF_STRINGS, RELAY_CONF_TABLE_AT(interfaces), "", 0, 0, NULL, NULL,
	 "interfaces with nodes: \"eth1\" or \"eth1 circuit=rack7 address=10.2.0.2 trusted\"; "
	 "trusted = relays and switches behind it may add option 82"},
	{"dhcp.servers", CONF_STRINGS, RELAY_CONF_TABLE_AT(dhcp.servers), "", 0, 0, NULL, NULL,
	 "addresses of bampi-bootd; each gets every request; empty = no DHCP relay"},
	{"dhcp.upstream_address", CONF_ADDRESS, RELAY_CONF_TABLE_AT(dhcp.upstream_address),
	 "0.0.0.0", 0, 0, NULL, NULL,
	 "giaddr for all interfaces, when servers cannot reach the interfaces' own addresses (RFC 3527)"},
	{"dhcp.server_override", CONF_BOOL, RELAY_CONF_TABLE_AT(dhcp.server_override), "false", 0,
	 0, NULL, NULL,
	 "clients take us for the server, so that renewals pass here too (RFC 5107)"},
	{"dhcp.hop_limit", CONF_INT, RELAY_CONF_TABLE_AT(dhcp.hop_limit), "4", 1, 16, NULL,
	 "relays", "requests that passed so many relays are dropped"},
	{"dhcp.packet_limit", CONF_INT, RELAY_CONF_TABLE_AT(dhcp.packet_limit), "1472", 576, 1472,
	 NULL, "bytes", "a request that option 82 would make larger goes without it"},
	{"dhcp.client_rate", CONF_INT, RELAY_CONF_TABLE_AT(dhcp.client_rate), "2", 0, 10000, NULL,
	 "requests a second", "of one client; 0 = no limit"},
	{"dhcp.client_burst", CONF_INT, RELAY_CONF_TABLE_AT(dhcp.client_burst), "12", 1, 10000,
	 NULL, "requests",
	 "of one client at once: firmware, iPXE and kernel of one boot, with retries"},
	{"dhcp.interface_rate", CONF_INT, RELAY_CONF_TABLE_AT(dhcp.interface_rate), "1000", 0,
	 1000000, NULL, "requests a second", "of one interface; 0 = no limit"},
	{"dhcp.interface_burst", CONF_INT, RELAY_CONF_TABLE_AT(dhcp.interface_burst), "4000", 1,
	 1000000, NULL, "requests", "of one interface at once: its nodes powered on together"},
	{"controller", CONF_STRING, RELAY_CONF_TABLE_AT(controller), "", 0, 0, NULL, NULL,
	 "bampi-bootd's boot HTTP, as in \"https://10.0.0.1:8443\"; empty = no boot cache"},
	{"http.address", CONF_ADDRESS, RELAY_CONF_TABLE_AT(http.address), "0.0.0.0", 0, 0, NULL,
	 NULL, "address that nodes fetch from; 0.0.0.0 = all"},
	{"http.port", CONF_INT, RELAY_CONF_TABLE_AT(http.port), "8080", 1, 65535, NULL, "port",
	 "the http_port of bampi-bootd, which writes it into the URLs that it hands out"},
	{"https_port", CONF_INT, RELAY_CONF_TABLE_AT(https_port), "8443", 1, 65535, NULL, "port",
	 "the https_port of bampi-bootd; with a certificate"},
	{"tftp", CONF_BOOL, RELAY_CONF_TABLE_AT(tftp), "true", 0, 0, NULL, NULL,
	 "answer TFTP; firmware that cannot boot by HTTP needs it"},
	{"cache.folder", CONF_STRING, RELAY_CONF_TABLE_AT(cache.folder),
	 "/var/cache/haas/bampi-relay", 0, 0, NULL, NULL, "where boot files and images are kept"},
	{"cache.limit", CONF_INT, RELAY_CONF_TABLE_AT(cache.limit_mib), "65536", 1, 1073741824,
	 NULL, "MiB", "most room for them; the least recently used go first"},
	{"cache.keep", CONF_STRINGS, RELAY_CONF_TABLE_AT(cache.keep), "", 0, 0, NULL, NULL,
	 "boot files to fetch before the first request, as undionly.kpxe, snponly.efi, vmlinuz, agent.img"},
	{"arp.interfaces", CONF_STRINGS, RELAY_CONF_TABLE_AT(arp.interfaces), "", 0, 0, NULL, NULL,
	 "interfaces on which ARP is answered for addresses behind another interface; empty = none"},
	{"arp.prefixes", CONF_STRINGS, RELAY_CONF_TABLE_AT(arp.prefixes), "", 0, 0, NULL, NULL,
	 "prefixes that ARP is answered for, as in 10.9.0.0/16; needs net.ipv4.ip_forward"},
	{"ra_interfaces", CONF_STRINGS, RELAY_CONF_TABLE_AT(ra_interfaces), "", 0, 0, NULL, NULL,
	 "interfaces that get router advertisements; empty = none, then old iPXE waits 13 s"},
	CONF_ROWS_TLS(RELAY_CONF_TABLE_AT(tls), "bampi-relay"),
	CONF_ROW_METRICS_SOCKET(RELAY_CONF_TABLE_AT(metrics_socket)),
};
struct dhcp_relay_options relay_conf_dhcp(const struct relay_conf *conf)
{
	return (struct dhcp_relay_options){
		.interfaces = (const char *const *)conf->interfaces,
		.servers = (const char *const *)conf->dhcp.servers,
		.upstream_address = conf->dhcp.upstream_address,
		.server_override = conf->dhcp.server_override,
		.hop_limit = (uint8_t)conf->dhcp.hop_limit,
		.packet_limit = (size_t)conf->dhcp.packet_limit,
		.client_rate = {.burst = (uint32_t)conf->dhcp.client_burst,
				.per_second = (uint32_t)conf->dhcp.client_rate},
		.interface_rate = {.burst = (uint32_t)conf->dhcp.interface_burst,
				   .per_second = (uint32_t)conf->dhcp.interface_rate},
	};
}

int relay_conf_arp(const struct relay_conf *conf, struct ipv4_prefix ret[RELAY_ARP_PREFIXES],
		   size_t *ret_count, struct problem *problem)
{
	size_t count = 0;

	for (char **each = conf->arp.prefixes; *each; each++) {
		if (count == RELAY_ARP_PREFIXES)
			return problem_set(problem, E_LIMIT, "more than %d arp.prefixes",
					   RELAY_ARP_PREFIXES);
		if (ipv4_prefix_parse(*each, &ret[count++])) {
			(void)problem_set(problem, E_MALFORMED, "arp.prefixes: %s is not a prefix",
					  *each);
			problem_hint(problem, "as in 10.9.0.0/16, host bits zero");
			return E_MALFORMED;
		}
	}
	if (conf->arp.interfaces[0] && count == 0)
		return problem_set(problem, E_MALFORMED,
				   "arp.interfaces without arp.prefixes would answer nothing");
	*ret_count = count;
	return 0;
}

static int relay_conf_check(const void *values, struct problem *problem)
{
	const struct relay_conf *conf = values;
	const struct dhcp_relay_options dhcp = relay_conf_dhcp(conf);
	struct ipv4_prefix prefixes[RELAY_ARP_PREFIXES];
	size_t count;
	int rc;

	if (!conf->interfaces[0]) {
		(void)problem_set(problem, E_MALFORMED, "interfaces is empty");
		problem_hint(problem, "name the interfaces that nodes are on, as in interfaces = "
				      "[\"eth1\"]");
		return E_MALFORMED;
	}
	if (conf->controller[0] && conf->cache.folder[0] != '/')
		return problem_set(problem, E_MALFORMED, "cache.folder must be an absolute path");
	if (strncmp(conf->controller, "https:", 6) == 0 && !conf->tls.certificate[0]) {
		(void)problem_set(problem, E_MALFORMED,
				  "controller is asked by HTTPS, and tls.certificate is empty");
		problem_hint(problem,
			     "haasctl ca issue NAME --role relay makes one: the controller knows "
			     "relays by it");
		return E_MALFORMED;
	}
	if (conf->controller[0] && conf->tls.certificate[0] &&
	    strncmp(conf->controller, "https:", 6) != 0) {
		(void)problem_set(problem, E_MALFORMED,
				  "controller is asked by HTTP, with a certificate at hand");
		problem_hint(problem, "controller = \"https://ADDRESS:8443\"");
		return E_MALFORMED;
	}
	rc = relay_conf_arp(conf, prefixes, &count, problem);
	return rc ? rc : dhcp_relay_check(&dhcp, problem);
}

const struct conf_table relay_conf_table = {
	.rows = relay_conf_rows,
	.count = COUNT_OF(relay_conf_rows),
	.values_size = sizeof(struct relay_conf),
	.check = relay_conf_check,
};
