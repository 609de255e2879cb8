#include "peregrine/flowd/live_drill.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/base/json_text.h"
#include "common/net/mac.h"

#include "peregrine/flowd/live_drill_private.h"
#include "peregrine/flowd/traffic_text.h"

/* --- the path as what the ring knows --- */

static void live_drill_add_end(struct ends *ends, enum traffic_end_kind kind, const void *bytes,
			       size_t size)
{
	struct traffic_end *end = &ends->at[ends->count];

	if (ends->count == ENDS_MAX)
		return;
	*end = (struct traffic_end){.kind = (uint8_t)kind};
	memcpy(end->bytes, bytes, size);
	ends->count++;
}

/* All that is shown by this text. */
static void find_ends(const struct traffic_names *names, const char *text, struct ends *ret)
{
	uint8_t address[16] = {[10] = 0xff, [11] = 0xff};
	struct mac mac;

	for (uint32_t i = 0; i < traffic_node_count(names); i++)
		if (!strcmp(traffic_node_get(names, i)->name, text))
			live_drill_add_end(ret, END_NODE, &i, sizeof(i));
	if (inet_pton(AF_INET, text, address + 12) == 1 || inet_pton(AF_INET6, text, address) == 1)
		live_drill_add_end(ret, END_IP, address, sizeof(address));
	if (!mac_parse(text, &mac))
		live_drill_add_end(ret, END_MAC, mac.bytes, sizeof(mac.bytes));
}

static bool live_drill_is_one_of(const struct ends *ends, const struct traffic_end *end)
{
	for (size_t i = 0; i < ends->count; i++)
		if (!memcmp(&ends->at[i], end, sizeof(*end)))
			return true;
	return false;
}

bool live_drill_is_link(const struct live_drill *drill, uint32_t at)
{
	const struct drill_path *path = &drill->question.path;
	const struct traffic_place *place = traffic_place_get(drill->names, at);

	return !strcmp(place->port, path->port) && !strcmp(place->switch_name, path->switch_name);
}

static bool place_fits(const struct live_drill *drill, const struct share_key *key)
{
	const struct drill_path *path = &drill->question.path;

	if (!path->at_link)
		return key->direction == (path->level == DRILL_ALL ? TRAFFIC_OUT : TRAFFIC_IN);
	return key->direction == TRAFFIC_OUT && live_drill_is_link(drill, key->place);
}

static bool owner_fits(const struct live_question *question, const struct traffic_group *group)
{
	const struct drill_path *path = &question->path;

	if (path->level >= DRILL_VLAN && group->vlan != path->vlan)
		return false;
	if (path->level < DRILL_OWNER)
		return true;
	if (path->nobody)
		return !group->tenant &&
		       !strcmp(strcmp(path->owner, DRILL_NO_TENANT) ? path->owner : "",
			       attribution_reason_words[group->reason]);
	for (size_t i = 0; i < question->tenant_count; i++)
		if (group->tenant == question->tenants[i])
			return true;
	return false;
}

/* What is there of the link counts for it, whosever the path is. */
static bool take_fitting(struct live_drill *drill, const struct ring_share *share)
{
	const struct traffic_group *group = traffic_group_get(drill->names, share->key.group);
	const struct live_question *question = &drill->question;

	if (!place_fits(drill, &share->key) ||
	    (question->scope && group->tenant != question->scope))
		return false;
	drill->at_link.bytes += share->bytes;
	drill->at_link.square += share->square;
	return owner_fits(question, group);
}

/* `*ret_turned`: the pair's a is the path's second end. */
static bool pair_fits(const struct live_drill *drill, const struct pair_key *pair, bool *ret_turned)
{
	*ret_turned = false;
	if (live_drill_is_one_of(&drill->a, &pair->a) && live_drill_is_one_of(&drill->b, &pair->b))
		return true;
	*ret_turned = true;
	return live_drill_is_one_of(&drill->a, &pair->b) &&
	       live_drill_is_one_of(&drill->b, &pair->a);
}

static bool flow_fits(const struct live_drill *drill, const struct conversation_key *flow,
		      bool forward)
{
	const struct drill_path *path = &drill->question.path;
	bool ip = flow->ethertype == 0x0800 || flow->ethertype == 0x86dd;
	char text[END_TEXT_SIZE];

	return flow->source_port == path->flow.source_port &&
	       flow->target_port == path->flow.target_port &&
	       flow->protocol == path->flow.protocol && flow->ethertype == path->flow.ethertype &&
	       forward == path->flow.forward &&
	       !strcmp(traffic_address_text(flow->source, ip, text), path->flow.source) &&
	       !strcmp(traffic_address_text(flow->target, ip, text), path->flow.target);
}

