#include "tests/sim/switch/switch_cisco.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"

LEAKS_LEFT_TO_SANITIZER

#define DEAD_VID   4095   /* on no wire */
#define DEADMAN_MS 300000 /* an edit buffer that nobody works on is let go of */

bool switch_cisco_trunks(const struct cisco_port *port)
{
	/* Nobody at the other end negotiates. */
	return port->state == CISCO_ON || port->state == CISCO_ON_QUIET;
}

static bool switch_cisco_allows(const struct cisco_port *port, uint32_t vid)
{
	return (port->allowed[vid / 8] & (0x80U >> vid % 8)) != 0;
}

static void switch_cisco_allow(struct cisco_port *port, uint32_t vid, bool member)
{
	uint8_t bit = (uint8_t)(0x80U >> vid % 8);

	port->allowed[vid / 8] =
		(uint8_t)(member ? port->allowed[vid / 8] | bit : port->allowed[vid / 8] & ~bit);
}

int switch_cisco_new(struct switch_cisco **ret)
{
	struct switch_cisco *cisco = calloc(1, sizeof(*cisco));

	if (!cisco)
		return -ENOMEM;
	cisco->apply_status = 2; /* succeeded */
	*ret = cisco;
	return 0;
}

uint32_t switch_cisco_applied(const struct switch_device *device)
{
	const struct switch_cisco *cisco = device->cisco;

	return clock_monotonic_ms() < cisco->apply_ms ? 1 : cisco->apply_status;
}

uint32_t switch_cisco_copied(const struct cisco_copy *copy)
{
	if (copy->status != SWITCH_ROW_ACTIVE)
		return 1; /* waiting */
	return clock_monotonic_ms() < copy->done_ms ? 2 : copy->state;
}

/* --- ports and the data plane --- */

/* What a port means to Open vSwitch: only VLANs that are there pass. */
static struct switch_tagging switch_cisco_tagging_of(const struct switch_model *model,
						     const struct cisco_port *port)
{
	struct switch_tagging tagging = {.mode = SWITCH_TRUNK};
	size_t count = 0;

	if (!switch_cisco_trunks(port)) {
		if (switch_model_vlan(model, port->access))
			return (struct switch_tagging){SWITCH_ACCESS, port->access, {0}};
		tagging.trunks[DEAD_VID / 8] = 1U << (DEAD_VID % 8);
		return tagging; /* a port of a VLAN that is no more is inactive */
	}
	for (size_t i = 0; i < model->vlan_count; i++) {
		uint16_t vid = model->vlans[i].vid;

		if (!switch_cisco_allows(port, vid))
			continue;
		if (vid == port->native) {
			tagging.mode = SWITCH_NATIVE_UNTAGGED;
			tagging.tag = vid;
		}
		tagging.trunks[vid / 8] = (uint8_t)(tagging.trunks[vid / 8] | 1U << (vid % 8));
		count++;
	}
	if (!count)
		tagging.trunks[DEAD_VID / 8] = 1U << (DEAD_VID % 8);
	return tagging;
}

/* The model of the same VLANs with the ports as these are. */
static int make_model(const struct switch_model *from, const struct switch_cisco *cisco,
		      struct switch_model *ret)
{
	int rc = switch_model_copy(from, ret);

	for (size_t i = 0; i < cisco->port_count && rc == 0; i++) {
		struct switch_port *port = switch_model_port(ret, cisco->ports[i].number);
		struct switch_tagging tagging = switch_cisco_tagging_of(ret, &cisco->ports[i]);

		if (port)
			rc = switch_model_import(ret, port, &tagging);
	}
	if (rc != 0)
		switch_model_done(ret);
	return rc;
}

static void port_from(struct cisco_port *port, const struct switch_tagging *tagging)
{
	if (tagging->mode == SWITCH_ACCESS) {
		port->state = CISCO_OFF;
		port->access = tagging->tag;
		return;
	}
	port->state = CISCO_ON;
	port->tagging = CISCO_DOT1Q;
	memset(port->allowed, 0, sizeof(port->allowed));
	for (uint16_t vid = 1; vid <= SWITCH_VID_MAX; vid++)
		switch_cisco_allow(port, vid, switch_tagging_has(tagging, vid));
	if (tagging->mode != SWITCH_TRUNK) {
		port->native = tagging->tag;
		switch_cisco_allow(port, tagging->tag, true);
	} else if (switch_cisco_allows(port, port->native)) {
		port->native = 1; /* frames without a tag are in a VLAN that does not pass */
		switch_cisco_allow(port, 1, false);
	}
}

