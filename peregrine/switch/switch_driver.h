/* The calls that a switch answers, and the row that each kind of switch fills in. A driver starts
 * one call at a time and reports its end later. The order between switches, reading back, undo,
 * retries and fairness belong to the callers (switch_queue.h, reconcile/), so every family gets
 * them alike.
 *
 * Two shapes carry everything: a *reading* (what the switch says of itself) and an *edit* (one
 * change with what was there before, so that it can be undone). An edit of a port names the port's
 * whole membership, never "one more VLAN": what was on the port before is gone after
 * (CCI-MOC/hil#687). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/fence.h"
#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/net/vlan_set.h"

#include "peregrine/switch/sampling_policy.h"
#include "peregrine/switch/switch_health.h"
#include "peregrine/switch/switch_told.h"

/* --- who is asked --- */

enum snmp_auth { SNMP_AUTH_NONE, SNMP_AUTH_SHA, SNMP_AUTH_SHA256 };
enum snmp_priv { SNMP_PRIV_NONE, SNMP_PRIV_AES };

struct switch_endpoint;

/* Keeps the SSH host key that a switch shows first. */
struct switch_host_keys {
	/* From the loop. True: it is kept, go on. False: it will be; the endpoint comes again with
	 * it, and ends this session. */
	bool (*first)(void *context, const struct switch_endpoint *endpoint, const char *key);
	void *context;
};

/* A value: copy it freely, but end every copy with switch_endpoint_wipe. */
struct switch_endpoint {
	int64_t id;            /* switch.id; the key of the queue */
	char name[64];         /* switch.name, for problems and log lines */
	char family[24];       /* row of switch_family_table; "" = find it by sysObjectID */
	char address[64];      /* literal IPv4 or IPv6 management address */
	uint16_t snmp_port;    /* 0 = 161 */
	uint16_t cli_port;     /* 0 = 22 */
	uint16_t netconf_port; /* 0 = 830 */
	uint16_t ovsdb_port;   /* 0 = 6640 */

	/* SNMP: v3 when `snmp_user` is set, else v2c. Writing needs a community of its own with
	 * v2c. Nothing is set without authentication and encryption unless `snmp_insecure`. */
	char snmp_community[64], snmp_write_community[64];
	char snmp_user[33];
	enum snmp_auth snmp_auth;
	enum snmp_priv snmp_priv;
	char snmp_auth_secret[65], snmp_priv_secret[65];
	bool snmp_insecure;

	/* CLI and NETCONF over SSH: `host_key` is the one key to trust, "SHA256:..." as OpenSSH
	 * prints it. "" is refused, unless `host_key_any`: then `host_keys` keeps the first that it
	 * shows, and no password is sent before. SHA-1 and CBC are spoken only with
	 * `ssh_insecure`. */
	char ssh_user[33], ssh_password[129], ssh_enable[129];
	char host_key[64];
	bool host_key_any, ssh_insecure;
	const struct switch_host_keys *host_keys; /* borrowed; NULL: no key is kept */

	/* OVSDB: which certificate the switch shows ("SHA256:HEX", "ca"), or "plain" for no TLS;
	 * "" is refused. See ovsdb/ovsdb_tls.h. */
	char ovsdb_peer[112];

	uint32_t timeout_ms; /* of one round trip; 0 = the family's */
	uint8_t retries;     /* SNMP: sent again so often */
};

void switch_endpoint_wipe(struct switch_endpoint *endpoint);

/* --- what a switch says of itself --- */

/* Membership of a port. Access: native set, tagged empty, frames with a tag are dropped. Trunk: the
 * tagged VLANs pass with a tag; native (0 = none: untagged frames are dropped) passes without. */
struct port_vlans {
	bool trunk;
	/* An access port that exchanges no frames with others that are so, whatever its VLAN. Only of
	 * families that are told (FAMILY_APART_SET); within one switch. */
	bool apart;
	uint16_t native;
	struct vlan_set tagged;
};

/* Does a port hear the others of its VLAN at this switch, as far as it shows that? */
enum port_apart { APART_UNTOLD, APART_NOT, APART_FROM_ALIKE };

bool port_vlans_equal(const struct port_vlans *a, const struct port_vlans *b);

enum port_stp {
	STP_UNKNOWN,
	STP_DISABLED,
	STP_BLOCKING,
	STP_LISTENING,
	STP_LEARNING,
	STP_FORWARDING
};

