/* The second half of discovery: facts from the database, conclusions by the policies, rows back. At
 * work one at a time, soon after the last reading and never more than a tenth of the time; what is
 * as it was when it was written last is not written again but for its "seen". */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/base/text.h"
#include "common/db/array.h"
#include "common/io/log.h"

#include "peregrine/control/fabric/discovery_private.h"
#include "peregrine/control/fabric/link_policy.h"
#include "peregrine/control/fabric/place_policy.h"
#include "peregrine/control/fabric/wiring_policy.h"

LEAKS_LEFT_TO_SANITIZER

#define SUBJECT      "fabric"
#define GAP_MS       200 /* readings that come together are concluded together */
#define RETRY_MS     2000
#define FACTS_OLD_MS 10000 /* option 82 and inventories come without a word */
#define MEMORY_US    ((int64_t)86400 * 1000000)

enum table { TABLE_OBSERVED, TABLE_PORTS, TABLE_LINKS, TABLE_PLACES, TABLE_ALERTS, TABLE_COUNT };

/* What the write under way will have written, when it is through. */
struct pending {
	struct discovery *discovery;
	unsigned waited;
	bool failed;
	int64_t events;
	bool sent[TABLE_COUNT];
	char digest[TABLE_COUNT][DIGEST_TEXT_SIZE];
};

/* Everything of one conclusion. */
struct work {
	struct discovery *discovery;
	struct sight **sights;
	struct fabric_source *sources;
	struct fabric_prior *priors;
	struct fabric_facts facts;
	struct fabric_conclusion conclusion;
	struct wiring_found wiring;
	struct text rows[TABLE_COUNT];
	struct text port_switches, link_switches;
	int64_t now_us, now_ms;
};

/* --- facts -------------------------------------------------------------------- */

static void facts_one(struct discovery *discovery, int rc, const struct problem *problem);
static void conclude_now(struct discovery *discovery);

static void on_nics(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct discovery *discovery = context;

	if (rc == 0)
		rc = fabric_rows_nics(result, &discovery->facts);
	facts_one(discovery, rc, problem);
}

static void on_sightings(void *context, int rc, const PGresult *result,
			 const struct problem *problem)
{
	struct discovery *discovery = context;

	if (rc == 0)
		rc = fabric_rows_sightings(result, &discovery->facts);
	facts_one(discovery, rc, problem);
}

static void on_wiring(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct discovery *discovery = context;

	if (rc == 0)
		rc = fabric_rows_wiring(result, &discovery->facts);
	facts_one(discovery, rc, problem);
}

static struct memory *memory_find(const struct discovery *discovery, struct mac mac)
{
	struct memory *memory = NULL;
	uint64_t key = mac_key(mac);

	HASH_FIND(hh, discovery->memory, &key, sizeof(key), memory);
	return memory;
}

static struct memory *memory_get(struct discovery *discovery, struct mac mac)
{
	struct memory *memory = memory_find(discovery, mac);

	if (memory)
		return memory;
	memory = calloc(1, sizeof(*memory));
	if (!memory)
		return NULL;
	memory->mac = mac;
	memory->key = mac_key(mac);
	HASH_ADD(hh, discovery->memory, key, sizeof(memory->key), memory);
	return memory;
}

static void on_places(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct discovery *discovery = context;
	int rows = rc ? 0 : PQntuples(result);

	for (int i = 0; i < rows; i++) {
		struct mac mac;
		struct memory *memory = mac_parse(db_text(result, i, 0, ""), &mac) == 0
						? memory_get(discovery, mac)
						: NULL;

		if (!memory)
			continue;
		memory->switch_id = db_int(result, i, 1, 0);
		(void)text_copy(memory->port, sizeof(memory->port), db_text(result, i, 2, ""));
		memory->seen_us = clock_wall_us();
	}
	discovery->memory_loaded = rc == 0;
	facts_one(discovery, rc, problem);
}

static void facts_ask(struct discovery *discovery, const struct db_query *query, db_result_fn fn)
{
	discovery->facts_waited++;
	if (db_submit(discovery->options.db, query, NULL, fn, discovery) == 0)
		return;
	discovery->facts_waited--;
	discovery->facts_failed = true;
}

