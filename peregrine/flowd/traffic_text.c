#include "peregrine/flowd/traffic_text.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/mac.h"

#define KEY  "step, at, switch_id, port, direction, tenant_id, network_id, vlan, reason"
#define SUMS "bytes, packets, samples, square"

/* Also the fields of Kafka's topics: with other ones KAFKA_SCHEMA is another, too, once a release
 * had them (docs/kafka.md, deploy/clickhouse/traffic.sql). */
static const struct {
	const char *name, *columns;
} traffic_text_tables[TRAFFIC_TABLE_COUNT] = {
	[TABLE_SHARE] = {"share", KEY ", tenant, network, " SUMS ", floor, partial"},
	[TABLE_PAIR] = {"pair", KEY ", a, b, " SUMS ", missed, floor"},
	[TABLE_FLOW] = {"flow", KEY ", a, b, forward, source, target, source_port, target_port,"
				    " protocol, ethertype, " SUMS ", missed"},
	[TABLE_PORT] = {"port", "step, at, switch_id, port, seconds, in_bytes, out_bytes,"
				" in_packets, out_packets, in_errors, out_errors, in_discards,"
				" out_discards, speed_bps, out_sampled, interval_s"},
};

void traffic_copy_statement(enum traffic_table_kind table, enum traffic_step step,
			    char ret[COPY_STATEMENT_SIZE])
{
	(void)text_format(ret, COPY_STATEMENT_SIZE, "copy haas.traffic_%d_%s (%s) from stdin",
			  (int)traffic_step_seconds[step], traffic_text_tables[table].name,
			  traffic_text_tables[table].columns);
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

/* The digits of a number end before `end`; returns where they begin. A hundred thousand rows are
 * written while datagrams come in: snprintf took ten times as long for each. */
static char *digits_before(char *end, uint64_t value)
{
	do {
		*--end = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	return end;
}

enum { DIGITS = 20 };

static void traffic_text_add_number(struct text *text, uint64_t value, char behind)
{
	char digits[DIGITS + 1];
	char *begin = digits_before(&digits[DIGITS], value);

	digits[DIGITS] = behind;
	text_add_bytes(text, begin, (size_t)(&digits[sizeof(digits)] - begin));
}

static void traffic_text_add_id(struct text *text, int64_t id)
{
	if (id)
		traffic_text_add_number(text, (uint64_t)id, '\t');
	else
		text_add(text, "\\N\t");
}

/* The sum of squares in full; from a billion on without its fraction, which no bound shows. */
static void add_square(struct text *text, double square)
{
	if (square >= 1e9 && square < 0x1p63)
		traffic_text_add_number(text, (uint64_t)llround(square), '\t');
	else
		text_addf(text, "%.17g\t", square);
}

static void traffic_text_add_key(struct text *text, const struct traffic_batch *batch,
				 const struct share_key *key, const struct traffic_names *names)
{
	const struct traffic_place *place = traffic_place_get(names, key->place);
	const struct traffic_group *group = traffic_group_get(names, key->group);

	text_addf(text, "%d\t%s\t%" PRId64 "\t", traffic_step_seconds[batch->step], batch->at_text,
		  place->switch_id);
	traffic_add_field(text, place->port);
	text_add(text, key->direction == TRAFFIC_OUT ? "\tout\t" : "\tin\t");
	traffic_text_add_id(text, group->tenant);
	traffic_text_add_id(text, group->network);
	text_addf(text, "%d\t%s\t", group->vlan, attribution_reason_words[group->reason]);
}

static void traffic_text_add_sums(struct text *text, const struct traffic_sums *sums)
{
	traffic_text_add_number(text, sums->bytes, '\t');
	traffic_text_add_number(text, sums->packets, '\t');
	traffic_text_add_number(text, sums->samples, '\t');
	add_square(text, sums->square);
}

/* --- ends and addresses --- */

static void traffic_text_ipv4_text(const uint8_t address[4], char ret[INET_ADDRSTRLEN])
{
	char text[INET_ADDRSTRLEN];
	char *at = &text[sizeof(text)];

	for (int i = 3; i >= 0; i--) {
		*--at = i == 3 ? 0 : '.';
		at = digits_before(at, address[i]);
	}
	memcpy(ret, at, (size_t)(&text[sizeof(text)] - at));
}

const char *traffic_address_text(const uint8_t address[16], bool ip, char ret[END_TEXT_SIZE])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	ret[0] = 0;
	if (!ip)
		return ret;
	if (!memcmp(address, mapped, sizeof(mapped)))
		traffic_text_ipv4_text(address + 12, ret);
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

/* --- rows --- */

/* What a row begins with its children begin with, too: its key, and of a pair its ends. */
struct prefix {
	size_t at, size;
};

/* Of each row of a level, in the text of that level; NULL: no memory, and the text has failed. */
static struct prefix *prefixes_new(struct text *text, uint32_t count)
{
	struct prefix *prefixes = calloc((size_t)count + 1, sizeof(*prefixes));

	text->failed |= !prefixes;
	return prefixes;
}

static void traffic_text_add_prefix(struct text *text, const struct text *parents,
				    const struct prefix *prefix)
{
	text_add_bytes(text, text_get(parents) + prefix->at, prefix->size);
}

static void add_share(struct traffic_batch *batch, bool partial, const struct traffic_share *share,
		      const struct traffic_names *names, struct prefix *ret_prefix)
{
	struct text *text = &batch->tables[TABLE_SHARE];
	const struct traffic_group *group = traffic_group_get(names, share->key.group);

	ret_prefix->at = text->size;
	traffic_text_add_key(text, batch, &share->key, names);
	ret_prefix->size = text->size - ret_prefix->at;
	traffic_add_field(text, group->tenant_name);
	text_add(text, "\t");
	traffic_add_field(text, group->network_name);
	text_add(text, "\t");
	traffic_text_add_sums(text, &share->sums);
	traffic_text_add_number(text, share->floor, '\t');
	text_add(text, partial ? "1\n" : "0\n");
	if (share->key.direction != TRAFFIC_IN)
		return;
	batch->bytes += share->sums.bytes;
	if (group->reason > REASON_SWITCH_ITSELF)
		batch->unattributed_bytes += share->sums.bytes;
}

static void add_pair(struct traffic_batch *batch, const struct traffic_pair *pair,
		     const struct traffic_names *names, const struct prefix *share,
		     struct prefix *ret_prefix)
{
	struct text *text = &batch->tables[TABLE_PAIR];
	char end[END_TEXT_SIZE];

	ret_prefix->at = text->size;
	traffic_text_add_prefix(text, &batch->tables[TABLE_SHARE], share);
	traffic_add_field(text, traffic_end_text(&pair->key.a, names, end));
	text_add(text, "\t");
	traffic_add_field(text, traffic_end_text(&pair->key.b, names, end));
	text_add(text, "\t");
	ret_prefix->size = text->size - ret_prefix->at;
	traffic_text_add_sums(text, &pair->sums);
	traffic_text_add_number(text, pair->missed, '\t');
	traffic_text_add_number(text, pair->floor, '\n');
}

static void traffic_text_add_address(struct text *text, const uint8_t address[16], bool ip)
{
	char bytes[END_TEXT_SIZE];

	text_add(text, traffic_address_text(address, ip, bytes));
	text_add(text, "\t");
}

static void traffic_text_add_flow(struct traffic_batch *batch, const struct traffic_flow *flow,
				  const struct prefix *pair)
{
	struct text *text = &batch->tables[TABLE_FLOW];
	bool ip = flow->key.ethertype == 0x0800 || flow->key.ethertype == 0x86dd;

	traffic_text_add_prefix(text, &batch->tables[TABLE_PAIR], pair);
	text_add(text, flow->key.forward ? "1\t" : "0\t");
	traffic_text_add_address(text, flow->key.source, ip);
	traffic_text_add_address(text, flow->key.target, ip);
	traffic_text_add_number(text, flow->key.source_port, '\t');
	traffic_text_add_number(text, flow->key.target_port, '\t');
	traffic_text_add_number(text, flow->key.protocol, '\t');
	traffic_text_add_number(text, flow->key.ethertype, '\t');
	traffic_text_add_sums(text, &flow->sums);
	traffic_text_add_number(text, flow->missed, '\n');
}

static void traffic_text_add_rows(struct traffic_batch *batch, bool partial,
				  const struct traffic_set *set, const struct traffic_names *names)
{
	struct prefix *shares = prefixes_new(&batch->tables[TABLE_SHARE], set->share_table.count);
	struct prefix *pairs = prefixes_new(&batch->tables[TABLE_PAIR], set->pair_table.count);

	for (uint32_t i = 0; shares && i < set->share_table.count; i++)
		if (!traffic_is_silent(&set->shares[i].sums))
			add_share(batch, partial, &set->shares[i], names, &shares[i]);
	for (uint32_t i = 0; shares && pairs && i < set->pair_table.count; i++)
		if (!traffic_is_silent(&set->pairs[i].sums))
			add_pair(batch, &set->pairs[i], names, &shares[set->pairs[i].key.share],
				 &pairs[i]);
	for (uint32_t i = 0; shares && pairs && i < set->flow_table.count; i++)
		if (!traffic_is_silent(&set->flows[i].sums))
			traffic_text_add_flow(batch, &set->flows[i],
					      &pairs[set->flows[i].key.pair]);
	free(shares);
	free(pairs);
}

/* Places of one switch stand together, as a rule: one that does not is told again. */
static void traffic_text_add_switches(struct traffic_batch *batch,
				      const struct traffic_names *names)
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
	traffic_text_add_rows(batch, partial, set, names);
	traffic_text_add_switches(batch, names);
	batch->lost_bytes += set->lost_bytes;
	batch->thinned = set->thinned ? set->thinned : 1;
}

void traffic_batch_port(struct traffic_batch *batch, const struct traffic_place *place,
			const struct port_sums *sums, const struct port_rates *rates)
{
	struct text *text = &batch->tables[TABLE_PORT];

	text_addf(text, "%d\t%s\t%" PRId64 "\t", traffic_step_seconds[batch->step], batch->at_text,
		  place->switch_id);
	traffic_add_field(text, place->port);
	text_addf(text, "\t%.3f", sums->seconds);
	for (size_t i = 0; i < PORT_COUNTER_COUNT; i++)
		text_addf(text, "\t%" PRIu64, sums->values[i]);
	text_addf(text, "\t%" PRIu64, place->speed_bps);
	if (sums->unsampled)
		text_add(text, "\t\\N");
	else
		text_addf(text, "\t%" PRIu64, sums->out_sampled);
	text_addf(text, "\t%.3f\n", rates ? rates->seconds : 0);
}

static void traffic_text_copy_text(const struct text *from, struct text *ret)
{
	*ret = (struct text){.failed = from->failed};
	text_add_bytes(ret, text_get(from), from->size);
}

void traffic_batch_copy(const struct traffic_batch *batch, struct traffic_batch *ret)
{
	*ret = *batch;
	traffic_text_copy_text(&batch->switches, &ret->switches);
	for (size_t i = 0; i < TRAFFIC_TABLE_COUNT; i++)
		traffic_text_copy_text(&batch->tables[i], &ret->tables[i]);
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
