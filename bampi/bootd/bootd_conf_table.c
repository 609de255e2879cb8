#include "common/base/error.h"
#include "common/io/conf_rows.h"
#include "common/net/ipv4.h"

#include "bampi/bootd/boot/script_table.h"
#include "bampi/bootd/bootd.h"

#define BOOTD_CONF_TABLE_AT(member) offsetof(struct bootd_conf, member)

static const struct conf_row bootd_conf_rows[] = {
	CONF_ROW_DATABASE(BOOTD_CONF_TABLE_AT(database), "bampi_bootd"),
	{"user", CONF_STRING, BOOTD_CONF_TABLE_AT(user), "haas-bootd", 0, 0, NULL, NULL,
	 "user to become when the ports are bound; empty = stay who we are"},
	{"interfaces", CONF_STRINGS, BOOTD_CONF_TABLE_AT(interfaces), "", 0, 0, NULL, NULL,
	 "interfaces to answer DHCP on, relays' side included; empty = all"},
	{"server_address", CONF_ADDRESS, BOOTD_CONF_TABLE_AT(server_address), "0.0.0.0", 0, 0, NULL,
	 NULL,
	 "our own address in DHCP (option 54) when several bampi-bootd serve the same subnets; 0.0.0.0 = the subnet's boot_server, which nodes boot from in any case"},
	{"relay_rate", CONF_INT, BOOTD_CONF_TABLE_AT(relay_rate), "500", 0, 1000000, NULL,
	 "per second",
	 "most messages of unknown clients answered per relay or link; 0 = any number"},
	{"quarantine", CONF_INT, BOOTD_CONF_TABLE_AT(quarantine_s), "3600", 10, 604800, NULL,
	 "seconds", "how long a declined address is not offered again"},
	{"lease_limit", CONF_INT, BOOTD_CONF_TABLE_AT(lease_limit), "1000000", 100, 16000000, NULL,
	 "leases", "most leases kept in memory; about 100 bytes each"},
	{"http_address", CONF_ADDRESS, BOOTD_CONF_TABLE_AT(http_address), "0.0.0.0", 0, 0, NULL,
	 NULL, "address that nodes fetch from; 0.0.0.0 = all"},
	{"http_port", CONF_INT, BOOTD_CONF_TABLE_AT(http_port), "8080", 1, 65535, NULL, "port",
	 "port of the boot HTTP server, also in the URLs handed out"},
	{"https_port", CONF_INT, BOOTD_CONF_TABLE_AT(https_port), "8443", 1, 65535, NULL, "port",
	 "port of the same server by HTTPS, with a certificate"},
	{"relays", CONF_STRINGS, BOOTD_CONF_TABLE_AT(relays), "", 0, 0, NULL, NULL,
	 "addresses that bampi-relay asks from; only they may ask in a node's name, by HTTPS with a certificate of a relay; empty = none"},
	{"http_source_connections", CONF_INT, BOOTD_CONF_TABLE_AT(http_source_connections), "256",
	 4, 4096, NULL, "connections",
	 "most HTTP connections of one address at once; relays have no such limit"},
	{"tftp", CONF_BOOL, BOOTD_CONF_TABLE_AT(tftp), "true", 0, 0, NULL, NULL,
	 "answer TFTP; firmware that cannot boot by HTTP needs it"},
	{"boot_dir", CONF_STRING, BOOTD_CONF_TABLE_AT(boot_dir), "/var/lib/haas/boot", 0, 0, NULL,
	 NULL, "folder of undionly.kpxe, snponly.efi, vmlinuz and agent.img"},
	{"boot_files", CONF_STRINGS, BOOTD_CONF_TABLE_AT(boot_files), "", 0, 0, NULL, NULL,
	 "files of boot_dir for architectures without a loader of ours, as in 22:snponly-arm64.efi (DHCP's option 93); empty = none"},
	{"image_dir", CONF_STRING, BOOTD_CONF_TABLE_AT(image_dir), "/var/lib/haas/images", 0, 0,
	 NULL, NULL, "folder of the disk images, named by digest"},
	{"copy_dir", CONF_STRING, BOOTD_CONF_TABLE_AT(copy_dir), "/var/lib/haas/bampi-bootd/images",
	 0, 0, NULL, NULL,
	 "folder of images and packages copied from another controller by HTTPS; empty = none is copied"},
	{"kernel_console", CONF_STRING, BOOTD_CONF_TABLE_AT(kernel_console), "ttyS0", 0, 0, NULL,
	 NULL, "console= of the agent's kernel"},
	{"ra_interfaces", CONF_STRINGS, BOOTD_CONF_TABLE_AT(ra_interfaces), "", 0, 0, NULL, NULL,
	 "provisioning links that get router advertisements; empty = none, then old iPXE waits 13 s"},
	{"arp_interfaces", CONF_STRINGS, BOOTD_CONF_TABLE_AT(arp_interfaces), "", 0, 0, NULL, NULL,
	 "links on which ARP is answered for addresses behind another link; empty = none"},
	{"arp_prefixes", CONF_STRINGS, BOOTD_CONF_TABLE_AT(arp_prefixes), "", 0, 0, NULL, NULL,
	 "prefixes that ARP is answered for, as in 10.9.0.0/16; needs net.ipv4.ip_forward"},
	CONF_ROWS_TLS(BOOTD_CONF_TABLE_AT(tls), "bampi-bootd"),
	CONF_ROW_METRICS_SOCKET(BOOTD_CONF_TABLE_AT(metrics_socket)),
};
int bootd_conf_relays(const struct bootd_conf *conf, uint32_t ret[BOOTD_RELAYS], size_t *ret_count,
		      struct problem *problem)
{
	size_t count = 0;

