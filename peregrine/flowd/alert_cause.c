#include "peregrine/flowd/alert_cause.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"

#include "peregrine/flowd/traffic_text.h"

enum {
	TENANTS = 3,
	PAIRS = 5,
	FLOWS = 5,
	/* The database's list is short (alert.sql); what is larger is not ours. */
	FACTS_SIZE = 1 << 18,
	FACTS_MAX = 128,
};

static const struct traffic_limits alert_cause_limits = {
	.shares = 1024, .pairs = 16384, .flows = 16384, .pairs_kept = 64, .flows_kept = 64};

struct windows {
	struct traffic_set now, before;
	double now_s, before_s;
	double bytes; /* a second, of all that is there now */
	const struct traffic_names *names;
	struct drill_path link;
	uint64_t speed_bps;
};

static int windows_take(const struct rollup *rollup, uint32_t place, int64_t begin_s,
			struct windows *w)
{
	const struct traffic_filter filter = {.place = place, .direction = TRAFFIC_OUT};
	const struct traffic_ring *ring = rollup_ring(rollup);
	int64_t first;
	int64_t last;
	int rc = traffic_set_init(&w->now, &alert_cause_limits);

	if (!rc)
		rc = traffic_set_init(&w->before, &alert_cause_limits);
	if (rc)
		return rc;
	traffic_ring_span(ring, &first, &last);
	w->now_s = traffic_ring_sum(ring, last - SUSPECT_NOW_S + 1, last + 1, &filter, &w->now);
	/* An alert that has been there for a while is not to be its own past. */
	if (begin_s > last - SUSPECT_NOW_S + 1)
		begin_s = last - SUSPECT_NOW_S + 1;
	w->before_s =
		traffic_ring_sum(ring, begin_s - SUSPECT_BEFORE_S, begin_s, &filter, &w->before);
	for (uint32_t i = 0; i < w->now.share_table.count; i++)
		w->bytes += (double)w->now.shares[i].sums.bytes / w->now_s;
	return 0;
}

/* --- where a row is, as a drill path --- */

static void path_of_share(const struct windows *w, const struct share_key *key,
			  enum drill_level level, struct drill_path *ret)
{
	const struct traffic_group *group = traffic_group_get(w->names, key->group);

	*ret = w->link;
	ret->level = level;
	ret->nobody = group->tenant == 0;
	(void)text_copy(ret->owner, sizeof(ret->owner),
			group->tenant                  ? group->tenant_name
			: group->reason == REASON_NONE ? DRILL_NO_TENANT
						       : attribution_reason_words[group->reason]);
	ret->vlan = group->vlan;
}

static void path_of_pair(const struct windows *w, const struct traffic_set *set,
			 const struct pair_key *key, enum drill_level level, struct drill_path *ret)
{
	char text[END_TEXT_SIZE];

	path_of_share(w, &set->shares[key->share].key, level, ret);
	(void)text_copy(ret->a, sizeof(ret->a), traffic_end_text(&key->a, w->names, text));
	(void)text_copy(ret->b, sizeof(ret->b), traffic_end_text(&key->b, w->names, text));
}

static void path_of_flow(const struct windows *w, const struct traffic_set *set,
			 const struct conversation_key *key, struct drill_path *ret)
{
	bool ip = key->ethertype == 0x0800 || key->ethertype == 0x86dd;
	char text[END_TEXT_SIZE];

	path_of_pair(w, set, &set->pairs[key->pair].key, DRILL_FLOW, ret);
	(void)text_copy(ret->flow.source, sizeof(ret->flow.source),
			traffic_address_text(key->source, ip, text));
	(void)text_copy(ret->flow.target, sizeof(ret->flow.target),
			traffic_address_text(key->target, ip, text));
	ret->flow.source_port = key->source_port;
	ret->flow.target_port = key->target_port;
	ret->flow.protocol = key->protocol;
	ret->flow.ethertype = key->ethertype;
	ret->flow.forward = key->forward;
}

/* --- rows --- */

static struct cause_row *alert_cause_row_add(struct cause *cause, const struct windows *w,
					     enum suspect_fact fact, uint64_t now, uint64_t before,
					     const struct drill_path *path)
{
	CLEANUP(text_done) struct text text = {0};
	struct cause_row *row = &cause->rows[cause->count];
	double rate = (double)now / w->now_s;

	drill_path_print(path, &text);
	*row = (struct cause_row){
		.fact = fact,
		.share = rate / w->bytes,
		.before = w->before_s > 0 ? (double)before / w->before_s / w->bytes : UNKNOWN,
		.percent = w->speed_bps ? rate * 8 / (double)w->speed_bps * 100 : 0};
	if (!text_copy(row->drill, sizeof(row->drill), text_get(&text)))
		row->drill[0] = '\0';
	cause->count++;
	return row;
}

/* Tenants may have several VLANs there. */
static uint64_t bytes_of_tenant(const struct windows *w, const struct traffic_set *set,
				int64_t tenant)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < set->share_table.count; i++)
		if (traffic_group_get(w->names, set->shares[i].key.group)->tenant == tenant)
			bytes += set->shares[i].sums.bytes;
	return bytes;
}

