/* The program bampi-relay: its settings, and its parts wired together. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/http/metrics.h"
#include "common/io/conf_rows.h"
#include "common/io/loop.h"
#include "common/net/ipv4.h"

#include "bampi/relay/dhcp/dhcp_relay.h"

struct daemon_spec;

struct relay_conf {
	char *user;        /* to become when the ports are bound; "" = stay */
	char **interfaces; /* interface_parse */
	struct {
		char **servers; /* empty = no DHCP relay */
		uint32_t upstream_address;
		bool server_override;
		int64_t hop_limit;
		int64_t packet_limit;
		int64_t client_rate, client_burst, interface_rate, interface_burst;
	} dhcp;
	char *controller; /* "" = no boot cache */
	struct {
		uint32_t address;
		int64_t port;
	} http;
	int64_t https_port;
	struct conf_tls tls;
	bool tftp;
	struct {
		char *folder;
		int64_t limit_mib;
		char **keep;
	} cache;
	struct {
		char **interfaces; /* empty = no ARP proxy */
		char **prefixes;
	} arp;
	char **ra_interfaces; /* empty = no router advertisements */
	char *metrics_socket; /* "" = none */
};

extern const struct conf_table relay_conf_table;
#define RELAY_ARP_PREFIXES 64
/* conf->arp.prefixes as values. E_LIMIT, E_MALFORMED. */
MUST_USE int relay_conf_arp(const struct relay_conf *conf,
			    struct ipv4_prefix ret[RELAY_ARP_PREFIXES], size_t *ret_count,
			    struct problem *problem);
/* Of struct arp_proxy_counters. */
extern const struct metric_row relay_arp_rows[];
extern const size_t relay_arp_row_count;
/* The DHCP part of it; strings are borrowed from `conf`. */
struct dhcp_relay_options relay_conf_dhcp(const struct relay_conf *conf);

extern const struct daemon_spec relay_daemon;
