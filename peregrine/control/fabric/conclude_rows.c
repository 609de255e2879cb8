/* A conclusion as rows: JSON for the functions of fabric.sql, one text per table. */
#include <stdlib.h>
#include <string.h>

#include "common/base/enum_text.h"
#include "common/base/hash.h"
#include "common/base/json_text.h"
#include "common/base/sorted.h"
#include "common/db/array.h"
#include "common/model/alert_row.h"

#include "peregrine/control/fabric/conclude_private.h"

static void add_problem(struct text *json, const struct problem *problem)
{
	if (!problem_is_set(problem)) {
		json_put_null(json, "problem");
		return;
	}
	json_put_problem(json, "problem", problem);
}

static void row_observed(struct text *json, const struct sight *sight)
{
	const struct switch_identity *identity = &sight->identity;

	json_begin_object(json, NULL);
	json_put_int(json, "switch_id", sight->row.id);
	json_put_bool(json, "reachable", sight->reachable);
	add_problem(json, &sight->problem);
	json_put_int(json, "asked_us", sight->asked_us);
	if (sight->reachable || sight->has_reading) {
		json_put_string(json, "family", identity->family);
		json_put_string(json, "object_id", identity->object_id);
		json_put_string(json, "text", identity->text);
		json_put_string(json, "system", identity->system);
		json_put_string(json, "chassis", identity->chassis);
		json_put_int(json, "uptime_ms", (int64_t)identity->uptime_ms);
		json_put_int(json, "vlan_changes", (int64_t)identity->vlan_changes);
	}
	if (sight->has_reading) {
		json_begin_array(json, "vlans");
		for (size_t i = 0; i < sight->reading.vlan_count; i++)
			json_put_int(json, NULL, sight->reading.vlans[i].id);
		json_end_array(json);
		json_put_int(json, "requests", sight->reading.requests);
		json_put_int(json, "odd", sight->reading.odd);
		json_put_string(json, "odd_text", sight->reading.odd_text);
		json_put_int(json, "read_us", sight->reading_us);
		switch_told_json(json, "parts", sight->reading.told);
	}
	json_end_object(json);
}

static const char *const stp_words[] = {"unknown",   "disabled", "blocking",
					"listening", "learning", "forwarding"};

static void row_port(struct text *json, const struct sight *sight, size_t index)
{
	const struct switch_port *port = &sight->reading.ports[index];
	const struct switch_port *lag =
		port->lag ? switch_reading_port(&sight->reading, port->lag) : NULL;
	CLEANUP(text_done) struct text tagged = {0};
	struct mac mac;
	char text[MAC_TEXT_SIZE];

	memcpy(mac.bytes, port->mac, sizeof(mac.bytes));
	vlan_set_text(&port->vlans.tagged, &tagged);
	json_begin_object(json, NULL);
	json_put_int(json, "switch_id", sight->row.id);
	json_put_string(json, "name", port->name);
	json_put_int(json, "if_index", port->index_made ? 0 : port->if_index);
	json_put_int(json, "base_port", port->base_port);
	json_put_string(json, "alias", port->alias);
	json_put_string(json, "mac", mac_is_zero(mac) ? NULL : mac_text(mac, text));
	json_put_bool(json, "admin_up", port->admin_up);
	json_put_bool(json, "up", port->up);
	json_put_int(json, "speed_bps", (int64_t)port->speed_bps);
	json_put_string(json, "lag", lag ? lag->name : "");
	json_put_bool(json, "is_lag", port->is_lag);
	json_put_string(json, "stp", enum_text(stp_words, COUNT_OF(stp_words), (int)port->stp));
	json_put_string(json, "kind",
			enum_text(port_kind_words, PORT_KIND_COUNT,
				  sight->kinds ? sight->kinds[index] : PORT_UNKNOWN));
	if (port->has_vlans) {
		json_put_bool(json, "trunk", port->vlans.trunk);
		if (port->vlans.native)
			json_put_int(json, "native_vlan", port->vlans.native);
		json_put_string(json, "tagged_vlans", text_get(&tagged));
	}
	json_end_object(json);
}

