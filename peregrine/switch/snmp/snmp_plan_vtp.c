/* SETs of CISCO-VTP-MIB and CISCO-VLAN-MEMBERSHIP-MIB. VLANs are made in the one edit buffer of a
 * VTP domain: copied, edited, applied, released (vtpVlanEditTable's description); who holds it
 * locks out all others. A trunk's allowed VLANs are four bitmaps, written under the advisory lock
 * vlanTrunkPortSetSerialNo. */
#include <errno.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/snmp/qbridge_wire.h"
#include "peregrine/switch/snmp/snmp_plan_private.h"
#include "peregrine/switch/snmp/snmp_reading.h"

#define SNMP_PLAN_VTP       1, 3, 6, 1, 4, 1, 9, 9, 46, 1
#define SNMP_PLAN_VTP_TRUNK SNMP_PLAN_VTP, 6, 1, 1

enum { MODE_CLIENT = 1 };                         /* managementDomainLocalMode */
enum { EDIT_COPY = 2, EDIT_APPLY, EDIT_RELEASE }; /* vtpVlanEditOperation */
enum { APPLY_SUCCEEDED = 2 };                     /* vtpVlanApplyStatus; 1 = in progress */
enum { SNMP_PLAN_VTP_ROW_CREATE_AND_GO = 4, SNMP_PLAN_VTP_ROW_DESTROY = 6 };
enum { SNMP_PLAN_VTP_TYPE_ETHERNET = 1 };
#define SAID_FIRST 100000U
enum { STATE_ON = 1, STATE_OFF = 2 }; /* vlanTrunkPortDynamicState */
enum { TAGGING_DOT1Q = 4 };           /* vlanTrunkPortEncapsulationType */
enum { ADMIN_UP = 1, ADMIN_DOWN = 2 };
enum { SERIAL_LAST = 2147483647 }; /* TestAndIncr (RFC 2579) wraps after it */
enum { ROWS_PER_SET = 4 };         /* a row of the edit table is never torn apart */

static const char snmp_plan_vtp_owner[] = "haas peregrined";

static const struct snmp_oid edit_operation = OID(SNMP_PLAN_VTP, 4, 1, 1, 1),
			     apply_status = OID(SNMP_PLAN_VTP, 4, 1, 1, 2),
			     buffer_owner = OID(SNMP_PLAN_VTP, 4, 1, 1, 3),
			     row_type = OID(SNMP_PLAN_VTP, 4, 2, 1, 3),
			     row_name = OID(SNMP_PLAN_VTP, 4, 2, 1, 4),
			     row_said = OID(SNMP_PLAN_VTP, 4, 2, 1, 6),
			     row_status = OID(SNMP_PLAN_VTP, 4, 2, 1, 11),
			     snmp_plan_vtp_serial = OID(SNMP_PLAN_VTP, 6, 2),
			     trunk_tagging = OID(SNMP_PLAN_VTP_TRUNK, 3),
			     trunk_native = OID(SNMP_PLAN_VTP_TRUNK, 5),
			     trunk_state = OID(SNMP_PLAN_VTP_TRUNK, 13),
			     vm_vlan = OID(1, 3, 6, 1, 4, 1, 9, 9, 68, 1, 2, 2, 1, 2),
			     admin_status = OID(1, 3, 6, 1, 2, 1, 2, 2, 1, 7);
static const struct snmp_oid snmp_plan_vtp_enabled[VLAN_BLOCKS] = {
	OID(SNMP_PLAN_VTP_TRUNK, 4), OID(SNMP_PLAN_VTP_TRUNK, 17), OID(SNMP_PLAN_VTP_TRUNK, 18),
	OID(SNMP_PLAN_VTP_TRUNK, 19)};

static bool snmp_plan_vtp_is_ring(unsigned vlan)
{
	return vlan >= VTP_RING_FIRST && vlan <= VTP_RING_LAST;
}

static const struct fact_vlan *snmp_plan_vtp_vlan_row(const struct snmp_facts *facts, unsigned id)
{
	for (uint32_t i = 0; i < fact_count(facts, FACT_VTP_VLANS); i++) {
		const struct fact_vlan *row = fact_at(facts, FACT_VTP_VLANS, i);

		/* vtpVlanType: those of other media are there, and are no VLANs of ours. */
		if (row->key[1] == id && row->type <= SNMP_PLAN_VTP_TYPE_ETHERNET)
			return row;
	}
	return NULL;
}

