/* Rows of a conclusion to the database: all in one go, and only what differs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "peregrine/control/fabric/conclude_private.h"
#include "peregrine/control/fabric/fabric_store_sql.h"

LEAKS_LEFT_TO_SANITIZER

#define CONCLUDE_WRITE_SUBJECT "fabric"
#define REFUSED_MS             10000 /* refused rows are tried again */

/* One table of a write under way. */
struct pending_table {
	struct pending *pending;
	enum table table;
};

/* What the write under way will have written, when it is through. */
struct pending {
	struct discovery *discovery;
	struct pending_table tables[TABLE_COUNT];
	unsigned waited;
	bool failed, places_left;
	int64_t events;
};

/* As fabric_rows_write() calls them. */
static const char *const table_words[TABLE_COUNT] = {[TABLE_OBSERVED] = "observed",
						     [TABLE_PORTS] = "ports",
						     [TABLE_LINKS] = "links",
						     [TABLE_PLACES] = "places"};

/* The next conclusion writes everything anew. */
static void forget_written(struct discovery *discovery)
{
	for (struct sight *sight = discovery->sights; sight; sight = sight->hh.next) {
		sight->unobserved = sight->asked;
		sight->ports_digest[0] = '\0';
	}
	discovery->links_digest[0] = '\0';
	for (struct memory *memory = discovery->memory; memory; memory = memory->hh.next)
		memory->row_digest = 0;
	discovery->strays_digest[0] = '\0';
	discovery->blocks_digest[0] = '\0';
	discovery->alerts_digest[0] = '\0';
}

static void conclude_write_ended(struct pending *pending, int rc, const struct problem *problem)
{
	struct discovery *discovery = pending->discovery;

	if (rc && rc != E_UNAVAILABLE && rc != E_CONFLICT)
		log_problem(LOG_LEVEL_ERROR, CONCLUDE_WRITE_SUBJECT, problem);
	pending->failed |= rc != 0;
	if (--pending->waited > 0)
		return;
	discovery->state = CONCLUDE_IDLE;
	discovery->pending = NULL;
	if (pending->failed) {
		discovery->stats.failed_writes++;
		forget_written(discovery);
		conclude_arm(discovery, RETRY_MS);
	} else if (pending->events > 0 &&
		   db_submit(discovery->options.db, &fabric_notify_query, NULL, NULL, NULL) != 0) {
		log_warn(CONCLUDE_WRITE_SUBJECT, "%lld events were not reported to portald",
			 (long long)pending->events);
	}
	if (discovery->again || pending->places_left)
		conclude_wake(discovery);
	free(pending);
	discovery->again = false;
}

static void conclude_write_on_written(void *context, int rc, const PGresult *result,
				      const struct problem *problem)
{
	struct pending *pending = ((struct pending_table *)context)->pending;

	if (rc == 0)
		pending->events += db_int(result, 0, WRITTEN_EVENTS, 0);
	conclude_write_ended(pending, rc, problem);
}

/* Rows of this table were written, but for those of `why` (NULL: all of them). */
static void sight_written(struct sight *sight, enum table table, const char *why)
{
	unsigned before = sight->refused;

	if (!(sight->offered & TABLE_BIT(table)))
		return;
	sight->refused &= ~TABLE_BIT(table);
	if (why) {
		sight->refused |= TABLE_BIT(table);
		/* Soon once more: the agent, or who looked at it, may have mended it. */
		sight->ports_ms = loop_now_ms(sight->discovery->loop) + REFUSED_MS -
				  sight->discovery->options.seen_ms;
		(void)text_format(sight->refusal, sizeof(sight->refusal), "%s: %s",
				  table_words[table], why);
	}
	if (sight->refused == before)
		return;
	if (why)
		log_warn(CONCLUDE_WRITE_SUBJECT,
			 "PostgreSQL refuses rows of a switch (switch=%s, why=\"%s\")",
			 sight->row.name, sight->refusal);
	conclude_wake(sight->discovery); /* its alert comes or goes */
}

