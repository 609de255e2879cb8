#include "bampi/bootd/identify/unknown_circuit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/db/array.h"
#include "common/io/log.h"
#include "common/net/ipv4.h"

#include "bampi/bootd/identify/unknown_circuit_sql.h"

#define UNKNOWN_CIRCUIT_FLUSH_MS 1000
#define REPEAT_MS                60000 /* one that is known already is counted in the table this seldom */
#define TOLD_MS                  3600000
#define KEPT                     512 /* in memory, so that what comes again costs nothing */
#define WAYS                     8
#define RELAYS                   64
#define RELAY_BURST              32 /* new ones: as many as a switch has ports, then slowly */
#define RELAY_PER_MINUTE         30
#define ALL_BURST                256
#define ALL_PER_MINUTE           300
#define UNKNOWN_CIRCUIT_SUBJECT  "circuit"

struct kept {
	uint32_t relay;
	uint8_t circuit_size, remote_size;
	uint8_t circuit[CIRCUIT_BYTES_MAX];
	uint8_t remote[CIRCUIT_BYTES_MAX];
	struct mac mac;
	uint32_t seen; /* since it was last written; 0 and never written = free */
	int64_t written_ms;
	int64_t used_ms; /* 0 = free */
};

struct unknown_circuit_bucket {
	uint32_t tokens;
	int64_t last_ms; /* 0 = full */
};

/* Two relays that share a place take it from each other; the limit of all holds all the same. */
struct relay_limit {
	uint32_t relay;
	struct unknown_circuit_bucket fresh;
	int64_t told_ms; /* 0 = never */
};

struct unknown_circuits {
	struct loop *loop;
	struct db *db;
	struct loop_timer *timer;
	struct kept kept[KEPT];
	struct relay_limit relays[RELAYS];
	struct unknown_circuit_bucket fresh;
	struct log_limit lines;
	uint64_t dropped;
	bool armed;
	bool flying;
};

enum unknown_circuit_column {
	COLUMN_RELAY,
	COLUMN_CIRCUIT,
	COLUMN_REMOTE,
	UNKNOWN_CIRCUIT_COLUMN_MAC,
	UNKNOWN_CIRCUIT_COLUMN_SEEN,
	UNKNOWN_CIRCUIT_COLUMNS
};

static uint64_t unknown_circuit_hash_of(uint32_t relay, const struct circuit_sample *sample)
{
	uint64_t hash = hash_number(HASH_START, relay);

	hash = hash_bytes(hash, sample->circuit, sample->circuit_size);
	return hash_bytes(hash, sample->remote, sample->remote_size) >> 20;
}

static bool unknown_circuit_is(const struct kept *kept, uint32_t relay,
			       const struct circuit_sample *sample)
{
	return kept->used_ms && kept->relay == relay &&
	       kept->circuit_size == sample->circuit_size &&
	       kept->remote_size == sample->remote_size &&
	       (sample->circuit_size == 0 ||
		memcmp(kept->circuit, sample->circuit, sample->circuit_size) == 0) &&
	       (sample->remote_size == 0 ||
		memcmp(kept->remote, sample->remote, sample->remote_size) == 0);
}

static bool unknown_circuit_due(const struct kept *kept, int64_t now_ms)
{
	return kept->seen > 0 && (!kept->written_ms || now_ms - kept->written_ms >= REPEAT_MS);
}

/* Its place, or one for it: free, else the one not seen for longest among those that wait for
 * nothing. */
static struct kept *unknown_circuit_place_of(struct unknown_circuits *circuits, uint32_t relay,
					     const struct circuit_sample *sample, bool *ret_known)
{
	size_t set = (size_t)(unknown_circuit_hash_of(relay, sample) % (KEPT / WAYS)) * WAYS;
	struct kept *best = NULL;

	for (struct kept *each = &circuits->kept[set]; each < &circuits->kept[set + WAYS]; each++) {
		*ret_known = unknown_circuit_is(each, relay, sample);
		if (*ret_known)
			return each;
		if (each->seen > 0 && !each->written_ms)
			continue; /* not written yet */
		if (!best || each->used_ms < best->used_ms)
			best = each;
	}
	return best;
}

