/* What a conclusion is made of: rows of the database, the readings of all switches, and where MACs
 * were. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "peregrine/control/fabric/conclude_private.h"
#include "peregrine/control/fabric/fabric_store_sql.h"

LEAKS_LEFT_TO_SANITIZER

#define CONCLUDE_FACTS_SUBJECT "fabric"
#define MEMORY_US              ((int64_t)86400 * 1000000)

/* --- rows --- */

static void facts_one(struct discovery *discovery, int rc, const struct problem *problem);

static void conclude_facts_on_nics(void *context, int rc, const PGresult *result,
				   const struct problem *problem)
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

static void on_guards(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct discovery *discovery = context;

	if (rc == 0)
		rc = fabric_rows_guards(result, &discovery->facts);
	facts_one(discovery, rc, problem);
}

static void on_given(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct discovery *discovery = context;

	if (rc == 0)
		rc = fabric_rows_given(result, &discovery->facts);
	facts_one(discovery, rc, problem);
}

static void on_ends(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct discovery *discovery = context;

	if (rc == 0)
		rc = fabric_rows_ends(result, &discovery->facts);
	facts_one(discovery, rc, problem);
}

/* Once, after a start: from then on it is known here. */
static void on_blocks(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct discovery *discovery = context;

	if (rc == 0) {
		free(discovery->blocks);
		discovery->blocks = NULL;
		discovery->block_count = 0;
		rc = fabric_rows_blocks(result, &discovery->blocks, &discovery->block_count);
	}
	facts_one(discovery, rc, problem);
}

static void on_wiring(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct discovery *discovery = context;

	if (rc == 0)
		rc = fabric_rows_wiring(result, &discovery->facts);
	facts_one(discovery, rc, problem);
}

/* --- where MACs were --- */

struct memory *memory_find(const struct discovery *discovery, struct mac mac)
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

/* The last port with an intent at which it was seen, until that intent is another one. A NIC that
 * belongs to another tenant has no home there. */
static void keep_home(const struct work *work, struct memory *memory,
		      const struct fabric_place *place)
{
	const struct fact_rows *facts = &work->discovery->facts;
	const struct fabric_source *source = &work->sources[place->at.source];
	const char *port = fabric_port(&work->facts, place->at)->name;
	const struct guard_port *here =
		guard_port_find(facts->guards, facts->guard_count, source->id, port);
	const struct fabric_nic *nic = fabric_nic_find(&work->facts, place->mac);
	struct port_ref home;

	if (here && nic && place->sources & (PLACE_FDB | PLACE_LLDP) &&
	    (!here->tenant_id || here->tenant_id == nic->tenant_id)) {
		memory->home_id = source->id;
		(void)text_copy(memory->home_port, sizeof(memory->home_port), port);
		memory->home_version = here->version;
		memory->home_us = source->read_us;
		return;
	}
	if (memory->home_id == source->id &&
	    fabric_port_find(&work->facts, memory->home_id, memory->home_port, &home) &&
	    place->sources & (PLACE_FDB | PLACE_LLDP) &&
	    fabric_same_place(&work->facts, place->at, home))
		memory->home_us = source->read_us; /* its port is in an aggregate by now */
	here = memory->home_id ? guard_port_find(facts->guards, facts->guard_count, memory->home_id,
						 memory->home_port)
			       : NULL;
	if (!here || here->version != memory->home_version)
		memory->home_id = 0;
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
	if (place->sources & (PLACE_FDB | PLACE_LLDP))
		memory->heard_us = work->now_us;
	else if (memory->switch_id != switch_id || strcmp(memory->port, port) != 0)
		memory->heard_us = 0;
	memory->switch_id = switch_id;
	(void)text_copy(memory->port, sizeof(memory->port), port);
	if (place->sources & ~(unsigned)PLACE_EARLIER)
		memory->seen_us = work->now_us;
	keep_home(work, memory, place);
}

void memory_keep(struct work *work)
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

