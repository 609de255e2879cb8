// links: peregrine_switch
/* A stream gives the same messages however its bytes are cut, each of them an object within bounds.
 * What an answer to our selects says gives a reading whose texts print, whose ports are sorted and
 * whose VLANs are in range; a plan for a port of it writes no row that it does not hold first, and
 * answers of any kind to it are judged. */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/macros.h"

#include "peregrine/switch/ovsdb/ovsdb_facts.h"
#include "peregrine/switch/ovsdb/ovsdb_json.h"
#include "peregrine/switch/ovsdb/ovsdb_plan_policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t room)
{
	size_t length = strnlen(text, room);

	assert(length < room);
	for (size_t i = 0; i < length; i++)
		assert(text[i] >= ' ' && text[i] <= '~');
}

/* --- framing --- */

/* How it ended, and all messages as one text. */
static int run_stream(const char *bytes, size_t size, size_t piece, struct text *ret)
{
	struct ovsdb_stream stream = {0};
	struct problem problem = {0};
	int rc = 0;

	for (size_t at = 0; rc == 0 && at < size; at += piece) {
		json_t *message = NULL;

		rc = ovsdb_stream_add(&stream, bytes + at, piece < size - at ? piece : size - at);
		while (rc == 0 && (rc = ovsdb_json_next(&stream, &message, &problem)) == 0 &&
		       message) {
			char *text = json_dumps(message, JSON_COMPACT);

			assert(json_is_object(message));
			(void)ovsdb_message_read(message);
			text_add(ret, text ? text : "?");
			free(text);
			json_decref(message);
		}
	}
	ovsdb_stream_done(&stream);
	return rc;
}

static void check_stream(const char *bytes, size_t size)
{
	CLEANUP(text_done) struct text whole = {0};
	CLEANUP(text_done) struct text single = {0};
	int rc = run_stream(bytes, size, size + 1, &whole);

	/* One whole add may see what makes no sense before the messages ahead of it are taken. */
	if (rc == 0) {
		assert(run_stream(bytes, size, 1, &single) == 0);
		assert(strcmp(text_get(&whole), text_get(&single)) == 0);
	} else {
		assert(run_stream(bytes, size, 1, &single) != 0);
	}
}

/* --- answers --- */

static void check_reading(const struct switch_reading *reading)
{
	for (size_t i = 0; i < reading->port_count; i++) {
		const struct switch_port *port = &reading->ports[i];

		check_text(port->name, sizeof(port->name));
		assert(port->name[0] && port->if_index);
		assert(i == 0 || reading->ports[i - 1].if_index < port->if_index);
		assert(port->vlans.trunk || vlan_set_is_empty(&port->vlans.tagged));
		assert(port->vlans.native <= VLAN_LAST);
	}
	for (size_t i = 0; i < reading->vlan_count; i++) {
		assert(reading->vlans[i].id >= VLAN_FIRST && reading->vlans[i].id <= VLAN_LAST);
		assert(i == 0 || reading->vlans[i - 1].id < reading->vlans[i].id);
		check_text(reading->vlans[i].name, sizeof(reading->vlans[i].name));
	}
	check_text(reading->identity.text, sizeof(reading->identity.text));
	check_text(reading->identity.system, sizeof(reading->identity.system));
	check_text(reading->odd_text, sizeof(reading->odd_text));
	assert(reading->identity.vlan_changes > 0);
}

static const char *uuid_of(const json_t *operation)
{
	return ovsdb_uuid(
		json_array_get(json_array_get(json_object_get(operation, "where"), 0), 2));
}

static bool is_word(const json_t *operation, const char *key, const char *word)
{
	const char *value = json_string_value(json_object_get(operation, key));

	return value && strcmp(value, word) == 0;
}

static void check_params(const struct ovsdb_plan *plan)
{
	assert(json_array_size(plan->params) == plan->operation_count + 1);
	for (size_t i = 1; i <= plan->operation_count; i++) {
		const json_t *update = json_array_get(plan->params, i);
		bool held = false;

		if (!is_word(update, "op", "update"))
			continue;
		assert(is_word(update, "table", "Port"));
		for (size_t k = 1; k < i && !held; k++) {
			const json_t *wait = json_array_get(plan->params, k);

			held = is_word(wait, "op", "wait") &&
			       strcmp(uuid_of(wait), uuid_of(update)) == 0;
		}
		assert(held);
	}
}

static void check_plan(const struct ovsdb_facts *facts, const json_t *answer)
{
	struct switch_edit edits[5] = {
		{.kind = EDIT_VLAN_CREATE, .vlan = 200, .vlan_name = "blue"},
		{.kind = EDIT_PORT, .after = {.native = 200}},
		{.kind = EDIT_PORT, .after = {.trunk = true}},
		{.kind = EDIT_VLAN_CREATE, .vlan = 201},
		{.kind = EDIT_VLAN_DELETE, .vlan = 201},
	};
	struct ovsdb_plan plan = {0};
	struct problem problem = {0};
	json_int_t config = 0;
	size_t bad = 0;
	int rc;

	if (facts->port_count == 0)
		return;
	memcpy(edits[1].port, facts->ports[0].name, sizeof(edits[1].port));
	memcpy(edits[2].port, facts->ports[facts->port_count - 1].name, sizeof(edits[2].port));
	vlan_set_add(&edits[2].after.tagged, 200);
	rc = ovsdb_plan_make(facts, edits, COUNT_OF(edits), &plan, &bad, &problem);
	assert(rc == 0 || (problem_is_set(&problem) && bad < COUNT_OF(edits) && !plan.params));
	if (rc == 0 && plan.params) {
		check_params(&plan);
		rc = ovsdb_plan_judge(&plan, answer, &config, &bad, &problem);
		assert(rc ? problem_is_set(&problem) : config >= 0);
		assert(bad == SIZE_MAX || bad < COUNT_OF(edits));
	}
	ovsdb_plan_done(&plan);
}

static void check_answer(const char *text, size_t size)
{
	static const struct json_bounds bounds = {OVSDB_MESSAGE_SIZE, OVSDB_MESSAGE_DEPTH,
						  OVSDB_MESSAGE_VALUES};
	struct ovsdb_facts facts = {0};
	struct switch_reading reading = {0};
	struct problem problem = {0};
	json_t *json = NULL;

	if (json_read_bounded(text, size, &bounds, &json, &problem) != 0)
		return;
	for (int kind = FACTS_VLANS; kind <= FACTS_WHOLE; kind++) {
		if (ovsdb_facts_make(json, (enum ovsdb_facts_kind)kind, &facts, &problem) != 0) {
			assert(problem_is_set(&problem));
			continue;
		}
		assert(ovsdb_reading_make(&facts, PART_ALL, NULL, &reading) == 0);
		check_reading(&reading);
		check_plan(&facts, json);
		switch_reading_done(&reading);
		ovsdb_facts_done(&facts);
	}
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;

	if (size > 0 && data[0] == '[')
		check_answer(bytes, size);
	else
		check_stream(bytes, size);
	return 0;
}
