#include "tests/sim/switch/switch_sflow.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"

#include "tests/sim/switch/switch_mib_private.h"

#define SWITCH_SFLOW_WRONG_TYPE ((enum switch_error)SNMP_ERR_WRONGTYPE)

enum { RECEIVERS = 4, SAMPLERS = 5, POLLERS = 6 }; /* tables */
enum {
	OWNER = 2,
	TIMEOUT = 3,
	DATAGRAM = 4,
	TYPE = 5,
	ADDRESS = 6,
	SWITCH_SFLOW_PORT = 7,
	VERSION = 8
};
enum { RECEIVER = 3, RATE = 4, INTERVAL = 4, HEADER = 5 }; /* columns */
enum { RATE_LOW = 16, RATE_HIGH = 1 << 24, HEADER_DEFAULT = 128, HEADER_HIGH = 256 };
/* After the column: length, ifIndex.N, instance. */
enum { SOURCE_ARCS = 13, SOURCE_PORT = 11 };

static const oid switch_sflow_root[] = {SWITCH_SFLOW_OID};
static const oid source_head[] = {11, 1, 3, 6, 1, 2, 1, 2, 2, 1, 1};

static const struct switch_receiver free_receiver = {
	.datagram = 1400, .type = 1, .port = 6343, .address_size = 4};
static const struct switch_sampler free_sampler = {.header = HEADER_DEFAULT};

int switch_sflow_new(struct switch_sflow **ret)
{
	struct switch_sflow *sflow = calloc(1, sizeof(*sflow));

	if (!sflow)
		return -ENOMEM;
	for (size_t i = 0; i < SWITCH_SFLOW_RECEIVERS; i++)
		sflow->receivers[i] = free_receiver;
	for (size_t i = 0; i <= SWITCH_PORT_MAX; i++)
		sflow->ports[i] = free_sampler;
	*ret = sflow;
	return 0;
}

/* --- shown --- */

static void show_receiver(const struct switch_receiver *receiver, oid number,
			  struct switch_mib *mib)
{
	static const oid table[] = {SWITCH_SFLOW_OID, RECEIVERS, 1};
	struct place entry = mib_place(mib, table, COUNT_OF(table));
	struct place owner = mib_under(&entry, OWNER);
	struct place address = mib_under(&entry, ADDRESS);
	int64_t left_ms = receiver->owner[0] ? receiver->ends_ms - clock_monotonic_ms() : 0;

	owner = mib_under(&owner, number);
	address = mib_under(&address, number);
	mib_put_bytes(&owner, ASN_OCTET_STR, receiver->owner, strlen(receiver->owner));
	mib_put_cell(&entry, TIMEOUT, number, ASN_INTEGER,
		     left_ms > 0 ? (uint32_t)(left_ms / 1000) : 0);
	mib_put_cell(&entry, DATAGRAM, number, ASN_INTEGER, receiver->datagram);
	mib_put_cell(&entry, TYPE, number, ASN_INTEGER, receiver->type);
	mib_put_bytes(&address, ASN_OCTET_STR, receiver->address, receiver->address_size);
	mib_put_cell(&entry, SWITCH_SFLOW_PORT, number, ASN_INTEGER, receiver->port);
	mib_put_cell(&entry, VERSION, number, ASN_INTEGER, 5);
}

static void show_cell(struct switch_mib *mib, oid table, oid column, uint32_t if_index,
		      uint32_t value)
{
	struct place cell = mib_place(mib, switch_sflow_root, COUNT_OF(switch_sflow_root));

	cell = mib_under(&cell, table);
	cell = mib_under(&cell, 1);
	cell = mib_under(&cell, column);
	for (size_t i = 0; i < COUNT_OF(source_head); i++)
		cell = mib_under(&cell, source_head[i]);
	cell = mib_under(&cell, if_index);
	cell = mib_under(&cell, 1);
	mib_put(&cell, ASN_INTEGER, value);
}