static bool snmp_plan_vtp_has_vlan(const struct snmp_facts *facts, unsigned id)
{
	return snmp_plan_vtp_vlan_row(facts, id) != NULL;
}

static void put_release(struct snmp_plan *plan, const struct snmp_oid *root, uint32_t index,
			uint32_t number)
{
	plan->held = plan->count;
	plan->release[plan->release_count++] = (struct snmp_binding){
		snmp_oid_with(root, index),
		{.type = SNMP_INTEGER, .number = number},
	};
}

/* --- VLANs --- */

static uint32_t snmp_plan_vtp_domain_of(const struct snmp_facts *facts)
{
	const struct fact_vlan *first =
		fact_count(facts, FACT_VTP_VLANS) ? fact_at(facts, FACT_VTP_VLANS, 0) : NULL;

	return first ? first->key[0] : 1;
}

/* IOS takes no name twice. */
static bool snmp_plan_vtp_is_taken(const struct snmp_facts *facts, const struct switch_edit *edits,
				   size_t count, const char *name)
{
	for (uint32_t i = 0; i < fact_count(facts, FACT_VTP_VLANS); i++) {
		const struct fact_vlan *row = fact_at(facts, FACT_VTP_VLANS, i);

		if (strcmp(row->name, name) == 0)
			return true;
	}
	for (size_t i = 0; i < count; i++) {
		if (strcmp(edits[i].vlan_name, name) == 0)
			return true;
	}
	return false;
}

/* `before` edits of the same run come first. */
static void snmp_plan_vtp_put_create(const struct snmp_facts *facts,
				     const struct switch_edit *edits, size_t before,
				     uint32_t domain, struct snmp_plan *plan)
{
	const struct switch_edit *edit = &edits[before];
	uint32_t number = SAID_FIRST + edit->vlan;
	const uint8_t octets[] = {(uint8_t)(number >> 24), (uint8_t)(number >> 16),
				  (uint8_t)(number >> 8), (uint8_t)number};
	char name[33];
	struct snmp_value said = {.type = SNMP_OCTETS, .size = sizeof(octets)};
	struct snmp_value text = {.type = SNMP_OCTETS};
	struct snmp_oid row;

	if (!edit->vlan_name[0])
		(void)text_format(name, sizeof(name), "VLAN%04u", edit->vlan);
	else if (snmp_plan_vtp_is_taken(facts, edits, before, edit->vlan_name))
		(void)text_format(name, sizeof(name), "%.27s-%u", edit->vlan_name, edit->vlan);
	else
		(void)text_copy(name, sizeof(name), edit->vlan_name);
	text.size = strlen(name);
	text.bytes = snmp_plan_keep(plan, name, text.size);
	said.bytes = snmp_plan_keep(plan, octets, sizeof(octets));
	row = snmp_oid_with(&row_status, domain);
	snmp_plan_number(plan, &row, edit->vlan, SNMP_INTEGER, SNMP_PLAN_VTP_ROW_CREATE_AND_GO);
	row = snmp_oid_with(&row_type, domain);
	snmp_plan_number(plan, &row, edit->vlan, SNMP_INTEGER, SNMP_PLAN_VTP_TYPE_ETHERNET);
	row = snmp_oid_with(&row_name, domain);
	snmp_plan_put(plan, &row, edit->vlan, &text);
	row = snmp_oid_with(&row_said, domain);
	snmp_plan_put(plan, &row, edit->vlan, &said);
}

static int snmp_plan_vtp_check_domain(const struct fact_domain *domain,
				      const struct switch_edit *edit, struct problem *problem)
{
	int rc;

	if (edit->vlan == 1 || snmp_plan_vtp_is_ring(edit->vlan))
		return problem_set(problem, E_CONFLICT, "VLAN %u is neither made nor deleted here",
				   edit->vlan);
	if (domain && domain->mode == MODE_CLIENT) {
		rc = problem_set(problem, E_CONFLICT,
				 "it is a VTP client: its VLANs are made on its server");
		problem_hint(problem, "make it VTP transparent: vtp mode transparent");
		return rc;
	}
	if (domain && domain->owner[0] && strcmp(domain->owner, snmp_plan_vtp_owner) != 0) {
		rc = problem_set(problem, -EBUSY, "its VLANs are being edited by \"%s\"",
				 domain->owner);
		problem_hint(problem,
			     "the switch lets go of an idle edit buffer after some minutes");
		return rc;
	}
	return 0;
}