static struct relay_limit *unknown_circuit_limit_of(struct unknown_circuits *circuits,
						    uint32_t relay)
{
	struct relay_limit *limit = &circuits->relays[hash_spread(relay) % RELAYS];

	if (limit->relay != relay)
		*limit = (struct relay_limit){.relay = relay};
	return limit;
}

static bool unknown_circuit_allowed(struct unknown_circuit_bucket *bucket, uint32_t burst,
				    uint32_t per_minute, int64_t now_ms)
{
	int64_t gained = (now_ms - bucket->last_ms) * per_minute / 60000;

	if (bucket->last_ms == 0 || gained >= burst - bucket->tokens)
		*bucket = (struct unknown_circuit_bucket){burst, now_ms > 0 ? now_ms : 1};
	else if (gained > 0)
		*bucket = (struct unknown_circuit_bucket){bucket->tokens + (uint32_t)gained,
							  bucket->last_ms +
								  gained * 60000 / per_minute};
	if (bucket->tokens == 0)
		return false;
	bucket->tokens--;
	return true;
}

static void unknown_circuit_arm(struct unknown_circuits *circuits)
{
	if (circuits->armed)
		return;
	loop_timer_arm(circuits->timer, UNKNOWN_CIRCUIT_FLUSH_MS);
	circuits->armed = true;
}

static void unknown_circuit_fill(struct kept *kept, uint32_t relay,
				 const struct circuit_sample *sample)
{
	*kept = (struct kept){.relay = relay,
			      .circuit_size = (uint8_t)sample->circuit_size,
			      .remote_size = (uint8_t)sample->remote_size};
	if (sample->circuit_size > 0)
		memcpy(kept->circuit, sample->circuit, sample->circuit_size);
	if (sample->remote_size > 0)
		memcpy(kept->remote, sample->remote, sample->remote_size);
}

static void unknown_circuit_drop(struct unknown_circuits *circuits, uint32_t relay, int64_t now_ms)
{
	char text[IPV4_TEXT_SIZE];

	circuits->dropped++;
	if (log_allowed(&circuits->lines, now_ms))
		log_warn(UNKNOWN_CIRCUIT_SUBJECT, "more unknown circuits than are kept (relay=%s)",
			 ipv4_text(relay, text));
}

bool unknown_circuit_record(struct unknown_circuits *circuits, uint32_t relay,
			    const struct circuit_sample *sample, struct mac mac)
{
	struct relay_limit *limit = unknown_circuit_limit_of(circuits, relay);
	int64_t now_ms = loop_now_ms(circuits->loop);
	bool known = false;
	struct kept *kept;

	if (sample->circuit_size > CIRCUIT_BYTES_MAX || sample->remote_size > CIRCUIT_BYTES_MAX)
		return false;
	kept = unknown_circuit_place_of(circuits, relay, sample, &known);
	if (!kept ||
	    (!known &&
	     !(unknown_circuit_allowed(&limit->fresh, RELAY_BURST, RELAY_PER_MINUTE, now_ms) &&
	       unknown_circuit_allowed(&circuits->fresh, ALL_BURST, ALL_PER_MINUTE, now_ms)))) {
		unknown_circuit_drop(circuits, relay, now_ms);
		return false;
	}
	if (!known)
		unknown_circuit_fill(kept, relay, sample);
	kept->mac = mac;
	kept->used_ms = now_ms;
	kept->seen++;
	if (unknown_circuit_due(kept, now_ms))
		unknown_circuit_arm(circuits);
	if (limit->told_ms && now_ms - limit->told_ms < TOLD_MS)
		return false;
	limit->told_ms = now_ms;
	return true;
}

uint64_t unknown_circuits_dropped(const struct unknown_circuits *circuits)
{
	return circuits->dropped;
}