void switch_sflow_show(const struct switch_device *device, struct switch_mib *mib)
{
	const struct switch_sflow *sflow = device->sflow;
	struct place version = mib_place(mib, switch_sflow_root, COUNT_OF(switch_sflow_root));

	version = mib_under(&version, 1);
	version = mib_under(&version, 0);
	mib_put_bytes(&version, ASN_OCTET_STR, "1.3;lab;1.0", 11);
	for (size_t i = 0; i < SWITCH_SFLOW_RECEIVERS; i++)
		show_receiver(&sflow->receivers[i], i + 1, mib);
	for (size_t i = 0; i < device->plane.port_count; i++) {
		const struct switch_plane_port *port = &device->plane.ports[i];
		const struct switch_sampler *sampler;

		if (port->number > SWITCH_PORT_MAX || !port->if_index)
			continue;
		sampler = &sflow->ports[port->number];
		show_cell(mib, SAMPLERS, RECEIVER, port->if_index, sampler->receiver);
		show_cell(mib, SAMPLERS, RATE, port->if_index, sampler->rate);
		show_cell(mib, SAMPLERS, HEADER, port->if_index, sampler->header);
		show_cell(mib, POLLERS, RECEIVER, port->if_index, sampler->poll_receiver);
		show_cell(mib, POLLERS, INTERVAL, port->if_index, sampler->interval);
	}
}

/* --- the data plane --- */

static int switch_sflow_push(struct switch_device *device)
{
	const struct switch_sflow *sflow = device->sflow;
	struct switch_ovs_sflow wanted = {.rate = UINT32_MAX};
	char text[INET6_ADDRSTRLEN] = "";

	for (size_t i = 0; i <= SWITCH_PORT_MAX; i++) {
		const struct switch_sampler *port = &sflow->ports[i];
		const struct switch_receiver *to;

		if (!port->receiver || !port->rate)
			continue;
		to = &sflow->receivers[port->receiver - 1];
		if (!inet_ntop(to->type == 2 ? AF_INET6 : AF_INET, to->address, text, sizeof(text)))
			continue;
		(void)text_format(wanted.target, sizeof(wanted.target),
				  to->type == 2 ? "[%s]:%u" : "%s:%u", text, to->port);
		if (port->rate < wanted.rate)
			wanted.rate = port->rate;
		wanted.header = port->header;
		if (port->poll_receiver)
			wanted.interval = port->interval;
	}
	device->serial++;
	return switch_ovs_sample(device->ovs, wanted.target[0] ? &wanted : NULL);
}

static void switch_sflow_let_go(struct switch_sflow *sflow, uint32_t number)
{
	sflow->receivers[number - 1] = free_receiver;
	for (size_t i = 0; i <= SWITCH_PORT_MAX; i++) {
		struct switch_sampler *port = &sflow->ports[i];

		if (port->receiver == number) {
			port->receiver = port->rate = 0;
			port->header = HEADER_DEFAULT;
		}
		if (port->poll_receiver == number)
			port->poll_receiver = port->interval = 0;
	}
}

bool switch_sflow_expire(struct switch_device *device)
{
	struct switch_sflow *sflow = device->sflow;
	bool any = false;

	for (uint32_t i = 0; sflow && i < SWITCH_SFLOW_RECEIVERS; i++) {
		if (!sflow->receivers[i].owner[0] ||
		    sflow->receivers[i].ends_ms > clock_monotonic_ms())
			continue;
		switch_sflow_let_go(sflow, i + 1);
		any = true;
	}
	if (any && switch_sflow_push(device) != 0)
		(void)fprintf(stderr, "switch_agent: Open vSwitch goes on sampling\n");
	return any;
}

/* --- set --- */

/* One varbind, its place found. */
struct cell {
	oid table, column;
	uint32_t row; /* receiver, or port */
	const netsnmp_variable_list *varbind;
};

static uint32_t switch_sflow_port_of(const struct switch_device *device, oid if_index)
{
	for (size_t i = 0; i < device->plane.port_count; i++) {
		if (device->plane.ports[i].if_index == if_index &&
		    device->plane.ports[i].number <= SWITCH_PORT_MAX)
			return device->plane.ports[i].number;
	}
	return 0;
}

