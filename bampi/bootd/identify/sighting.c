#include "bampi/bootd/identify/sighting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/base/text.h"
#include "common/db/array.h"
#include "common/io/log.h"

#include "bampi/bootd/identify/sighting_sql.h"

LEAKS_LEFT_TO_SANITIZER

#define SIGHTING_FLUSH_MS 1000
#define READ_MS           30000 /* what the other server saw */
#define REPEAT_S          60    /* a sighting that says nothing new is written this seldom */
#define SEEN_MAX          (1U << 18)
#define SIGHTING_BUCKETS  8192
#define SIGHTING_SUBJECT  "sighting"

/* What an entry is found by. */
enum chain { CHAIN_MAC, CHAIN_PORT, CHAIN_UUID, CHAINS };

struct entry {
	struct sighting seen;
	struct entry *next[CHAINS];
	struct entry *next_waiting;
	int64_t written_s; /* seen_s as the database has it */
	bool changed;      /* since then, in more than the time */
	bool waiting;
	bool flying;
};

struct sightings {
	struct db *db;
	struct loop_timer *flush, *read;
	struct entry *chains[CHAINS][SIGHTING_BUCKETS];
	struct entry *first_waiting;
	size_t count;
	bool armed;
	bool urgent;
	bool flying; /* a statement is under way */
	bool reading;
};

enum sighting_column {
	SIGHTING_COLUMN_MAC,
	SIGHTING_COLUMN_NODE,
	COLUMN_SWITCH,
	COLUMN_PORT,
	COLUMN_UUID,
	COLUMN_SINCE,
	SIGHTING_COLUMN_SEEN,
	SIGHTING_COLUMNS
};

static size_t sighting_bucket_of(const struct sighting *seen, enum chain chain)
{
	uint64_t hash = HASH_START;

	switch (chain) {
	case CHAIN_MAC: hash = hash_bytes(hash, seen->mac.bytes, sizeof(seen->mac.bytes)); break;
	case CHAIN_PORT:
		hash = hash_bytes(hash, seen->place.switch_name, strlen(seen->place.switch_name));
		hash = hash_bytes(hash, seen->place.port, strlen(seen->place.port) + 1);
		break;
	case CHAIN_UUID: hash = hash_bytes(hash, seen->uuid.bytes, sizeof(seen->uuid.bytes)); break;
	case CHAINS: break;
	}
	return (size_t)((hash >> 20) % SIGHTING_BUCKETS);
}

static bool sighting_same_place(const struct circuit_place *a, const struct circuit_place *b)
{
	return strcmp(a->port, b->port) == 0 && strcmp(a->switch_name, b->switch_name) == 0;
}

static bool in_chain(const struct sighting *seen, enum chain chain)
{
	return chain == CHAIN_MAC || (chain == CHAIN_PORT && seen->place.port[0]) ||
	       (chain == CHAIN_UUID && !uuid_none(seen->uuid));
}

static void sighting_link_entry(struct sightings *sightings, struct entry *entry, enum chain chain)
{
	struct entry **bucket = &sightings->chains[chain][sighting_bucket_of(&entry->seen, chain)];

	if (!in_chain(&entry->seen, chain))
		return;
	entry->next[chain] = *bucket;
	*bucket = entry;
}

static void unlink_entry(struct sightings *sightings, struct entry *entry, enum chain chain)
{
	struct entry **at = &sightings->chains[chain][sighting_bucket_of(&entry->seen, chain)];

	while (*at && *at != entry)
		at = &(*at)->next[chain];
	if (*at)
		*at = entry->next[chain];
}

static struct entry *sighting_find(const struct sightings *sightings, struct mac mac)
{
	struct sighting key = {.mac = mac};
	struct entry *at = sightings->chains[CHAIN_MAC][sighting_bucket_of(&key, CHAIN_MAC)];

	while (at && !mac_equal(at->seen.mac, mac))
		at = at->next[CHAIN_MAC];
	return at;
}

const struct sighting *sighting_of(const struct sightings *sightings, struct mac mac)
{
	const struct entry *entry = sighting_find(sightings, mac);

	return entry ? &entry->seen : NULL;
}

const struct sighting *sighting_at(const struct sightings *sightings,
				   const struct circuit_place *place)
{
	struct sighting key = {.place = *place};
	const struct entry *at =
		sightings->chains[CHAIN_PORT][sighting_bucket_of(&key, CHAIN_PORT)];
	const struct sighting *latest = NULL;

	for (; at; at = at->next[CHAIN_PORT]) {
		if (sighting_same_place(&at->seen.place, place) &&
		    (!latest || at->seen.seen_s > latest->seen_s))
			latest = &at->seen;
	}
	return latest;
}

size_t sighting_nodes_of_uuid(const struct sightings *sightings, struct uuid uuid, int64_t besides,
			      int64_t *ret_id)
{
	struct sighting key = {.uuid = uuid};
	const struct entry *at =
		sightings->chains[CHAIN_UUID][sighting_bucket_of(&key, CHAIN_UUID)];
	int64_t first = 0;

	for (; at; at = at->next[CHAIN_UUID]) {
		if (!uuid_equal(at->seen.uuid, uuid) || at->seen.node_id == first)
			continue;
		if (first) {
			*ret_id = first == besides ? at->seen.node_id : first;
			return 2;
		}
		first = at->seen.node_id;
	}
	if (first)
		*ret_id = first;
	return first ? 1 : 0;
}

