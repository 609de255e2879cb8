/* A running configuration, or a table that serves as one, by the rules of a dialect: which VLANs
 * there are and what each port is a member of. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/vlan_set.h"

#include "peregrine/switch/cli/cli_dialect.h"
#include "peregrine/switch/switch_driver.h"

enum { CLI_PORT_LIMIT = 4096, CLI_FILTER_LIMIT = 512 };

/* As configured, before it is decided what counts. */
struct cli_port {
	char name[64]; /* our form: cli_port.h */
	char alias[64];
	bool shut, routed;
	uint32_t lag;    /* its number; 0 = none */
	uint16_t apart;  /* group of ports that exchange no frames; 0 = none */
	bool configured; /* it has a section, or is a member of a VLAN */
	enum cli_fact mode;
	uint16_t access, native; /* 0 = not said */
	bool native_none, allowed_said;
	struct vlan_set allowed;
	struct vlan_set tagged, untagged;
};

/* Frames of `port` leave by none of these ports. */
struct cli_filter {
	size_t port; /* index */
	char list[256];
};

struct cli_config {
	const struct cli_dialect *dialect;
	struct vlan_set vlans;
	struct {
		char name[33];
	} names[VLAN_LIMIT];
	struct cli_port *ports; /* owned, as they came */
	size_t port_count, port_room;
	/* What keeps ports apart beside cli_port.apart: cli_apart_policy.h. */
	bool apart_on, apart_vague;
	struct cli_filter *filters; /* owned */
	size_t filter_count;
	uint32_t odd; /* lines of ours that made no sense */
	char odd_text[128];
};

MUST_USE int cli_config_new(const struct cli_dialect *dialect, struct cli_config **ret);
void cli_config_free(struct cli_config *config);
/* Adds what `text` (clean) says. -ENOMEM, E_LIMIT (more ports than CLI_PORT_LIMIT). */
MUST_USE int cli_config_read(struct cli_config *config, const char *text);

/* Any form of the name; NULL = not there. Borrowed until the next read. */
const struct cli_port *cli_config_port(const struct cli_config *config, const char *name);
/* What is configured, as a membership; false: it is no port of a bridge. */
bool cli_port_vlans(const struct cli_config *config, const struct cli_port *port,
		    struct port_vlans *ret);
/* The VLANs that pass on the trunk that it is, or would be. */
struct vlan_set cli_port_allowed(const struct cli_config *config, const struct cli_port *port);

/* "10,20-30", "10 20 to 30", "all", "none": E_MALFORMED for anything else. */
MUST_USE int cli_list_parse(const char *text, struct vlan_set *ret);