static enum switch_error find_cell(const struct switch_device *device,
				   const netsnmp_variable_list *varbind, struct cell *ret)
{
	const size_t prefix = COUNT_OF(switch_sflow_root) + 3;
	const oid *name = varbind->name;
	const oid *index = name + prefix;
	size_t count = varbind->name_length;

	if (count <= prefix || name[COUNT_OF(switch_sflow_root) + 1] != 1)
		return SWITCH_NOT_WRITABLE;
	*ret = (struct cell){name[COUNT_OF(switch_sflow_root)],
			     name[COUNT_OF(switch_sflow_root) + 2], 0, varbind};
	count -= prefix;
	if (ret->table == RECEIVERS && ret->column >= OWNER && ret->column <= VERSION) {
		if (count != 1 || index[0] < 1 || index[0] > SWITCH_SFLOW_RECEIVERS)
			return SWITCH_NO_CREATION;
		ret->row = (uint32_t)index[0];
		if (varbind->type !=
		    (ret->column == OWNER || ret->column == ADDRESS ? ASN_OCTET_STR : ASN_INTEGER))
			return SWITCH_SFLOW_WRONG_TYPE;
		return SWITCH_OK;
	}
	if ((ret->table != SAMPLERS && ret->table != POLLERS) || ret->column < RECEIVER ||
	    ret->column > (oid)(ret->table == SAMPLERS ? HEADER : INTERVAL))
		return SWITCH_NOT_WRITABLE;
	if (count != SOURCE_ARCS || memcmp(index, source_head, sizeof(source_head)) != 0 ||
	    index[SOURCE_ARCS - 1] != 1)
		return SWITCH_NO_CREATION;
	ret->row = switch_sflow_port_of(device, index[SOURCE_PORT]);
	if (!ret->row)
		return SWITCH_NO_CREATION;
	return varbind->type == ASN_INTEGER ? SWITCH_OK : SWITCH_SFLOW_WRONG_TYPE;
}

/* Claims before what they allow: the order of varbinds means nothing (RFC 3416, 4.2.5). */
static bool is_claim(const struct cell *cell)
{
	return cell->table == RECEIVERS ? cell->column == OWNER || cell->column == TIMEOUT
					: cell->column == RECEIVER;
}

static enum switch_error claim_receiver(struct switch_sflow *sflow, const struct cell *cell)
{
	struct switch_receiver *receiver = &sflow->receivers[cell->row - 1];
	const netsnmp_variable_list *varbind = cell->varbind;

	if (cell->column == TIMEOUT) {
		if (*varbind->val.integer < 0)
			return SWITCH_WRONG_VALUE;
		receiver->ends_ms = clock_monotonic_ms() + *varbind->val.integer * 1000;
		return SWITCH_OK;
	}
	if (varbind->val_len >= sizeof(receiver->owner))
		return SWITCH_WRONG_LENGTH;
	if (varbind->val_len == 0) {
		switch_sflow_let_go(sflow, cell->row);
		return SWITCH_OK;
	}
	memcpy(receiver->owner, varbind->val.string, varbind->val_len);
	receiver->owner[varbind->val_len] = '\0';
	return SWITCH_OK;
}

static enum switch_error switch_sflow_claim(struct switch_sflow *sflow, const struct cell *cell)
{
	struct switch_sampler *port = &sflow->ports[cell->row];
	long number = cell->table == RECEIVERS ? 0 : *cell->varbind->val.integer;

	if (cell->table == RECEIVERS)
		return claim_receiver(sflow, cell);
	if (number < 0 || number > SWITCH_SFLOW_RECEIVERS)
		return SWITCH_WRONG_VALUE;
	if (cell->table == SAMPLERS) {
		port->receiver = (uint32_t)number;
		if (!number) {
			port->rate = 0;
			port->header = HEADER_DEFAULT;
		}
		return SWITCH_OK;
	}
	port->poll_receiver = (uint32_t)number;
	if (!number)
		port->interval = 0;
	return SWITCH_OK;
}

static enum switch_error fill_receiver(struct switch_receiver *receiver, const struct cell *cell)
{
	const netsnmp_variable_list *varbind = cell->varbind;

	if (!receiver->owner[0])
		return SWITCH_INCONSISTENT_VALUE;
	switch (cell->column) {
	case DATAGRAM: receiver->datagram = (uint32_t)*varbind->val.integer; return SWITCH_OK;
	case TYPE:
		if (*varbind->val.integer != 1 && *varbind->val.integer != 2)
			return SWITCH_WRONG_VALUE;
		receiver->type = (uint32_t)*varbind->val.integer;
		return SWITCH_OK;
	case ADDRESS:
		if (varbind->val_len != 4 && varbind->val_len != 16)
			return SWITCH_WRONG_LENGTH;
		memcpy(receiver->address, varbind->val.string, varbind->val_len);
		receiver->address_size = varbind->val_len;
		return SWITCH_OK;
	case SWITCH_SFLOW_PORT:
		if (*varbind->val.integer < 1 || *varbind->val.integer > 65535)
			return SWITCH_WRONG_VALUE;
		receiver->port = (uint32_t)*varbind->val.integer;
		return SWITCH_OK;
	case VERSION: return *varbind->val.integer == 5 ? SWITCH_OK : SWITCH_WRONG_VALUE;
	default: return SWITCH_NOT_WRITABLE;
	}
}

