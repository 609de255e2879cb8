/* SWITCH_SAMPLING: the row of table sFlow that the bridge points to (ovs-vswitchd.conf.db(5)). Ours
 * has external_ids:haas; a row without it is somebody else's and is left alone. One transaction,
 * guarded by what was read, and read again before it is called applied. One row is one rate for all
 * ports: that of the fastest. */
#include <errno.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/ovsdb/ovsdb_switch.h"

LEAKS_LEFT_TO_SANITIZER

enum { TARGET_SIZE = 64 };

static int ask_rows(struct ovsdb_switch *one);

/* "10.255.0.1:6343", "[::1]:6343". */
static void target_text(const struct sampling_wanted *wanted, char ret[TARGET_SIZE])
{
	bool six = strchr(wanted->collector, ':') != NULL;

	(void)text_format(ret, TARGET_SIZE, six ? "[%s]:%u" : "%s:%u", wanted->collector,
			  (unsigned)wanted->port);
}

static uint32_t ovsdb_sampling_rate_of(const struct ovsdb_switch *one)
{
	uint64_t fastest = 0;

	for (size_t i = 0; i < one->facts.port_count; i++) {
		const struct ovsdb_port *port = &one->facts.ports[i];

		for (size_t j = 0; j < port->interface_count && !port->local; j++) {
			json_int_t speed = ovsdb_integer(port->interfaces[j], "link_speed", 0);

			if (speed > 0 && (uint64_t)speed > fastest)
				fastest = (uint64_t)speed;
		}
	}
	return sampling_rate(&one->call.request->sampling, fastest);
}

/* --- what is there --- */

/* The row of sFlow that the bridge has; NULL: none. */
static const json_t *ovsdb_sampling_row_of(const json_t *result)
{
	const json_t *bridge =
		json_array_get(json_object_get(json_array_get(result, 0), "rows"), 0);
	const json_t *rows = json_object_get(json_array_get(result, 1), "rows");
	const char *uuid = ovsdb_uuid(ovsdb_element(json_object_get(bridge, "sflow"), 0));

	for (size_t i = 0; uuid[0] && i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (strcmp(ovsdb_uuid(json_object_get(row, "_uuid")), uuid) == 0)
			return row;
	}
	return NULL;
}

static struct sampling_found found_in(const struct ovsdb_switch *one, const json_t *row)
{
	const struct sampling_wanted *wanted = &one->call.request->sampling;
	struct sampling_found found = {0};
	char target[TARGET_SIZE];
	json_int_t rate;
	const char *first;

	if (!row) {
		found.agrees = !wanted->enabled;
		(void)text_copy(found.text, sizeof(found.text), "its bridge has no sFlow");
		return found;
	}
	first = json_string_value(ovsdb_element(json_object_get(row, "targets"), 0));
	found.foreign = strcmp(ovsdb_map_value(row, "external_ids", "haas"), SAMPLING_OWNER) != 0;
	if (found.foreign) {
		found.agrees = !wanted->enabled;
		(void)text_format(found.text, sizeof(found.text), "sFlow to %s",
				  first ? first : "?");
		return found;
	}
	target_text(wanted, target);
	rate = ovsdb_integer(row, "sampling", 0);
	found.sources = 1;
	found.rate_low = found.rate_high = rate > 0 && rate <= UINT32_MAX ? (uint32_t)rate : 0;
	found.agrees = wanted->enabled && first && strcmp(first, target) == 0 &&
		       !ovsdb_element(json_object_get(row, "targets"), 1) &&
		       found.rate_low == ovsdb_sampling_rate_of(one) &&
		       ovsdb_integer(row, "header", 0) == wanted->header &&
		       ovsdb_integer(row, "polling", 0) == wanted->poll_s;
	if (!found.agrees)
		(void)text_format(found.text, sizeof(found.text), "sFlow to %s, 1 in %u",
				  first ? first : "?", found.rate_low);
	return found;
}

/* --- what is sent --- */

static json_t *columns_of(const struct ovsdb_switch *one)
{
	const struct sampling_wanted *wanted = &one->call.request->sampling;
	char target[TARGET_SIZE];

	target_text(wanted, target);
	return json_pack("{s:[s,[s]],s:i,s:i,s:i,s:[s,[[s,s]]]}", "targets", "set", target,
			 "header", wanted->header, "sampling", (int)ovsdb_sampling_rate_of(one),
			 "polling", wanted->poll_s, "external_ids", "map", "haas", SAMPLING_OWNER);
}

/* Now or never: the bridge points where it did. */
static json_t *hold_bridge(const struct ovsdb_switch *one, const json_t *row)
{
	const char *uuid = row ? ovsdb_uuid(json_object_get(row, "_uuid")) : NULL;
	json_t *now = uuid ? json_pack("[s,s]", "uuid", uuid) : json_pack("[s,[]]", "set");

	return json_pack("{s:s,s:i,s:s,s:[[s,s,[s,s]]],s:[s],s:s,s:[{s:o}]}", "op", "wait",
			 "timeout", 0, "table", "Bridge", "where", "_uuid", "==", "uuid",
			 one->facts.bridge_uuid, "columns", "sflow", "until", "==", "rows", "sflow",
			 now);
}

