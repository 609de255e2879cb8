#include "peregrine/flowd/flow/attribution_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/sorted.h"

#include "peregrine/flowd/sample/agent_directory.h"

static uint64_t mac_number(const uint8_t mac[6])
{
	uint64_t number = 0;

	for (size_t i = 0; i < 6; i++)
		number = number << 8 | mac[i];
	return number;
}

static size_t mac_slot(uint64_t mac, size_t mask)
{
	return (size_t)hash_spread(mac) & mask;
}

/* --- looking up --- */

static bool attribution_index_holds(int64_t from_us, int64_t to_us, int64_t at_us)
{
	return at_us >= from_us && at_us < to_us;
}

uint32_t index_port_find(const struct attribution_index *index, uint32_t switch_index,
			 uint32_t if_index)
{
	const struct index_switch *owner = &index->switches[switch_index];
	uint32_t end = owner->ports + owner->port_count;
	size_t at;

	if (if_index > INT32_MAX) /* no ifIndex: ports without one have a number there */
		return INDEX_NONE;
	at = SORTED_FIRST(i, owner->ports, end, index->ports[i].if_index < if_index);
	return at < end && index->ports[at].if_index == if_index ? (uint32_t)at : INDEX_NONE;
}

const struct index_nic *index_nic_find(const struct attribution_index *index, const uint8_t mac[6],
				       int64_t at_us)
{
	uint64_t number = mac_number(mac);

	if (!index->nic_count)
		return NULL;
	for (size_t slot = mac_slot(number, index->nic_mask); index->nic_slots[slot];
	     slot = (slot + 1) & index->nic_mask) {
		size_t i = index->nic_slots[slot] - 1;

		if (index->nics[i].mac != number)
			continue;
		for (; i < index->nic_count && index->nics[i].mac == number; i++)
			if (attribution_index_holds(index->nics[i].from_us, index->nics[i].to_us,
						    at_us))
				return &index->nics[i];
		return NULL;
	}
	return NULL;
}

uint32_t index_binding_find(const struct attribution_index *index, const struct index_port *port,
			    uint16_t tag, int64_t at_us)
{
	for (uint32_t i = 0; i < port->binding_count; i++) {
		const struct index_binding *binding = &index->bindings[port->bindings + i];

		if (binding->tag == tag &&
		    attribution_index_holds(binding->from_us, binding->to_us, at_us))
			return binding->network;
	}
	return INDEX_NONE;
}

static int compare_tags(int64_t fabric, uint32_t tag, const struct index_tag *row)
{
	if (fabric != row->fabric)
		return fabric < row->fabric ? -1 : 1;
	return tag == row->tag ? 0 : tag < row->tag ? -1 : 1;
}

uint32_t index_tag_find(const struct attribution_index *index, int64_t fabric, uint32_t tag,
			int64_t at_us)
{
	size_t at = SORTED_FIRST(i, 0, index->tag_count,
				 compare_tags(fabric, tag, &index->tags[i]) > 0);

	for (; at < index->tag_count && !compare_tags(fabric, tag, &index->tags[at]); at++)
		if (attribution_index_holds(index->tags[at].from_us, index->tags[at].to_us, at_us))
			return index->tags[at].network;
	return INDEX_NONE;
}

uint16_t index_vlan_find(const struct attribution_index *index, int64_t fabric, uint32_t network,
			 int64_t at_us)
{
	size_t at = SORTED_FIRST(i, 0, index->vlan_count,
				 index->tags[index->tags_by_network[i]].network < network);

	for (; at < index->vlan_count; at++) {
		const struct index_tag *tag = &index->tags[index->tags_by_network[at]];

		if (tag->network != network)
			break;
		if (tag->fabric == fabric &&
		    attribution_index_holds(tag->from_us, tag->to_us, at_us))
			return (uint16_t)tag->tag;
	}
	return 0;
}

/* --- building --- */

/* Rows in the order of an id (and a name), to find where another row points. */
struct name_key {
	int64_t id;
	const char *name; /* NULL = by id alone */
	uint32_t index;
};

static int compare_keys(const void *a, const void *b)
{
	const struct name_key *left = a;
	const struct name_key *right = b;

	if (left->id != right->id)
		return left->id < right->id ? -1 : 1;
	return left->name && right->name ? strcmp(left->name, right->name) : 0;
}