/* Ports of switches where one differs from what was written, or was not marked as seen lately. */
static void rows_ports(struct work *work)
{
	struct discovery *discovery = work->discovery;

	array_begin(&work->port_switches);
	for (size_t i = 0; i < work->facts.source_count; i++) {
		struct sight *sight = work->sights[i];
		CLEANUP(text_done) struct text rows = {0};
		char digest[DIGEST_TEXT_SIZE];

		if (!sight->has_reading)
			continue;
		for (size_t port = 0; port < sight->reading.port_count; port++)
			row_port(&rows, sight, port);
		digest_text(text_get(&rows), rows.size, digest);
		if (strcmp(digest, sight->ports_digest) == 0 &&
		    work->now_ms - sight->ports_ms < discovery->options.seen_ms)
			continue;
		(void)text_copy(sight->ports_digest, sizeof(sight->ports_digest), digest);
		sight->ports_ms = work->now_ms;
		array_add_int(&work->port_switches, sight->row.id);
		sight->offered |= TABLE_BIT(TABLE_PORTS);
		if (work->rows[TABLE_PORTS].size > 1 && rows.size > 0)
			text_add(&work->rows[TABLE_PORTS], ",");
		text_add(&work->rows[TABLE_PORTS], text_get(&rows));
	}
	array_end(&work->port_switches);
}

static void rows_links(struct work *work)
{
	struct text *json = &work->rows[TABLE_LINKS];

	array_begin(&work->link_switches);
	for (size_t i = 0; i < work->facts.source_count; i++) {
		if (work->sights[i]->asked)
			array_add_int(&work->link_switches, work->sources[i].id);
	}
	array_end(&work->link_switches);
	for (size_t i = 0; i < work->conclusion.link_count; i++) {
		const struct fabric_link *link = &work->conclusion.links[i];

		json_begin_object(json, NULL);
		json_put_int(json, "a_switch", work->sources[link->a.source].id);
		json_put_string(json, "a_port", fabric_port(&work->facts, link->a)->name);
		json_put_int(json, "b_switch", work->sources[link->b.source].id);
		json_put_string(json, "b_port", fabric_port(&work->facts, link->b)->name);
		json_put_string(json, "state",
				enum_text(link_state_words, LINK_STATE_COUNT, (int)link->state));
		json_put_int(json, "certainty", link->certainty);
		json_begin_object(json, "evidence");
		json_put_string(json, "by", link->evidence);
		json_put_bool(json, "lag", link->lag);
		if (link->lag)
			json_put_int(json, "members", link->members);
		json_end_object(json);
		json_end_object(json);
	}
}

static const struct {
	enum place_source source;
	const char *word;
} source_words[] = {{PLACE_FDB, "fdb"},
		    {PLACE_LLDP, "lldp"},
		    {PLACE_AGENT, "agent"},
		    {PLACE_OPTION82, "option82"},
		    {PLACE_EARLIER, "earlier"}};

enum { PLACES_AT_ONCE = 4096 };

static void row_place(struct work *work, const struct fabric_place *place)
{
	struct text *json = &work->rows[TABLE_PLACES];
	char mac[MAC_TEXT_SIZE];

	json_begin_object(json, NULL);
	json_put_string(json, "mac", mac_text(place->mac, mac));
	json_put_int(json, "switch_id", work->sources[place->at.source].id);
	json_put_string(json, "port", fabric_port(&work->facts, place->at)->name);
	json_put_int(json, "certainty", place->certainty);
	json_begin_array(json, "sources");
	for (size_t word = 0; word < COUNT_OF(source_words); word++) {
		if (place->sources & source_words[word].source)
			json_put_string(json, NULL, source_words[word].word);
	}
	json_end_array(json);
	if (place->vlan)
		json_put_int(json, "vlan", place->vlan);
	if (place->sources == PLACE_EARLIER)
		json_put_int(json, "seen_us", place->seen_us);
	json_end_object(json);
}

static uint64_t place_digest(const struct work *work, const struct fabric_place *place)
{
	const char *port = fabric_port(&work->facts, place->at)->name;
	uint64_t digest = HASH_START;

	digest = hash_number(digest, (uint64_t)work->sources[place->at.source].id);
	digest = hash_bytes(digest, port, strlen(port));
	digest = hash_number(digest, place->certainty);
	digest = hash_number(digest, place->sources);
	digest = hash_number(digest, place->vlan);
	if (place->sources == PLACE_EARLIER)
		digest = hash_number(digest, (uint64_t)place->seen_us);
	return digest ? digest : 1;
}

/* Places that differ from what was written, then those that were not marked as seen lately. So many
 * at once that neither the loop nor the rows of other tables wait for a switch with very many. */