struct switch_port {
	char name[64];      /* ifName; the port's name everywhere in our system */
	uint32_t if_index;  /* IF-MIB ifIndex; changes with a reboot on some, so never stored as key
			     */
	bool index_made;    /* if_index is our own count: this way in does not tell the switch's,
			       which samples of traffic go by */
	uint32_t base_port; /* dot1dBasePort; 0 = not a bridge port. Neither equal to if_index nor
			       in its order */
	char alias[64];     /* ifAlias: what an operator wrote */
	uint8_t mac[6];
	bool admin_up, up;
	uint64_t link_mark; /* differs = the link went or came since; 0 = the switch does not say */
	uint64_t speed_bps; /* 0 = unknown */
	uint32_t lag;       /* ifIndex of the aggregate it is a member of; 0 = none */
	bool is_lag;
	bool alike; /* others have its name on the switch: this one ends in "#ifIndex", and no edit
		       may name it */
	enum port_stp stp;
	bool has_vlans; /* `vlans` was read */
	enum port_apart apart;
	uint16_t apart_group; /* APART_FROM_ALIKE: from those of the same group */
	bool unproven; /* an access port by its lists; whether it drops tagged frames the switch
			   does not show and cannot be told */
	struct port_vlans vlans;
};

/* Of LLDP (802.1AB lldpRemTable), ids as text: MACs "aa:bb:..", addresses dotted, names as they
 * are; bytes that do not print become '?'. */
struct switch_neighbor {
	uint32_t if_index; /* ours; 0 = the local port could not be told, with `local_port` as read
			    */
	uint32_t local_port; /* lldpRemLocalPortNum */
	uint8_t chassis_subtype, port_subtype;
	char chassis[64], port[64], port_text[64], system[64];
};

struct switch_fdb_entry {
	uint8_t mac[6];
	uint16_t vlan; /* 0 = the switch does not say (BRIDGE-MIB) */
	uint32_t if_index;
};

struct switch_vlan {
	uint16_t id;
	char name[33];
};

struct switch_identity {
	char object_id[64]; /* sysObjectID, numeric, ".1.3.6.1.4.1.9.1.1208" */
	char text[256];     /* sysDescr */
	char system[64];    /* sysName */
	char chassis[64];   /* LLDP's own chassis id, as text */
	char family[24];    /* row chosen */
	char twin[64];      /* another switch that answers with its SNMPv3 engine id; "" = none */
	uint64_t uptime_ms; /* sysUpTime: went back = it rebooted */
	uint64_t vlan_changes; /* dot1qVlanNumDeletes and dot1qNumVlans mixed, or the family's own
				  counter: differs = somebody changed something; 0 = it has none */
	/* A digest of which port is in which VLAN, or the family's mark of its last change of
	 * configuration: differs = somebody moved a port, perhaps we; 0 = not told this time */
	uint64_t member_changes;
	uint64_t neighbor_changes; /* lldpStatsRemTablesLastChangeTime and one: differs = LLDP saw a
				      neighbour come, go or change; 0 = it has none */
	uint64_t link_changes; /* a digest of all ports' links: differs = one of them went or came,
				  also when it is as before; 0 = not told this time */
};

/* Which parts of a reading are wanted; the answer says which came. */
enum switch_part {
	PART_IDENTITY = 1 << 0,
	PART_PORTS = 1 << 1,
	PART_VLANS = 1 << 2, /* the VLAN table and, with PART_PORTS, every port's membership */
	PART_NEIGHBORS = 1 << 3,
	PART_FDB = 1 << 4,
	PART_ALL = (1 << 5) - 1,
};

struct switch_reading {
	unsigned parts;                      /* that are complete; the others are as found so far */
	struct switch_told told[TOLD_COUNT]; /* the same for an operator, and why */
	struct switch_identity identity;
	struct switch_port *ports; /* owned, sorted by if_index */
	size_t port_count;
	struct switch_vlan *vlans; /* owned, sorted by id */
	size_t vlan_count;
	struct switch_neighbor *neighbors;
	size_t neighbor_count;
	bool neighbors_uncounted; /* text without a total: a neighbour may have forged others */
	struct switch_fdb_entry *fdb;
	size_t fdb_count;
	struct sampling_found sampling; /* of SWITCH_SAMPLING */
	struct switch_health health;    /* of SWITCH_HEALTH */
	uint32_t requests;              /* PDUs, commands or messages that it took */
	uint32_t odd; /* rows that made no sense and were left out (MAC 0, broken indexes, ...) */
	char odd_text[128]; /* the first of them, for an operator */
};

void switch_reading_done(struct switch_reading *reading);
/* Borrowed; NULL when there is none. */
const struct switch_port *switch_reading_port(const struct switch_reading *reading,
					      uint32_t if_index);
const struct switch_port *switch_reading_port_named(const struct switch_reading *reading,
						    const char *name);

/* --- what is changed --- */