/* --- rows --- */

static int live_drill_grow(struct live_drill *drill)
{
	uint32_t room = drill->room ? drill->room * 2 : 256;
	struct live_row *rows = reallocarray(drill->rows, room, sizeof(*rows));
	uint32_t *slots = calloc((size_t)room * 2, sizeof(*slots));

	if (rows)
		drill->rows = rows;
	if (!rows || !slots) {
		free(slots);
		return -ENOMEM;
	}
	free(drill->slots);
	drill->slots = slots;
	drill->room = room;
	drill->mask = room * 2 - 1;
	for (uint32_t i = 0; i < drill->count; i++) {
		uint32_t at = (uint32_t)XXH3_64bits(&rows[i].key, sizeof(rows[i].key));

		for (at &= drill->mask; slots[at]; at = (at + 1) & drill->mask)
			;
		slots[at] = i + 1;
	}
	return 0;
}

static void live_drill_add_row(struct live_drill *drill, const struct live_key *key,
			       const struct traffic_sums *sums, int64_t missed)
{
	struct live_row *row = NULL;
	uint32_t at;

	if (drill->count == drill->room && live_drill_grow(drill)) {
		drill->failed = true;
		return;
	}
	at = (uint32_t)XXH3_64bits(key, sizeof(*key)) & drill->mask;
	for (; drill->slots[at] && !row; at = (at + 1) & drill->mask)
		if (!memcmp(&drill->rows[drill->slots[at] - 1].key, key, sizeof(*key)))
			row = &drill->rows[drill->slots[at] - 1];
	if (!row) {
		row = &drill->rows[drill->count++];
		*row = (struct live_row){.key = *key};
		drill->slots[at] = drill->count;
	}
	traffic_sums_add(&row->sums, sums);
	row->missed += missed;
}

/* --- one second --- */

static struct traffic_sums live_drill_sums_of(uint64_t bytes, uint64_t packets, double square,
					      uint32_t samples)
{
	return (struct traffic_sums){
		.bytes = bytes, .packets = packets, .square = square, .samples = samples};
}

/* Places, owners, VLANs: shares say them. */
static void take_share(struct live_drill *drill, const struct ring_share *share)
{
	const struct traffic_sums sums =
		live_drill_sums_of(share->bytes, share->packets, share->square, share->samples);
	struct live_key key = {0};

	switch (drill->question.path.level) {
	case DRILL_ALL: key.place = share->key.place + 1; break;
	case DRILL_LINK: /* networks of a tenant are one row: SQL sums up what has one name */
	case DRILL_OWNER: key.group = share->key.group + 1; break;
	case DRILL_VLAN:
	case DRILL_PAIR:
	case DRILL_FLOW:
	case DRILL_LEVEL_COUNT: break;
	}
	if (drill->question.path.level <= DRILL_VLAN)
		traffic_sums_add(&drill->total, &sums);
	if (drill->question.path.level < DRILL_VLAN)
		live_drill_add_row(drill, &key, &sums, 0);
	else
		drill->floor += (int64_t)share->floor;
	if (drill->question.path.level > DRILL_VLAN)
		drill->total_missed += (int64_t)share->floor;
}

static void live_drill_take_flows(struct live_drill *drill, const struct ring_second *second,
				  const uint8_t *pair_kinds)
{
	bool leaf = drill->question.path.level == DRILL_FLOW;

	for (uint32_t i = 0; i < second->flow_count; i++) {
		const struct ring_flow *flow = &second->flows[i];
		const struct ring_pair *pair = &second->pairs[flow->key.pair];
		const struct traffic_sums sums =
			live_drill_sums_of(flow->bytes, flow->packets, flow->square, flow->samples);
		int64_t missed = (int64_t)flow->missed - (int64_t)pair->floor;
		struct live_key key = {.flow = flow->key};
		bool forward;

		if (!pair_kinds[flow->key.pair])
			continue;
		/* From the path's first end; then by the order that stored rows go by. */
		forward = flow->key.forward == (pair_kinds[flow->key.pair] == 1);
		forward = forward == drill->question.in_order;
		if (!leaf) {
			key.flow.pair = 0;
			key.flow.forward = forward;
			live_drill_add_row(drill, &key, &sums, missed);
		} else if (flow_fits(drill, &flow->key, forward)) {
			traffic_sums_add(&drill->total, &sums);
			drill->total_missed += missed;
		}
	}
}