static void facts_read(struct discovery *discovery)
{
	discovery->state = CONCLUDE_FACTS;
	discovery->facts_failed = false;
	discovery->facts_stale = false;
	discovery->facts_ms = loop_now_ms(discovery->loop);
	facts_ask(discovery, &fabric_store_nics, on_nics);
	facts_ask(discovery, &fabric_store_sightings, on_sightings);
	facts_ask(discovery, &fabric_store_wiring, on_wiring);
	if (!discovery->memory_loaded)
		facts_ask(discovery, &fabric_store_places, on_places);
	if (discovery->facts_waited > 0)
		return;
	discovery->state = CONCLUDE_IDLE;
	discovery->facts_stale = true;
	loop_timer_arm(discovery->timer, RETRY_MS);
}

static void facts_one(struct discovery *discovery, int rc, const struct problem *problem)
{
	if (rc && rc != E_UNAVAILABLE && problem)
		log_problem(LOG_LEVEL_ERROR, SUBJECT, problem);
	discovery->facts_failed |= rc != 0;
	if (--discovery->facts_waited > 0)
		return;
	discovery->state = CONCLUDE_IDLE;
	if (!discovery->facts_failed) {
		conclude_now(discovery);
		return;
	}
	discovery->facts_stale = true;
	if (discovery->connected)
		loop_timer_arm(discovery->timer, RETRY_MS);
}

/* --- what the policies get -------------------------------------------------------- */

static int compare_priors(const void *left, const void *right)
{
	uint64_t a = mac_key(((const struct fabric_prior *)left)->mac);
	uint64_t b = mac_key(((const struct fabric_prior *)right)->mac);

	return a < b ? -1 : a > b;
}

static bool find_ref(const struct work *work, int64_t switch_id, const char *port,
		     struct port_ref *ret)
{
	for (uint32_t i = 0; i < work->facts.source_count; i++) {
		const struct switch_reading *reading = work->sources[i].reading;
		const struct switch_port *found;

		if (work->sources[i].id != switch_id || !reading)
			continue;
		found = switch_reading_port_named(reading, port);
		if (found)
			*ret = (struct port_ref){i, (uint32_t)(found - reading->ports)};
		return found != NULL;
	}
	return false;
}

static void gather_priors(struct work *work)
{
	struct memory *memory = NULL;
	struct memory *next = NULL;

	HASH_ITER(hh, work->discovery->memory, memory, next)
	{
		struct fabric_prior *prior = &work->priors[work->facts.prior_count];

		if (work->now_us - memory->moved_us > FABRIC_MOVES_US)
			memory->moves = 0;
		prior->mac = memory->mac;
		prior->moves = memory->moves;
		if (find_ref(work, memory->switch_id, memory->port, &prior->at))
			work->facts.prior_count++;
	}
	if (work->facts.prior_count > 0)
		qsort(work->priors, work->facts.prior_count, sizeof(*work->priors), compare_priors);
	work->facts.priors = work->priors;
}

static int gather(struct work *work)
{
	struct discovery *discovery = work->discovery;
	size_t room = HASH_COUNT(discovery->sights) + 1;
	size_t count = 0;
	struct sight *sight = NULL;
	struct sight *next = NULL;

	work->sights = calloc(room, sizeof(*work->sights));
	work->sources = calloc(room, sizeof(*work->sources));
	work->priors = calloc(HASH_COUNT(discovery->memory) + 1, sizeof(*work->priors));
	if (!work->sights || !work->sources || !work->priors)
		return -ENOMEM;
	HASH_ITER(hh, discovery->sights, sight, next)
	{
		work->sights[count] = sight;
		work->sources[count++] = (struct fabric_source){
			.id = sight->row.id,
			.fabric_id = sight->row.fabric_id,
			.name = sight->row.name,
			.reading = sight->has_reading ? &sight->reading : NULL,
			.fresh = sight->reachable,
			.read_us = sight->reading_us,
			.prior_kinds = sight->kinds,
		};
	}
	work->facts = (struct fabric_facts){
		.sources = work->sources,
		.source_count = count,
		.nics = discovery->facts.nics,
		.nic_count = discovery->facts.nic_count,
		.sightings = discovery->facts.sightings,
		.sighting_count = discovery->facts.sighting_count,
	};
	gather_priors(work);
	return 0;
}