static void new_port(struct switch_cisco *cisco, uint32_t number)
{
	struct cisco_port *port = &cisco->ports[cisco->port_count++];

	*port = (struct cisco_port){.number = number,
				    .state = CISCO_AUTO,
				    .tagging = CISCO_NEGOTIATE,
				    .access = 1,
				    .native = 1};
	memset(port->allowed, 0xff, sizeof(port->allowed));
}

static void follow_ports(struct switch_device *device)
{
	struct switch_cisco *cisco = device->cisco;
	struct switch_model model;

	for (size_t i = 0; i < device->plane.port_count; i++) {
		const struct switch_plane_port *at = &device->plane.ports[i];
		size_t found = 0;

		while (found < cisco->port_count && cisco->ports[found].number != at->number)
			found++;
		if (found == cisco->port_count && found < CISCO_PORTS_MAX)
			new_port(cisco, at->number);
		if (found < cisco->port_count)
			cisco->ports[found].if_index = at->if_index;
	}
	if (make_model(&device->running, cisco, &model) != 0)
		return;
	for (size_t i = 0; i < cisco->port_count; i++) {
		struct cisco_port *port = &cisco->ports[i];
		const struct switch_port *ours = switch_model_port(&model, port->number);
		const struct switch_port *theirs =
			switch_model_port(&device->running, port->number);
		struct switch_tagging a;
		struct switch_tagging b;

		if (!ours || !theirs)
			continue;
		a = switch_model_tagging(&model, ours);
		b = switch_model_tagging(&device->running, theirs);
		if (!switch_tagging_equal(&a, &b))
			port_from(port, &b);
	}
	switch_model_done(&model);
}

void switch_cisco_follow(struct switch_device *device)
{
	struct switch_cisco *cisco = device->cisco;

	follow_ports(device);
	if (device->faults.trunk_contended)
		cisco->serial++;
	if (cisco->held && clock_monotonic_ms() - cisco->held_ms > DEADMAN_MS) {
		cisco->held = false;
		cisco->owner[0] = '\0';
		cisco->row_count = 0;
	}
}

/* --- a SET --- */

/* What a SET works on: a copy of everything, which becomes true or is thrown away. */
struct attempt {
	struct switch_device *device;
	struct switch_cisco cisco;
	struct switch_model model;
	bool applies, writes, saves;
};

static bool switch_cisco_is_ring(uint32_t vid)
{
	return vid >= CISCO_RING_FIRST && vid <= CISCO_RING_LAST;
}

static bool switch_cisco_is_refused(const struct attempt *attempt, enum switch_verb verb)
{
	return (attempt->device->faults.refuse & (1U << verb)) != 0;
}

static bool switch_cisco_is_lost(const struct attempt *attempt, enum switch_verb verb)
{
	return (attempt->device->faults.lost & (1U << verb)) != 0;
}

static void apply_buffer(struct attempt *attempt)
{
	struct switch_cisco *cisco = &attempt->cisco;
	struct switch_vlan *vlan;

	cisco->apply_ms = clock_monotonic_ms() + attempt->device->faults.vtp_slow_ms;
	cisco->apply_status = attempt->device->faults.vtp_refuse ? 4 : 2;
	for (size_t i = 0; i < cisco->row_count && cisco->apply_status == 2; i++) {
		const struct cisco_row *row = &cisco->rows[i];

		if (row->status != SWITCH_ROW_DESTROY &&
		    (!row->has_type || !row->has_name || !row->has_said))
			cisco->apply_status = 4;
		for (size_t j = 0; j < attempt->model.vlan_count; j++) {
			if (row->status != SWITCH_ROW_DESTROY &&
			    attempt->model.vlans[j].vid != row->vid &&
			    strcmp(attempt->model.vlans[j].name, row->name) == 0)
				cisco->apply_status = 4; /* no name twice */
		}
	}
	for (size_t i = 0; i < cisco->row_count && cisco->apply_status == 2; i++) {
		const struct cisco_row *row = &cisco->rows[i];
		struct switch_change gone = {.verb = SWITCH_DELETE, .index = row->vid};

		if (row->status == SWITCH_ROW_DESTROY)
			(void)switch_model_apply(&attempt->model, &gone, SWITCH_PVID_ALONE, 0);
		else if (!switch_model_vlan(&attempt->model, row->vid))
			cisco->apply_status = switch_model_add_vlan(&attempt->model, row->vid,
								    row->name, &vlan) == 0
						      ? 2
						      : 9; /* someOtherError */
	}
	attempt->applies = true;
}