size_t sightings_count(const struct sightings *sightings)
{
	return sightings->count;
}

/* --- changes --- */

static struct entry *sighting_make(struct sightings *sightings, const struct sighting *seen)
{
	struct entry *entry = sightings->count < SEEN_MAX ? calloc(1, sizeof(*entry)) : NULL;

	if (!entry)
		return NULL;
	entry->seen = *seen;
	for (enum chain chain = CHAIN_MAC; chain < CHAINS; chain++)
		sighting_link_entry(sightings, entry, chain);
	sightings->count++;
	return entry;
}

static void set_place(struct sightings *sightings, struct entry *entry,
		      const struct circuit_place *place, int64_t since_s)
{
	unlink_entry(sightings, entry, CHAIN_PORT);
	entry->seen.place = *place;
	entry->seen.since_s = since_s;
	sighting_link_entry(sightings, entry, CHAIN_PORT);
}

static void set_uuid(struct sightings *sightings, struct entry *entry, struct uuid uuid)
{
	unlink_entry(sightings, entry, CHAIN_UUID);
	entry->seen.uuid = uuid;
	sighting_link_entry(sightings, entry, CHAIN_UUID);
}

/* Takes over what is new in `seen`; true when more than the time is. */
static bool sighting_update(struct sightings *sightings, struct entry *entry,
			    const struct sighting *seen)
{
	bool changed = entry->seen.node_id != seen->node_id;

	entry->seen.node_id = seen->node_id;
	entry->seen.seen_s = seen->seen_s;
	if (seen->place.port[0] && !sighting_same_place(&seen->place, &entry->seen.place)) {
		set_place(sightings, entry, &seen->place, seen->since_s);
		changed = true;
	}
	if (!uuid_none(seen->uuid) && !uuid_equal(seen->uuid, entry->seen.uuid)) {
		set_uuid(sightings, entry, seen->uuid);
		changed = true;
	}
	return changed;
}

static void sighting_arm(struct sightings *sightings)
{
	if (sightings->armed || !sightings->first_waiting)
		return;
	loop_timer_arm(sightings->flush, SIGHTING_FLUSH_MS);
	sightings->armed = true;
}

static void sighting_wait(struct sightings *sightings, struct entry *entry)
{
	if (!entry->waiting) {
		entry->waiting = true;
		entry->next_waiting = sightings->first_waiting;
		sightings->first_waiting = entry;
	}
	sighting_arm(sightings);
}

void sighting_record(struct sightings *sightings, const struct sighting *seen, bool urgent)
{
	struct entry *entry = sighting_find(sightings, seen->mac);

	if (!entry) {
		entry = sighting_make(sightings, seen);
		if (!entry)
			return;
		entry->changed = true;
	} else if (sighting_update(sightings, entry, seen)) {
		entry->changed = true;
	}
	if (!entry->changed && !urgent && seen->seen_s - entry->written_s < REPEAT_S)
		return;
	sighting_wait(sightings, entry);
	if (urgent) {
		sightings->urgent = true;
		sightings_flush(sightings);
	}
}

/* --- the database --- */

static void sighting_on_put(void *context, int rc, const PGresult *result,
			    const struct problem *problem)
{
	struct sightings *sightings = context;

	(void)result;
	sightings->flying = false;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_WARN, SIGHTING_SUBJECT, problem);
	for (size_t i = 0; i < SIGHTING_BUCKETS; i++) {
		for (struct entry *each = sightings->chains[CHAIN_MAC][i]; each;
		     each = each->next[CHAIN_MAC]) {
			if (!each->flying)
				continue;
			each->flying = false;
			if (!rc)
				continue;
			/* It did not arrive; whether it was new is no longer known. */
			each->changed = true;
			sighting_wait(sightings, each);
		}
	}
	if (rc == 0 && sightings->urgent)
		sightings_flush(sightings);
	else
		sighting_arm(sightings);
}

static void sighting_add_row(const struct sighting *seen, struct text columns[SIGHTING_COLUMNS])
{
	char mac[MAC_TEXT_SIZE];
	char uuid[UUID_TEXT_SIZE];

	array_add(&columns[SIGHTING_COLUMN_MAC], mac_text(seen->mac, mac));
	array_add_int(&columns[SIGHTING_COLUMN_NODE], seen->node_id);
	array_add(&columns[COLUMN_SWITCH], seen->place.switch_name);
	array_add(&columns[COLUMN_PORT], seen->place.port);
	array_add(&columns[COLUMN_UUID],
		  uuid_none(seen->uuid) ? NULL : uuid_text(seen->uuid, uuid));
	array_add_int(&columns[COLUMN_SINCE], seen->since_s);
	array_add_int(&columns[SIGHTING_COLUMN_SEEN], seen->seen_s);
}