static void rows_places(struct work *work)
{
	const struct discovery *discovery = work->discovery;
	CLEANUP(freep) size_t *seen = calloc(PLACES_AT_ONCE, sizeof(*seen));
	size_t seen_count = 0;
	size_t count = 0;

	for (size_t i = 0; i < work->conclusion.place_count; i++) {
		const struct fabric_place *place = &work->conclusion.places[i];
		struct memory *memory = memory_find(discovery, place->mac);
		uint64_t digest = place_digest(work, place);
		bool differs = memory && memory->row_digest != digest;

		if (!memory ||
		    (!differs && work->now_ms - memory->row_ms < discovery->options.seen_ms))
			continue;
		if (!seen || (differs ? count : seen_count) == PLACES_AT_ONCE) {
			work->places_left = true;
			continue;
		}
		if (!differs) {
			seen[seen_count++] = i;
			continue;
		}
		memory->row_digest = digest;
		memory->row_ms = work->now_ms;
		row_place(work, place);
		count++;
	}
	for (size_t i = 0; i < seen_count; i++) {
		const struct fabric_place *place = &work->conclusion.places[seen[i]];

		if (count++ == PLACES_AT_ONCE) {
			work->places_left = true;
			break;
		}
		memory_find(discovery, place->mac)->row_ms = work->now_ms;
		row_place(work, place);
	}
}

static void rows_strays(struct work *work)
{
	struct text *json = &work->rows[TABLE_STRAYS];

	for (size_t i = 0; i < work->conclusion.stray_count; i++) {
		const struct fabric_place *stray = &work->conclusion.strays[i];
		char mac[MAC_TEXT_SIZE];

		json_begin_object(json, NULL);
		json_put_string(json, "mac", mac_text(stray->mac, mac));
		json_put_int(json, "switch_id", work->sources[stray->at.source].id);
		json_put_string(json, "port", fabric_port(&work->facts, stray->at)->name);
		json_put_int(json, "seen_us", stray->seen_us);
		json_end_object(json);
	}
}

static void rows_blocks(struct work *work)
{
	struct text *json = &work->rows[TABLE_BLOCKS];

	for (size_t i = 0; i < work->discovery->block_count; i++) {
		const struct guard_block *block = &work->discovery->blocks[i];
		char mac[MAC_TEXT_SIZE];

		json_begin_object(json, NULL);
		json_put_int(json, "switch_id", block->switch_id);
		json_put_string(json, "port", block->port);
		json_put_string(json, "kind",
				enum_text(guard_kind_words, GUARD_KIND_COUNT, (int)block->kind));
		json_put_string(json, "mac", mac_text(block->mac, mac));
		json_put_int(json, "version", block->version);
		json_put_string(json, "message", block->message);
		json_end_object(json);
	}
}

static void row_alert(struct text *json, const struct alert_row *row)
{
	json_begin_object(json, NULL);
	json_put_alert(json, row);
	json_end_object(json);
}

static void rows_conflicts(struct work *work)
{
	for (size_t i = 0; i < work->conclusion.conflict_count; i++) {
		const struct fabric_conflict *conflict = &work->conclusion.conflicts[i];
		const char *name = work->sources[conflict->at.source].name;
		bool is_port = conflict->at.port != UINT32_MAX;
		char subject[160];

		(void)text_format(subject, sizeof(subject), is_port ? "%s:%s" : "%s%s", name,
				  is_port ? fabric_port(&work->facts, conflict->at)->name : "");
		row_alert(&work->rows[TABLE_ALERTS],
			  &(struct alert_row){.kind = conflict->kind,
					      .severity = conflict->warning ? "warning" : "info",
					      .subject_kind = is_port ? "port" : "switch",
					      .subject = subject,
					      .message = conflict->message,
					      .hint = conflict->hint});
	}
}

/* Each has keys of its own with us, but not with other managers, which may take one for a replay of
 * the other. */
static void row_twin(struct text *json, const struct sight *sight)
{
	char message[200];

	(void)text_format(message, sizeof(message),
			  "it answers with the same SNMPv3 engine id as switch %s",
			  sight->identity.twin);
	row_alert(
		json,
		&(struct alert_row){
			.kind = "fabric.shared_engine",
			.severity = "warning",
			.subject_kind = "switch",
			.subject = sight->row.name,
			.message = message,
			.hint = "one's configuration is a copy of the other's: give one of them an engine "
				"id of its own, and set its SNMPv3 users' secrets again"});
}

static void row_refused(struct text *json, const struct sight *sight)
{
	char message[480];

	(void)text_format(message, sizeof(message), "PostgreSQL refuses what it says: %s",
			  sight->refusal);
	row_alert(json,
		  &(struct alert_row){
			  .kind = "switch.row_refused",
			  .severity = "warning",
			  .subject_kind = "switch",
			  .subject = sight->row.name,
			  .message = message,
			  .hint = "its rows are from before; all other switches are written. Look "
				  "at its agent, or delete the switch"});
}

