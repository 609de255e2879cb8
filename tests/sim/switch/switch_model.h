/* The VLANs of a switch as Q-BRIDGE-MIB (RFC 4363) sees them, without SNMP and without Open
 * vSwitch: what a SET does to them, what the data plane has to do, what a saved configuration looks
 * like. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/text.h"

#include "tests/sim/switch/switch_portlist.h"

#define SWITCH_NAME_SIZE 33
#define SWITCH_VID_MAX   4094

/* RowStatus (RFC 2579). */
enum switch_row_status {
	SWITCH_ROW_ACTIVE = 1,
	SWITCH_ROW_NOT_IN_SERVICE = 2,
	SWITCH_ROW_NOT_READY = 3,
	SWITCH_ROW_CREATE_AND_GO = 4,
	SWITCH_ROW_CREATE_AND_WAIT = 5,
	SWITCH_ROW_DESTROY = 6,
};

enum { SWITCH_ADMIT_ALL = 1, SWITCH_ADMIT_TAGGED = 2 }; /* dot1qPortAcceptableFrameTypes */

/* Answers to a SET, with the numbers of RFC 3416. */
enum switch_error {
	SWITCH_OK = 0,
	SWITCH_GENERAL = 5,
	SWITCH_WRONG_LENGTH = 8,
	SWITCH_WRONG_VALUE = 10,
	SWITCH_NO_CREATION = 11,
	SWITCH_INCONSISTENT_VALUE = 12,
	SWITCH_COMMIT_FAILED = 14,
	SWITCH_NOT_WRITABLE = 17,
	SWITCH_INCONSISTENT_NAME = 18,
};

struct switch_vlan {
	uint16_t vid;
	uint8_t status;   /* enum switch_row_status: active, not in service */
	uint32_t number;  /* the how-manieth that was made: the FdbId of switches that count */
	uint32_t changed; /* hundredths of a second since the start */
	char name[SWITCH_NAME_SIZE];
	struct switch_portlist egress, untagged, forbidden;
};

struct switch_port {
	uint32_t number; /* base port */
	uint16_t pvid;
	uint8_t frames; /* SWITCH_ADMIT_ */
	bool filters;   /* dot1qPortIngressFiltering */
};

struct switch_model {
	struct switch_vlan *vlans; /* by VID */
	size_t vlan_count;
	struct switch_port *ports; /* by number */
	size_t port_count;
	uint32_t deletes; /* dot1qVlanNumDeletes */
	uint32_t made;
};

/* The effect of a new untagged VLAN (dot1qPvid and the untagged membership):
 *
 *   ALONE          none on each other, as the standard says
 *   MOVES          the port leaves its old VLAN
 *   LEAVES_TAGGED  the port stays in the old VLAN, tagged
 *   IS_UNTAGGED    as LEAVES_TAGGED, and the PVID always equals the one untagged VLAN (ProCurve) */
enum switch_pvid_manner {
	SWITCH_PVID_ALONE,
	SWITCH_PVID_MOVES,
	SWITCH_PVID_LEAVES_TAGGED,
	SWITCH_PVID_IS_UNTAGGED
};

/* What a SET can do, one per varbind. */
enum switch_verb {
	SWITCH_CREATE,
	SWITCH_NAME,
	SWITCH_EGRESS,
	SWITCH_FORBIDDEN,
	SWITCH_UNTAGGED,
	SWITCH_PVID,
	SWITCH_FRAMES,
	SWITCH_FILTER,
	SWITCH_DELETE,
	SWITCH_SAVE,
	SWITCH_SPAN,   /* a mirror session; command lines only */
	SWITCH_BUNDLE, /* an aggregate of ports; command lines only */
	SWITCH_VERBS
};
extern const char *const switch_verb_words[SWITCH_VERBS];

struct switch_change {
	enum switch_verb verb;
	uint32_t index; /* VID, or base port */
	uint32_t value;
	struct switch_portlist ports;
	char name[SWITCH_NAME_SIZE];
	bool wait; /* SWITCH_CREATE: by createAndWait */
};

/* What Open vSwitch is told of a port (ovs-vswitchd.conf.db(5), Port: vlan_mode, tag, trunks). */
enum switch_mode { SWITCH_ACCESS, SWITCH_TRUNK, SWITCH_NATIVE_TAGGED, SWITCH_NATIVE_UNTAGGED };
extern const char *const switch_mode_words[4];

struct switch_tagging {
	enum switch_mode mode;
	uint16_t tag;        /* access and native modes */
	uint8_t trunks[512]; /* a bit per VID, for all but access */
};

void switch_model_done(struct switch_model *model);
MUST_USE int switch_model_copy(const struct switch_model *model, struct switch_model *ret);
/* NULL when there is none. Borrowed until the next change. */
struct switch_vlan *switch_model_vlan(const struct switch_model *model, uint32_t vid);
struct switch_port *switch_model_port(const struct switch_model *model, uint32_t number);
MUST_USE int switch_model_add_vlan(struct switch_model *model, uint16_t vid, const char *name,
				   struct switch_vlan **ret);
MUST_USE int switch_model_add_port(struct switch_model *model, uint32_t number,
				   struct switch_port **ret);

/* One varbind. `now` becomes the VLAN's time of change. */
enum switch_error switch_model_apply(struct switch_model *model, const struct switch_change *change,
				     enum switch_pvid_manner manner, uint32_t now);
/* What a switch may insist on beside the standard; true words of struct switch_faults. */
struct switch_insists {
	bool never_alone, pvid_member, pvid_stays;
	const uint8_t *access; /* by port number: 1 = in its PVID's VLAN and no other; NULL = none
				*/
};
/* Does it let the model go from `before` to `after`? */
enum switch_error switch_model_allows(const struct switch_model *before,
				      const struct switch_model *after,
				      const struct switch_insists *insists);
/* What must hold when all varbinds of a SET are in: untagged members are members, a PVID exists. */
enum switch_error switch_model_check(const struct switch_model *model);

/* The port settings: the VLANs that a port is in both ways. What else happens: switch_model_flows.
 */
struct switch_tagging switch_model_tagging(const struct switch_model *model,
					   const struct switch_port *port);
bool switch_tagging_equal(const struct switch_tagging *a, const struct switch_tagging *b);
bool switch_tagging_has(const struct switch_tagging *tagging, uint32_t vid);
/* The other way round, for what somebody set on Open vSwitch itself; makes the VLANs it names. */
MUST_USE int switch_model_import(struct switch_model *model, struct switch_port *port,
				 const struct switch_tagging *tagging);

/* The OpenFlow rules of the bridge: forward as the ports are set, and what these cannot express. */
void switch_model_flows(const struct switch_model *model, struct text *ret);

/* The saved configuration, a line per VLAN and port. */
void switch_model_write(const struct switch_model *model, struct text *ret);
/* E_MALFORMED. */
MUST_USE int switch_model_read(const char *text, struct switch_model *ret);
