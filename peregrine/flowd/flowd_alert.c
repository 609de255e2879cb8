#include "peregrine/flowd/flowd_alert.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/io/log.h"
#include "common/io/process.h"
#include "common/model/alert_row.h"

#include "peregrine/flowd/alert/alert_text.h"
#include "peregrine/flowd/alert_cause.h"
#include "peregrine/flowd/alert_store_sql.h"
#include "peregrine/flowd/flowd_private.h"

#define FLOWD_ALERT_SUBJECT "alerts"

enum {
	FLOWD_ALERT_SECOND_US = 1000000,
	AGAIN_US = 30 * FLOWD_ALERT_SECOND_US,
	LOST_US = 900 * FLOWD_ALERT_SECOND_US,
	ENTRIES = 16384,
	/* Suspects that are asked for at a time: when all breaks at once, the first ones tell. */
	ASKED = 16,
	/* After rows were given up: how soon what is open is read again. */
	LOOK_US = 5 * FLOWD_ALERT_SECOND_US,
};

struct flowd_alerts {
	struct flowd *flowd;
	struct alert_watch *watch;
	struct alert_look *look;
	struct alert_store *store;
	char collector[128]; /* the same in every life */
	bool adopting, adopted;
	/* Rows that were put in all, and by when the database was asked what is open; those given
	 * up, by then, and by when it last answered. */
	uint64_t put, put_asked, lost_asked, lost_answered;
	int64_t asked_us;
	int64_t at_us; /* end of the last second that was looked at */
	unsigned asked;
	struct agent_facts *agents; /* by index.switches */
	size_t agent_room;
};

/* --- telling --- */

/* As people read it: the message has the same number. */
static void put_number(struct text *json, const char *key, double value)
{
	char number[ALERT_NUMBER_SIZE];

	json_put_double(json, key, strtod(alert_number_text(value, number), NULL));
}

/* The message and these are of one moment, in each row. `suspects`: JSON, NULL = as they are. */
static void write_detail(const struct flowd_alerts *alerts, const struct alert_entry *entry,
			 const char *suspects, struct text *json)
{
	const struct alert_kind_row *kind = &alert_kind_rows[entry->kind];
	const struct alert_rule *rule = alert_watch_rule(alerts->watch, entry->kind);
	CLEANUP(text_done) struct text drill = {0};

	alert_drill(entry, &drill);
	json_begin_object(json, "detail");
	json_put_string(json, "collector", alerts->collector);
	json_put_string(json, "hint", kind->hint);
	put_number(json, "value", entry->state.value);
	put_number(json, "peak", entry->state.peak);
	if (entry->window_s > 0)
		json_put_double(json, "window_s", entry->window_s);
	json_put_string(json, "unit", kind->unit);
	json_put_double(json, "raise", rule->raise);
	json_put_double(json, "clear", rule->clear);
	json_put_string(json, "drill", text_get(&drill));
	if (suspects)
		json_put_raw(json, "suspects", suspects);
	json_end_object(json);
}

/* The members that say which alert it is; the object stays open. */
static void begin_row(const struct alert_entry *entry, const char *op, const char *before,
		      int64_t at_us, struct text *json)
{
	const struct alert_kind_row *kind = &alert_kind_rows[entry->kind];
	CLEANUP(text_done) struct text message = {0};

	text_add(&message, before);
	alert_message(entry, &message);
	json_begin_object(json, NULL);
	json_put_string(json, "op", op);
	json_put_alert(json, &(struct alert_row){.key = entry->key,
						 .kind = kind->name,
						 .severity = kind->severity,
						 .subject_kind = entry->subject_kind,
						 .subject = entry->subject,
						 .message = text_get(&message)});
	if (entry->tenant)
		json_put_int(json, "tenant_id", entry->tenant);
	json_put_int(json, "raised_us", entry->raised_us);
	json_put_int(json, "at_us", at_us);
}

static void put_row(struct flowd_alerts *alerts, struct text *json)
{
	json_end_object(json);
	alerts->put++;
	alert_store_put(alerts->store, text_take(json));
	text_done(json);
}