/* Sorted by switch and port (fabric_store.h). */
static bool holds_tenants(const struct work *work, int64_t switch_id)
{
	const struct fact_rows *facts = &work->discovery->facts;
	size_t at = SORTED_FIRST(i, 0, facts->guard_count, facts->guards[i].switch_id < switch_id);

	for (; at < facts->guard_count && facts->guards[at].switch_id == switch_id; at++) {
		if (facts->guards[at].tenant_id)
			return true;
	}
	return false;
}

/* A switch that shows less than it could is an alert once somebody depends on it. */
static void row_parts(struct work *work, const struct sight *sight)
{
	CLEANUP(text_done) struct text message = {0};

	for (int part = 0; part < TOLD_COUNT; part++) {
		const struct switch_told *told = &sight->reading.told[part];

		if (told->failed && told->state != TOLD_WHOLE)
			text_addf(&message, "%s%s %s: %s", message.size ? "; " : "",
				  told_part_words[part], told_state_words[told->state], told->why);
	}
	if (!message.size || !holds_tenants(work, sight->row.id))
		return;
	row_alert(&work->rows[TABLE_ALERTS],
		  &(struct alert_row){
			  .kind = "switch.reading_partial",
			  .severity = "warning",
			  .subject_kind = "switch",
			  .subject = sight->row.name,
			  .message = text_get(&message),
			  .hint = "tenants' ports are on it. haasctl switch show says which parts "
				  "came; docs/switches.md says what each agent needs"});
}

static void rows_alerts(struct work *work)
{
	struct text *json = &work->rows[TABLE_ALERTS];

	rows_conflicts(work);
	for (size_t i = 0; i < work->wiring.count; i++) {
		const struct wiring_difference *item = &work->wiring.items[i];
		char subject[160];

		(void)text_format(subject, sizeof(subject), "%s:%s", item->switch_name, item->port);
		row_alert(json, &(struct alert_row){.kind = item->kind,
						    .severity = item->warning ? "warning" : "info",
						    .subject_kind = "port",
						    .subject = subject,
						    .message = item->message,
						    .hint = item->hint});
	}
	for (size_t i = 0; i < work->discovery->block_count; i++) {
		const struct guard_block *block = &work->discovery->blocks[i];
		bool moved = block->kind == GUARD_MOVED;

		row_alert(json, &(struct alert_row){.kind = moved ? "fabric.cable_moved"
								  : "fabric.foreign_node",
						    .severity = moved ? "warning" : "critical",
						    .subject_kind = "port",
						    .subject = block->subject,
						    .message = block->message,
						    .hint = block->hint});
	}
	for (size_t i = 0; i < work->facts.source_count; i++) {
		const struct sight *sight = work->sights[i];

		if (sight->identity.twin[0])
			row_twin(json, sight);
		if (sight->refused)
			row_refused(json, sight);
		if (sight->has_reading && sight->reachable)
			row_parts(work, sight);
		if (!sight->asked || !problem_is_set(&sight->problem))
			continue;
		row_alert(json, &(struct alert_row){.kind = sight->reachable ? "switch.not_set"
									     : "switch.unreachable",
						    .severity = "warning",
						    .subject_kind = "switch",
						    .subject = sight->row.name,
						    .message = sight->problem.message,
						    .hint = sight->problem.hint[0]
								    ? sight->problem.hint
								    : sight->problem.detail});
	}
}

void conclude_rows(struct work *work)
{
	for (int table = 0; table < TABLE_COUNT; table++)
		json_begin_array(&work->rows[table], NULL);
	for (size_t i = 0; i < work->facts.source_count; i++) {
		work->sights[i]->offered = TABLE_BIT(TABLE_LINKS) | TABLE_BIT(TABLE_PLACES);
		if (work->sights[i]->unobserved) {
			row_observed(&work->rows[TABLE_OBSERVED], work->sights[i]);
			work->sights[i]->offered |= TABLE_BIT(TABLE_OBSERVED);
		}
		work->sights[i]->unobserved = false;
	}
	rows_ports(work);
	rows_links(work);
	rows_places(work);
	rows_strays(work);
	rows_blocks(work);
	rows_alerts(work);
	for (int table = 0; table < TABLE_COUNT; table++)
		json_end_array(&work->rows[table]);
}
