/* What a switch behind an emulated command line knows: VLANs, ports, its startup configuration, and
 * what it has learned. In memory, or with an Open vSwitch bridge as its data plane: port N is then
 * the bridge's OpenFlow port N. Not thread-safe; the server holds one lock around it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/net/mac.h"
#include "common/net/vlan_set.h"

#include "tests/sim/switch/switch_model.h"
#include "tests/sim/switch/switch_ovs.h"

enum {
	CLI_PORTS_MAX = 128,
	CLI_LAGS = 16, /* aggregates that somebody can make: the last of the ports, no sockets */
	CLI_LAG_FIRST = CLI_PORTS_MAX - CLI_LAGS + 1,
	CLI_NAME_SIZE = 65,
	CLI_FACTS_MAX = 4096,
	CLI_KEPT_MAX = 48,
	CLI_KEPT_SIZE = 128
};

/* Ports are numbered from 1. */
struct cli_ports {
	uint64_t words[3];
};
void cli_ports_add(struct cli_ports *ports, unsigned number);
bool cli_ports_has(const struct cli_ports *ports, unsigned number);
/* The smallest that is not below `from`; 0 when there is none. */
unsigned cli_ports_next(const struct cli_ports *ports, unsigned from);

/* MEMBER is how VLAN-centric switches think: one untagged VLAN (`access`, 0 for none) and a list of
 * tagged ones (`allowed`). OFF is a routed port: no VLAN at all. */
enum cli_port_mode { CLI_ACCESS, CLI_TRUNK, CLI_GENERAL, CLI_MEMBER, CLI_OFF };

/* What a port was said to be where that does not decide its VLANs alone: Edgecore ECS, SONiC. */
enum cli_link { CLI_LINK_NONE, CLI_LINK_ACCESS, CLI_LINK_TRUNK, CLI_LINK_HYBRID, CLI_LINK_ROUTED };

struct cli_port {
	enum cli_port_mode mode;
	enum cli_link link;
	uint16_t access, native;  /* untagged VLAN of an access port; of a trunk */
	struct vlan_set allowed;  /* trunk: may pass; general, member: tagged */
	struct vlan_set untagged; /* general mode only */
	bool is_allowed_all;      /* nobody has said a list yet */
	bool is_hybrid;           /* Dell OS9: portmode hybrid */
	bool is_tagged_only;      /* frames without a tag are dropped */
	bool is_shut;
	bool is_sampled;          /* Dell OS9: sflow ingress-enable */
	bool is_monitor;          /* NX-OS: switchport monitor */
	uint8_t apart;            /* group of ports that exchange no frames, + 1; 0: none */
	struct cli_ports drops;   /* ProCurve: frames of the port leave by none of these */
	uint8_t lag;              /* number of the aggregate that it is a member of; 0: none */
	bool is_there;            /* an aggregate: it was made */
	char flow[CLI_NAME_SIZE]; /* IOS: "MONITOR sampler SAMPLER" */
	char description[CLI_NAME_SIZE];
};

/* A port as `model` says; the list of one that lets all VLANs pass is filled in. */
struct cli_port cli_port_new(const struct cli_port *model);

/* A mirror session; number 0: none. */
enum { CLI_MIRRORS = 4 };
struct cli_mirror_row {
	unsigned number, target; /* target 0: none yet */
	struct cli_ports sources;
	char name[CLI_NAME_SIZE]; /* where sessions have one */
	bool is_sent, is_on;      /* ERSPAN: no target, but: */
	unsigned id;
	char from[16], to[16];
};

/* IOS: a record, exporter, monitor or sampler of Flexible NetFlow; no name: none. */
enum { CLI_FLOWS = 8 };
struct cli_flow {
	char name[24], lines[16][80];
	unsigned kind;
	size_t count;
};