static bool is_needed(const struct snmp_facts *facts, const struct switch_edit *edit)
{
	return snmp_plan_vtp_has_vlan(facts, edit->vlan) != (edit->kind == EDIT_VLAN_CREATE);
}

static size_t snmp_plan_vtp_put_rows(const struct snmp_facts *facts,
				     const struct switch_edit *edits, size_t count, uint32_t index,
				     struct snmp_plan *ret)
{
	struct snmp_oid row = snmp_oid_with(&row_status, index);
	size_t put = 0;
	size_t i = 0;

	for (; i < count && PLAN_STORE - ret->stored >= 64; i++) {
		if (snmp_plan_vtp_is_ring(edits[i].vlan) || edits[i].vlan == 1)
			break; /* it is told when its turn comes */
		if (!is_needed(facts, &edits[i]))
			continue;
		if (edits[i].kind == EDIT_VLAN_CREATE)
			snmp_plan_vtp_put_create(facts, edits, i, index, ret);
		else
			snmp_plan_number(ret, &row, edits[i].vlan, SNMP_INTEGER,
					 SNMP_PLAN_VTP_ROW_DESTROY);
		if (++put % ROWS_PER_SET == 0)
			snmp_plan_cut(ret, ACT_SET);
	}
	snmp_plan_cut(ret, ACT_SET);
	return i;
}

static int snmp_plan_vtp_plan_vlans(const struct snmp_facts *facts, const struct switch_edit *edits,
				    size_t count, struct snmp_plan *ret, struct problem *problem)
{
	uint32_t index = snmp_plan_vtp_domain_of(facts);
	const struct fact_domain *domain = fact_find(facts, FACT_VTP_DOMAINS, index, 0, 0);
	size_t needed = 0;
	int rc;

	for (size_t i = 0; i < count; i++)
		needed += is_needed(facts, &edits[i]);
	if (!needed) {
		ret->edits = count;
		return 0;
	}
	rc = snmp_plan_vtp_check_domain(domain, &edits[0], problem);
	if (rc)
		return rc;
	/* Ours, of a change that was broken off: what is in it is old. */
	if (domain && domain->owner[0])
		snmp_plan_number(ret, &edit_operation, index, SNMP_INTEGER, EDIT_RELEASE);
	snmp_plan_cut(ret, ACT_SET);
	snmp_plan_number(ret, &edit_operation, index, SNMP_INTEGER, EDIT_COPY);
	snmp_plan_put(ret, &buffer_owner, index,
		      &(struct snmp_value){.type = SNMP_OCTETS,
					   .bytes = (const uint8_t *)snmp_plan_vtp_owner,
					   .size = sizeof(snmp_plan_vtp_owner) - 1});
	snmp_plan_cut(ret, ACT_SET);
	put_release(ret, &edit_operation, index, EDIT_RELEASE);
	ret->edits = snmp_plan_vtp_put_rows(facts, edits, count, index, ret);
	snmp_plan_number(ret, &edit_operation, index, SNMP_INTEGER, EDIT_APPLY);
	snmp_plan_cut(ret, ACT_SET);
	snmp_plan_number(ret, &apply_status, index, SNMP_INTEGER, APPLY_SUCCEEDED);
	snmp_plan_cut(ret, ACT_AWAIT);
	snmp_plan_number(ret, &edit_operation, index, SNMP_INTEGER, EDIT_RELEASE);
	ret->frames = ret->count;
	return 0;
}

/* --- ports --- */

static int snmp_plan_vtp_check_port(const struct snmp_facts *facts, const struct switch_edit *edit,
				    struct fact_interface **ret, struct problem *problem)
{
	const struct fact_interface *interface = snmp_plan_interface(facts, edit->port);
	struct vlan_set all = edit->after.tagged;

	if (!interface)
		return snmp_plan_no_port(facts, edit->port, problem);
	if (!interface->vm_vlan && !interface->trunk_state)
		return problem_set(problem, E_CONFLICT, "port %s is in no VLANs (routed?)",
				   edit->port);
	if (!edit->after.trunk && !edit->after.native)
		return problem_set(problem, E_CONFLICT, "port %s: an access port is in a VLAN",
				   edit->port);
	vlan_set_add(&all, edit->after.native);
	for (unsigned v = vlan_set_next(&all, 1); v; v = vlan_set_next(&all, v + 1)) {
		if (snmp_plan_vtp_is_ring(v) || !snmp_plan_vtp_has_vlan(facts, v))
			return problem_set(problem, E_CONFLICT,
					   "VLAN %u for port %s does not exist", v, edit->port);
	}
	*ret = fact_find(facts, FACT_INTERFACES, interface->key[0], 0, 0);
	return 0;
}