	for (char **each = conf->relays; each && *each; each++) {
		if (count == BOOTD_RELAYS)
			return problem_set(problem, E_LIMIT, "more than %d relays", BOOTD_RELAYS);
		if (ipv4_parse(*each, &ret[count]))
			return problem_set(problem, E_MALFORMED,
					   "\"%s\" is not the IPv4 address of a relay", *each);
		count++;
	}
	*ret_count = count;
	return 0;
}

int bootd_conf_boot_files(const struct bootd_conf *conf, struct boot_file ret[BOOTD_BOOT_FILES],
			  size_t *ret_count, struct problem *problem)
{
	size_t count = 0;

	for (char **each = conf->boot_files; each && *each; each++) {
		int rc;

		if (count == BOOTD_BOOT_FILES)
			return problem_set(problem, E_LIMIT, "more than %d boot_files",
					   BOOTD_BOOT_FILES);
		rc = boot_file_parse(*each, &ret[count], problem);
		if (rc)
			return rc;
		count++;
	}
	*ret_count = count;
	return 0;
}

static int check_arp(const struct bootd_conf *conf, struct problem *problem)
{
	struct ipv4_prefix prefix;
	size_t count = 0;

	for (char **each = conf->arp_prefixes; each && *each; each++, count++) {
		if (ipv4_prefix_parse(*each, &prefix) == 0)
			continue;
		(void)problem_set(problem, E_MALFORMED, "arp_prefixes: %s is not a prefix", *each);
		problem_hint(problem, "as in 10.9.0.0/16, host bits zero");
		return E_MALFORMED;
	}
	if (conf->arp_interfaces && conf->arp_interfaces[0] && count == 0)
		return problem_set(problem, E_MALFORMED,
				   "arp_interfaces without arp_prefixes would answer nothing");
	return 0;
}

static int bootd_conf_check(const void *values, struct problem *problem)
{
	const struct bootd_conf *conf = values;
	struct boot_file boot_files[BOOTD_BOOT_FILES];
	uint32_t relays[BOOTD_RELAYS];
	size_t count;
	int rc;

	if (conf->database[0] == '\0') {
		(void)problem_set(problem, E_MALFORMED, "database is empty");
		problem_hint(
			problem,
			"give a conninfo, as in \"host=/var/lib/haas/pg dbname=haas user=bampi_bootd\"");
		return E_MALFORMED;
	}
	if (conf->boot_dir[0] != '/' || conf->image_dir[0] != '/' ||
	    (conf->copy_dir[0] && conf->copy_dir[0] != '/')) {
		(void)problem_set(problem, E_MALFORMED,
				  "boot_dir, image_dir and copy_dir must be absolute paths");
		return E_MALFORMED;
	}
	if (!script_table_console(conf->kernel_console)) {
		(void)problem_set(problem, E_MALFORMED, "kernel_console \"%s\" is not one console",
				  conf->kernel_console);
		problem_hint(problem, "give its name alone, as in \"ttyS0\" or \"ttyS1,115200n8\"");
		return E_MALFORMED;
	}
	rc = bootd_conf_relays(conf, relays, &count, problem);
	if (!rc)
		rc = bootd_conf_boot_files(conf, boot_files, &count, problem);
	return rc ? rc : check_arp(conf, problem);
}

const struct conf_table bootd_conf_table = {
	.rows = bootd_conf_rows,
	.count = COUNT_OF(bootd_conf_rows),
	.values_size = sizeof(struct bootd_conf),
	.check = bootd_conf_check,
};
