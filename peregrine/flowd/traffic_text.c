#include "peregrine/flowd/traffic_text.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "common/net/mac.h"

#define KEY  "step, at, switch_id, port, direction, tenant_id, network_id, vlan, reason"
#define SUMS "bytes, packets, samples, square"

/* Also the fields of Kafka's topics: with other ones KAFKA_SCHEMA is another, too, once a release
 * had them (docs/kafka.md, deploy/clickhouse/traffic.sql). */
static const struct {
	const char *name, *columns;
} tables[TRAFFIC_TABLE_COUNT] = {
	[TABLE_SHARE] = {"share", KEY ", tenant, network, " SUMS ", floor, partial"},
	[TABLE_PAIR] = {"pair", KEY ", a, b, " SUMS ", missed, floor"},
	[TABLE_FLOW] = {"flow", KEY ", a, b, forward, source, target, source_port, target_port,"
				    " protocol, ethertype, " SUMS ", missed"},
	[TABLE_PORT] = {"port", "step, at, switch_id, port, seconds, in_bytes, out_bytes,"
				" in_packets, out_packets, in_errors, out_errors, in_discards,"
				" out_discards, speed_bps, out_sampled"},
};

void traffic_copy_statement(enum traffic_table_kind table, enum traffic_step step,
			    char ret[COPY_STATEMENT_SIZE])
{
	(void)text_format(ret, COPY_STATEMENT_SIZE, "copy haas.traffic_%d_%s (%s) from stdin",
			  (int)traffic_step_seconds[step], tables[table].name,
			  tables[table].columns);
}

void traffic_add_field(struct text *text, const char *value)
{
	static const char special[] = "\\\t\n\r";
	static const char letters[] = "\\tnr";

	while (*value) {
		size_t plain = strcspn(value, special);

		text_add_bytes(text, value, plain);
		value += plain;
		if (*value) {
			const char *found = strchr(special, *value++);

			text_add(text, "\\");
			text_add_bytes(text, &letters[found - special], 1);
		}
	}
}

static void add_id(struct text *text, int64_t id)
{
	if (id)
		text_addf(text, "%" PRId64, id);
	else
		text_add(text, "\\N");
}

static void add_key(struct text *text, const struct traffic_batch *batch,
		    const struct share_key *key, const struct traffic_names *names)
{
	const struct traffic_place *place = traffic_place_get(names, key->place);
	const struct traffic_group *group = traffic_group_get(names, key->group);

	text_addf(text, "%d\t%s\t%" PRId64 "\t", traffic_step_seconds[batch->step], batch->at_text,
		  place->switch_id);
	traffic_add_field(text, place->port);
	text_add(text, key->direction == TRAFFIC_OUT ? "\tout\t" : "\tin\t");
	add_id(text, group->tenant);
	text_add(text, "\t");
	add_id(text, group->network);
	text_addf(text, "\t%d\t%s\t", group->vlan, attribution_reason_words[group->reason]);
}

static void add_sums(struct text *text, const struct traffic_sums *sums)
{
	text_addf(text, "%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%.17g", sums->bytes, sums->packets,
		  sums->samples, sums->square);
}

const char *traffic_address_text(const uint8_t address[16], bool ip, char ret[END_TEXT_SIZE])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	ret[0] = 0;
	if (!ip)
		return ret;
	if (!memcmp(address, mapped, sizeof(mapped)))
		(void)inet_ntop(AF_INET, address + 12, ret, END_TEXT_SIZE);
	else
		(void)inet_ntop(AF_INET6, address, ret, END_TEXT_SIZE);
	return ret;
}

const char *traffic_end_text(const struct traffic_end *end, const struct traffic_names *names,
			     char ret[END_TEXT_SIZE])
{
	struct mac mac;
	uint32_t node;

	switch ((enum traffic_end_kind)end->kind) {
	case END_NODE:
		memcpy(&node, end->bytes, sizeof(node));
		(void)text_copy(ret, END_TEXT_SIZE, traffic_node_get(names, node)->name);
		return ret;
	case END_IP: return traffic_address_text(end->bytes, true, ret);
	case END_MAC: memcpy(mac.bytes, end->bytes, sizeof(mac.bytes)); return mac_text(mac, ret);
	case END_NONE: break;
	}
	ret[0] = 0;
	return ret;
}

static void add_ends(struct text *text, const struct pair_key *pair,
		     const struct traffic_names *names)
{
	char end[END_TEXT_SIZE];

	traffic_add_field(text, traffic_end_text(&pair->a, names, end));
	text_add(text, "\t");
	traffic_add_field(text, traffic_end_text(&pair->b, names, end));
	text_add(text, "\t");
}

static void add_shares(struct traffic_batch *batch, bool partial, const struct traffic_set *set,
		       const struct traffic_names *names)
{
	struct text *text = &batch->tables[TABLE_SHARE];

	for (uint32_t i = 0; i < set->share_table.count; i++) {
		const struct traffic_share *share = &set->shares[i];
		const struct traffic_group *group = traffic_group_get(names, share->key.group);

		add_key(text, batch, &share->key, names);
		traffic_add_field(text, group->tenant_name);
		text_add(text, "\t");
		traffic_add_field(text, group->network_name);
		text_add(text, "\t");
		add_sums(text, &share->sums);
		text_addf(text, "\t%" PRIu64 "\t%s\n", share->floor, partial ? "1" : "0");
		if (share->key.direction != TRAFFIC_IN)
			continue;
		batch->bytes += share->sums.bytes;
		if (group->reason > REASON_SWITCH_ITSELF)
			batch->unattributed_bytes += share->sums.bytes;
	}
}