/* 0 = not asked for, 1 = it is, 2 = it is, the other way round. */
static uint8_t take_pair(struct live_drill *drill, const struct ring_second *second,
			 const struct ring_pair *pair)
{
	const struct traffic_sums sums =
		live_drill_sums_of(pair->bytes, pair->packets, pair->square, pair->samples);
	int64_t missed = (int64_t)pair->missed - (int64_t)second->shares[pair->key.share].floor;
	struct live_key key = {.a = pair->key.a, .b = pair->key.b};
	bool turned;

	if (drill->question.path.level == DRILL_VLAN) {
		live_drill_add_row(drill, &key, &sums, missed);
		return 1;
	}
	if (!pair_fits(drill, &pair->key, &turned))
		return 0;
	/* It is there: what is not, is a flow of it. */
	drill->floor += (int64_t)pair->floor + missed;
	drill->total_missed += missed;
	if (drill->question.path.level == DRILL_PAIR)
		traffic_sums_add(&drill->total, &sums);
	else
		drill->total_missed += (int64_t)pair->floor;
	return turned ? 2 : 1;
}

static void take_second(struct live_drill *drill, const struct ring_second *second)
{
	uint8_t *shares = calloc((size_t)second->share_count + 1, 1);
	uint8_t *pairs = calloc((size_t)second->pair_count + 1, 1);

	drill->failed = drill->failed || !shares || !pairs;
	if (second->thinned > drill->thinned)
		drill->thinned = second->thinned;
	for (uint32_t i = 0; !drill->failed && i < second->share_count; i++) {
		shares[i] = take_fitting(drill, &second->shares[i]);
		if (shares[i])
			take_share(drill, &second->shares[i]);
	}
	for (uint32_t i = 0; !drill->failed && i < second->pair_count; i++)
		if (drill->question.path.level >= DRILL_VLAN && shares[second->pairs[i].key.share])
			pairs[i] = take_pair(drill, second, &second->pairs[i]);
	if (!drill->failed && drill->question.path.level >= DRILL_PAIR)
		live_drill_take_flows(drill, second, pairs);
	free(shares);
	free(pairs);
}

/* --- told --- */

static int larger_first(const void *a, const void *b)
{
	const struct live_row *left = a;
	const struct live_row *right = b;

	if (left->sums.bytes != right->sums.bytes)
		return left->sums.bytes > right->sums.bytes ? -1 : 1;
	return memcmp(&left->key, &right->key, sizeof(left->key));
}

static void put_sums(struct text *out, const struct traffic_sums *sums, int64_t missed)
{
	json_put_int(out, "bytes", (int64_t)sums->bytes);
	json_put_int(out, "packets", (int64_t)sums->packets);
	json_put_int(out, "samples", (int64_t)sums->samples);
	json_put_double(out, "square", sums->square);
	json_put_int(out, "missed", missed);
}

static void live_drill_put_number(struct text *out, const char *key, int number)
{
	char text[12];

	(void)text_format(text, sizeof(text), "%d", number);
	json_put_string(out, key, text);
}

static void live_drill_put_keys(const struct live_drill *drill, const struct live_key *key,
				struct text *out)
{
	const struct conversation_key *flow = &key->flow;
	bool ip = flow->ethertype == 0x0800 || flow->ethertype == 0x86dd;
	const struct traffic_place *place;
	const struct traffic_group *group;
	char text[END_TEXT_SIZE];

	switch (drill->question.path.level) {
	case DRILL_ALL:
		place = traffic_place_get(drill->names, key->place - 1);
		json_put_string(out, "k1", place->switch_name);
		json_put_string(out, "k2", place->port);
		break;
	case DRILL_LINK:
		group = traffic_group_get(drill->names, key->group - 1);
		json_put_string(out, "k1", group->tenant_name);
		json_put_string(out, "k2", attribution_reason_words[group->reason]);
		break;
	case DRILL_OWNER:
		group = traffic_group_get(drill->names, key->group - 1);
		live_drill_put_number(out, "k1", group->vlan);
		json_put_string(out, "network", group->network_name);
		break;
	case DRILL_VLAN:
		json_put_string(out, "k1", traffic_end_text(&key->a, drill->names, text));
		json_put_string(out, "k2", traffic_end_text(&key->b, drill->names, text));
		break;
	case DRILL_PAIR:
		json_put_string(out, "k1", traffic_address_text(flow->source, ip, text));
		live_drill_put_number(out, "k2", flow->source_port);
		json_put_string(out, "k3", traffic_address_text(flow->target, ip, text));
		live_drill_put_number(out, "k4", flow->target_port);
		live_drill_put_number(out, "k5", flow->protocol);
		live_drill_put_number(out, "k6", flow->ethertype);
		json_put_string(out, "k7", flow->forward ? "true" : "false");
		break;
	case DRILL_FLOW:
	case DRILL_LEVEL_COUNT: break;
	}
}

