/* The program bampi-bootd: its settings, and its parts wired together. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/http/metrics.h"
#include "common/io/conf_rows.h"
#include "common/io/loop.h"

#include "bampi/bootd/dhcp/architecture_policy.h"

struct daemon_spec;

struct bootd_conf {
	char *database;    /* conninfo */
	char *user;        /* to become when the ports are bound; "" = stay */
	char **interfaces; /* DHCP; empty = all */
	int64_t quarantine_s;
	int64_t lease_limit;
	uint32_t http_address;
	char **relays; /* bampi-relay's addresses */
	uint32_t server_address;
	int64_t relay_rate;
	int64_t http_port;
	int64_t https_port;
	struct conf_tls tls;
	int64_t http_source_connections;
	bool tftp;
	char *boot_dir;
	char **boot_files; /* texts: ARCHITECTURE:FILE */
	char *image_dir;
	char *copy_dir;
	char *kernel_console;
	char **ra_interfaces;  /* empty = no router advertisements */
	char **arp_interfaces; /* empty = no ARP proxy */
	char **arp_prefixes;   /* texts; checked by bootd_conf_check */
	char *metrics_socket;  /* "" = none */
};

extern const struct conf_table bootd_conf_table;
#define BOOTD_RELAYS     1024
#define BOOTD_BOOT_FILES 64

/* conf->relays as addresses. E_LIMIT, E_MALFORMED. */
MUST_USE int bootd_conf_relays(const struct bootd_conf *conf, uint32_t ret[BOOTD_RELAYS],
			       size_t *ret_count, struct problem *problem);
/* conf->boot_files as rows. E_LIMIT, E_MALFORMED. */
MUST_USE int bootd_conf_boot_files(const struct bootd_conf *conf,
				   struct boot_file ret[BOOTD_BOOT_FILES], size_t *ret_count,
				   struct problem *problem);

/* Of struct arp_proxy_counters. */
extern const struct metric_row arp_counter_rows[];
extern const size_t arp_counter_row_count;

extern const struct daemon_spec bootd_daemon;