static void add_pairs(struct traffic_batch *batch, const struct traffic_set *set,
		      const struct traffic_names *names)
{
	struct text *text = &batch->tables[TABLE_PAIR];

	for (uint32_t i = 0; i < set->pair_table.count; i++) {
		const struct traffic_pair *pair = &set->pairs[i];

		add_key(text, batch, &set->shares[pair->key.share].key, names);
		add_ends(text, &pair->key, names);
		add_sums(text, &pair->sums);
		text_addf(text, "\t%" PRIu64 "\t%" PRIu64 "\n", pair->missed, pair->floor);
	}
}

static void add_flows(struct traffic_batch *batch, const struct traffic_set *set,
		      const struct traffic_names *names)
{
	struct text *text = &batch->tables[TABLE_FLOW];
	char address[END_TEXT_SIZE];

	for (uint32_t i = 0; i < set->flow_table.count; i++) {
		const struct traffic_flow *flow = &set->flows[i];
		const struct traffic_pair *pair = &set->pairs[flow->key.pair];
		bool ip = flow->key.ethertype == 0x0800 || flow->key.ethertype == 0x86dd;

		add_key(text, batch, &set->shares[pair->key.share].key, names);
		add_ends(text, &pair->key, names);
		text_add(text, flow->key.forward ? "1\t" : "0\t");
		text_addf(text, "%s\t", traffic_address_text(flow->key.source, ip, address));
		text_addf(text, "%s\t", traffic_address_text(flow->key.target, ip, address));
		text_addf(text, "%d\t%d\t%d\t%d\t", flow->key.source_port, flow->key.target_port,
			  flow->key.protocol, flow->key.ethertype);
		add_sums(text, &flow->sums);
		text_addf(text, "\t%" PRIu64 "\n", flow->missed);
	}
}

/* Places of one switch stand together, as a rule: one that does not is told again. */
static void add_switches(struct traffic_batch *batch, const struct traffic_names *names)
{
	struct text *text = &batch->switches;
	int64_t last = 0;

	for (uint32_t i = 0; i < traffic_place_count(names); i++) {
		const struct traffic_place *place = traffic_place_get(names, i);

		if (place->switch_id == last)
			continue;
		last = place->switch_id;
		text_addf(text, "%" PRId64 "\t", place->switch_id);
		traffic_add_field(text, place->switch_name);
		text_add(text, "\n");
	}
}

void traffic_batch_begin(struct traffic_batch *batch, enum traffic_step step, int64_t at_s,
			 int64_t from_s, int64_t to_s)
{
	*batch = (struct traffic_batch){.step = step, .at_s = at_s, .from_s = from_s, .to_s = to_s};
	(void)clock_text(at_s * 1000000, batch->at_text);
}

void traffic_batch_set(struct traffic_batch *batch, bool partial, const struct traffic_set *set,
		       const struct traffic_names *names)
{
	add_shares(batch, partial, set, names);
	add_pairs(batch, set, names);
	add_flows(batch, set, names);
	add_switches(batch, names);
	batch->lost_bytes += set->lost_bytes;
	batch->thinned = set->thinned ? set->thinned : 1;
}

void traffic_batch_port(struct traffic_batch *batch, const struct traffic_place *place,
			const struct port_sums *sums)
{
	struct text *text = &batch->tables[TABLE_PORT];

	text_addf(text, "%d\t%s\t%" PRId64 "\t", traffic_step_seconds[batch->step], batch->at_text,
		  place->switch_id);
	traffic_add_field(text, place->port);
	text_addf(text, "\t%.3f", sums->seconds);
	for (size_t i = 0; i < PORT_COUNTER_COUNT; i++)
		text_addf(text, "\t%" PRIu64, sums->values[i]);
	text_addf(text, "\t%" PRIu64 "\t%" PRIu64 "\n", place->speed_bps, sums->out_sampled);
}

static void copy_text(const struct text *from, struct text *ret)
{
	*ret = (struct text){.failed = from->failed};
	text_add_bytes(ret, text_get(from), from->size);
}

void traffic_batch_copy(const struct traffic_batch *batch, struct traffic_batch *ret)
{
	*ret = *batch;
	copy_text(&batch->switches, &ret->switches);
	for (size_t i = 0; i < TRAFFIC_TABLE_COUNT; i++)
		copy_text(&batch->tables[i], &ret->tables[i]);
}

void traffic_batch_done(struct traffic_batch *batch)
{
	text_done(&batch->switches);
	for (size_t i = 0; i < TRAFFIC_TABLE_COUNT; i++)
		text_done(&batch->tables[i]);
}

size_t traffic_batch_size(const struct traffic_batch *batch)
{
	size_t size = batch->switches.size;

	for (size_t i = 0; i < TRAFFIC_TABLE_COUNT; i++)
		size += batch->tables[i].size;
	return size;
}

bool traffic_batch_whole(const struct traffic_batch *batch)
{
	if (batch->switches.failed)
		return false;
	for (size_t i = 0; i < TRAFFIC_TABLE_COUNT; i++)
		if (batch->tables[i].failed)
			return false;
	return true;
}