static json_t *point_bridge(const struct ovsdb_switch *one, json_t *to)
{
	return json_pack("{s:s,s:s,s:[[s,s,[s,s]]],s:{s:o}}", "op", "update", "table", "Bridge",
			 "where", "_uuid", "==", "uuid", one->facts.bridge_uuid, "row", "sflow",
			 to);
}

/* A row that nothing points to goes by itself. */
static json_t *ovsdb_sampling_plan(const struct ovsdb_switch *one, const json_t *row)
{
	json_t *hold = hold_bridge(one, row);
	json_t *commit = json_pack("{s:s,s:b}", "op", "commit", "durable", true);

	if (!one->call.request->sampling.enabled)
		return json_pack("[s,o,o,o]", "Open_vSwitch", hold,
				 point_bridge(one, json_pack("[s,[]]", "set")), commit);
	if (row)
		return json_pack("[s,o,{s:s,s:s,s:[[s,s,[s,s]]],s:o},o]", "Open_vSwitch", hold,
				 "op", "update", "table", "sFlow", "where", "_uuid", "==", "uuid",
				 ovsdb_uuid(json_object_get(row, "_uuid")), "row", columns_of(one),
				 commit);
	return json_pack("[s,o,{s:s,s:s,s:s,s:o},o,o]", "Open_vSwitch", hold, "op", "insert",
			 "table", "sFlow", "uuid-name", "sampling", "row", columns_of(one),
			 point_bridge(one, json_pack("[s,s]", "named-uuid", "sampling")), commit);
}

static void ovsdb_sampling_on_sent(void *context, int rc, json_t *result,
				   const struct problem *problem)
{
	struct ovsdb_switch *one = context;
	struct problem why;

	if (rc) {
		switch_call_end(&one->call, rc, NULL, problem);
		return;
	}
	for (size_t i = 0; i < json_array_size(result); i++) {
		const json_t *answer = json_array_get(result, i);
		const char *word = json_string_value(json_object_get(answer, "error"));
		const char *details = json_string_value(json_object_get(answer, "details"));

		if (!word)
			continue;
		problem_set(&why, strcmp(word, "permission error") ? E_CONFLICT : E_DENIED,
			    "its database refuses the sampling");
		problem_detail(&why, "%s: %s", word, details ? details : "");
		problem_hint(&why, "may peregrined write to the tables Bridge and sFlow there?");
		ovsdb_switch_fail(one, &why);
		return;
	}
	one->sampling_sent = true;
	if (ask_rows(one))
		ovsdb_switch_no_memory(one);
}

static void ovsdb_sampling_on_rows(void *context, int rc, json_t *result,
				   const struct problem *problem)
{
	struct ovsdb_switch *one = context;
	const struct sampling_wanted *wanted = &one->call.request->sampling;
	struct switch_reading reading = {0};
	const json_t *row;

	if (rc) {
		switch_call_end(&one->call, rc, NULL, problem);
		return;
	}
	row = ovsdb_sampling_row_of(result);
	reading.sampling = found_in(one, row);
	if (reading.sampling.agrees || reading.sampling.foreign || !wanted->change ||
	    one->sampling_sent) {
		reading.requests = ovsdb_client_requests(one->client) - one->call.requests_before;
		switch_call_end(&one->call, 0, &reading, NULL);
		return;
	}
	if (ovsdb_switch_ask(one, ovsdb_sampling_plan(one, row), ovsdb_sampling_on_sent))
		ovsdb_switch_no_memory(one);
}

static int ask_rows(struct ovsdb_switch *one)
{
	return ovsdb_switch_ask(
		one,
		json_pack("[s,{s:s,s:s,s:[[s,s,[s,s]]],s:[s]},{s:s,s:s,s:[],s:[s,s,s,s,s,s]}]",
			  "Open_vSwitch", "op", "select", "table", "Bridge", "where", "_uuid",
			  "==", "uuid", one->facts.bridge_uuid, "columns", "sflow", "op", "select",
			  "table", "sFlow", "where", "columns", "_uuid", "targets", "header",
			  "sampling", "polling", "external_ids"),
		ovsdb_sampling_on_rows);
}

static void ovsdb_sampling_on_facts(struct ovsdb_switch *one, int rc, const struct problem *problem)
{
	if (rc)
		switch_call_end(&one->call, rc, NULL, problem);
	else if (ask_rows(one))
		ovsdb_switch_no_memory(one);
}

int ovsdb_sampling_start(struct ovsdb_switch *one)
{
	one->sampling_sent = false;
	return ovsdb_switch_look(one, FACTS_WHOLE, ovsdb_sampling_on_facts);
}