static void flowd_alert_put(struct flowd_alerts *alerts, const struct alert_entry *entry,
			    const char *op, const char *before)
{
	struct text json = {0};

	begin_row(entry, op, before, alerts->at_us, &json);
	write_detail(alerts, entry, NULL, &json);
	put_row(alerts, &json);
}

/* --- suspects --- */

struct flowd_alert_asked {
	struct flowd_alerts *alerts;
	struct cause cause;
	char key[ALERT_KEY_SIZE];
	int64_t raised_us;
};

static void on_candidates(void *context, int rc, const PGresult *result,
			  const struct problem *problem)
{
	struct flowd_alert_asked *asked = context;
	struct flowd_alerts *alerts = asked->alerts;
	const struct alert_entry *entry = alert_watch_find(alerts->watch, asked->key);
	struct text suspects = {0};
	struct text json = {0};

	alerts->asked--;
	if (rc && rc != E_UNAVAILABLE)
		log_warn(FLOWD_ALERT_SUBJECT,
			 "suspects come from traffic alone: %s (detail=\"%s\")", problem->message,
			 problem->detail);
	/* What is over keeps what it had. */
	if (entry && entry->open && entry->raised_us == asked->raised_us) {
		cause_write(&asked->cause,
			    rc ? NULL : db_text(result, 0, ALERT_CANDIDATES_SUSPECTS, "[]"),
			    &suspects);
		begin_row(entry, "put", "", alerts->at_us, &json);
		write_detail(alerts, entry, text_get(&suspects), &json);
		put_row(alerts, &json);
	}
	text_done(&suspects);
	cause_done(&asked->cause);
	free(asked);
}

static uint64_t speed_of(const struct flowd_alerts *alerts, const struct alert_entry *entry)
{
	const struct flowd *flowd = alerts->flowd;
	const struct port_rates *rates;

	if (entry->place == INDEX_NONE)
		return 0;
	rates = port_counters_rates(flowd->counters, entry->place);
	return rates && rates->speed_bps
		       ? rates->speed_bps
		       : traffic_place_get(rollup_names(flowd->rollup), entry->place)->speed_bps;
}

static void flowd_alert_ask(struct flowd_alerts *alerts, const struct alert_entry *entry)
{
	struct flowd_alert_asked *asked = alerts->asked < ASKED ? calloc(1, sizeof(*asked)) : NULL;
	char switch_id[24];
	char raised_us[24];
	int64_t begin_s = entry->raised_us / FLOWD_ALERT_SECOND_US -
			  alert_watch_rule(alerts->watch, entry->kind)->raise_s;
	int rc;

	if (!asked)
		return;
	asked->alerts = alerts;
	asked->raised_us = entry->raised_us;
	(void)text_copy(asked->key, sizeof(asked->key), entry->key);
	(void)text_format(switch_id, sizeof(switch_id), "%" PRId64, entry->switch_id);
	(void)text_format(raised_us, sizeof(raised_us), "%" PRId64, entry->raised_us);
	rc = cause_take(alerts->flowd->rollup, entry, speed_of(alerts, entry), begin_s,
			&asked->cause);
	if (!rc) {
		const char *const params[] = {switch_id, entry->port, text_get(&asked->cause.nodes),
					      raised_us};

		rc = db_submit(alerts->flowd->db, &alert_candidates_query, params, on_candidates,
			       asked);
	}
	if (rc) {
		cause_done(&asked->cause);
		free(asked);
		return;
	}
	alerts->asked++;
}

static void on_alert(void *context, enum alert_event event, const struct alert_entry *entry)
{
	struct flowd_alerts *alerts = context;
	CLEANUP(text_done) struct text message = {0};

	switch (event) {
	case ALERT_EVENT_RAISED:
		alert_message(entry, &message);
		log_info(FLOWD_ALERT_SUBJECT, "%s: %s", alert_kind_rows[entry->kind].name,
			 text_get(&message));
		flowd_alert_put(alerts, entry, "put", "");
		break;
	case ALERT_EVENT_AGAIN:
		/* While PostgreSQL is away only what begins and ends waits for it. */
		if (db_connected(alerts->flowd->db))
			flowd_alert_put(alerts, entry, "put", "");
		break;
	case ALERT_EVENT_SUSPECT:
		if (db_connected(alerts->flowd->db))
			flowd_alert_ask(alerts, entry);
		break;
	case ALERT_EVENT_OVER: flowd_alert_put(alerts, entry, "clear", "over: "); break;
	case ALERT_EVENT_LOST:
		flowd_alert_put(alerts, entry, "clear", "no more data about it: ");
		break;
	}
}

