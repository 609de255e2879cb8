/* What a switch says in its data model, as the dialect's rows find it: VLANs, ports and what passes
 * them, neighbours, the MAC table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/vlan_set.h"

#include "peregrine/switch/netconf/netconf_dialect.h"
#include "peregrine/switch/netconf/netconf_xml_wire.h"
#include "peregrine/switch/switch_driver.h"

/* A row of the MAC table or of LLDP may be one of many thousands. */
enum { NETCONF_PORT_LIMIT = 4096, NETCONF_ROW_LIMIT = 200000 };

struct netconf_port {
	struct switch_port is;                /* without `vlans` */
	char key[64];                         /* how the model calls it */
	const struct netconf_port_kind *kind; /* NULL: the dialect has none */
	uint32_t port_index;
	bool is_routed, is_port, is_access, is_trunk, has_list;
	bool will_access, will_trunk; /* after the steps that are planned; neither: as it is */
	uint16_t access, native;      /* 0: not said */
	char lag[64];                 /* name or number of its aggregate; "": none */
	struct vlan_set list;
};

struct netconf_config {
	const struct netconf_dialect *dialect;
	struct netconf_port *ports; /* owned, as they came */
	size_t port_count, port_room;
	struct vlan_set vlans;
	char (*names)[33]; /* owned, VLAN_LIMIT of them */
	uint32_t odd;
	char odd_text[128];
	bool failed; /* no memory, or too many */
};

MUST_USE int netconf_config_new(const struct netconf_dialect *dialect, struct netconf_config **ret);
void netconf_config_free(struct netconf_config *config);

/* `data` answers the dialect's `look`. -ENOMEM, E_LIMIT; E_PROTOCOL: no VLAN and no port in it. */
MUST_USE int netconf_config_read(struct netconf_config *config, const xmlNode *data);

/* By our name or the model's, whatever the case; NULL: none. */
struct netconf_port *netconf_config_port(const struct netconf_config *config, const char *name);
/* Our name of a port that a model calls so; "" when the dialect has no such kind. */
void netconf_port_name(const struct netconf_dialect *dialect, const char *row, const char *text,
		       char ret[64]);

/* The port's membership; false: it has none, or none that is known. */
bool netconf_port_vlans(const struct netconf_config *config, const struct netconf_port *port,
			struct port_vlans *ret);

/* Rows of other answers, into the reading; ports are those of `config`. -ENOMEM, E_LIMIT. */
MUST_USE int netconf_read_neighbors(struct netconf_config *config, const xmlNode *data,
				    struct switch_reading *reading);
MUST_USE int netconf_read_fdb(struct netconf_config *config, const xmlNode *data,
			      struct switch_reading *reading);
void netconf_read_identity(const struct netconf_dialect *dialect, const xmlNode *data,
			   struct switch_identity *ret);