static void take_tenants(const struct windows *w, struct cause *cause)
{
	int64_t taken[TENANTS];

	for (size_t n = 0; n < TENANTS; n++) {
		uint64_t most = 0;
		uint32_t best = 0;

		for (uint32_t i = 0; i < w->now.share_table.count; i++) {
			int64_t tenant =
				traffic_group_get(w->names, w->now.shares[i].key.group)->tenant;
			uint64_t bytes = tenant ? bytes_of_tenant(w, &w->now, tenant) : 0;

			for (size_t t = 0; t < n; t++)
				bytes = taken[t] == tenant ? 0 : bytes;
			if (bytes > most) {
				most = bytes;
				best = i;
			}
		}
		if (most == 0)
			return;
		struct drill_path path;

		taken[n] = traffic_group_get(w->names, w->now.shares[best].key.group)->tenant;
		path_of_share(w, &w->now.shares[best].key, DRILL_OWNER, &path);
		struct cause_row *row =
			alert_cause_row_add(cause, w, FACT_TENANT, most,
					    bytes_of_tenant(w, &w->before, taken[n]), &path);
		(void)text_copy(row->name, sizeof(row->name), path.owner);
	}
}

static bool same_share(const struct traffic_set *x, uint32_t a, const struct traffic_set *y,
		       uint32_t b)
{
	return memcmp(&x->shares[a].key, &y->shares[b].key, sizeof(x->shares[a].key)) == 0;
}

static bool same_pair(const struct traffic_set *x, const struct pair_key *a,
		      const struct traffic_set *y, const struct pair_key *b)
{
	return memcmp(&a->a, &b->a, sizeof(a->a)) == 0 && memcmp(&a->b, &b->b, sizeof(a->b)) == 0 &&
	       same_share(x, a->share, y, b->share);
}

static uint64_t pair_before(const struct windows *w, const struct pair_key *key)
{
	for (uint32_t i = 0; i < w->before.pair_table.count; i++)
		if (same_pair(&w->before, &w->before.pairs[i].key, &w->now, key))
			return w->before.pairs[i].sums.bytes;
	return 0;
}

static uint64_t flow_before(const struct windows *w, const struct conversation_key *key)
{
	for (uint32_t i = 0; i < w->before.flow_table.count; i++) {
		struct conversation_key other = w->before.flows[i].key;
		uint32_t pair = other.pair;

		other.pair = key->pair;
		if (memcmp(&other, key, sizeof(other)) == 0 &&
		    same_pair(&w->before, &w->before.pairs[pair].key, &w->now,
			      &w->now.pairs[key->pair].key))
			return w->before.flows[i].sums.bytes;
	}
	return 0;
}

static int larger_pair(const void *a, const void *b)
{
	const struct traffic_pair *const *x = a;
	const struct traffic_pair *const *y = b;

	return ((*x)->sums.bytes < (*y)->sums.bytes) - ((*x)->sums.bytes > (*y)->sums.bytes);
}

static int larger_flow(const void *a, const void *b)
{
	const struct traffic_flow *const *x = a;
	const struct traffic_flow *const *y = b;

	return ((*x)->sums.bytes < (*y)->sums.bytes) - ((*x)->sums.bytes > (*y)->sums.bytes);
}

static void add_node(struct text *nodes, const struct traffic_end *end,
		     const struct traffic_names *names)
{
	char text[END_TEXT_SIZE];

	/* Names of nodes need no quotes in an array's text. */
	if (end->kind == END_NODE)
		text_addf(nodes, "%s%s", nodes->size ? "," : "{",
			  traffic_end_text(end, names, text));
}

static void take_pairs(const struct windows *w, struct cause *cause)
{
	uint32_t count = w->now.pair_table.count;
	// NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers
	CLEANUP(freep) const struct traffic_pair **pairs = calloc(count + 1, sizeof(*pairs));

	for (uint32_t i = 0; pairs && i < count; i++)
		pairs[i] = &w->now.pairs[i];
	if (pairs) // NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers
		qsort(pairs, count, sizeof(*pairs), larger_pair);
	for (uint32_t i = 0; pairs && i < count && i < PAIRS; i++) {
		struct drill_path path;

		path_of_pair(w, &w->now, &pairs[i]->key, DRILL_PAIR, &path);
		struct cause_row *row =
			alert_cause_row_add(cause, w, FACT_PAIR, pairs[i]->sums.bytes,
					    pair_before(w, &pairs[i]->key), &path);
		(void)text_format(row->name, sizeof(row->name), "%s - %s (%s)", path.a, path.b,
				  path.owner);
		add_node(&cause->nodes, &pairs[i]->key.a, w->names);
		add_node(&cause->nodes, &pairs[i]->key.b, w->names);
	}
}