/* What does not arrive is lost: a machine that boots asks again. */
static void unknown_circuit_on_put(void *context, int rc, const PGresult *result,
				   const struct problem *problem)
{
	struct unknown_circuits *circuits = context;

	(void)result;
	circuits->flying = false;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_WARN, UNKNOWN_CIRCUIT_SUBJECT, problem);
}

static void unknown_circuit_add_row(const struct kept *kept,
				    struct text columns[UNKNOWN_CIRCUIT_COLUMNS])
{
	char text[2 * CIRCUIT_BYTES_MAX + 1];

	array_add(&columns[COLUMN_RELAY], ipv4_text(kept->relay, text));
	hex_encode(kept->circuit, kept->circuit_size, text);
	array_add(&columns[COLUMN_CIRCUIT], text);
	hex_encode(kept->remote, kept->remote_size, text);
	array_add(&columns[COLUMN_REMOTE], text);
	array_add(&columns[UNKNOWN_CIRCUIT_COLUMN_MAC], mac_text(kept->mac, text));
	array_add_int(&columns[UNKNOWN_CIRCUIT_COLUMN_SEEN], kept->seen);
}

static size_t unknown_circuit_build(struct unknown_circuits *circuits,
				    struct text columns[UNKNOWN_CIRCUIT_COLUMNS])
{
	int64_t now_ms = loop_now_ms(circuits->loop);
	size_t count = 0;

	for (size_t i = 0; i < UNKNOWN_CIRCUIT_COLUMNS; i++)
		array_begin(&columns[i]);
	for (size_t i = 0; i < KEPT; i++) {
		if (!unknown_circuit_due(&circuits->kept[i], now_ms))
			continue;
		unknown_circuit_add_row(&circuits->kept[i], columns);
		circuits->kept[i].seen = 0;
		circuits->kept[i].written_ms = now_ms;
		count++;
	}
	for (size_t i = 0; i < UNKNOWN_CIRCUIT_COLUMNS; i++)
		array_end(&columns[i]);
	return count;
}

void unknown_circuits_flush(struct unknown_circuits *circuits)
{
	struct text columns[UNKNOWN_CIRCUIT_COLUMNS] = {0};
	const char *params[UNKNOWN_CIRCUIT_COLUMNS];
	bool failed = false;

	if (circuits->flying || !db_connected(circuits->db)) {
		unknown_circuit_arm(circuits);
		return;
	}
	if (unknown_circuit_build(circuits, columns) > 0) {
		for (size_t i = 0; i < UNKNOWN_CIRCUIT_COLUMNS; i++) {
			params[i] = text_get(&columns[i]);
			failed |= columns[i].failed;
		}
		circuits->flying =
			!failed && db_submit(circuits->db, &circuit_unknown_put_query, params,
					     unknown_circuit_on_put, circuits) == 0;
	}
	for (size_t i = 0; i < UNKNOWN_CIRCUIT_COLUMNS; i++)
		text_done(&columns[i]);
}

static void unknown_circuit_on_timer(void *context)
{
	struct unknown_circuits *circuits = context;

	circuits->armed = false;
	unknown_circuits_flush(circuits);
}

int unknown_circuits_new(struct loop *loop, struct db *db, struct unknown_circuits **ret)
{
	struct unknown_circuits *circuits = calloc(1, sizeof(*circuits));
	int rc;

	if (!circuits)
		return -ENOMEM;
	circuits->loop = loop;
	circuits->db = db;
	circuits->lines = (struct log_limit){.burst = 1, .per_minute = 1};
	rc = loop_timer_new(loop, unknown_circuit_on_timer, circuits, &circuits->timer);
	if (rc) {
		free(circuits);
		return rc;
	}
	*ret = circuits;
	return 0;
}

void unknown_circuits_free(struct unknown_circuits *circuits)
{
	if (!circuits)
		return;
	loop_timer_free(circuits->timer);
	free(circuits);
}