static enum switch_error set_operation(struct attempt *attempt, const struct cisco_set *set)
{
	struct switch_cisco *cisco = &attempt->cisco;

	switch (set->number) {
	case 2: /* copy */
		if (cisco->held || attempt->device->faults.vtp_busy ||
		    attempt->device->faults.vtp_client)
			return SWITCH_INCONSISTENT_VALUE;
		cisco->held = true;
		cisco->owner[0] = '\0';
		cisco->held_ms = clock_monotonic_ms();
		cisco->row_count = 0;
		return SWITCH_OK;
	case 3: /* apply */
		if (!cisco->held)
			cisco->apply_status = 8; /* editBufferEmpty */
		else
			apply_buffer(attempt);
		return SWITCH_OK;
	case 4: /* release */
		cisco->held = false;
		cisco->owner[0] = '\0';
		cisco->row_count = 0;
		return SWITCH_OK;
	case 5: cisco->held_ms = clock_monotonic_ms(); return SWITCH_OK;
	default: return SWITCH_WRONG_VALUE;
	}
}

static enum switch_error set_owner(struct attempt *attempt, const struct cisco_set *set)
{
	if (!attempt->cisco.held)
		return SWITCH_INCONSISTENT_VALUE;
	if (set->size >= sizeof(attempt->cisco.owner))
		return SWITCH_WRONG_LENGTH;
	memcpy(attempt->cisco.owner, set->octets, set->size);
	attempt->cisco.owner[set->size] = '\0';
	return SWITCH_OK;
}

static struct cisco_row *switch_cisco_row_of(struct switch_cisco *cisco, uint16_t vid)
{
	for (size_t i = 0; i < cisco->row_count; i++) {
		if (cisco->rows[i].vid == vid)
			return &cisco->rows[i];
	}
	return NULL;
}

static enum switch_error set_row_status(struct attempt *attempt, const struct cisco_set *set,
					uint16_t vid)
{
	struct switch_cisco *cisco = &attempt->cisco;
	bool goes = set->number == SWITCH_ROW_DESTROY;
	bool there = switch_model_vlan(&attempt->model, vid) != NULL;

	if (set->number != SWITCH_ROW_CREATE_AND_GO && !goes)
		return SWITCH_WRONG_VALUE;
	if (switch_cisco_is_refused(attempt, goes ? SWITCH_DELETE : SWITCH_CREATE))
		return SWITCH_INCONSISTENT_VALUE;
	if (vid == 1 || switch_cisco_is_ring(vid) || (there && !goes))
		return SWITCH_INCONSISTENT_VALUE;
	if (cisco->row_count == CISCO_ROWS_MAX)
		return SWITCH_GENERAL;
	if ((goes && !there) || switch_cisco_is_lost(attempt, goes ? SWITCH_DELETE : SWITCH_CREATE))
		return SWITCH_OK;
	cisco->rows[cisco->row_count++] = (struct cisco_row){.vid = vid, .status = set->number};
	return SWITCH_OK;
}

/* vtpVlanEditEntry.column.domain.vid */
static enum switch_error switch_cisco_set_row(struct attempt *attempt, const struct cisco_set *set)
{
	uint16_t vid = (uint16_t)set->object[8];
	struct cisco_row *row = switch_cisco_row_of(&attempt->cisco, vid);