/* Untagged frames are dropped when their VLAN is not one of the trunk's. */
static uint32_t snmp_plan_vtp_native_of(const struct fact_interface *port,
					const struct port_vlans *after)
{
	uint32_t native = VLAN_LAST;

	if (after->native)
		return after->native;
	if (port->trunk_native && port->trunk_native <= VLAN_LAST &&
	    !vlan_set_has(&after->tagged, port->trunk_native))
		return port->trunk_native;
	if (!vlan_set_has(&after->tagged, 1))
		return 1;
	while (native > 1 && vlan_set_has(&after->tagged, native))
		native--;
	return native;
}

/* The bits of those rings stay as they are. True: another bitmap than was read. */
static bool make_block(const struct fact_interface *port, const struct port_vlans *after,
		       size_t block, uint8_t ret[VLAN_BLOCK_SIZE])
{
	const struct fact_octets *now = &port->enabled[block];
	struct vlan_set set = after->tagged;
	struct vlan_set old = {0};

	if (after->native)
		vlan_set_add(&set, after->native);
	if (vlan_block_decode(now->bytes, now->size, block, &old))
		old = (struct vlan_set){0};
	for (unsigned v = VTP_RING_FIRST; block == 0 && v <= VTP_RING_LAST; v++) {
		if (vlan_set_has(&old, v))
			vlan_set_add(&set, v);
	}
	vlan_block_encode(&set, block, ret);
	for (size_t i = 0; i < VLAN_BLOCK_SIZE; i++) {
		if (ret[i] != (i < now->size ? now->bytes[i] : 0))
			return true;
	}
	/* One that is too long to be true says nothing. */
	return now->size > VLAN_BLOCK_SIZE;
}

/* The lists before the native VLAN: a native VLAN that they do not have yet passes nothing, so that
 * untagged frames are in the old one, in none, in the new one. `all`: also what is so already. */
static void put_trunk(struct snmp_facts *facts, struct fact_interface *port,
		      const struct switch_edit *edit, bool all, struct snmp_plan *plan)
{
	uint32_t native = snmp_plan_vtp_native_of(port, &edit->after);
	uint8_t octets[VLAN_BLOCK_SIZE];

	for (size_t block = 0; block < VLAN_BLOCKS; block++) {
		bool other = make_block(port, &edit->after, block, octets);

		/* An agent that has the first bitmap only is not asked for the others in vain. */
		if (!other && (!all || !port->enabled[block].size))
			continue;
		/* Bindings of this plan may hold it already. */
		if ((other || port->enabled[block].size != sizeof(octets)) &&
		    !fact_set_octets(facts, &port->enabled[block], octets, sizeof(octets)))
			return;
		snmp_plan_octets(plan, &snmp_plan_vtp_enabled[block], port->key[0],
				 &port->enabled[block]);
	}
	if (all || port->trunk_native != native)
		snmp_plan_number(plan, &trunk_native, port->key[0], SNMP_INTEGER, native);
	port->trunk_native = native;
}

static void put_tagging(struct fact_interface *port, struct snmp_plan *plan)
{
	/* 0: an agent without the column. A trunk cannot be made while it is negotiated. */
	if (!port->trunk_tagging || port->trunk_tagging == TAGGING_DOT1Q)
		return;
	snmp_plan_number(plan, &trunk_tagging, port->key[0], SNMP_INTEGER, TAGGING_DOT1Q);
	port->trunk_tagging = TAGGING_DOT1Q;
}

static void put_vm_vlan(const struct snmp_facts *facts, struct fact_interface *port, uint16_t vlan,
			struct snmp_plan *plan)
{
	snmp_plan_number(plan, &vm_vlan, port->key[0],
			 facts->vm_unsigned ? SNMP_GAUGE32 : SNMP_INTEGER, vlan);
	port->vm_vlan = vlan;
}

static void snmp_plan_vtp_put_state(struct fact_interface *port, uint32_t state,
				    struct snmp_plan *plan)
{
	if (port->trunk_state != state)
		snmp_plan_number(plan, &trunk_state, port->key[0], SNMP_INTEGER, state);
	port->trunk_state = state;
}

