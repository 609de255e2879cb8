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

/* What the write under way will have written, when it is through. */
struct pending {
	struct discovery *discovery;
	unsigned waited;
	bool failed;
	int64_t events;
};

/* The next conclusion writes everything anew. */
static void forget_written(struct discovery *discovery)
{
	for (struct sight *sight = discovery->sights; sight; sight = sight->hh.next) {
		sight->unobserved = sight->asked;
		sight->ports_digest[0] = '\0';
	}
	discovery->links_digest[0] = '\0';
	discovery->places_digest[0] = '\0';
	discovery->blocks_digest[0] = '\0';
	discovery->alerts_digest[0] = '\0';
}

static void conclude_write_on_written(void *context, int rc, const PGresult *result,
				      const struct problem *problem)
{
	struct pending *pending = context;
	struct discovery *discovery = pending->discovery;

	if (rc == 0)
		pending->events += db_int(result, 0, WRITTEN_EVENTS, 0);
	else if (rc != E_UNAVAILABLE && rc != E_CONFLICT)
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
	free(pending);
	if (discovery->again)
		conclude_wake(discovery);
	discovery->again = false;
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
	const char *const observed[] = {text_get(&work->rows[TABLE_OBSERVED])};
	const char *const ports[] = {text_get(&work->port_switches),
				     text_get(&work->rows[TABLE_PORTS]), seen};
	const char *const links[] = {text_get(&work->link_switches),
				     text_get(&work->rows[TABLE_LINKS]), seen};
	const char *const places[] = {text_get(&work->rows[TABLE_PLACES]), seen};
	const char *const blocks[] = {text_get(&work->rows[TABLE_BLOCKS])};
	const char *const alerts[] = {text_get(&work->rows[TABLE_ALERTS]), seen};
	const struct {
		bool due;
		struct db_call call;
	} all[TABLE_COUNT] = {
		{work->rows[TABLE_OBSERVED].size > 2,
		 {&fabric_observed_query, observed, conclude_write_on_written, pending}},
		{strcmp(ports[0], "{}") != 0,
		 {&fabric_ports_query, ports, conclude_write_on_written, pending}},
		{conclude_write_is_due(work, TABLE_LINKS, discovery->links_digest,
				       &discovery->links_ms),
		 {&fabric_links_query, links, conclude_write_on_written, pending}},
		{conclude_write_is_due(work, TABLE_PLACES, discovery->places_digest,
				       &discovery->places_ms),
		 {&fabric_located_query, places, conclude_write_on_written, pending}},
		{conclude_write_is_due(work, TABLE_BLOCKS, discovery->blocks_digest,
				       &discovery->blocks_ms),
		 {&fabric_blocked_query, blocks, conclude_write_on_written, pending}},
		{conclude_write_is_due(work, TABLE_ALERTS, discovery->alerts_digest,
				       &discovery->alerts_ms),
		 {&fabric_alerts_query, alerts, conclude_write_on_written, pending}},
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
		conclude_arm(discovery, RETRY_MS);
	} else if (count > 0) {
		discovery->pending = pending;
		discovery->state = CONCLUDE_WRITE;
		discovery->stats.writes += count;
	}
}