static uint32_t find_key(const struct name_key *keys, size_t count, int64_t id, const char *name)
{
	const struct name_key wanted = {.id = id, .name = name};
	const struct name_key *found =
		count ? bsearch(&wanted, keys, count, sizeof(*keys), compare_keys) : NULL;

	return found ? found->index : INDEX_NONE;
}

struct build {
	const struct attribution_rows *rows;
	struct attribution_index *index;
	struct name_key *switches, *networks, *ports;
	char *text;
};

static const char *attribution_index_keep(struct build *build, const char *text)
{
	size_t size = strlen(text) + 1;
	char *kept = build->text;

	memcpy(kept, text, size);
	build->text += size;
	return kept;
}

static size_t text_size(const struct attribution_rows *rows)
{
	size_t size = 1;

	for (size_t i = 0; i < rows->switch_count; i++)
		size += strlen(rows->switches[i].name) + 1;
	for (size_t i = 0; i < rows->port_count; i++)
		size += strlen(rows->ports[i].name) + 1;
	for (size_t i = 0; i < rows->network_count; i++)
		size += strlen(rows->networks[i].name) + strlen(rows->networks[i].tenant_name) + 2;
	for (size_t i = 0; i < rows->nic_count; i++)
		size += strlen(rows->nics[i].node_name) + 1;
	return size;
}

static int attribution_index_allocate(struct build *build)
{
	const struct attribution_rows *rows = build->rows;
	struct attribution_index *index = build->index;
	size_t slots = 16;

	while (slots < rows->nic_count * 2)
		slots *= 2;
	index->nic_mask = slots - 1;
	index->switches = calloc(rows->switch_count + 1, sizeof(*index->switches));
	index->switch_of_agent = malloc((AGENT_LIMIT + 1) * sizeof(*index->switch_of_agent));
	index->ports = calloc(rows->port_count + 1, sizeof(*index->ports));
	index->networks = calloc(rows->network_count + 1, sizeof(*index->networks));
	index->bindings = calloc(rows->port_binding_count + 1, sizeof(*index->bindings));
	index->nics = calloc(rows->nic_count + 1, sizeof(*index->nics));
	index->nic_slots = calloc(slots, sizeof(*index->nic_slots));
	index->tags = calloc(rows->vlan_count + rows->vni_count + 1, sizeof(*index->tags));
	index->tags_by_network =
		calloc(rows->vlan_count + rows->vni_count + 1, sizeof(*index->tags_by_network));
	index->texts = build->text = malloc(text_size(rows));
	build->switches = calloc(rows->switch_count + 1, sizeof(*build->switches));
	build->networks = calloc(rows->network_count + 1, sizeof(*build->networks));
	build->ports = calloc(rows->port_count + 1, sizeof(*build->ports));
	if (!index->switches || !index->switch_of_agent || !index->ports || !index->networks ||
	    !index->bindings || !index->nics || !index->nic_slots || !index->tags ||
	    !index->tags_by_network || !index->texts || !build->switches || !build->networks ||
	    !build->ports)
		return -ENOMEM;
	return 0;
}

static void attribution_index_add_switches(struct build *build)
{
	const struct attribution_rows *rows = build->rows;
	struct attribution_index *index = build->index;

	for (size_t i = 0; i <= AGENT_LIMIT; i++)
		index->switch_of_agent[i] = INDEX_NONE;
	for (size_t i = 0; i < rows->switch_count; i++) {
		const struct switch_row *row = &rows->switches[i];

		index->switches[i] =
			(struct index_switch){.id = row->id,
					      .fabric = row->fabric,
					      .name = attribution_index_keep(build, row->name)};
		index->switch_of_agent[row->agent] = (uint32_t)i;
		build->switches[i] = (struct name_key){.id = row->id, .index = (uint32_t)i};
	}
	index->switch_count = rows->switch_count;
	qsort(build->switches, rows->switch_count, sizeof(*build->switches), compare_keys);

	for (size_t i = 0; i < rows->network_count; i++) {
		const struct network_row *row = &rows->networks[i];

		index->networks[i] = (struct index_network){
			.id = row->id,
			.tenant = row->tenant,
			.name = attribution_index_keep(build, row->name),
			.tenant_name = attribution_index_keep(build, row->tenant_name),
		};
		build->networks[i] = (struct name_key){.id = row->id, .index = (uint32_t)i};
	}
	index->network_count = rows->network_count;
	qsort(build->networks, rows->network_count, sizeof(*build->networks), compare_keys);
}