enum switch_edit_kind { EDIT_VLAN_CREATE, EDIT_VLAN_DELETE, EDIT_PORT };

struct switch_edit {
	enum switch_edit_kind kind;
	uint16_t vlan;      /* EDIT_VLAN_* */
	char vlan_name[33]; /* EDIT_VLAN_CREATE, and EDIT_VLAN_DELETE for the undo */
	char port[64];      /* EDIT_PORT */
	struct port_vlans before, after;
};

/* The edit that takes `edit` back. */
struct switch_edit switch_edit_undo(const struct switch_edit *edit);

enum edit_result {
	EDIT_NOT_TRIED,
	EDIT_TAKEN,   /* the switch said yes to each part of it; reading back is still the proof */
	EDIT_REFUSED, /* the switch said no, and says that nothing of it was done */
	EDIT_UNKNOWN, /* no answer, or half of it: read before anything else */
};

/* --- the call --- */

enum switch_op {
	SWITCH_READ,   /* parts -> reading. With `only_ports` the memberships of these alone, and
			  whether they are up: what else is said of a port may be missing */
	SWITCH_APART,  /* reading->ports: their names and `apart`, by the command line */
	SWITCH_CHANGE, /* edits -> results. In the order given; ends at the first that is not taken
			*/
	SWITCH_SAVE,   /* running configuration to the one it starts with */
	SWITCH_LOCATE, /* port, seconds: blink its LED; E_UNSUPPORTED where the hardware cannot */
	SWITCH_SAMPLING, /* sampling -> reading->sampling; E_UNSUPPORTED, E_CONFLICT when it is
			    refused */
	SWITCH_MIRROR,   /* mirrors -> results: these sessions of ours, and no other one */
	SWITCH_LAG, /* lag: makes or unmakes an aggregate with LACP. E_UNSUPPORTED: the driver has
			  no lag_name. E_CONFLICT: refused, nothing was done */
	SWITCH_HEALTH, /* health -> reading->health; by driver "snmp" alone, whatever else reads the
			  switch */
	SWITCH_OP_COUNT
};

/* Our sessions have names that begin so; nobody else's are touched. */
#define SWITCH_MIRROR_PREFIX "haas-capture-"
enum { SWITCH_MIRRORS_MAX = 64 };

/* One session: what comes in and goes out at `port` is copied to `target`. */
struct switch_mirror {
	char name[32];
	char port[64], target[64];
};

/* The switch wraps what it copies (ERSPAN: GRE of type 0x88be or 0x22eb) and sends it itself; the
 * targets are `to` then. Literal IPv4. */
struct switch_tunnel {
	char to[46];   /* the collector; "" = no tunnel, the target is a port of the switch */
	char from[46]; /* an address that the switch has */
	uint16_t id;   /* ERSPAN's session, 1 to 1023; 0 = as the family has it */
};

/* An aggregate (IEEE 802.1AX, LACP active) of access ports that no tenant uses.
 *
 * To make it, the driver reads the ports first. A port that is not an access port of its VLAN, or
 * belongs to another aggregate, is a conflict. The aggregate becomes an access port of `vlan`
 * before its first member joins.
 *
 * To unmake it, the aggregate has to be an access port of `vlan`. Each member is an access port of
 * `vlan` as soon as it leaves the aggregate. Making one that exists, or unmaking one that does not,
 * succeeds. */
enum { SWITCH_LAG_MEMBERS = 8 };
struct switch_lag {
	bool make;
	char name[64]; /* of the aggregate, as lag_name() says it */
	uint16_t vlan; /* that the switch has */
	char members[SWITCH_LAG_MEMBERS][64];
	uint16_t member_vlans[SWITCH_LAG_MEMBERS]; /* to make it: what each is in until then */
	size_t member_count;
};

struct switch_request {
	enum switch_op op;
	/* What changes something: nothing of the call is sent after its end, to the middle of a
	 * dialogue. The call ends with E_LAPSED then. NULL = nothing was claimed. Borrowed. */
	struct fence *fence;
	unsigned parts;                  /* SWITCH_READ: bits of enum switch_part */
	unsigned health;                 /* SWITCH_HEALTH: bits of enum health_part */
	const char *const *only_ports;   /* SWITCH_READ: NULL-ended, NULL = all */
	const struct switch_edit *edits; /* SWITCH_CHANGE; borrowed until the call has ended */
	size_t edit_count;
	enum edit_result *results; /* of edit_count, or mirror_count; the caller's, written as they
				      come */
	char port[64];             /* SWITCH_LOCATE; SWITCH_MIRROR: the mirror port, when known */
	uint16_t seconds;          /* SWITCH_LOCATE; 0 = off */
	struct sampling_wanted sampling; /* SWITCH_SAMPLING */
	/* SWITCH_MIRROR: all that there shall be, none = end them all. EDIT_REFUSED: the switch has
	 * no such port, or none to copy to; the others are made all the same. */
	const struct switch_mirror *mirrors;
	size_t mirror_count;
	struct switch_tunnel tunnel;  /* SWITCH_MIRROR */
	const struct switch_lag *lag; /* SWITCH_LAG */
};

