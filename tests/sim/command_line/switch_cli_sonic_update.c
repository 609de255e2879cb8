/* The updater of CONFIG_DB (generic_config_updater): the steps it tells, what it checks first, and
 * the single changes it then makes, one after the other: they are not taken back when one fails. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/command_line/switch_cli_sonic.h"

/* --- the changes --- */

/* One row of a table: from what it is to what it shall be; either may be absent. */
struct switch_cli_sonic_update_change {
	const char *table, *key;
	const json_t *before, *after;
	enum switch_verb verb;
};

struct changes {
	struct switch_cli_sonic_update_change *rows;
	size_t count, room;
};

static void switch_cli_sonic_update_note(struct changes *changes,
					 struct switch_cli_sonic_update_change change)
{
	if (changes->count == changes->room) {
		size_t room = changes->room ? changes->room * 2 : 64;
		struct switch_cli_sonic_update_change *rows =
			realloc(changes->rows, room * sizeof(*rows));

		if (!rows)
			return;
		changes->rows = rows;
		changes->room = room;
	}
	changes->rows[changes->count++] = change;
}

static bool is_untagged(const json_t *row)
{
	const char *mode = json_string_value(json_object_get(row, "tagging_mode"));

	return mode && strcmp(mode, "untagged") == 0;
}

static enum switch_verb verb_of(const char *table, const json_t *before, const json_t *after)
{
	if (strcmp(table, "VLAN") == 0)
		return !before ? SWITCH_CREATE : !after ? SWITCH_DELETE : SWITCH_NAME;
	if (strcmp(table, "VLAN_MEMBER") == 0)
		return is_untagged(before) || is_untagged(after) ? SWITCH_UNTAGGED : SWITCH_EGRESS;
	return SWITCH_FRAMES;
}

enum switch_cli_sonic_update_rows { ROWS_GONE, ROWS_NEW, ROWS_TAGGED, ROWS_UNTAGGED };

/* Rows of a table that go; that come or change: all, or by what they become, so that no port is
 * untagged in two VLANs on the way. */
static void switch_cli_sonic_update_compare(const char *table, const json_t *old, const json_t *new,
					    enum switch_cli_sonic_update_rows rows,
					    struct changes *ret)
{
	json_t *from = json_object_get(old, table);
	json_t *to = json_object_get(new, table);
	json_t *row;
	const char *key;

	json_object_foreach(rows == ROWS_GONE ? from : to, key, row)
	{
		const json_t *before = json_object_get(from, key);
		const json_t *after = json_object_get(to, key);
		bool differs = rows == ROWS_GONE ? !after : !before || !json_equal(before, after);

		if (differs && (rows <= ROWS_NEW || is_untagged(after) == (rows == ROWS_UNTAGGED)))
			switch_cli_sonic_update_note(ret, (struct switch_cli_sonic_update_change){
								  table, key, before, after,
								  verb_of(table, before, after)});
	}
}

static void switch_cli_sonic_update_tell(const struct switch_cli_sonic_update_change *change,
					 struct text *out)
{
	char *value = change->after ? json_dumps(change->after, JSON_SORT_KEYS) : NULL;

	text_addf(out, "[{\"op\": \"%s\", \"path\": \"/%s/%s\"",
		  !change->after    ? "remove"
		  : !change->before ? "add"
				    : "replace",
		  change->table, change->key);
	if (value)
		text_addf(out, ", \"value\": %s", value);
	text_add(out, "}]");
	free(value);
}

static void switch_cli_sonic_update_say(struct shell_call *call, const char *text)
{
	text_addf(call->out, "Patch Applier: %s\n", text);
}

/* One row of the database is written; what it means is what the whole then means. */
static bool switch_cli_sonic_update_write_row(struct cli_session *session, json_t *db,
					      const struct switch_cli_sonic_update_change *change)
{
	struct cli_config *running = session->device->store->running;
	struct cli_config *config = malloc(sizeof(*config));
	json_t *table = json_object_get(db, change->table);
	struct text why = {0};
	bool good;

	if (!config)
		return false;
	if (!table) {
		table = json_object();
		(void)json_object_set_new(db, change->table, table);
	}
	if (change->after)
		(void)json_object_set_new(table, change->key, json_deep_copy(change->after));
	else
		(void)json_object_del(table, change->key);
	*config = *running;
	good = sonic_config_read(session, db, config, &why);
	if (good)
		*running = *config;
	free(config);
	text_done(&why);
	return good;
}

static bool switch_cli_sonic_update_make(struct shell_call *call, const struct changes *changes)
{
	struct cli_session *session = call->session;
	json_t *db = sonic_config_json(session, session->device->store->running);
	bool good = true;

	for (size_t i = 0; good && i < changes->count && !session->is_over; i++) {
		text_add(call->out, "Patch Applier:   * ");
		switch_cli_sonic_update_tell(&changes->rows[i], call->out);
		text_add(call->out, "\n");
		if (cli_fate_of(session, changes->rows[i].verb) == CLI_FATE_DONE)
			good = switch_cli_sonic_update_write_row(session, db, &changes->rows[i]);
		cli_changed(session, call->out);
	}
	json_decref(db);
	return good;
}

/* Tables that nobody can have: none of the models knows them. */
static bool has_strangers(json_t *db, struct text *why)
{
	static const char *const known[] = {"DEVICE_METADATA", "PORT", "VLAN", "VLAN_MEMBER"};
	const char *key;
	json_t *table;

	json_object_foreach(db, key, table)
	{
		size_t i = 0;

		while (i < COUNT_OF(known) && strcmp(known[i], key) != 0)
			i++;
		if (i == COUNT_OF(known)) {
			text_add(why, "Given patch is not valid because it has changes to tables "
				      "without YANG models");
			return true;
		}
		if (!json_is_object(table) || json_object_size(table) == 0) {
			text_addf(
				why,
				"localhost: given patch is not valid because it will result in "
				"empty tables                                 which is not allowed "
				"in ConfigDb.                                 Table: %s",
				key);
			return true;
		}
	}
	return false;
}