/* --- what is kept of a conclusion ---------------------------------------------------- */

static void keep_kinds(struct work *work)
{
	for (size_t i = 0; i < work->facts.source_count; i++) {
		struct sight *sight = work->sights[i];

		if (!work->conclusion.kinds[i])
			continue;
		free(sight->kinds);
		sight->kinds = malloc(sight->reading.port_count + 1);
		if (sight->kinds)
			memcpy(sight->kinds, work->conclusion.kinds[i], sight->reading.port_count);
	}
}

static void keep_places(struct work *work)
{
	struct discovery *discovery = work->discovery;
	struct memory *memory = NULL;
	struct memory *next = NULL;

	for (size_t i = 0; i < work->conclusion.place_count; i++) {
		const struct fabric_place *place = &work->conclusion.places[i];
		const char *port = fabric_port(&work->facts, place->at)->name;
		int64_t switch_id = work->sources[place->at.source].id;

		memory = memory_get(discovery, place->mac);
		if (!memory)
			continue;
		if (memory->switch_id &&
		    (memory->switch_id != switch_id || strcmp(memory->port, port) != 0)) {
			if (memory->moves++ == 0)
				memory->moved_us = work->now_us;
		}
		memory->switch_id = switch_id;
		(void)text_copy(memory->port, sizeof(memory->port), port);
		memory->seen_us = work->now_us;
	}
	HASH_ITER(hh, discovery->memory, memory, next)
	{
		if (work->now_us - memory->seen_us <= MEMORY_US)
			continue;
		HASH_DEL(discovery->memory, memory);
		free(memory);
	}
}

/* --- rows ------------------------------------------------------------------------------ */

static void add_problem(struct text *json, const struct problem *problem)
{
	if (!problem_is_set(problem)) {
		json_null(json, "problem");
		return;
	}
	json_begin_object(json, "problem");
	json_string(json, "message", problem->message);
	json_string(json, "detail", problem->detail);
	json_string(json, "hint", problem->hint);
	json_string(json, "code", error_word(problem->code));
	json_end_object(json);
}