static void on_places(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct discovery *discovery = context;
	int rows = rc ? 0 : PQntuples(result);

	for (int i = 0; i < rows; i++) {
		struct mac mac;
		struct memory *memory =
			mac_parse(db_text(result, i, FABRIC_PLACES_MAC, ""), &mac) == 0
				? memory_get(discovery, mac)
				: NULL;

		if (!memory)
			continue;
		memory->switch_id = db_int(result, i, FABRIC_PLACES_SWITCH_ID, 0);
		(void)text_copy(memory->port, sizeof(memory->port),
				db_text(result, i, FABRIC_PLACES_PORT, ""));
		memory->seen_us = db_int(result, i, FABRIC_PLACES_SEEN_US, clock_wall_us());
		memory->heard_us = memory->seen_us;
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

/* Of these it counts where their cables led. */
static bool has_unread(const struct discovery *discovery)
{
	const struct sight *sight = discovery->sights;

	while (sight && sight->has_reading)
		sight = sight->hh.next;
	return sight;
}

void facts_read(struct discovery *discovery)
{
	discovery->state = CONCLUDE_FACTS;
	discovery->facts_failed = false;
	discovery->facts_stale = false;
	discovery->facts_ms = loop_now_ms(discovery->loop);
	facts_ask(discovery, &fabric_nics_query, conclude_facts_on_nics);
	facts_ask(discovery, &fabric_sightings_query, on_sightings);
	facts_ask(discovery, &fabric_wiring_query, on_wiring);
	facts_ask(discovery, &fabric_guards_query, on_guards);
	facts_ask(discovery, &fabric_given_query, on_given);
	if (has_unread(discovery))
		facts_ask(discovery, &fabric_ends_query, on_ends);
	if (!discovery->memory_loaded) {
		facts_ask(discovery, &fabric_blocks_query, on_blocks);
		facts_ask(discovery, &fabric_places_query, on_places);
	}
	if (discovery->facts_waited > 0)
		return;
	discovery->state = CONCLUDE_IDLE;
	discovery->facts_stale = true;
	conclude_arm(discovery, RETRY_MS);
}

static void facts_one(struct discovery *discovery, int rc, const struct problem *problem)
{
	if (rc && rc != E_UNAVAILABLE && problem)
		log_problem(LOG_LEVEL_ERROR, CONCLUDE_FACTS_SUBJECT, problem);
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
		conclude_arm(discovery, RETRY_MS);
}

void memory_done(struct discovery *discovery)
{
	struct memory *memory = NULL;
	struct memory *next = NULL;

	free(discovery->blocks);
	HASH_ITER(hh, discovery->memory, memory, next)
	{
		HASH_DEL(discovery->memory, memory);
		free(memory);
	}
}

/* --- what the policies get --- */

static int compare_priors(const void *left, const void *right)
{
	uint64_t a = mac_key(((const struct fabric_prior *)left)->mac);
	uint64_t b = mac_key(((const struct fabric_prior *)right)->mac);

	return a < b ? -1 : a > b;
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
		prior->seen_us = memory->heard_us;
		prior->has_home =
			memory->home_id && fabric_port_find(&work->facts, memory->home_id,
							    memory->home_port, &prior->home);
		prior->home_version = memory->home_version;
		prior->home_us = memory->home_us;
		prior->has_left =
			memory->left_id && fabric_port_find(&work->facts, memory->left_id,
							    memory->left_port, &prior->left);
		if (fabric_port_find(&work->facts, memory->switch_id, memory->port, &prior->at))
			work->facts.prior_count++;
	}
	if (work->facts.prior_count > 0)
		qsort(work->priors, work->facts.prior_count, sizeof(*work->priors), compare_priors);
	work->facts.priors = work->priors;
}

/* All ports that were read, and one. */
static size_t port_room(const struct work *work)
{
	size_t room = 1;

	for (size_t i = 0; i < work->facts.source_count; i++)
		room += work->sources[i].reading ? work->sources[i].reading->port_count : 0;
	return room;
}

static int gather_given(struct work *work)
{
	const struct fact_rows *rows = &work->discovery->facts;
	size_t room = port_room(work);

	work->given = calloc(room, sizeof(*work->given));
	work->bundle = calloc(room, sizeof(*work->bundle));
	work->holder = calloc(room, sizeof(*work->holder));
	if (!work->given || !work->bundle || !work->holder)
		return -ENOMEM;
	for (size_t i = 0, at = 0; i < work->facts.source_count; i++) {
		if (!work->sources[i].reading)
			continue;
		work->sources[i].given = &work->given[at];
		work->sources[i].bundle = &work->bundle[at];
		work->sources[i].holder = &work->holder[at];
		at += work->sources[i].reading->port_count;
	}
	for (size_t i = 0; i < rows->given_count; i++) {
		const struct switch_port *port;
		struct port_ref at;
		ptrdiff_t place;
		uint32_t lag;

		if (!fabric_port_find(&work->facts, rows->given[i].switch_id, rows->given[i].port,
				      &at))
			continue;
		place = work->sources[at.source].given - work->given + at.port;
		work->given[place] = 1;
		work->bundle[place] = rows->given[i].bundle;
		work->holder[place] = rows->given[i].holder;
		/* what is behind a member is found at its aggregate */
		lag = fabric_port(&work->facts, at)->lag;
		port = lag ? switch_reading_port(work->sources[at.source].reading, lag) : NULL;
		if (port && rows->given[i].holder)
			work->holder[place - at.port +
				     (port - work->sources[at.source].reading->ports)] =
				rows->given[i].holder;
	}
	return 0;
}

/* Those of cables to switches that were not read since we began. */
static int gather_unread(struct work *work)
{
	const struct fact_rows *rows = &work->discovery->facts;

	if (!rows->end_count || !has_unread(work->discovery))
		return 0;
	work->unread = calloc(port_room(work), sizeof(*work->unread));
	if (!work->unread)
		return -ENOMEM;
	for (size_t i = 0; i < work->facts.source_count; i++)
		if (work->sources[i].reading)
			work->sources[i].unread =
				&work->unread[work->sources[i].given - work->given];
	for (size_t i = 0; i < rows->end_count; i++) {
		const struct former_end *end = &rows->ends[i];
		uint32_t peer = fabric_source_find(&work->facts, end->peer_id);
		struct port_ref at;

		if (peer != UINT32_MAX && !work->sources[peer].reading &&
		    fabric_port_find(&work->facts, end->switch_id, end->port, &at))
			work->unread[work->sources[at.source].unread - work->unread + at.port] =
				peer + 1;
	}
	return 0;
}

int facts_gather(struct work *work)
{
	struct discovery *discovery = work->discovery;
	size_t room = HASH_COUNT(discovery->sights) + 1;
	size_t count = 0;
	struct sight *sight = NULL;
	struct sight *next = NULL;
	int rc;

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
			.since_us = sight->row.since_us,
			.name = sight->row.name,
			.reading = sight->has_reading ? &sight->reading : NULL,
			.fresh = sight->reachable,
			.silent = sight->asked && !sight->reachable,
			.read_us = sight->reading_us,
			.prior_kinds = sight->kinds,
			.cut_us = sight->cut_us,
			.fdb_old = sight->fdb_old,
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
	rc = fabric_index_make(&work->facts, &work->index);
	if (rc == 0)
		rc = gather_given(work);
	if (rc == 0)
		rc = gather_unread(work);
	if (rc == 0)
		gather_priors(work);
	return rc;
}