static bool switch_cli_sonic_update_is_refused(const struct shell_call *call,
					       const struct changes *changes, struct text *why)
{
	for (size_t i = 0; i < changes->count; i++) {
		if (cli_fate_of(call->session, changes->rows[i].verb) != CLI_FATE_REFUSED)
			continue;
		text_addf(why,
			  "Modification of %s table is illegal- validating function "
			  "generic_config_updater.field_operation_validators."
			  "port_config_update_validator returned False",
			  changes->rows[i].table);
		return true;
	}
	return false;
}

static bool check_and_make(struct shell_call *call, json_t *old, json_t *target, bool is_dry,
			   struct text *why)
{
	struct cli_config *config = malloc(sizeof(*config));
	struct changes changes = {0};
	bool good;

	if (!config)
		return false;
	*config = *call->session->device->store->running;
	switch_cli_sonic_update_compare("VLAN", old, target, ROWS_NEW, &changes);
	switch_cli_sonic_update_compare("VLAN_MEMBER", old, target, ROWS_GONE, &changes);
	switch_cli_sonic_update_compare("PORT", old, target, ROWS_NEW, &changes);
	switch_cli_sonic_update_compare("VLAN_MEMBER", old, target, ROWS_TAGGED, &changes);
	switch_cli_sonic_update_compare("VLAN_MEMBER", old, target, ROWS_UNTAGGED, &changes);
	switch_cli_sonic_update_compare("VLAN", old, target, ROWS_GONE, &changes);
	switch_cli_sonic_update_say(
		call,
		"localhost: validating all JsonPatch operations are permitted on the specified "
		"fields");
	good = !switch_cli_sonic_update_is_refused(call, &changes, why);
	if (good) {
		switch_cli_sonic_update_say(
			call, "localhost: validating target config does not have empty tables,\n"
			      "                            since they do not show up in ConfigDb.");
		good = !has_strangers(target, why);
	}
	if (good) {
		switch_cli_sonic_update_say(call, "localhost: sorting patch updates.");
		text_add(why, "Given patch will produce invalid config. Error: ");
		good = sonic_config_read(call->session, target, config, why);
	}
	if (good) {
		const char *some = changes.count == 1 ? "" : "s";
		const char *end = changes.count ? ":" : ".";

		text_addf(call->out,
			  "Patch Applier: The localhost patch was converted into %zu change%s%s\n"
			  "Patch Applier: localhost: applying %zu change%s in order%s\n",
			  changes.count, some, end, changes.count, some, end);
		text_clear(why);
		if (!is_dry && !switch_cli_sonic_update_make(call, &changes)) {
			text_add(why, "There is no possible sorting");
			good = false;
		}
	}
	if (good)
		text_add(call->out, "Patch Applier: localhost: verifying patch updates are "
				    "reflected on ConfigDB.\n"
				    "Patch Applier: localhost patch application completed.\n");
	free(changes.rows);
	free(config);
	return good;
}

/* A patch may name a table that is not there yet: the updater puts an empty one before it. */
static void add_empty_tables(json_t *db, const json_t *patch)
{
	for (size_t i = 0; i < json_array_size(patch); i++) {
		const char *path =
			json_string_value(json_object_get(json_array_get(patch, i), "path"));
		char table[CLI_NAME_SIZE];

		if (!path || path[0] != '/' || !strchr(path + 1, '/') ||
		    !text_format(table, sizeof(table), "%.*s", (int)strcspn(path + 1, "/"),
				 path + 1))
			continue;
		if (!json_object_get(db, table))
			(void)json_object_set_new(db, table, json_object());
	}
}

bool sonic_update(struct shell_call *call, const char *text, bool is_patch, bool is_dry,
		  struct text *why)
{
	const struct cli_config *running = call->session->device->store->running;
	json_error_t error;
	json_t *given = json_loads(text, 0, &error);
	json_t *old;
	json_t *target;
	struct text reason = {0};
	bool good;

	if (!given) {
		text_addf(why, "Expecting value: line %d column %d (char %d)",
			  error.line > 0 ? error.line : 1, error.column + 1, error.position);
		return false;
	}
	if (is_patch ? !json_is_array(given) : !json_is_object(given)) {
		text_add(why, "Invalid patch format in file: patch");
		json_decref(given);
		return false;
	}
	old = sonic_config_json(call->session, running);
	target = is_patch ? json_deep_copy(old) : json_incref(given);
	switch_cli_sonic_update_say(call, "localhost: Patch application starting.");
	if (is_patch) {
		char *dump = json_dumps(given, 0);

		text_addf(call->out, "Patch Applier: localhost: Patch: %s\n", dump ? dump : "");
		free(dump);
		add_empty_tables(target, given);
	}
	switch_cli_sonic_update_say(call, "localhost getting current config db.");
	switch_cli_sonic_update_say(
		call, "localhost: simulating the target full config after applying the patch.");
	good = (!is_patch || sonic_patch(target, given, &reason)) &&
	       check_and_make(call, old, target, is_dry, &reason);
	if (!good)
		text_addf(why, "Failed to apply patch on the following scopes:\n- localhost: %s",
			  text_get(&reason));
	text_done(&reason);
	json_decref(target);
	json_decref(old);
	json_decref(given);
	return good;
}