	if (!attempt->cisco.held || set->object[7] != CISCO_DOMAIN || set->object[8] < 1 ||
	    set->object[8] > SWITCH_VID_MAX)
		return SWITCH_INCONSISTENT_NAME;
	attempt->cisco.held_ms = clock_monotonic_ms();
	if (set->object[6] == 11)
		return set_row_status(attempt, set, vid);
	if (switch_cisco_is_lost(attempt, SWITCH_CREATE))
		return SWITCH_OK;
	if (!row)
		return SWITCH_INCONSISTENT_NAME;
	switch (set->object[6]) {
	case 3: row->has_type = set->number == 1; return SWITCH_OK;
	case 4:
		if (set->size < 1 || set->size >= sizeof(row->name))
			return SWITCH_WRONG_LENGTH;
		memcpy(row->name, set->octets, set->size);
		row->name[set->size] = '\0';
		row->has_name = true;
		return SWITCH_OK;
	case 6: row->has_said = set->size == 4; return SWITCH_OK;
	default: return SWITCH_NOT_WRITABLE;
	}
}

static struct cisco_port *switch_cisco_port_of(struct attempt *attempt, uint32_t if_index)
{
	for (size_t i = 0; i < attempt->cisco.port_count; i++) {
		if (attempt->cisco.ports[i].if_index == if_index)
			return &attempt->cisco.ports[i];
	}
	return NULL;
}

/* What is of a trunk while the port is none: 0 = taken, else the answer; SWITCH_OK with *skip. */
static enum switch_error check_in_access(const struct attempt *attempt,
					 const struct cisco_port *port, bool *skip)
{
	*skip = false;
	if (switch_cisco_trunks(port))
		return SWITCH_OK;
	switch (attempt->device->faults.trunk_in_access) {
	case SWITCH_IN_ACCESS_TAKEN: return SWITCH_OK;
	case SWITCH_IN_ACCESS_REFUSED: return SWITCH_INCONSISTENT_VALUE;
	case SWITCH_IN_ACCESS_LOST: *skip = true; return SWITCH_OK;
	}
	return SWITCH_GENERAL;
}

static enum switch_error set_bitmap(struct attempt *attempt, struct cisco_port *port, size_t block,
				    const struct cisco_set *set)
{
	bool skip;
	enum switch_error error = check_in_access(attempt, port, &skip);

	/* vlanTrunkPortVlansEnabled is 128 octets, the others up to it. */
	if (set->size > CISCO_BLOCK || (block == 0 && set->size != CISCO_BLOCK))
		return SWITCH_WRONG_LENGTH;
	if (switch_cisco_is_refused(attempt, SWITCH_EGRESS))
		return SWITCH_INCONSISTENT_VALUE;
	if (error != SWITCH_OK || skip || switch_cisco_is_lost(attempt, SWITCH_EGRESS))
		return error;
	memset(port->allowed + block * CISCO_BLOCK, 0, CISCO_BLOCK);
	memcpy(port->allowed + block * CISCO_BLOCK, set->octets, set->size);
	return SWITCH_OK;
}

static enum switch_error set_state(struct attempt *attempt, struct cisco_port *port,
				   const struct cisco_set *set)
{
	bool on = set->number == CISCO_ON || set->number == CISCO_ON_QUIET;

	if (set->number < CISCO_ON || set->number > CISCO_ON_QUIET)
		return SWITCH_WRONG_VALUE;
	if (switch_cisco_is_refused(attempt, SWITCH_FRAMES))
		return SWITCH_INCONSISTENT_VALUE;
	/* "An interface whose trunk encapsulation is Auto can not be configured to trunk mode." */
	if (on && port->tagging == CISCO_NEGOTIATE)
		return SWITCH_INCONSISTENT_VALUE;
	if (!switch_cisco_is_lost(attempt, SWITCH_FRAMES))
		port->state = set->number;
	return SWITCH_OK;
}

/* vlanTrunkPortEntry.column.ifIndex */
static enum switch_error set_trunk(struct attempt *attempt, const struct cisco_set *set)
{
	struct cisco_port *port = switch_cisco_port_of(attempt, set->object[7]);
	enum switch_error error;
	bool skip;

