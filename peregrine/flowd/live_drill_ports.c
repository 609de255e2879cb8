/* What interfaces counted of the links of an answer, and how even the seconds at the ends of its
 * window were: by these the portal scales what was sampled. */
#include <errno.h>
#include <stdlib.h>

#include "common/base/json_text.h"

#include "peregrine/flowd/live_drill_private.h"

static int more_told_first(const void *a, const void *b, void *context)
{
	const uint64_t *told = context;
	uint32_t left = *(const uint32_t *)a;
	uint32_t right = *(const uint32_t *)b;

	if (told[left] != told[right])
		return told[left] > told[right] ? -1 : 1;
	return left < right ? -1 : 1;
}

static bool is_told(const struct live_drill *drill, uint32_t place)
{
	return place < drill->told_count && drill->told[place];
}

/* Those that are told, or the largest of them; then others that count, for stored minutes may tell
 * of these alone. */
static void choose_of_all(struct live_drill *drill, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (is_told(drill, i))
			drill->ports[drill->port_count++] = i;
	if (drill->port_count > ROWS_MAX) {
		qsort_r(drill->ports, drill->port_count, sizeof(*drill->ports), more_told_first,
			drill->told);
		drill->port_count = ROWS_MAX;
	}
	for (uint32_t i = 0; i < count && drill->port_count < ROWS_MAX; i++)
		if (!is_told(drill, i) && port_counters_rates(drill->counters, i))
			drill->ports[drill->port_count++] = i;
}

int live_drill_choose_ports(struct live_drill *drill, size_t *ret_count)
{
	uint32_t count = (uint32_t)traffic_place_count(drill->names);

	drill->ports = calloc((size_t)count + 1, sizeof(*drill->ports));
	if (!drill->ports)
		return -ENOMEM;
	if (drill->question.path.level == DRILL_ALL)
		choose_of_all(drill, count);
	for (uint32_t i = 0; drill->question.path.at_link && i < count; i++)
		if (live_drill_is_link(drill, i))
			drill->ports[drill->port_count++] = i;
	*ret_count = drill->port_count;
	return 0;
}

static void live_drill_ports_look_at(const struct live_drill *drill, int64_t from_s,
				     struct ring_span spans[])
{
	for (size_t i = 0; i < drill->port_count * EDGE_S; i++) {
		int64_t at_s = from_s + (int64_t)(i % EDGE_S);

		spans[i] = (struct ring_span){.place = drill->ports[i / EDGE_S],
					      .from_us = at_s * SECOND_US,
					      .to_us = (at_s + 1) * SECOND_US};
	}
	if (traffic_ring_left(drill->ring, spans, drill->port_count * EDGE_S,
			      traffic_place_count(drill->names)))
		for (size_t i = 0; i < drill->port_count * EDGE_S; i++)
			spans[i].out_bytes = 0; /* without memory: as if it were steady */
}

/* For all ports at once: each second is looked at once. */
static void look_at_edges(struct live_drill *drill, int64_t from_s, int64_t to_s)
{
	size_t count = drill->port_count * EDGE_S + 1;

	if (drill->begins && drill->edges_from_s == from_s && drill->edges_to_s == to_s)
		return;
	free(drill->begins);
	free(drill->ends);
	drill->begins = calloc(count, sizeof(*drill->begins));
	drill->ends = calloc(count, sizeof(*drill->ends));
	drill->edges_from_s = from_s;
	drill->edges_to_s = to_s;
	if (!drill->begins || !drill->ends)
		return;
	live_drill_ports_look_at(drill, from_s - 1, drill->begins);
	live_drill_ports_look_at(drill, to_s - EDGE_S, drill->ends);
}

static void put_edge(const struct live_drill *drill, const struct ring_span spans[],
		     const char *low_key, const char *high_key, struct text *out)
{
	double low = 0;
	double high = 0;
	bool any = false;

	for (size_t i = 0; spans && i < EDGE_S; i++) {
		double bytes = spans[i].out_bytes;

		if (!traffic_ring_get(drill->ring, spans[i].from_us / SECOND_US))
			continue; /* before the first one */
		low = any && low < bytes ? low : bytes;
		high = any && high > bytes ? high : bytes;
		any = true;
	}
	if (!any)
		return;
	json_put_int(out, low_key, (int64_t)low);
	json_put_int(out, high_key, (int64_t)high);
}

void live_drill_put_port(struct live_drill *drill, size_t index, int64_t from_s, int64_t to_s,
			 struct text *out)
{
	const struct traffic_place *place = traffic_place_get(drill->names, drill->ports[index]);
	struct port_time time;

	if (!port_counters_of(drill->counters, drill->ports[index], from_s, to_s, &time))
		return;
	json_begin_object(out, NULL);
	json_put_int(out, "switch_id", place->switch_id);
	json_put_string(out, "port", place->port);
	json_put_double(out, "seconds", time.seconds);
	json_put_int(out, "counted", (int64_t)time.out_bytes);
	json_put_int(out, "sampled", (int64_t)time.out_sampled);
	if (time.from_us < from_s * SECOND_US)
		json_put_double(out, "head",
				(double)(from_s * SECOND_US - time.from_us) / SECOND_US);
	look_at_edges(drill, from_s, to_s);
	put_edge(drill, drill->begins ? drill->begins + index * EDGE_S : NULL, "begin_low",
		 "begin_high", out);
	put_edge(drill, drill->ends ? drill->ends + index * EDGE_S : NULL, "end_low", "end_high",
		 out);
	json_end_object(out);
}