static void conclude_write_on_rows(void *context, int rc, const PGresult *result,
				   const struct problem *problem)
{
	const struct pending_table *table = context;
	struct pending *pending = table->pending;
	struct sight *sight = pending->discovery->sights;

	for (; rc == 0 && sight; sight = sight->hh.next) {
		const char *why = NULL;

		for (int row = 0; row < PQntuples(result) && !why; row++) {
			if (db_int(result, row, FABRIC_ROWS_SWITCH_ID, 0) == sight->row.id)
				why = db_text(result, row, FABRIC_ROWS_MESSAGE, "");
		}
		sight_written(sight, table->table, why);
	}
	if (rc == 0)
		pending->events += db_int(result, 0, FABRIC_ROWS_EVENTS, 0);
	conclude_write_ended(pending, rc, problem);
}

/* True when these rows differ from those written last, or it is time to mark them as seen. */
static bool conclude_write_is_due(const struct work *work, enum table table,
				  char digest[DIGEST_TEXT_SIZE], int64_t *written_ms)
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

void conclude_write(struct work *work)
{
	struct discovery *discovery = work->discovery;
	struct pending *pending = calloc(1, sizeof(*pending));
	char seen[24];
	const char *const observed[] = {table_words[TABLE_OBSERVED], "{}",
					text_get(&work->rows[TABLE_OBSERVED]), seen};
	const char *const ports[] = {table_words[TABLE_PORTS], text_get(&work->port_switches),
				     text_get(&work->rows[TABLE_PORTS]), seen};
	const char *const links[] = {table_words[TABLE_LINKS], text_get(&work->link_switches),
				     text_get(&work->rows[TABLE_LINKS]), seen};
	const char *const places[] = {table_words[TABLE_PLACES], "{}",
				      text_get(&work->rows[TABLE_PLACES]), seen};
	const char *const strays[] = {text_get(&work->rows[TABLE_STRAYS])};
	const char *const blocks[] = {text_get(&work->rows[TABLE_BLOCKS])};
	const char *const alerts[] = {text_get(&work->rows[TABLE_ALERTS]), seen};
	const struct {
		bool due;
		const struct db_query *query;
		const char *const *params;
		db_result_fn fn;
	} all[TABLE_COUNT] = {
		[TABLE_OBSERVED] = {work->rows[TABLE_OBSERVED].size > 2, &fabric_rows_query,
				    observed, conclude_write_on_rows},
		[TABLE_PORTS] = {strcmp(ports[1], "{}") != 0, &fabric_rows_query, ports,
				 conclude_write_on_rows},
		[TABLE_LINKS] = {conclude_write_is_due(work, TABLE_LINKS, discovery->links_digest,
						       &discovery->links_ms),
				 &fabric_rows_query, links, conclude_write_on_rows},
		[TABLE_PLACES] = {work->rows[TABLE_PLACES].size > 2, &fabric_rows_query, places,
				  conclude_write_on_rows},
		[TABLE_STRAYS] = {conclude_write_is_due(work, TABLE_STRAYS,
							discovery->strays_digest,
							&discovery->strays_ms),
				  &fabric_strays_query, strays, conclude_write_on_written},
		[TABLE_BLOCKS] = {conclude_write_is_due(work, TABLE_BLOCKS,
							discovery->blocks_digest,
							&discovery->blocks_ms),
				  &fabric_blocked_query, blocks, conclude_write_on_written},
		[TABLE_ALERTS] = {conclude_write_is_due(work, TABLE_ALERTS,
							discovery->alerts_digest,
							&discovery->alerts_ms),
				  &fabric_alerts_query, alerts, conclude_write_on_written},
	};
	struct db_call calls[TABLE_COUNT];
	unsigned count = 0;
	int rc = 0;

	(void)text_format(seen, sizeof(seen), "%lld",
			  (long long)(discovery->options.seen_ms / 1000));
	for (int table = 0; table < TABLE_COUNT; table++) {
		if (work->rows[table].failed || !pending) {
			rc = -ENOMEM;
		} else if (all[table].due) {
			pending->tables[table] = (struct pending_table){pending, (enum table)table};
			calls[count++] = (struct db_call){all[table].query, all[table].params,
							  all[table].fn, &pending->tables[table]};
		}
	}
	if (count == 0 || rc) {
		free(pending);
	} else {
		pending->discovery = discovery;
		pending->waited = count;
		pending->places_left = work->places_left;
		rc = db_submit_all(discovery->options.db, calls, count);
		if (rc)
			free(pending);
	}
	if (rc) {
		forget_written(discovery);
		conclude_arm(discovery, RETRY_MS);
	} else if (count > 0) {
		discovery->pending = pending;
		discovery->state = CONCLUDE_WRITE;
		discovery->stats.writes += count;
	}
}