/* SONiC: no name: no collector; of ports [0] is unused, rate 0 as the speed says. */
struct cli_sflow {
	bool is_up;
	unsigned poll;
	struct {
		char name[20], address[48], udp[8], vrf[16];
	} collectors[2];
	bool is_off[CLI_PORTS_MAX + 1];
	unsigned rates[CLI_PORTS_MAX + 1];
};

struct cli_config {
	struct vlan_set vlans;
	char names[VLAN_LIMIT][CLI_NAME_SIZE];
	struct cli_port ports[CLI_PORTS_MAX + 1]; /* [0] is unused */
	char kept[CLI_KEPT_MAX][CLI_KEPT_SIZE];   /* lines that are shown as they are: sFlow */
	struct cli_mirror_row mirrors[CLI_MIRRORS];
	struct cli_flow flows[CLI_FLOWS];
	struct cli_sflow sflow; /* SONiC */
};

struct cli_learned {
	struct mac mac;
	uint16_t vid, port;
};
struct cli_neighbor {
	uint16_t port;
	struct mac chassis;
	char port_id[CLI_NAME_SIZE], system[CLI_NAME_SIZE];
};

/* Of switches that are Linux machines too. */
struct cli_file {
	char path[CLI_NAME_SIZE];
	char *text; /* owned; NULL: a free place */
};

struct cli_store {
	unsigned port_count;
	struct cli_config *running, *startup;
	bool is_saved;
	struct cli_learned learned[CLI_FACTS_MAX];
	size_t learned_count;
	struct cli_neighbor neighbors[CLI_PORTS_MAX];
	size_t neighbor_count;
	/* By port: the port that is the aggregate it is a member of; 0 = none. */
	uint8_t member_of[CLI_PORTS_MAX + 1];
	bool is_aggregate[CLI_PORTS_MAX + 1];
	struct cli_file files[16];
	struct switch_ovs *ovs; /* NULL: in memory. Owned. */
	/* The data plane's bonds, as they were made, and what it calls its ports. */
	struct cli_ports bonds[CLI_LAGS + 1];
	char plane_names[CLI_PORTS_MAX + 1][SWITCH_PORT_NAME];
	struct switch_ovs_mirror copies[CLI_MIRRORS]; /* its mirrors, the same; number 0: none */
	struct switch_ovs_sflow samples;              /* its sFlow; rate 0: none */
	struct switch_plane plane;
};

/* `port` is what a port looks like from the factory. */
MUST_USE int cli_store_new(unsigned port_count, const struct cli_port *port,
			   struct cli_store **ret);
void cli_store_free(struct cli_store *store);
void cli_store_freep(struct cli_store **store);

/* Lines `vlan VID [NAME]`, `mac PORT VID MAC`, `neighbor PORT CHASSIS PORTID SYSTEM`, `lag PORT
 * MEMBER MEMBER` (port PORT is no socket but an aggregate by LACP; shown by NETCONF alone): what is
 * there before anybody logs in, also after a reboot. E_MALFORMED with the line in `wrong`. */
MUST_USE int cli_store_seed(struct cli_store *store, const char *text, char wrong[128]);

/* The port that is aggregate `number`; 0: there can be none of that number. */
unsigned cli_lag_port(unsigned number);
/* The number of the aggregate that port is; 0: it is a socket. */
unsigned cli_lag_number(unsigned port);
struct cli_ports cli_lag_members(const struct cli_config *config, unsigned number);

/* Which VLANs a port is in now: only those that exist count. */
void cli_store_membership(const struct cli_store *store, const struct cli_port *port,
			  unsigned *ret_untagged, struct vlan_set *ret_tagged);
void cli_store_create(struct cli_store *store, unsigned vid, const char *name);
void cli_store_save(struct cli_store *store);
void cli_store_reboot(struct cli_store *store);
/* Open vSwitch gets what differs, the VLAN table (switch_ovs.h) with it. 0 without one. */
MUST_USE int cli_store_push(struct cli_store *store);
/* What the data plane has learned, in place of what the seed said. */
void cli_store_learn(struct cli_store *store);