/* The closest that it can do: of hardware that counts down from a power of two, the next of them.
 */
static uint32_t switch_sflow_adjusted(const struct switch_device *device, long rate)
{
	uint32_t power = RATE_LOW;

	if (rate <= 0)
		return 0;
	if (rate > RATE_HIGH)
		rate = RATE_HIGH;
	if (!device->faults.sflow_powers)
		return rate < RATE_LOW ? RATE_LOW : (uint32_t)rate;
	while (power < rate)
		power *= 2;
	return power > RATE_LOW && rate - power / 2 < power - rate ? power / 2 : power;
}

static enum switch_error switch_sflow_fill(const struct switch_device *device,
					   struct switch_sflow *sflow, const struct cell *cell)
{
	struct switch_sampler *port = &sflow->ports[cell->row];
	long number = cell->table == RECEIVERS ? 0 : *cell->varbind->val.integer;

	if (cell->table == RECEIVERS)
		return fill_receiver(&sflow->receivers[cell->row - 1], cell);
	if (number < 0 || !(cell->table == SAMPLERS ? port->receiver : port->poll_receiver))
		return SWITCH_INCONSISTENT_VALUE;
	if (cell->table == POLLERS)
		port->interval = (uint32_t)number;
	else if (cell->column == RATE)
		port->rate = switch_sflow_adjusted(device, number);
	else
		port->header = number > HEADER_HIGH ? HEADER_HIGH : (uint32_t)number;
	return SWITCH_OK;
}

/* Who claims says for how long, and nobody points to a receiver that is free. */
static enum switch_error switch_sflow_check(const struct switch_sflow *before,
					    const struct switch_sflow *after)
{
	for (size_t i = 0; i < SWITCH_SFLOW_RECEIVERS; i++) {
		const struct switch_receiver *receiver = &after->receivers[i];

		if (receiver->owner[0] && !before->receivers[i].owner[0] && !receiver->ends_ms)
			return SWITCH_INCONSISTENT_VALUE;
		if (receiver->address_size != (receiver->type == 2 ? 16U : 4U))
			return SWITCH_INCONSISTENT_VALUE;
	}
	for (size_t i = 0; i <= SWITCH_PORT_MAX; i++) {
		const struct switch_sampler *port = &after->ports[i];

		if ((port->receiver && !after->receivers[port->receiver - 1].owner[0]) ||
		    (port->poll_receiver && !after->receivers[port->poll_receiver - 1].owner[0]))
			return SWITCH_INCONSISTENT_VALUE;
	}
	return SWITCH_OK;
}

static enum switch_error switch_sflow_apply(const struct switch_device *device,
					    struct switch_sflow *sflow,
					    const netsnmp_variable_list *const varbinds[],
					    size_t count)
{
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < count; i++) {
			struct cell cell;
			enum switch_error error = find_cell(device, varbinds[i], &cell);

			if (error == SWITCH_OK && is_claim(&cell) == (round == 0))
				error = round == 0 ? switch_sflow_claim(sflow, &cell)
						   : switch_sflow_fill(device, sflow, &cell);
			if (error != SWITCH_OK)
				return error;
		}
	}
	return switch_sflow_check(device->sflow, sflow);
}

enum switch_error switch_sflow_set(struct switch_device *device,
				   const netsnmp_variable_list *const varbinds[], size_t count,
				   bool now)
{
	struct switch_sflow *after = malloc(sizeof(*after));
	enum switch_error error = SWITCH_GENERAL;

	if (after) {
		*after = *device->sflow;
		error = device->faults.read_only
				? SWITCH_NOT_WRITABLE
				: switch_sflow_apply(device, after, varbinds, count);
	}
	if (error == SWITCH_OK && now) {
		*device->sflow = *after;
		error = switch_sflow_push(device) == 0 ? SWITCH_OK : SWITCH_COMMIT_FAILED;
	}
	free(after);
	return error;
}