/* All that waits becomes one statement. */
static int sighting_submit(struct sightings *sightings)
{
	struct text columns[SIGHTING_COLUMNS] = {0};
	const char *params[SIGHTING_COLUMNS];
	bool failed = false;
	int rc = -ENOMEM;

	for (size_t i = 0; i < SIGHTING_COLUMNS; i++)
		array_begin(&columns[i]);
	for (struct entry *each = sightings->first_waiting; each; each = each->next_waiting)
		sighting_add_row(&each->seen, columns);
	for (size_t i = 0; i < SIGHTING_COLUMNS; i++) {
		array_end(&columns[i]);
		params[i] = text_get(&columns[i]);
		failed |= columns[i].failed;
	}
	if (!failed)
		rc = db_submit(sightings->db, &sighting_put_query, params, sighting_on_put,
			       sightings);
	for (size_t i = 0; i < SIGHTING_COLUMNS; i++)
		text_done(&columns[i]);
	return rc;
}

void sightings_flush(struct sightings *sightings)
{
	struct entry *each;

	if (sightings->flying || !sightings->first_waiting)
		return;
	if (!db_connected(sightings->db) || sighting_submit(sightings)) {
		sighting_arm(sightings);
		return;
	}
	sightings->flying = true;
	sightings->urgent = false;
	while ((each = sightings->first_waiting)) {
		sightings->first_waiting = each->next_waiting;
		each->waiting = false;
		each->changed = false;
		each->flying = true;
		each->written_s = each->seen.seen_s;
	}
}

static void on_flush(void *context)
{
	struct sightings *sightings = context;

	sightings->armed = false;
	sightings_flush(sightings);
}

static int sighting_read_row(struct sightings *sightings, const PGresult *result, int row)
{
	struct sighting seen = {.node_id = db_int(result, row, SIGHTING_READ_NODE_ID, 0),
				.since_s = db_int(result, row, SIGHTING_READ_SINCE_S, 0),
				.seen_s = db_int(result, row, SIGHTING_READ_SEEN_S, 0)};
	const char *uuid = db_text(result, row, SIGHTING_READ_UUID, NULL);
	struct entry *entry;
	int rc = mac_parse(db_text(result, row, SIGHTING_READ_MAC, ""), &seen.mac);

	if (rc == 0 && uuid)
		rc = uuid_parse(uuid, &seen.uuid);
	if (rc || circuit_place_set(&seen.place, db_text(result, row, SIGHTING_READ_SWITCH, ""),
				    db_text(result, row, SIGHTING_READ_PORT, "")))
		return E_MALFORMED;
	entry = sighting_find(sightings, seen.mac);
	if (!entry)
		entry = sighting_make(sightings, &seen);
	else if (seen.seen_s > entry->seen.seen_s)
		(void)sighting_update(sightings, entry, &seen);
	if (entry && seen.seen_s > entry->written_s)
		entry->written_s = seen.seen_s;
	return entry ? 0 : E_LIMIT;
}

static void sighting_on_read(void *context, int rc, const PGresult *result,
			     const struct problem *problem)
{
	struct sightings *sightings = context;
	int count = rc ? 0 : PQntuples(result);

	sightings->reading = false;
	loop_timer_arm(sightings->read, READ_MS);
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_WARN, SIGHTING_SUBJECT, problem);
	for (int row = 0; rc == 0 && row < count; row++)
		rc = sighting_read_row(sightings, result, row);
	if (rc && rc != E_UNAVAILABLE)
		log_warn(SIGHTING_SUBJECT, "not all of them could be read (%s)", error_text(rc));
}

static void sighting_read_all(void *context)
{
	struct sightings *sightings = context;

	loop_timer_arm(sightings->read, READ_MS);
	if (sightings->reading || !db_connected(sightings->db))
		return;
	sightings->reading = db_submit(sightings->db, &sighting_read_query, NULL, sighting_on_read,
				       sightings) == 0;
}

void sightings_connected(struct sightings *sightings)
{
	sighting_read_all(sightings);
	sightings_flush(sightings);
}

int sightings_new(struct loop *loop, struct db *db, struct sightings **ret)
{
	struct sightings *sightings = calloc(1, sizeof(*sightings));
	int rc;

	if (!sightings)
		return -ENOMEM;
	sightings->db = db;
	rc = loop_timer_new(loop, on_flush, sightings, &sightings->flush);
	if (rc == 0)
		rc = loop_timer_new(loop, sighting_read_all, sightings, &sightings->read);
	if (rc) {
		sightings_free(sightings);
		return rc;
	}
	loop_timer_arm(sightings->read, READ_MS);
	*ret = sightings;
	return 0;
}

void sightings_free(struct sightings *sightings)
{
	if (!sightings)
		return;
	for (size_t i = 0; i < SIGHTING_BUCKETS; i++) {
		struct entry *each = sightings->chains[CHAIN_MAC][i];

		while (each) {
			struct entry *next = each->next[CHAIN_MAC];

			free(each);
			each = next;
		}
	}
	loop_timer_free(sightings->flush);
	loop_timer_free(sightings->read);
	free(sightings);
}