/* Of the level of places. */
static void note_told(struct live_drill *drill, const struct live_row *row)
{
	uint32_t count = (uint32_t)traffic_place_count(drill->names);
	uint32_t place = row->key.place - 1;

	if (drill->told_count < count) {
		uint64_t *told = reallocarray(drill->told, count, sizeof(*told));

		if (!told) {
			drill->failed = true;
			return;
		}
		memset(told + drill->told_count, 0, (count - drill->told_count) * sizeof(*told));
		drill->told = told;
		drill->told_count = count;
	}
	drill->told[place] += row->sums.bytes + !drill->told[place];
}

static void put_minute(struct live_drill *drill, struct text *out)
{
	uint32_t told = drill->count < ROWS_MAX ? drill->count : ROWS_MAX;
	int64_t left_out;

	if (drill->count)
		qsort(drill->rows, drill->count, sizeof(*drill->rows), larger_first);
	left_out = told < drill->count ? (int64_t)drill->rows[told].sums.bytes : 0;
	json_put_int(out, "thinned", drill->thinned);
	json_put_int(out, "floor", drill->floor + left_out);
	json_begin_object(out, "total");
	put_sums(out, &drill->total, drill->total_missed);
	json_end_object(out);
	json_begin_object(out, "link");
	json_put_int(out, "bytes", (int64_t)drill->at_link.bytes);
	json_put_double(out, "square", drill->at_link.square);
	json_end_object(out);
	json_begin_array(out, "rows");
	for (uint32_t i = 0; i < told; i++) {
		if (drill->question.path.level == DRILL_ALL)
			note_told(drill, &drill->rows[i]);
		json_begin_object(out, NULL);
		live_drill_put_keys(drill, &drill->rows[i].key, out);
		put_sums(out, &drill->rows[i].sums, drill->rows[i].missed - left_out);
		json_end_object(out);
	}
	json_end_array(out);
}

const struct traffic_sums *live_drill_total(const struct live_drill *drill)
{
	return &drill->total;
}

void live_drill_begin(struct live_drill *drill)
{
	if (drill->room)
		memset(drill->slots, 0, ((size_t)drill->mask + 1) * sizeof(*drill->slots));
	drill->count = 0;
	drill->total = drill->at_link = (struct traffic_sums){0};
	drill->total_missed = drill->floor = 0;
	drill->thinned = 1;
}

size_t live_drill_add(struct live_drill *drill, int64_t at_s)
{
	const struct ring_second *second = traffic_ring_get(drill->ring, at_s);

	if (!second)
		return 0;
	take_second(drill, second);
	return (size_t)second->share_count + second->pair_count + second->flow_count;
}

int live_drill_put(struct live_drill *drill, struct text *out)
{
	if (drill->failed)
		return -ENOMEM;
	put_minute(drill, out);
	return drill->failed || out->failed ? -ENOMEM : 0;
}

int live_drill_new(const struct live_question *question, const struct live_source *source,
		   struct live_drill **ret)
{
	struct live_drill *drill = calloc(1, sizeof(*drill));

	if (!drill)
		return -ENOMEM;
	*drill = (struct live_drill){.question = *question,
				     .names = source->names,
				     .ring = source->ring,
				     .counters = source->counters};
	if (question->path.level >= DRILL_PAIR) {
		find_ends(source->names, question->path.a, &drill->a);
		find_ends(source->names, question->path.b, &drill->b);
	}
	*ret = drill;
	return 0;
}

void live_drill_free(struct live_drill *drill)
{
	if (!drill)
		return;
	free(drill->rows);
	free(drill->slots);
	free(drill->told);
	free(drill->ports);
	free(drill->begins);
	free(drill->ends);
	free(drill);
}
