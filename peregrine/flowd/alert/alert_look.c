#include "peregrine/flowd/alert/alert_look.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

enum {
	/* A switch that was heard of so lately would have sent samples of its traffic. */
	HEARD_US = 60 * 1000000,
};

/* What one tenant has at one place. */
struct part {
	uint32_t place;
	int64_t tenant;
	const char *name;
	struct traffic_sums sums;
};

struct switch_memory {
	int64_t id;
	struct gap gap;
	uint64_t came, missing; /* as last seen */
};

struct alert_look {
	struct traffic_sums *out; /* by place */
	uint32_t *port_of_place;
	size_t places;
	double *used;            /* by port of the index: percent */
	struct balance *members; /* by port of the index: of an aggregate */
	size_t ports;
	struct part *parts;
	size_t part_room;
	struct switch_memory *switches; /* in the order of the index; ids tell when that changed */
	size_t switch_count;
};

int alert_look_new(struct alert_look **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void alert_look_free(struct alert_look *look)
{
	if (!look)
		return;
	free(look->out);
	free(look->port_of_place);
	free(look->used);
	free(look->members);
	free(look->parts);
	free(look->switches);
	free(look);
}

static bool alert_look_grow(void *array, size_t count, size_t size)
{
	void *more = reallocarray(*(void **)array, count + 1, size);

	if (more)
		*(void **)array = more;
	return more != NULL;
}

static bool fit_switches(struct alert_look *look, const struct attribution_index *index)
{
	struct switch_memory *fresh;
	bool same = look->switch_count == index->switch_count;

	for (size_t i = 0; same && i < index->switch_count; i++)
		same = look->switches[i].id == index->switches[i].id;
	if (same)
		return true;
	fresh = calloc(index->switch_count + 1, sizeof(*fresh));
	if (!fresh)
		return false;
	for (size_t i = 0; i < index->switch_count; i++) {
		fresh[i].id = index->switches[i].id;
		for (size_t j = 0; j < look->switch_count; j++)
			if (look->switches[j].id == fresh[i].id)
				fresh[i] = look->switches[j];
	}
	free(look->switches);
	look->switches = fresh;
	look->switch_count = index->switch_count;
	return true;
}

static bool alert_look_fit(struct alert_look *look, const struct alert_second *second)
{
	size_t places = traffic_place_count(rollup_names(second->rollup));
	size_t ports = second->index->port_count;

	if (places > look->places || !look->out) {
		if (!alert_look_grow(&look->out, places, sizeof(*look->out)) ||
		    !alert_look_grow(&look->port_of_place, places, sizeof(*look->port_of_place)))
			return false;
		look->places = places;
	}
	if (ports > look->ports || !look->used) {
		if (!alert_look_grow(&look->used, ports, sizeof(*look->used)) ||
		    !alert_look_grow(&look->members, ports, sizeof(*look->members)))
			return false;
		look->ports = ports;
	}
	if (second->set->share_table.count > look->part_room || !look->parts) {
		if (!alert_look_grow(&look->parts, second->set->share_table.count,
				     sizeof(*look->parts)))
			return false;
		look->part_room = second->set->share_table.count;
	}
	for (size_t i = 0; i < places; i++) {
		look->out[i] = (struct traffic_sums){0};
		look->port_of_place[i] = INDEX_NONE;
	}
	for (size_t i = 0; i < ports; i++) {
		look->used[i] = UNKNOWN;
		look->members[i] = (struct balance){0};
	}
	return fit_switches(look, second->index);
}

/* --- ports --- */

/* Whose an edge port is, when all that is bound to it now is one tenant's. */
static int64_t alert_look_tenant_of(const struct attribution_index *index,
				    const struct index_port *port, int64_t at_us)
{
	int64_t tenant = 0;

	for (uint32_t i = 0; port->kind == PORT_KIND_EDGE && i < port->binding_count; i++) {
		const struct index_binding *binding = &index->bindings[port->bindings + i];
		int64_t owner = index->networks[binding->network].tenant;

		if (binding->from_us > at_us || binding->to_us <= at_us)
			continue;
		if (!owner || (tenant && owner != tenant))
			return 0;
		tenant = owner;
	}
	return tenant;
}

static struct alert_asset port_asset(const struct alert_second *second, uint32_t number)
{
	const struct index_port *port = &second->index->ports[number];
	const struct index_switch *owner = &second->index->switches[port->switch_index];

	return (struct alert_asset){.subject_kind = "port",
				    .switch_name = owner->name,
				    .port = port->name,
				    .more = "",
				    .switch_id = owner->id,
				    .place = rollup_place(second->rollup, number)};
}

static void alert_look_at_port(struct alert_look *look, const struct alert_second *second,
			       uint32_t number, struct alert_watch *watch)
{
	const struct index_port *port = &second->index->ports[number];
	const struct agent_facts *agent = &second->agents[port->switch_index];
	struct alert_asset asset = port_asset(second, number);

	if (asset.place == INDEX_NONE || asset.place >= look->places)
		return;
	look->port_of_place[asset.place] = number;
	const struct port_facts facts = {
		.speed_bps = port->speed_bps,
		.sampled = agent->samples && second->at_us - agent->heard_us < HEARD_US,
		.out = look->out[asset.place],
		.seconds = second->seconds,
		.counted = port_counters_rates(second->counters, asset.place),
		.at_us = second->at_us,
	};
	look->used[number] = alert_utilisation(&facts, alert_watch_rule(watch, ALERT_UTILISATION),
					       &asset.window_s);
	asset.tenant = alert_look_tenant_of(second->index, port, second->at_us);
	alert_watch_see(watch, ALERT_UTILISATION, &asset, look->used[number], second->at_us);
	asset.window_s = facts.counted ? facts.counted->seconds : 0;
	alert_watch_see(watch, ALERT_ERRORS, &asset, alert_errors(&facts), second->at_us);
	alert_watch_see(watch, ALERT_DISCARDS, &asset, alert_discards(&facts), second->at_us);
}

static void look_at_balance(struct alert_look *look, const struct alert_second *second,
			    struct alert_watch *watch)
{
	const struct attribution_index *index = second->index;

	for (uint32_t i = 0; i < index->port_count; i++)
		if (index->ports[i].lag != INDEX_NONE)
			balance_add(&look->members[index->ports[i].lag], look->used[i]);
	for (uint32_t s = 0; s < index->switch_count; s++) {
		struct balance uplinks = {0};
		struct alert_asset asset = {.subject_kind = "switch",
					    .switch_name = index->switches[s].name,
					    .port = "",
					    .more = "uplinks",
					    .switch_id = index->switches[s].id,
					    .place = INDEX_NONE};
		const struct index_switch *owner = &index->switches[s];

		for (uint32_t i = owner->ports; i < owner->ports + owner->port_count; i++) {
			if (index->ports[i].kind == PORT_KIND_UPLINK &&
			    index->ports[i].lag == INDEX_NONE)
				balance_add(&uplinks, look->used[i]);
			if (look->members[i].count > 0) {
				struct alert_asset lag = port_asset(second, i);

				alert_watch_see(watch, ALERT_IMBALANCE, &lag,
						alert_imbalance(&look->members[i]), second->at_us);
			}
		}
		alert_watch_see(watch, ALERT_IMBALANCE, &asset, alert_imbalance(&uplinks),
				second->at_us);
	}
}

/* --- tenants on links --- */

static int part_order(const void *a, const void *b)
{
	const struct part *x = a;
	const struct part *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return (x->tenant > y->tenant) - (x->tenant < y->tenant);
}

static struct traffic_sums alert_look_now_of(const struct traffic_set *set,
					     const struct traffic_share *share)
{
	if (share->now.second != set->second)
		return (struct traffic_sums){0};
	return (struct traffic_sums){.bytes = share->now.bytes,
				     .packets = share->now.packets,
				     .square = share->now.square,
				     .samples = share->now.samples};
}

/* Only of links that are used so much that one could have too much of them. */
static size_t take_parts(struct alert_look *look, const struct alert_second *second, double least)
{
	const struct traffic_names *names = rollup_names(second->rollup);
	size_t count = 0;

	for (uint32_t i = 0; i < second->set->share_touched.count; i++) {
		const struct traffic_share *share =
			&second->set->shares[second->set->share_touched.rows[i]];
		uint32_t port =
			share->key.direction == TRAFFIC_OUT && share->key.place < look->places
				? look->port_of_place[share->key.place]
				: INDEX_NONE;
		const struct traffic_group *group = traffic_group_get(names, share->key.group);

		if (port == INDEX_NONE || second->index->ports[port].kind != PORT_KIND_UPLINK ||
		    !group->tenant || !(look->used[port] >= least))
			continue;
		look->parts[count++] =
			(struct part){share->key.place, group->tenant, group->tenant_name,
				      alert_look_now_of(second->set, share)};
	}
	qsort(look->parts, count, sizeof(*look->parts), part_order);
	return count;
}

static void look_at_part(struct alert_look *look, const struct alert_second *second,
			 const struct part *part, struct alert_watch *watch)
{
	uint32_t number = look->port_of_place[part->place];
	const struct port_rates *counted = port_counters_rates(second->counters, part->place);
	const struct alert_rule *rule = alert_watch_rule(watch, ALERT_SHARE);
	uint64_t speed = counted && counted->speed_bps ? counted->speed_bps
						       : second->index->ports[number].speed_bps;
	struct alert_asset asset = port_asset(second, number);
	double own = alert_percent(&part->sums, second->seconds, speed, rule);
	double others = (double)(look->out[part->place].bytes - part->sums.bytes) * 8 /
			second->seconds / (double)speed * 100;

	asset.more = part->name;
	asset.tenant = part->tenant;
	asset.window_s = second->seconds;
	alert_watch_see(watch, ALERT_SHARE, &asset, isnan(own) ? own : alert_share(own, others),
			second->at_us);
}

struct looking {
	const struct alert_look *look;
	const struct alert_second *second;
};

/* Is the load of its link known? One of an earlier life has but the link's name. */
static bool link_is_known(void *context, const struct alert_entry *entry)
{
	const struct looking *looking = context;
	const struct alert_look *look = looking->look;
	char subject[ALERT_SUBJECT_SIZE];

	if (entry->place < look->places && look->port_of_place[entry->place] != INDEX_NONE)
		return !isnan(look->used[look->port_of_place[entry->place]]);
	for (uint32_t i = 0; i < looking->second->index->port_count; i++) {
		const struct index_port *port = &looking->second->index->ports[i];
		const char *owner = looking->second->index->switches[port->switch_index].name;

		(void)text_format(subject, sizeof(subject), "%s:%s", owner, port->name);
		if (strcmp(subject, entry->subject) == 0)
			return !isnan(look->used[i]);
	}
	return false;
}

static void look_at_tenants(struct alert_look *look, const struct alert_second *second,
			    struct alert_watch *watch)
{
	struct looking looking = {look, second};
	/* 0: also those that are over by now are looked at, while there are some. */
	double least =
		alert_watch_counts(watch).open ? 0 : alert_watch_rule(watch, ALERT_SHARE)->raise;
	size_t count = take_parts(look, second, least);

	for (size_t i = 0; i < count; i++) {
		struct part sum = look->parts[i];

		while (i + 1 < count && part_order(&look->parts[i + 1], &sum) == 0)
			traffic_sums_add(&sum.sums, &look->parts[++i].sums);
		look_at_part(look, second, &sum, watch);
	}
	alert_watch_absent(watch, ALERT_SHARE, second->at_us, link_is_known, &looking);
}

/* --- agents --- */

static void look_at_agents(struct alert_look *look, const struct alert_second *second,
			   struct alert_watch *watch)
{
	for (size_t i = 0; i < second->index->switch_count; i++) {
		const struct agent_facts *agent = &second->agents[i];
		struct switch_memory *memory = &look->switches[i];
		struct alert_asset asset = {.subject_kind = "switch",
					    .switch_name = second->index->switches[i].name,
					    .port = "",
					    .more = "",
					    .switch_id = memory->id,
					    .place = INDEX_NONE};
		double gap = alert_gap(&memory->gap, agent->came - memory->came,
				       agent->missing - memory->missing);

		memory->came = agent->came;
		memory->missing = agent->missing;
		alert_watch_see(watch, ALERT_GAP, &asset, agent->heard_us ? gap : UNKNOWN,
				second->at_us);
		alert_watch_see(watch, ALERT_SILENT, &asset,
				alert_silence(agent->silent_us, second->at_us), second->at_us);
	}
}

void alert_look_at(struct alert_look *look, const struct alert_second *second,
		   struct alert_watch *watch)
{
	if (second->seconds <= 0 || !alert_look_fit(look, second))
		return;
	for (uint32_t i = 0; i < second->set->share_touched.count; i++) {
		const struct traffic_share *share =
			&second->set->shares[second->set->share_touched.rows[i]];
		struct traffic_sums sums = alert_look_now_of(second->set, share);

		if (share->key.direction == TRAFFIC_OUT && share->key.place < look->places)
			traffic_sums_add(&look->out[share->key.place], &sums);
	}
	for (uint32_t i = 0; i < second->index->port_count; i++)
		alert_look_at_port(look, second, i, watch);
	look_at_balance(look, second, watch);
	look_at_tenants(look, second, watch);
	look_at_agents(look, second, watch);
	alert_watch_sweep(watch, second->at_us);
}