static void row_observed(struct text *json, const struct sight *sight)
{
	const struct switch_identity *identity = &sight->identity;

	json_begin_object(json, NULL);
	json_int(json, "switch_id", sight->row.id);
	json_bool(json, "reachable", sight->reachable);
	add_problem(json, &sight->problem);
	json_int(json, "asked_us", sight->asked_us);
	if (sight->reachable || sight->has_reading) {
		json_string(json, "family", identity->family);
		json_string(json, "object_id", identity->object_id);
		json_string(json, "text", identity->text);
		json_string(json, "system", identity->system);
		json_string(json, "chassis", identity->chassis);
		json_int(json, "uptime_ms", (int64_t)identity->uptime_ms);
		json_int(json, "vlan_changes", (int64_t)identity->vlan_changes);
	}
	if (sight->has_reading) {
		json_begin_array(json, "vlans");
		for (size_t i = 0; i < sight->reading.vlan_count; i++)
			json_int(json, NULL, sight->reading.vlans[i].id);
		json_end_array(json);
		json_int(json, "requests", sight->reading.requests);
		json_int(json, "odd", sight->reading.odd);
		json_string(json, "odd_text", sight->reading.odd_text);
		json_int(json, "read_us", sight->reading_us);
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
	json_int(json, "switch_id", sight->row.id);
	json_string(json, "name", port->name);
	json_int(json, "if_index", port->if_index);
	json_int(json, "base_port", port->base_port);
	json_string(json, "alias", port->alias);
	json_string(json, "mac", mac_is_zero(mac) ? NULL : mac_text(mac, text));
	json_bool(json, "admin_up", port->admin_up);
	json_bool(json, "up", port->up);
	json_int(json, "speed_bps", (int64_t)port->speed_bps);
	json_string(json, "lag", lag ? lag->name : "");
	json_bool(json, "is_lag", port->is_lag);
	json_string(json, "stp", enum_text(stp_words, COUNT_OF(stp_words), (int)port->stp));
	json_string(json, "kind",
		    enum_text(port_kind_words, PORT_KIND_COUNT,
			      sight->kinds ? sight->kinds[index] : PORT_UNKNOWN));
	if (port->has_vlans) {
		json_bool(json, "trunk", port->vlans.trunk);
		if (port->vlans.native)
			json_int(json, "native_vlan", port->vlans.native);
		json_string(json, "tagged_vlans", text_get(&tagged));
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
		if (work->sources[i].reading)
			array_add_int(&work->link_switches, work->sources[i].id);
	}
	array_end(&work->link_switches);
	for (size_t i = 0; i < work->conclusion.link_count; i++) {
		const struct fabric_link *link = &work->conclusion.links[i];

		json_begin_object(json, NULL);
		json_int(json, "a_switch", work->sources[link->a.source].id);
		json_string(json, "a_port", fabric_port(&work->facts, link->a)->name);
		json_int(json, "b_switch", work->sources[link->b.source].id);
		json_string(json, "b_port", fabric_port(&work->facts, link->b)->name);
		json_string(json, "state",
			    enum_text(link_state_words, LINK_STATE_COUNT, (int)link->state));
		json_int(json, "certainty", link->certainty);
		json_begin_object(json, "evidence");
		json_string(json, "by", link->evidence);
		json_bool(json, "lag", link->lag);
		if (link->lag)
			json_int(json, "members", link->members);
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
		    {PLACE_OPTION82, "option82"}};

static void rows_places(struct work *work)
{
	struct text *json = &work->rows[TABLE_PLACES];

	for (size_t i = 0; i < work->conclusion.place_count; i++) {
		const struct fabric_place *place = &work->conclusion.places[i];
		char mac[MAC_TEXT_SIZE];

		json_begin_object(json, NULL);
		json_string(json, "mac", mac_text(place->mac, mac));
		json_int(json, "switch_id", work->sources[place->at.source].id);
		json_string(json, "port", fabric_port(&work->facts, place->at)->name);
		json_int(json, "certainty", place->certainty);
		json_begin_array(json, "sources");
		for (size_t word = 0; word < COUNT_OF(source_words); word++) {
			if (place->sources & source_words[word].source)
				json_string(json, NULL, source_words[word].word);
		}
		json_end_array(json);
		if (place->vlan)
			json_int(json, "vlan", place->vlan);
		json_end_object(json);
	}
}

struct alert_row {
	const char *kind, *severity, *subject_kind, *subject, *message, *hint;
};

static void row_alert(struct text *json, const struct alert_row *row)
{
	CLEANUP(text_done) struct text key = {0};

	text_addf(&key, "%s:%s", row->kind, row->subject);
	json_begin_object(json, NULL);
	json_string(json, "key", text_get(&key));
	json_string(json, "kind", row->kind);
	json_string(json, "severity", row->severity);
	json_string(json, "subject_kind", row->subject_kind);
	json_string(json, "subject", row->subject);
	json_string(json, "message", row->message);
	json_string(json, "hint", row->hint);
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
			  &(struct alert_row){conflict->kind,
					      conflict->warning ? "warning" : "info",
					      is_port ? "port" : "switch", subject,
					      conflict->message, conflict->hint});
	}
}

static void rows_alerts(struct work *work)
{
	struct text *json = &work->rows[TABLE_ALERTS];

	rows_conflicts(work);
	for (size_t i = 0; i < work->wiring.count; i++) {
		const struct wiring_difference *item = &work->wiring.items[i];
		char subject[160];

		(void)text_format(subject, sizeof(subject), "%s:%s", item->switch_name, item->port);
		row_alert(json, &(struct alert_row){item->kind, item->warning ? "warning" : "info",
						    "port", subject, item->message, item->hint});
	}
	for (size_t i = 0; i < work->facts.source_count; i++) {
		const struct sight *sight = work->sights[i];

		if (!sight->asked || sight->reachable)
			continue;
		row_alert(json,
			  &(struct alert_row){"switch.unreachable", "warning", "switch",
					      sight->row.name, sight->problem.message,
					      sight->problem.hint[0] ? sight->problem.hint
								     : sight->problem.detail});
	}
}

