/* The second half of discovery: facts from the database, conclusions by the policies, rows back. At
 * work one at a time, soon after the last reading and never more than a tenth of the time; what is
 * as it was when it was written last is not written again but for its "seen". */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "peregrine/control/fabric/conclude_private.h"
#include "peregrine/control/fabric/link_policy.h"
#include "peregrine/control/fabric/place_policy.h"

LEAKS_LEFT_TO_SANITIZER

#define SUBJECT      "fabric"
#define GAP_MS       200 /* readings that come together are concluded together */
#define RETRY_MS     2000
#define SETTLE_MS    10000 /* after a start, for all switches to be asked once */
#define LOOK_MS      200
#define FACTS_OLD_MS 10000 /* option 82 and inventories come without a word */
#define MEMORY_US    ((int64_t)86400 * 1000000)

/* What the write under way will have written, when it is through. */
struct pending {
	struct discovery *discovery;
	unsigned waited;
	bool failed;
	int64_t events;
	bool sent[TABLE_COUNT];
	char digest[TABLE_COUNT][DIGEST_TEXT_SIZE];
};

/* --- facts -------------------------------------------------------------------- */

static void facts_one(struct discovery *discovery, int rc, const struct problem *problem);
static void arm(struct discovery *discovery, int64_t after_ms);
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
		memory->seen_us = db_int(result, i, 3, clock_wall_us());
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
	arm(discovery, RETRY_MS);
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
		if (discovery->again && discovery->state == CONCLUDE_IDLE) {
			discovery->again = false;
			conclude_wake(discovery);
		}
		return;
	}
	discovery->facts_stale = true;
	if (discovery->connected)
		arm(discovery, RETRY_MS);
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
		prior->seen_us = memory->seen_us;
		prior->has_left = memory->left_id &&
				  find_ref(work, memory->left_id, memory->left_port, &prior->left);
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

	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
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

		if (!work->conclusion.kinds || !work->conclusion.kinds[i])
			continue;
		free(sight->kinds);
		sight->kinds = malloc(sight->reading.port_count + 1);
		if (sight->kinds)
			memcpy(sight->kinds, work->conclusion.kinds[i], sight->reading.port_count);
	}
}

static void keep_place(struct work *work, const struct fabric_place *place)
{
	const char *port = fabric_port(&work->facts, place->at)->name;
	int64_t switch_id = work->sources[place->at.source].id;
	struct memory *memory = memory_get(work->discovery, place->mac);

	if (!memory)
		return;
	if (memory->switch_id &&
	    (memory->switch_id != switch_id || strcmp(memory->port, port) != 0)) {
		if (memory->moves++ == 0)
			memory->moved_us = work->now_us;
		memory->left_id = memory->switch_id;
		(void)text_copy(memory->left_port, sizeof(memory->left_port), memory->port);
	}
	if (!place->doubted)
		memory->left_id = 0;
	memory->switch_id = switch_id;
	(void)text_copy(memory->port, sizeof(memory->port), port);
	if (place->sources != PLACE_EARLIER)
		memory->seen_us = work->now_us;
}

static void keep_places(struct work *work)
{
	struct discovery *discovery = work->discovery;
	struct memory *memory = NULL;
	struct memory *next = NULL;

	for (size_t i = 0; i < work->conclusion.place_count; i++)
		keep_place(work, &work->conclusion.places[i]);
	HASH_ITER(hh, discovery->memory, memory, next)
	{
		if (work->now_us - memory->seen_us <= MEMORY_US)
			continue;
		HASH_DEL(discovery->memory, memory);
		free(memory);
	}
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
		arm(discovery, RETRY_MS);
	} else if (pending->events > 0 &&
		   db_submit(discovery->options.db, &fabric_store_notify, NULL, NULL, NULL) != 0) {
		log_warn(SUBJECT, "portald was not told of %lld events",
			 (long long)pending->events);
	}
	free(pending);
	if (discovery->again)
		conclude_wake(discovery);
	discovery->again = false;
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
		arm(discovery, RETRY_MS);
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

	if (rc == 0) {
		keep_kinds(&work);
		keep_places(&work);
		discovery->stats.conclusions++;
		discovery->stats.links = work.conclusion.link_count;
		discovery->stats.places = work.conclusion.place_count;
		discovery->stats.problems = work.conclusion.conflict_count + work.wiring.count;
		conclude_rows(&work);
		write_rows(&work);
	} else {
		log_error(SUBJECT, "no memory for a conclusion");
		arm(discovery, RETRY_MS);
	}
	work_done(&work);
	discovery->cost_ms = (clock_wall_us() - begin_us) / 1000;
}

/* After a start half of the fabric would look as if it was gone. */
static bool is_settled(struct discovery *discovery)
{
	bool all = discovery->first_ms != 0;

	for (const struct sight *sight = discovery->sights; sight; sight = sight->hh.next)
		all = all && sight->asked && (sight->has_reading || !sight->reachable);
	discovery->settled = discovery->settled || all ||
			     (discovery->first_ms &&
			      loop_now_ms(discovery->loop) - discovery->first_ms >= SETTLE_MS);
	return discovery->settled;
}

static void on_timer(void *context)
{
	struct discovery *discovery = context;
	int64_t age_ms = loop_now_ms(discovery->loop) - discovery->facts_ms;

	discovery->armed = false;
	discovery->again = discovery->state != CONCLUDE_IDLE;
	if (!discovery->connected || discovery->again)
		return; /* it is begun when the connection is back, or that is over */
	if (!is_settled(discovery)) {
		arm(discovery, LOOK_MS);
		return;
	}
	if (discovery->facts_stale || age_ms > FACTS_OLD_MS)
		facts_read(discovery);
	else
		conclude_now(discovery);
}

static void arm(struct discovery *discovery, int64_t after_ms)
{
	if (discovery->armed)
		return;
	discovery->armed = true;
	loop_timer_arm(discovery->timer, after_ms);
}

void conclude_wake(struct discovery *discovery)
{
	int64_t wait_ms = 10 * discovery->cost_ms;

	arm(discovery, wait_ms > GAP_MS ? wait_ms : GAP_MS);
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
