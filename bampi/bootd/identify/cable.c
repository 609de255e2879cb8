#include "bampi/bootd/identify/cable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "bampi/bootd/identify/rows.h"

struct rule_row {
	struct ipv4_prefix relay;
	struct circuit_rule rule;
};

struct uuid_row {
	struct uuid uuid;
	int64_t node_id;
};

/* Addresses that ports give, ranges joined: inclusive. */
struct range {
	uint32_t low, high;
};

struct cables {
	struct rows rules;    /* struct rule_row in their order */
	struct rows switches; /* struct cable_switch by name */
	struct rows ports;    /* struct cable_port by place */
	struct rows uuids;    /* struct uuid_row by uuid */
	struct rows nodes;    /* the same by node_id */
	struct rows ranges;   /* struct range by low, disjoint */
};

struct cable {
	struct cables current, next;
};

#define CABLES_ROWS(cables)                                                                \
	{                                                                                  \
		&(cables)->rules, &(cables)->switches, &(cables)->ports, &(cables)->uuids, \
			&(cables)->nodes, &(cables)->ranges                                \
	}

static int cable_by_name(const void *a, const void *b)
{
	return strcmp(((const struct cable_switch *)a)->name,
		      ((const struct cable_switch *)b)->name);
}

static int by_place(const void *a, const void *b)
{
	const struct circuit_place *x = &((const struct cable_port *)a)->place;
	const struct circuit_place *y = &((const struct cable_port *)b)->place;
	int order = strcmp(x->switch_name, y->switch_name);

	return order ? order : strcmp(x->port, y->port);
}

static int by_uuid(const void *a, const void *b)
{
	return memcmp(((const struct uuid_row *)a)->uuid.bytes,
		      ((const struct uuid_row *)b)->uuid.bytes, UUID_SIZE);
}

static int by_node(const void *a, const void *b)
{
	int64_t x = ((const struct uuid_row *)a)->node_id;
	int64_t y = ((const struct uuid_row *)b)->node_id;

	return (x > y) - (x < y);
}

static int by_low(const void *a, const void *b)
{
	uint32_t x = ((const struct range *)a)->low;
	uint32_t y = ((const struct range *)b)->low;

	return (x > y) - (x < y);
}

int cable_new(struct cable **ret)
{
	struct cable *cable = calloc(1, sizeof(*cable));

	if (!cable)
		return -ENOMEM;
	*ret = cable;
	return 0;
}

static void cables_done(struct cables *cables)
{
	struct rows *all[] = CABLES_ROWS(cables);

	for (size_t i = 0; i < COUNT_OF(all); i++)
		rows_done(all[i]);
}

void cable_free(struct cable *cable)
{
	if (!cable)
		return;
	cables_done(&cable->current);
	cables_done(&cable->next);
	free(cable);
}

bool cable_locate(const struct cable *cable, uint32_t relay, const struct circuit_sample *sample,
		  struct circuit_place *ret)
{
	const struct rule_row *rules = cable->current.rules.data;

	for (size_t i = 0; i < cable->current.rules.count; i++) {
		if (ipv4_in_prefix(relay, rules[i].relay) &&
		    circuit_rule_apply(&rules[i].rule, sample, ret))
			return true;
	}
	return false;
}

const struct cable_switch *cable_switch(const struct cable *cable, const char *name)
{
	struct cable_switch key;

	if (!text_copy(key.name, sizeof(key.name), name))
		return NULL;
	return rows_find(&cable->current.switches, sizeof(key), &key, cable_by_name);
}

const struct cable_port *cable_port(const struct cable *cable, const struct circuit_place *place)
{
	struct cable_port key = {.place = *place};

	return rows_find(&cable->current.ports, sizeof(key), &key, by_place);
}

uint32_t cable_address(const struct cable *cable, const struct circuit_place *place)
{
	const struct cable_port *port = cable_port(cable, place);
	const struct cable_switch *row = cable_switch(cable, place->switch_name);
	uint32_t number;

	if (port && port->address)
		return port->address;
	if (!row || !row->base || !circuit_port_number(row->ports, place->port, &number) ||
	    number < row->port_low || number > row->port_high)
		return 0;
	return row->base + number;
}