static void make_rows(struct work *work)
{
	for (int table = 0; table < TABLE_COUNT; table++)
		json_begin_array(&work->rows[table], NULL);
	for (size_t i = 0; i < work->facts.source_count; i++) {
		if (work->sights[i]->unobserved)
			row_observed(&work->rows[TABLE_OBSERVED], work->sights[i]);
		work->sights[i]->unobserved = false;
	}
	rows_ports(work);
	rows_links(work);
	rows_places(work);
	rows_alerts(work);
	for (int table = 0; table < TABLE_COUNT; table++)
		json_end_array(&work->rows[table]);
}

/* --- writing --------------------------------------------------------------------------- */

/* The next conclusion writes everything anew. */
static void forget_written(struct discovery *discovery)
{
	for (struct sight *sight = discovery->sights; sight; sight = sight->hh.next) {
		sight->unobserved = sight->asked;
		sight->ports_digest[0] = '\0';
	}
	discovery->links_digest[0] = '\0';
	discovery->places_digest[0] = '\0';
	discovery->alerts_digest[0] = '\0';
}

static void on_written(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct pending *pending = context;
	struct discovery *discovery = pending->discovery;

	if (rc == 0)
		pending->events += db_int(result, 0, 0, 0);
	else if (rc != E_UNAVAILABLE && rc != E_CONFLICT)
		log_problem(LOG_LEVEL_ERROR, SUBJECT, problem);
	pending->failed |= rc != 0;
	if (--pending->waited > 0)
		return;
	discovery->state = CONCLUDE_IDLE;
	discovery->pending = NULL;
	if (pending->failed) {
		discovery->stats.failed_writes++;
		forget_written(discovery);
		loop_timer_arm(discovery->timer, RETRY_MS);
	} else if (pending->events > 0 &&
		   db_submit(discovery->options.db, &fabric_store_notify, NULL, NULL, NULL) != 0) {
		log_warn(SUBJECT, "portald was not told of %lld events",
			 (long long)pending->events);
	}
	free(pending);
	if (discovery->again)
		conclude_wake(discovery);
}

/* True when these rows differ from those written last, or it is time to mark them as seen. */
static bool is_due(const struct work *work, enum table table, char digest[DIGEST_TEXT_SIZE],
		   int64_t *written_ms)
{
	const struct text *rows = &work->rows[table];
	char now[DIGEST_TEXT_SIZE];

	digest_text(text_get(rows), rows->size, now);
	if (strcmp(now, digest) == 0 &&
	    work->now_ms - *written_ms < work->discovery->options.seen_ms)
		return false;
	(void)text_copy(digest, DIGEST_TEXT_SIZE, now);
	*written_ms = work->now_ms;
	return true;
}

static void write_rows(struct work *work)
{
	struct discovery *discovery = work->discovery;
	struct pending *pending = calloc(1, sizeof(*pending));
	char seen[24];
	const char *const observed[] = {text_get(&work->rows[TABLE_OBSERVED])};
	const char *const ports[] = {text_get(&work->port_switches),
				     text_get(&work->rows[TABLE_PORTS]), seen};
	const char *const links[] = {text_get(&work->link_switches),
				     text_get(&work->rows[TABLE_LINKS]), seen};
	const char *const places[] = {text_get(&work->rows[TABLE_PLACES]), seen};
	const char *const alerts[] = {text_get(&work->rows[TABLE_ALERTS]), seen};
	const struct {
		bool due;
		struct db_call call;
	} all[TABLE_COUNT] = {
		{work->rows[TABLE_OBSERVED].size > 2,
		 {&fabric_store_observed, observed, on_written, pending}},
		{strcmp(ports[0], "{}") != 0, {&fabric_store_ports, ports, on_written, pending}},
		{is_due(work, TABLE_LINKS, discovery->links_digest, &discovery->links_ms),
		 {&fabric_store_links, links, on_written, pending}},
		{is_due(work, TABLE_PLACES, discovery->places_digest, &discovery->places_ms),
		 {&fabric_store_located, places, on_written, pending}},
		{is_due(work, TABLE_ALERTS, discovery->alerts_digest, &discovery->alerts_ms),
		 {&fabric_store_alerts, alerts, on_written, pending}},
	};
	struct db_call calls[TABLE_COUNT];
	unsigned count = 0;
	int rc = pending ? 0 : -ENOMEM;

	(void)text_format(seen, sizeof(seen), "%lld",
			  (long long)(discovery->options.seen_ms / 1000));
	for (int table = 0; table < TABLE_COUNT; table++) {
		if (work->rows[table].failed)
			rc = -ENOMEM;
		else if (all[table].due)
			calls[count++] = all[table].call;
	}
	if (count == 0 || rc) {
		free(pending);
	} else {
		*pending = (struct pending){.discovery = discovery, .waited = count};
		rc = db_submit_all(discovery->options.db, calls, count);
		if (rc)
			free(pending);
	}
	if (rc) {
		forget_written(discovery);
		loop_timer_arm(discovery->timer, RETRY_MS);
	} else if (count > 0) {
		discovery->pending = pending;
		discovery->state = CONCLUDE_WRITE;
		discovery->stats.writes += count;
	}
}