static void alert_cause_take_flows(const struct windows *w, struct cause *cause)
{
	uint32_t count = w->now.flow_table.count;
	// NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers
	CLEANUP(freep) const struct traffic_flow **flows = calloc(count + 1, sizeof(*flows));

	for (uint32_t i = 0; flows && i < count; i++)
		flows[i] = &w->now.flows[i];
	if (flows) // NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers
		qsort(flows, count, sizeof(*flows), larger_flow);
	for (uint32_t i = 0; flows && i < count && i < FLOWS; i++) {
		struct drill_path path;

		path_of_flow(w, &w->now, &flows[i]->key, &path);
		struct cause_row *row =
			alert_cause_row_add(cause, w, FACT_FLOW, flows[i]->sums.bytes,
					    flow_before(w, &flows[i]->key), &path);
		(void)text_format(row->name, sizeof(row->name), "%s:%d > %s:%d (%s)",
				  path.flow.source, path.flow.source_port, path.flow.target,
				  path.flow.target_port, path.owner);
	}
}

int cause_take(const struct rollup *rollup, const struct alert_entry *entry, uint64_t speed_bps,
	       int64_t begin_s, struct cause *ret)
{
	struct windows w = {.names = rollup_names(rollup),
			    .link = {.level = DRILL_LINK, .at_link = true},
			    .speed_bps = speed_bps};
	int rc = 0;

	*ret = (struct cause){.kind = entry->kind};
	if (entry->place != INDEX_NONE) {
		const struct traffic_place *place = traffic_place_get(w.names, entry->place);

		(void)text_copy(w.link.switch_name, sizeof(w.link.switch_name), place->switch_name);
		(void)text_copy(w.link.port, sizeof(w.link.port), place->port);
		rc = windows_take(rollup, entry->place, begin_s, &w);
	}
	if (!rc && w.bytes > 0) {
		take_tenants(&w, ret);
		take_pairs(&w, ret);
		alert_cause_take_flows(&w, ret);
	}
	text_add(&ret->nodes, ret->nodes.size ? "}" : "{}");
	traffic_set_done(&w.now);
	traffic_set_done(&w.before);
	return rc;
}

void cause_done(struct cause *cause)
{
	text_done(&cause->nodes);
}

/* --- with the database's facts --- */

static double alert_cause_number_of(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

static const char *alert_cause_word_of(const json_t *row, const char *key)
{
	const char *word = json_string_value(json_object_get(row, key));

	return word ? word : "";
}

static bool read_fact(const json_t *row, struct candidate *ret)
{
	const char *severity = alert_cause_word_of(row, "severity");
	double seconds = alert_cause_number_of(row, "seconds");

	for (enum suspect_fact fact = 0; fact < SUSPECT_FACT_COUNT; fact++) {
		if (strcmp(suspect_fact_words[fact], alert_cause_word_of(row, "fact")) != 0)
			continue;
		*ret = (struct candidate){
			.fact = fact,
			.name = alert_cause_word_of(row, "name"),
			.text = alert_cause_word_of(row, "text"),
			.drill = "",
			.errors = seconds > 0 ? alert_cause_number_of(row, "errors") / seconds : 0,
			.discards =
				seconds > 0 ? alert_cause_number_of(row, "discards") / seconds : 0,
			.age_s = (int64_t)alert_cause_number_of(row, "age_s"),
			.here = json_is_true(json_object_get(row, "here")),
			.asserted = json_is_true(json_object_get(row, "asserted")) ||
				    strcmp(severity, "critical") == 0,
		};
		return true;
	}
	return false;
}

void cause_write(const struct cause *cause, const char *facts, struct text *json)
{
	CLEANUP(json_decrefp) json_t *list = NULL;
	struct candidate candidates[CAUSE_ROWS + FACTS_MAX];
	struct suspect suspects[SUSPECT_MAX];
	struct problem problem = {0};
	size_t count = 0;
	const json_t *fact;
	size_t at;

	for (size_t i = 0; i < cause->count; i++)
		candidates[count++] = (struct candidate){.fact = cause->rows[i].fact,
							 .name = cause->rows[i].name,
							 .text = "",
							 .drill = cause->rows[i].drill,
							 .share = cause->rows[i].share,
							 .before = cause->rows[i].before,
							 .percent = cause->rows[i].percent};
	if (facts && json_read(facts, strlen(facts), FACTS_SIZE, &list, &problem) == 0) {
		json_array_foreach(list, at, fact)
		{
			if (count < COUNT_OF(candidates) && read_fact(fact, &candidates[count]))
				count++;
		}
	}
	count = suspect_rank(cause->kind, candidates, count, suspects);
	json_begin_array(json, NULL);
	for (size_t i = 0; i < count; i++) {
		json_begin_object(json, NULL);
		json_put_string(json, "kind", suspects[i].kind);
		json_put_string(json, "name", suspects[i].name);
		json_put_int(json, "score", (int64_t)(suspects[i].score * 100 + 0.5));
		json_put_string(json, "reasons", suspects[i].reasons);
		json_put_string(json, "drill", suspects[i].drill);
		json_end_object(json);
	}
	json_end_array(json);
}