	if (!port)
		return SWITCH_INCONSISTENT_NAME;
	attempt->writes = true;
	switch (set->object[6]) {
	case 3:
		if (set->number != CISCO_DOT1Q && set->number != CISCO_NEGOTIATE)
			return SWITCH_WRONG_VALUE;
		port->tagging = set->number;
		return SWITCH_OK;
	case 4: return set_bitmap(attempt, port, 0, set);
	case 17:
	case 18:
	case 19: return set_bitmap(attempt, port, set->object[6] - 16, set);
	case 5:
		if (set->number > SWITCH_VID_MAX)
			return SWITCH_WRONG_VALUE;
		error = check_in_access(attempt, port, &skip);
		if (error == SWITCH_OK && !skip && !switch_cisco_is_lost(attempt, SWITCH_UNTAGGED))
			port->native = (uint16_t)set->number;
		return switch_cisco_is_refused(attempt, SWITCH_UNTAGGED) ? SWITCH_INCONSISTENT_VALUE
									 : error;
	case 13: return set_state(attempt, port, set);
	default: return SWITCH_NOT_WRITABLE;
	}
}

static enum switch_error set_vm_vlan(struct attempt *attempt, const struct cisco_set *set)
{
	struct cisco_port *port = switch_cisco_port_of(attempt, set->object[7]);

	if (!port || (attempt->device->faults.vm_vlan_hidden && switch_cisco_trunks(port)))
		return SWITCH_NO_CREATION;
	if (set->is_unsigned != attempt->device->faults.vm_vlan_unsigned)
		return (enum switch_error)7; /* wrongType */
	if (switch_cisco_is_refused(attempt, SWITCH_PVID) || switch_cisco_is_ring(set->number) ||
	    !switch_model_vlan(&attempt->model, set->number))
		return SWITCH_INCONSISTENT_VALUE;
	attempt->writes = true;
	if (!switch_cisco_is_lost(attempt, SWITCH_PVID))
		port->access = (uint16_t)set->number;
	return SWITCH_OK;
}

static enum switch_error set_serial(struct attempt *attempt, const struct cisco_set *set)
{
	if (set->number != attempt->cisco.serial)
		return SWITCH_INCONSISTENT_VALUE;
	attempt->cisco.serial = set->number == 2147483647 ? 0 : set->number + 1;
	return SWITCH_OK;
}

/* ccCopyEntry.column.row; all of a row in one SET. */
static enum switch_error set_copy(struct attempt *attempt, const struct cisco_set *set)
{
	struct switch_cisco *cisco = &attempt->cisco;
	struct cisco_copy *copy = NULL;

	if (attempt->device->faults.no_config_copy)
		return SWITCH_NOT_WRITABLE;
	for (size_t i = 0; i < cisco->copy_count && !copy; i++) {
		if (cisco->copies[i].row == set->object[7])
			copy = &cisco->copies[i];
	}
	if (!copy) {
		if (cisco->copy_count == CISCO_COPIES_MAX)
			return SWITCH_GENERAL;
		copy = &cisco->copies[cisco->copy_count++];
		*copy = (struct cisco_copy){.row = set->object[7]};
	}
	switch (set->object[6]) {
	case 3: copy->from = set->number; return SWITCH_OK;
	case 4: copy->to = set->number; return SWITCH_OK;
	case 14: break;
	default: return SWITCH_NOT_WRITABLE;
	}
	if (set->number == SWITCH_ROW_DESTROY) {
		*copy = cisco->copies[--cisco->copy_count];
		return SWITCH_OK;
	}
	if (set->number != SWITCH_ROW_CREATE_AND_GO || copy->from != 4 || copy->to != 3)
		return SWITCH_INCONSISTENT_VALUE;
	copy->status = SWITCH_ROW_ACTIVE;
	copy->state = attempt->device->faults.copy_fails ? 4 : 3; /* failed, successful */
	copy->done_ms = clock_monotonic_ms() + 300;
	attempt->saves = !attempt->device->faults.copy_fails;
	return SWITCH_OK;
}

static enum switch_error set_write_mem(struct attempt *attempt, const struct cisco_set *set)
{
	if (set->number != 1)
		return SWITCH_WRONG_VALUE;
	attempt->saves = true;
	return SWITCH_OK;
}