/* --- what is open in the database --- */

static void flowd_alert_on_open(void *context, int rc, const PGresult *result,
				const struct problem *problem)
{
	struct flowd_alerts *alerts = context;

	alerts->adopting = false;
	if (rc) {
		if (rc != E_UNAVAILABLE)
			log_warn(FLOWD_ALERT_SUBJECT,
				 "open alerts could not be read: %s (detail=\"%s\")",
				 problem->message, problem->detail);
		return;
	}
	/* Something was told meanwhile: it may be over. The first time nothing of before is known,
	 * and what was raised since is the same one. */
	if (alerts->adopted && alerts->put != alerts->put_asked)
		return;
	if (PQntuples(result) > 0 && !alerts->adopted)
		log_info(FLOWD_ALERT_SUBJECT, "%d are open from before", PQntuples(result));
	alerts->adopted = true;
	alerts->lost_answered = alerts->lost_asked;
	for (int i = 0; i < PQntuples(result); i++)
		alert_watch_adopt(
			alerts->watch,
			&(struct alert_kept){
				.key = db_text(result, i, ALERT_OPEN_KEY, ""),
				.kind = db_text(result, i, ALERT_OPEN_KIND, ""),
				.subject_kind = db_text(result, i, ALERT_OPEN_SUBJECT_KIND, ""),
				.subject = db_text(result, i, ALERT_OPEN_SUBJECT, ""),
				.tenant = db_int(result, i, ALERT_OPEN_TENANT, 0),
				.raised_us = db_int(result, i, ALERT_OPEN_RAISED_US, 0)},
			clock_wall_us());
}

static void ask_open(struct flowd_alerts *alerts)
{
	const char *params[] = {alerts->collector};

	if (alerts->adopting)
		return;
	alerts->put_asked = alerts->put;
	alerts->lost_asked = alert_store_lost(alerts->store);
	alerts->adopting = !db_submit(alerts->flowd->db, &alert_open_query, params,
				      flowd_alert_on_open, alerts);
}

/* A row that was given up may have said that an alert is over: what is open there but not here is
 * taken over as from an earlier life, and ends as such a one does. */
static void flowd_alert_look_again(struct flowd_alerts *alerts)
{
	if (alert_store_lost(alerts->store) == alerts->lost_answered || !alerts->adopted ||
	    llabs(alerts->at_us - alerts->asked_us) < LOOK_US ||
	    alert_store_counts(alerts->store).waiting || !db_connected(alerts->flowd->db))
		return;
	alerts->asked_us = alerts->at_us;
	ask_open(alerts);
}

/* --- seconds --- */

/* Since when the alert about a switch's silence is open, in this life or since the one before; 0 =
 * none is. */
static int64_t silence_raised_us(const struct flowd_alerts *alerts, const struct index_switch *one)
{
	const struct alert_entry *entry = NULL;
	char key[ALERT_KEY_SIZE];

	if (alert_watch_counts(alerts->watch).open &&
	    text_format(key, sizeof(key), "%s:%s", alert_kind_rows[ALERT_SILENT].name, one->name))
		entry = alert_watch_find(alerts->watch, key);
	return entry && entry->open ? entry->raised_us : 0;
}

static int64_t silent_since(const struct flowd_alerts *alerts, const struct index_switch *one)
{
	const struct flowd *flowd = alerts->flowd;
	const struct silence_facts facts = {
		.heard_us = flowd->agents[(uint16_t)one->id].sflow_us,
		.due_us = flowd->sampling ? sampling_watch_due(flowd->sampling, (uint16_t)one->id)
					  : DUE_UNKNOWN,
		.raised_us = silence_raised_us(alerts, one),
		.raise = alert_watch_rule(alerts->watch, ALERT_SILENT)->raise,
	};

	return alert_silent_since(&facts, alerts->at_us);
}