static int attribution_index_compare_ports(const void *a, const void *b)
{
	const struct index_port *left = a;
	const struct index_port *right = b;

	if (left->switch_index != right->switch_index)
		return left->switch_index < right->switch_index ? -1 : 1;
	if (left->if_index != right->if_index)
		return left->if_index < right->if_index ? -1 : 1;
	return strcmp(left->name, right->name);
}

/* Names of aggregates are kept in `lag` as an index into rows until all ports have their place. */
static void attribution_index_add_ports(struct build *build)
{
	const struct attribution_rows *rows = build->rows;
	struct attribution_index *index = build->index;

	for (size_t i = 0; i < rows->port_count; i++) {
		const struct port_row *row = &rows->ports[i];
		uint32_t owner =
			find_key(build->switches, rows->switch_count, row->switch_id, NULL);

		if (owner == INDEX_NONE) {
			index->left_out++;
			continue;
		}
		index->ports[index->port_count++] = (struct index_port){
			.switch_index = owner,
			.if_index = row->if_index,
			.name = attribution_index_keep(build, row->name),
			.kind = row->kind,
			.lag = row->lag[0] ? (uint32_t)i : INDEX_NONE,
			.speed_bps = row->speed_bps,
		};
	}
	qsort(index->ports, index->port_count, sizeof(*index->ports),
	      attribution_index_compare_ports);
	for (uint32_t i = 0; i < index->port_count; i++) {
		struct index_switch *owner = &index->switches[index->ports[i].switch_index];

		if (!owner->port_count++)
			owner->ports = i;
		build->ports[i] = (struct name_key){
			.id = owner->id, .name = index->ports[i].name, .index = i};
	}
	qsort(build->ports, index->port_count, sizeof(*build->ports), compare_keys);
	for (size_t i = 0; i < index->port_count; i++) {
		struct index_port *port = &index->ports[i];

		if (port->lag != INDEX_NONE)
			port->lag = find_key(build->ports, index->port_count,
					     index->switches[port->switch_index].id,
					     rows->ports[port->lag].lag);
	}
}

static int compare_bindings(const void *a, const void *b)
{
	const struct index_binding *left = a;
	const struct index_binding *right = b;

	if (left->port != right->port)
		return left->port < right->port ? -1 : 1;
	if (left->tag != right->tag)
		return left->tag < right->tag ? -1 : 1;
	return left->from_us < right->from_us ? -1 : left->from_us > right->from_us;
}

static void add_bindings(struct build *build)
{
	const struct attribution_rows *rows = build->rows;
	struct attribution_index *index = build->index;

	for (size_t i = 0; i < rows->port_binding_count; i++) {
		const struct port_binding_row *row = &rows->port_bindings[i];
		uint32_t port =
			find_key(build->ports, index->port_count, row->switch_id, row->port);
		uint32_t network =
			find_key(build->networks, rows->network_count, row->network, NULL);

		if (port == INDEX_NONE || network == INDEX_NONE) {
			index->left_out++;
			continue;
		}
		index->bindings[index->binding_count++] = (struct index_binding){
			.port = port,
			.network = network,
			.tag = row->tag,
			.from_us = row->from_us,
			.to_us = row->to_us,
		};
	}
	qsort(index->bindings, index->binding_count, sizeof(*index->bindings), compare_bindings);
	for (uint32_t i = 0; i < index->binding_count; i++) {
		struct index_port *port = &index->ports[index->bindings[i].port];

		if (!port->binding_count++)
			port->bindings = i;
	}
	/* A sample names the member, the network is bound to the aggregate. */
	for (size_t i = 0; i < index->port_count; i++) {
		struct index_port *port = &index->ports[i];

		if (port->lag == INDEX_NONE)
			continue;
		if (!port->binding_count) {
			port->bindings = index->ports[port->lag].bindings;
			port->binding_count = index->ports[port->lag].binding_count;
		}
		if (port->kind == PORT_KIND_UNKNOWN)
			port->kind = index->ports[port->lag].kind;
	}
}

static int attribution_index_compare_nics(const void *a, const void *b)
{
	const struct index_nic *left = a;
	const struct index_nic *right = b;

	if (left->mac != right->mac)
		return left->mac < right->mac ? -1 : 1;
	return left->from_us < right->from_us ? -1 : left->from_us > right->from_us;
}