/* What can be written: the beginning of its name below 1.3.6.1.4.1.9, how many arcs in all. */
static const struct {
	uint32_t root[7];
	size_t root_arcs, arcs;
	bool is_octets;
	enum switch_error (*set)(struct attempt *attempt, const struct cisco_set *set);
} switch_cisco_objects[] = {
	{{9, 46, 1, 4, 1, 1, 1}, 7, 8, false, set_operation},
	{{9, 46, 1, 4, 1, 1, 3}, 7, 8, true, set_owner},
	{{9, 46, 1, 4, 2, 1, 4}, 7, 9, true, switch_cisco_set_row},
	{{9, 46, 1, 4, 2, 1, 6}, 7, 9, true, switch_cisco_set_row},
	{{9, 46, 1, 4, 2, 1}, 6, 9, false, switch_cisco_set_row},
	{{9, 46, 1, 6, 1, 1, 4}, 7, 8, true, set_trunk},
	{{9, 46, 1, 6, 1, 1, 17}, 7, 8, true, set_trunk},
	{{9, 46, 1, 6, 1, 1, 18}, 7, 8, true, set_trunk},
	{{9, 46, 1, 6, 1, 1, 19}, 7, 8, true, set_trunk},
	{{9, 46, 1, 6, 1, 1}, 6, 8, false, set_trunk},
	{{9, 46, 1, 6, 2, 0}, 6, 6, false, set_serial},
	{{9, 68, 1, 2, 2, 1, 2}, 7, 8, false, set_vm_vlan},
	{{9, 96, 1, 1, 1, 1}, 6, 8, false, set_copy},
	{{2, 1, 54, 0}, 4, 4, false, set_write_mem},
};

static enum switch_error switch_cisco_set_one(struct attempt *attempt, const struct cisco_set *set)
{
	if (attempt->device->faults.read_only)
		return SWITCH_NOT_WRITABLE;
	for (size_t i = 0; i < COUNT_OF(switch_cisco_objects); i++) {
		if (set->arcs != switch_cisco_objects[i].arcs ||
		    memcmp(set->object, switch_cisco_objects[i].root,
			   switch_cisco_objects[i].root_arcs * 4) != 0)
			continue;
		if (set->is_octets != switch_cisco_objects[i].is_octets)
			return (enum switch_error)7; /* wrongType */
		return switch_cisco_objects[i].set(attempt, set);
	}
	return SWITCH_NOT_WRITABLE;
}

/* The ports may be other ones, and VLANs: all of it at once. */
static enum switch_error switch_cisco_commit(struct attempt *attempt)
{
	struct switch_device *device = attempt->device;
	struct switch_model model;
	enum switch_error error = SWITCH_OK;

	if (attempt->writes || attempt->applies) {
		if (make_model(&attempt->model, &attempt->cisco, &model) != 0)
			return SWITCH_GENERAL;
		error = switch_device_replace(device, &model);
		switch_model_done(&model);
	}
	if (error != SWITCH_OK)
		return error;
	*device->cisco = attempt->cisco;
	device->serial++;
	if (attempt->saves && switch_device_save(device) != 0)
		return SWITCH_COMMIT_FAILED;
	return SWITCH_OK;
}

enum switch_error switch_cisco_set(struct switch_device *device, const struct cisco_set *sets,
				   size_t count, bool now, size_t *ret_at)
{
	struct attempt *attempt = calloc(1, sizeof(*attempt));
	enum switch_error error = SWITCH_OK;
	bool half = now && device->faults.partial;
	size_t last = half ? (count + 1) / 2 : count;

	*ret_at = 0;
	if (!attempt || switch_model_copy(&device->running, &attempt->model) != 0) {
		free(attempt);
		return SWITCH_GENERAL;
	}
	attempt->device = device;
	attempt->cisco = *device->cisco;
	for (size_t i = 0; i < last && error == SWITCH_OK; i++) {
		*ret_at = i;
		error = switch_cisco_set_one(attempt, &sets[i]);
	}
	if (now && error == SWITCH_OK)
		error = switch_cisco_commit(attempt);
	if (half && error == SWITCH_OK)
		error = SWITCH_COMMIT_FAILED;
	switch_model_done(&attempt->model);
	free(attempt);
	return error;
}