bool cable_gives(const struct cable *cable, uint32_t address)
{
	const struct rows *rows = &cable->current.ranges;
	const struct range *ranges = rows->data;
	struct range key = {.low = address};
	size_t at = rows_first(rows, sizeof(key), &key, by_low);

	if (at < rows->count && ranges[at].low == address)
		return true;
	return at > 0 && ranges[at - 1].high >= address;
}

size_t cable_nodes_of_uuid(const struct cable *cable, struct uuid uuid, int64_t besides,
			   int64_t *ret_id)
{
	const struct rows *rows = &cable->current.uuids;
	const struct uuid_row *uuids = rows->data;
	struct uuid_row key = {.uuid = uuid};
	size_t at = rows_first(rows, sizeof(key), &key, by_uuid);
	size_t count = 0;

	/* Thousands may share one: two are enough to know. */
	for (; at < rows->count && count < 2 && uuid_equal(uuids[at].uuid, uuid); at++) {
		if (count++ == 0 || *ret_id == besides)
			*ret_id = uuids[at].node_id;
	}
	return count;
}

bool cable_uuid_of_node(const struct cable *cable, int64_t node_id, struct uuid *ret)
{
	struct uuid_row key = {.node_id = node_id};
	const struct uuid_row *row = rows_find(&cable->current.nodes, sizeof(key), &key, by_node);

	if (row)
		*ret = row->uuid;
	return row != NULL;
}

void cable_begin(struct cable *cable)
{
	struct rows *all[] = CABLES_ROWS(&cable->next);

	for (size_t i = 0; i < COUNT_OF(all); i++)
		all[i]->count = 0;
}

int cable_add_rule(struct cable *cable, struct ipv4_prefix relay, const struct circuit_rule *rule)
{
	struct rule_row row = {relay, *rule};

	return rows_append(&cable->next.rules, &row, sizeof(row));
}

static int cable_add_range(struct cable *cable, uint32_t low, uint32_t high)
{
	struct range range = {low, high < low ? UINT32_MAX : high};

	return rows_append(&cable->next.ranges, &range, sizeof(range));
}

int cable_add_switch(struct cable *cable, const struct cable_switch *row)
{
	int rc = rows_append(&cable->next.switches, row, sizeof(*row));

	if (rc || !row->base)
		return rc;
	return cable_add_range(cable, row->base + row->port_low, row->base + row->port_high);
}

int cable_add_port(struct cable *cable, const struct cable_port *port)
{
	int rc = rows_append(&cable->next.ports, port, sizeof(*port));

	return rc || !port->address ? rc : cable_add_range(cable, port->address, port->address);
}

int cable_add_uuid(struct cable *cable, struct uuid uuid, int64_t node_id)
{
	struct uuid_row row = {uuid, node_id};
	int rc = rows_append(&cable->next.uuids, &row, sizeof(row));

	return rc ? rc : rows_append(&cable->next.nodes, &row, sizeof(row));
}

/* Switches may give the same addresses; searched are ranges that do not overlap. */
static void join_ranges(struct rows *rows)
{
	struct range *ranges = rows->data;
	size_t kept = 0;

	for (size_t i = 1; i < rows->count; i++) {
		if (ranges[i].low > ranges[kept].high)
			ranges[++kept] = ranges[i];
		else if (ranges[i].high > ranges[kept].high)
			ranges[kept].high = ranges[i].high;
	}
	rows->count = rows->count ? kept + 1 : 0;
}

void cable_commit(struct cable *cable)
{
	struct cables *next = &cable->next;
	struct cables old = cable->current;

	rows_sort(&next->switches, sizeof(struct cable_switch), cable_by_name);
	rows_sort(&next->ports, sizeof(struct cable_port), by_place);
	rows_sort(&next->uuids, sizeof(struct uuid_row), by_uuid);
	rows_sort(&next->nodes, sizeof(struct uuid_row), by_node);
	rows_sort(&next->ranges, sizeof(struct range), by_low);
	join_ranges(&next->ranges);
	cable->current = *next;
	*next = old;
}