/* Is the port among those of request->only_ports? */
bool switch_port_is_wanted(const char *const *only_ports, const char *name);

/* A call has ended; from the loop, never from inside start(). rc 0: what *reading owns passes to
 * the callee (SWITCH_READ, SWITCH_SAMPLING, SWITCH_APART,
 * SWITCH_HEALTH; else NULL). Both pointers are borrowed for the call. */
typedef void (*switch_call_fn)(void *context, int rc, struct switch_reading *reading,
			       const struct problem *problem);

struct loop;
struct worker;
struct snmp_client;
struct sim_fabric;

/* What we show to switches that speak OVSDB over TLS, and who signs for theirs: paths of PEM files,
 * "" = there is none. Read anew for each connection. */
struct ovsdb_files {
	const char *certificate, *key, *ca;
};

/* What those above give to drivers; it outlives their sessions. */
struct switch_host {
	struct loop *loop;
	struct worker *worker;                 /* for libraries that block */
	struct snmp_client *snmp;              /* sockets and engine ids of SNMP */
	const struct ovsdb_files *ovsdb_files; /* NULL = none: no TLS */
	struct sim_fabric *sim;                /* what driver "sim" speaks to; NULL = nothing */
};

/* What SWITCH_LOCATE brings about. */
struct switch_located {
	bool of_port;     /* the port's own LED; else the one of the whole switch */
	bool ends_itself; /* after `seconds`; else it blinks until it is told to end */
	uint16_t seconds; /* as the switch rounds them; 0 = off */
};

struct switch_family; /* switch_family_table.h: one row per family, constant */

struct switch_driver {
	const char *name; /* "snmp", "cli", "netconf", "ovsdb", "ovsdb+snmp", "sim" */
	/* Makes the state kept for one switch; no I/O. The endpoint is copied. -ENOMEM, or -EINVAL
	 * with a problem (no credentials for this transport, ...). */
	int (*open)(const struct switch_endpoint *endpoint, const struct switch_family *family,
		    const struct switch_host *host, void **ret_session, struct problem *problem);
	/* Starts one call; never two at once for one session. Calls `fn` once, by about
	 * `deadline_ms` (clock_monotonic_ms), unless cancelled or closed. -ENOMEM, -EAGAIN: the
	 * call was not started. Errors given to `fn`, always with a problem:
	 * E_AUTHENTICATION  wrong community, user, key or password
	 * E_TIMEOUT         no answer in time; edits under way are EDIT_UNKNOWN
	 * E_DENIED          the switch answers, but may not be written to
	 * E_CONFLICT        the switch refuses in its present state; the edit is EDIT_REFUSED
	 * E_UNSUPPORTED     this family cannot do that over this transport
	 * -EBUSY            another user holds the configuration, or no session is free: ask later
	 * E_PROTOCOL        the answer makes no sense; the results hold what is known */
	int (*start)(void *session, const struct switch_request *request, int64_t deadline_ms,
		     switch_call_fn fn, void *context);
	/* Forgets the call under way: `fn` will not be called. Its edits are EDIT_UNKNOWN from
	 * EDIT_NOT_TRIED on. False: cannot be forgotten, wait. */
	bool (*cancel)(void *session);
	/* Forgets the call, ends the session in the background and frees. NULL is fine. */
	void (*close)(void *session);
	/* What SWITCH_LOCATE would bring about on this family; false: nothing. May be NULL: nothing
	 * ever. Pure. */
	bool (*locates)(const struct switch_family *family, uint16_t seconds,
			struct switch_located *ret);
	bool locks_out; /* some switches lock an account after a few wrong passwords: ask rarely */
	bool refuses_mutely; /* a wrong secret may get no answer at all (SNMP: a community) */
	bool mirrors;        /* it takes SWITCH_MIRROR; else the queue refuses it: E_UNSUPPORTED */
	/* The name of aggregate `number` (1 is the first) on this family as its readings show it;
	 * false: it has no such, and none at all when there is no number 1. NULL: no SWITCH_LAG,
	 * the queue refuses it. Pure. */
	bool (*lag_name)(const struct switch_family *family, unsigned number, char ret[64]);
};

/* By name; NULL when there is none. */
const struct switch_driver *switch_driver_find(const char *name);