static void attribution_index_add_nics(struct build *build)
{
	const struct attribution_rows *rows = build->rows;
	struct attribution_index *index = build->index;

	for (size_t i = 0; i < rows->nic_count; i++) {
		const struct nic_binding_row *row = &rows->nics[i];

		index->nics[index->nic_count++] = (struct index_nic){
			.mac = mac_number(row->mac),
			.port = find_key(build->ports, index->port_count, row->switch_id,
					 row->port),
			.node = row->node,
			.node_name = attribution_index_keep(build, row->node_name),
			.from_us = row->from_us,
			.to_us = row->to_us,
		};
	}
	qsort(index->nics, index->nic_count, sizeof(*index->nics), attribution_index_compare_nics);
	for (uint32_t i = 0; i < index->nic_count; i++) {
		size_t slot = mac_slot(index->nics[i].mac, index->nic_mask);

		if (i && index->nics[i - 1].mac == index->nics[i].mac)
			continue;
		while (index->nic_slots[slot])
			slot = (slot + 1) & index->nic_mask;
		index->nic_slots[slot] = i + 1;
	}
}

static int compare_tag_rows(const void *a, const void *b)
{
	const struct index_tag *left = a;
	const struct index_tag *right = b;
	int order = compare_tags(left->fabric, left->tag, right);

	if (order)
		return order;
	return left->from_us < right->from_us ? -1 : left->from_us > right->from_us;
}

static void add_tag(struct build *build, const struct index_tag *tag, int64_t network)
{
	struct attribution_index *index = build->index;
	struct index_tag *row = &index->tags[index->tag_count];

	*row = *tag;
	row->network = find_key(build->networks, index->network_count, network, NULL);
	if (row->network == INDEX_NONE)
		index->left_out++;
	else
		index->tag_count++;
}

static void add_tags(struct build *build)
{
	const struct attribution_rows *rows = build->rows;

	for (size_t i = 0; i < rows->vlan_count; i++) {
		const struct vlan_binding_row *row = &rows->vlans[i];

		add_tag(build,
			&(struct index_tag){.fabric = row->fabric,
					    .tag = row->vlan,
					    .from_us = row->from_us,
					    .to_us = row->to_us},
			row->network);
	}
	for (size_t i = 0; i < rows->vni_count; i++) {
		const struct vni_binding_row *row = &rows->vnis[i];

		add_tag(build,
			&(struct index_tag){
				.tag = row->vni, .from_us = row->from_us, .to_us = row->to_us},
			row->network);
	}
	qsort(build->index->tags, build->index->tag_count, sizeof(*build->index->tags),
	      compare_tag_rows);
}

static int compare_by_network(const void *a, const void *b, void *context)
{
	const struct index_tag *tags = context;
	const struct index_tag *left = &tags[*(const uint32_t *)a];
	const struct index_tag *right = &tags[*(const uint32_t *)b];

	if (left->network != right->network)
		return left->network < right->network ? -1 : 1;
	return left < right ? -1 : left > right;
}

static void add_network_vlans(struct attribution_index *index)
{
	for (uint32_t i = 0; i < index->tag_count; i++)
		if (index->tags[i].fabric)
			index->tags_by_network[index->vlan_count++] = i;
	qsort_r(index->tags_by_network, index->vlan_count, sizeof(*index->tags_by_network),
		compare_by_network, index->tags);
}

int attribution_index_new(const struct attribution_rows *rows, struct attribution_index **ret)
{
	struct build build = {.rows = rows, .index = calloc(1, sizeof(*build.index))};
	int rc;

	if (!build.index)
		return -ENOMEM;
	rc = attribution_index_allocate(&build);
	if (!rc) {
		attribution_index_add_switches(&build);
		attribution_index_add_ports(&build);
		add_bindings(&build);
		attribution_index_add_nics(&build);
		add_tags(&build);
		add_network_vlans(build.index);
		*ret = build.index;
	} else {
		attribution_index_free(build.index);
	}
	free(build.switches);
	free(build.networks);
	free(build.ports);
	return rc;
}

void attribution_index_free(struct attribution_index *index)
{
	if (!index)
		return;
	free(index->switches);
	free(index->switch_of_agent);
	free(index->ports);
	free(index->networks);
	free(index->bindings);
	free(index->nics);
	free(index->nic_slots);
	free(index->tags);
	free(index->tags_by_network);
	free(index->texts);
	free(index);
}