/* Once in a SET that writes bitmaps: somebody who wrote since we read makes it fail. */
static void put_serial(struct snmp_facts *facts, struct snmp_plan *plan)
{
	struct fact_pair *row = fact_find(facts, FACT_VTP_SERIAL, 0, 0, 0);

	if (!row)
		return;
	snmp_plan_number(plan, &snmp_plan_vtp_serial, 0, SNMP_INTEGER, row->status);
	row->status = row->status == SERIAL_LAST ? 0 : row->status + 1;
}

struct snmp_plan_vtp_port_run {
	struct fact_interface *ports[PLAN_EDITS];
	bool was_trunk[PLAN_EDITS];
	size_t count;
	struct vlan_set gains, leaves; /* VLANs of any port of it */
};

static bool snmp_plan_vtp_meets(const struct vlan_set *a, const struct vlan_set *b)
{
	struct vlan_set both = vlan_set_intersection(a, b);

	return !vlan_set_is_empty(&both);
}

/* A SET that takes one port into a VLAN and another out of it would, object by object, have both in
 * it for a moment. False: it must wait for the next run. */
static bool snmp_plan_vtp_join(struct snmp_facts *facts, struct snmp_plan_vtp_port_run *run,
			       struct fact_interface *port, const struct switch_edit *edit)
{
	struct port_vlans now = {0};
	struct vlan_set before;
	struct vlan_set after = edit->after.tagged;
	struct vlan_set gains;
	struct vlan_set leaves;

	(void)fact_port_vlans(facts, port, &now);
	before = now.tagged;
	vlan_set_add(&before, now.native);
	vlan_set_add(&after, edit->after.native);
	gains = vlan_set_minus(&after, &before);
	leaves = vlan_set_minus(&before, &after);
	if (snmp_plan_vtp_meets(&gains, &run->leaves) || snmp_plan_vtp_meets(&leaves, &run->gains))
		return false;
	for (size_t i = 0; i < run->count; i++) {
		if (run->ports[i] == port)
			return false;
	}
	run->gains = vlan_set_union(&run->gains, &gains);
	run->leaves = vlan_set_union(&run->leaves, &leaves);
	run->ports[run->count] = port;
	run->was_trunk[run->count++] = fact_is_trunk(port);
	return true;
}

/* What is of the port's mode that is not in force is set first, and found to be so, before the mode
 * is turned: a trunk never passes VLANs of an earlier life. */
static void snmp_plan_vtp_put_run(struct snmp_facts *facts, struct snmp_plan_vtp_port_run *run,
				  const struct switch_edit *edits, struct snmp_plan *plan)
{
	struct fact_pair *lock = fact_find(facts, FACT_VTP_SERIAL, 0, 0, 0);
	uint32_t unlocked = lock ? lock->status : 0;
	size_t first;
	bool trunks = false;

	for (size_t i = 0; i < run->count; i++)
		trunks |= edits[i].after.trunk;
	if (trunks)
		put_serial(facts, plan);
	for (size_t i = 0; i < run->count; i++) {
		if (edits[i].after.trunk) {
			put_trunk(facts, run->ports[i], &edits[i], !run->was_trunk[i], plan);
			put_tagging(run->ports[i], plan);
		} else {
			if (run->ports[i]->vm_vlan != edits[i].after.native)
				put_vm_vlan(facts, run->ports[i], edits[i].after.native, plan);
			snmp_plan_vtp_put_state(run->ports[i], STATE_OFF, plan);
		}
	}
	/* The lock alone is no change. */
	if (trunks && lock && plan->count == 1) {
		lock->status = unlocked;
		plan->count = 0;
	}
	snmp_plan_cut(plan, ACT_SET);
	first = plan->count;
	for (size_t i = 0; i < run->count; i++) {
		if (edits[i].after.trunk && !run->was_trunk[i])
			put_trunk(facts, run->ports[i], &edits[i], true, plan);
	}
	if (plan->count > first)
		snmp_plan_cut(plan, ACT_EXPECT);
	for (size_t i = 0; i < run->count; i++) {
		if (edits[i].after.trunk && run->ports[i]->trunk_state != STATE_ON)
			snmp_plan_vtp_put_state(run->ports[i], STATE_ON, plan);
	}
}