static bool gather_agents(struct flowd_alerts *alerts)
{
	const struct flowd *flowd = alerts->flowd;
	const struct attribution_index *index = flowd->index;

	if (index->switch_count >= alerts->agent_room) {
		struct agent_facts *more =
			reallocarray(alerts->agents, index->switch_count + 1, sizeof(*more));

		if (!more)
			return false;
		alerts->agents = more;
		alerts->agent_room = index->switch_count + 1;
	}
	for (size_t i = 0; i < index->switch_count; i++) {
		const struct index_switch *one = &index->switches[i];
		const struct agent_state *agent = &flowd->agents[(uint16_t)one->id];

		alerts->agents[i] = (struct agent_facts){.heard_us = agent->sflow_us,
							 .silent_us = silent_since(alerts, one),
							 .samples = agent->sampled,
							 .came = agent->samples,
							 .missing = agent->missing + agent->drops};
	}
	return true;
}

void flowd_alerts_second(void *context, int64_t at_s, double seconds, const struct traffic_set *set)
{
	struct flowd *flowd = context;
	struct flowd_alerts *alerts = flowd->alerts;

	if (!alerts || !flowd->index)
		return;
	alerts->at_us = (at_s + 1) * FLOWD_ALERT_SECOND_US;
	if (!gather_agents(alerts))
		return;
	const struct alert_second second = {
		.at_us = alerts->at_us,
		.seconds = seconds,
		.set = set,
		.rollup = flowd->rollup,
		.index = flowd->index,
		.counters = flowd->counters,
		.agents = alerts->agents,
	};

	alert_look_at(alerts->look, &second, alerts->watch);
	flowd_alert_look_again(alerts);
}

/* --- life --- */

void flowd_alerts_connected(struct flowd_alerts *alerts)
{
	if (!alerts->adopted)
		ask_open(alerts);
	alert_store_use(alerts->store, alerts->flowd->db);
	alert_store_flush(alerts->store);
}

int flowd_alerts_new(struct flowd *flowd, struct flowd_alerts **ret)
{
	struct flowd_alerts *alerts = calloc(1, sizeof(*alerts));
	struct alert_watch_options options = {.again_us = AGAIN_US,
					      .lost_us = LOST_US,
					      .limit = ENTRIES,
					      .fn = on_alert,
					      .context = alerts};
	int rc;

	if (!alerts)
		return -ENOMEM;
	alerts->flowd = flowd;
	process_host_name(alerts->collector, sizeof(alerts->collector));
	if (flowd->conf->name[0])
		(void)text_copy(alerts->collector, sizeof(alerts->collector), flowd->conf->name);
	for (enum alert_kind kind = 0; kind < ALERT_KIND_COUNT; kind++) {
		const struct alert_conf *conf = &flowd->conf->alerts[kind];

		options.rules[kind] = (struct alert_rule){(double)conf->raise, (double)conf->clear,
							  conf->raise_s, conf->clear_s};
	}
	rc = alert_watch_new(&options, &alerts->watch);
	if (!rc)
		rc = alert_look_new(&alerts->look);
	if (!rc)
		rc = alert_store_new(flowd->loop, &alerts->store);
	if (rc) {
		flowd_alerts_free(alerts);
		return rc;
	}
	*ret = alerts;
	return 0;
}

void flowd_alerts_free(struct flowd_alerts *alerts)
{
	if (!alerts)
		return;
	alert_watch_free(alerts->watch);
	alert_look_free(alerts->look);
	alert_store_free(alerts->store);
	free(alerts->agents);
	free(alerts);
}

void flowd_alerts_counts(const struct flowd_alerts *alerts, struct alert_watch_counts *ret_watch,
			 struct alert_store_counts *ret_store)
{
	*ret_watch = alert_watch_counts(alerts->watch);
	*ret_store = alert_store_counts(alerts->store);
}
