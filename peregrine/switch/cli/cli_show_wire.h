/* Tables and lists of blocks that show commands print: interfaces, MAC addresses, LLDP neighbours.
 * Rows are known by their words (a MAC, a VLAN, a port of this family), not by columns. Columns
 * move from one release to the next. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "peregrine/switch/cli/cli_dialect.h"

enum { CLI_ROW_LIMIT = 65536 };

struct cli_fdb_row {
	uint8_t mac[6];
	uint16_t vlan; /* 0 = not told */
	char port[64]; /* our form */
};
/* Each row that has a MAC and a port; false of `fn` ends it. Returns the number of rows. */
typedef bool (*cli_fdb_fn)(void *context, const struct cli_fdb_row *row);
size_t cli_fdb_each(const struct cli_dialect *dialect, const char *text, cli_fdb_fn fn,
		    void *context);

struct cli_port_row {
	char port[64];
	bool up, shut;
	bool routed; /* says the table; a routed port, or one of no VLAN */
};
typedef bool (*cli_port_row_fn)(void *context, const struct cli_port_row *row);
size_t cli_ports_each(const struct cli_dialect *dialect, const char *text, cli_port_row_fn fn,
		      void *context);

struct cli_lldp_row {
	char local[64]; /* our form */
	char chassis[64], port[64], port_text[64], system[64];
};
typedef bool (*cli_lldp_fn)(void *context, const struct cli_lldp_row *row);
/* A neighbour's names and descriptions may hold newlines, and with them lines of other ports. */
enum cli_lldp_sum {
	CLI_LLDP_ADDS_UP, /* as many local ports as the switch counts; or its lines cannot be forged */
	CLI_LLDP_TOO_MANY,  /* more: some are forged */
	CLI_LLDP_UNCOUNTED, /* it prints no total: what neighbours say must be borne out elsewhere */
};
enum cli_lldp_sum cli_lldp_sum(const struct cli_dialect *dialect, const char *text);
/* Blocks that have a local port and a chassis id. */
size_t cli_lldp_each(const struct cli_dialect *dialect, const char *text, cli_lldp_fn fn,
		     void *context);

/* "00:11:22:33:44:55", "0011.2233.4455", "0011-2233-4455", "001122-334455", "00-11-..". */
bool cli_mac_parse(const char *word, size_t length, uint8_t ret[6]);