/* An agent that takes nothing of a mode in which the port is not: the port is down meanwhile. When
 * it fails the port goes back into the mode that it was in, where nothing was changed. */
static void put_steps(struct snmp_facts *facts, struct fact_interface *port,
		      const struct switch_edit *edit, struct snmp_plan *plan)
{
	bool up = port->admin == ADMIN_UP;

	if (up) {
		snmp_plan_number(plan, &admin_status, port->key[0], SNMP_INTEGER, ADMIN_DOWN);
		snmp_plan_cut(plan, ACT_SET);
		put_release(plan, &trunk_state, port->key[0], port->trunk_state);
		put_release(plan, &admin_status, port->key[0], ADMIN_UP);
	}
	if (edit->after.trunk)
		put_tagging(port, plan);
	port->trunk_state = 0;
	snmp_plan_vtp_put_state(port, edit->after.trunk ? STATE_ON : STATE_OFF, plan);
	snmp_plan_cut(plan, ACT_SET);
	for (int expected = 0; expected < 2; expected++) {
		if (edit->after.trunk && !expected)
			put_serial(facts, plan);
		if (edit->after.trunk)
			put_trunk(facts, port, edit, true, plan);
		else
			put_vm_vlan(facts, port, edit->after.native, plan);
		snmp_plan_cut(plan, expected ? ACT_EXPECT : ACT_SET);
	}
	if (!up && !fact_is_downed(facts, port))
		return; /* somebody wants it down */
	snmp_plan_number(plan, &admin_status, port->key[0], SNMP_INTEGER, ADMIN_UP);
	plan->downs = port->key[0];
	port->admin = ADMIN_UP;
}

/* It was taken down for an edit that was broken off, and is to come up again. */
static bool is_for_steps(const struct snmp_facts *facts, const struct fact_interface *port,
			 const struct switch_edit *edit)
{
	return (facts->by_steps && fact_is_trunk(port) != edit->after.trunk) ||
	       fact_is_downed(facts, port);
}

static int snmp_plan_vtp_plan_ports(struct snmp_facts *facts, const struct switch_edit *edits,
				    size_t count, struct snmp_plan *ret, struct problem *problem)
{
	struct snmp_plan_vtp_port_run run = {0};

	for (size_t i = 0; i < count; i++) {
		struct fact_interface *port = NULL;
		int rc = snmp_plan_vtp_check_port(facts, &edits[i], &port, problem);

		if (rc && i == 0)
			return rc;
		if (rc || !port)
			break; /* it is told when its turn comes */
		if (is_for_steps(facts, port, &edits[i])) {
			if (i == 0) {
				put_steps(facts, port, &edits[i], ret);
				ret->edits = 1;
			}
			break;
		}
		if (!snmp_plan_vtp_join(facts, &run, port, &edits[i]))
			break;
	}
	if (run.count) {
		snmp_plan_vtp_put_run(facts, &run, edits, ret);
		ret->edits = run.count;
	}
	ret->frames = ret->count;
	return 0;
}

/* --- what a refusal means --- */

const char *snmp_plan_await_text(int64_t number)
{
	static const char *const texts[] = {
		"none",
		"inProgress",
		"succeeded",
		"configNumberError: VLANs were changed meanwhile",
		"inconsistentEdit",
		"tooBig: no room for so many VLANs",
		"localNVStoreFail",
		"remoteNVStoreFail",
		"editBufferEmpty",
		"someOtherError",
		"notPrimaryServer",
	};

	return number < 0 || number >= (int64_t)COUNT_OF(texts) ? "?" : texts[number];
}

bool snmp_plan_is_lock(const struct snmp_plan *plan, size_t at)
{
	return snmp_oid_is_below(&plan->bindings[at].name, &snmp_plan_vtp_serial);
}

bool snmp_plan_retype(struct snmp_plan *plan, size_t at)
{
	if (!snmp_oid_is_below(&plan->bindings[at].name, &vm_vlan))
		return false;
	for (size_t i = 0; i < plan->count; i++) {
		if (snmp_oid_is_below(&plan->bindings[i].name, &vm_vlan))
			plan->bindings[i].value.type = SNMP_GAUGE32;
	}
	return true;
}

const struct snmp_plan_writer snmp_plan_vtp = {
	.ports = snmp_plan_vtp_plan_ports,
	.vlans = snmp_plan_vtp_plan_vlans,
	.has_vlan = snmp_plan_vtp_has_vlan,
};