/* --- one conclusion ---------------------------------------------------------------------- */

static void work_done(struct work *work)
{
	fabric_conclusion_done(&work->conclusion);
	free(work->wiring.items);
	free(work->sights);
	free(work->sources);
	free(work->priors);
	for (int table = 0; table < TABLE_COUNT; table++)
		text_done(&work->rows[table]);
	text_done(&work->port_switches);
	text_done(&work->link_switches);
}

static int decide(struct work *work)
{
	struct discovery *discovery = work->discovery;
	int rc = gather(work);

	if (rc == 0)
		rc = link_policy_conclude(&work->facts, &work->conclusion);
	if (rc == 0)
		rc = place_policy_conclude(&work->facts, work->now_us, &work->conclusion);
	if (rc == 0)
		rc = wiring_policy_compare(&work->facts, &work->conclusion, discovery->facts.wiring,
					   discovery->facts.wiring_count, &work->wiring);
	return rc;
}

static void conclude_now(struct discovery *discovery)
{
	int64_t begin_us = clock_wall_us();
	struct work work = {
		.discovery = discovery, .now_us = begin_us, .now_ms = loop_now_ms(discovery->loop)};
	int rc = decide(&work);

	discovery->again = false;
	if (rc == 0) {
		keep_kinds(&work);
		keep_places(&work);
		discovery->stats.conclusions++;
		discovery->stats.links = work.conclusion.link_count;
		discovery->stats.places = work.conclusion.place_count;
		discovery->stats.problems = work.conclusion.conflict_count + work.wiring.count;
		make_rows(&work);
		write_rows(&work);
	} else {
		log_error(SUBJECT, "no memory for a conclusion");
		loop_timer_arm(discovery->timer, RETRY_MS);
	}
	work_done(&work);
	discovery->cost_ms = (clock_wall_us() - begin_us) / 1000;
}

static void on_timer(void *context)
{
	struct discovery *discovery = context;
	int64_t age_ms = loop_now_ms(discovery->loop) - discovery->facts_ms;

	if (!discovery->connected || discovery->state != CONCLUDE_IDLE)
		return; /* it is begun anew when that is over */
	if (discovery->facts_stale || age_ms > FACTS_OLD_MS)
		facts_read(discovery);
	else
		conclude_now(discovery);
}

void conclude_wake(struct discovery *discovery)
{
	int64_t wait_ms = 10 * discovery->cost_ms;

	if (!discovery->again || discovery->state == CONCLUDE_IDLE) {
		if (!discovery->again)
			loop_timer_arm(discovery->timer, wait_ms > GAP_MS ? wait_ms : GAP_MS);
		discovery->again = true;
	}
}

int conclude_start(struct discovery *discovery)
{
	return loop_timer_new(discovery->loop, on_timer, discovery, &discovery->timer);
}

void conclude_stop(struct discovery *discovery)
{
	struct memory *memory = NULL;
	struct memory *next = NULL;

	HASH_ITER(hh, discovery->memory, memory, next)
	{
		HASH_DEL(discovery->memory, memory);
		free(memory);
	}
	fact_rows_done(&discovery->facts);
	loop_timer_free(discovery->timer);
}
