#include "bampi/control/event_seal.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"
#include "common/io/work_cycle.h"
#include "common/model/event_block.h"

#include "bampi/control/event_seal_sql.h"

#define EVENT_SEAL_SUBJECT "seal of events"

enum { EVENT_SEAL_RETRY_MS = 1000 };

struct event_seal {
	struct event_seal_options options;
	struct work_cycle cycle;
};

static void event_seal_end(struct event_seal *seal, int rc)
{
	work_cycle_end(&seal->cycle, rc ? EVENT_SEAL_RETRY_MS : seal->options.period_ms);
}

/* There may be more than one block holds. */
static void event_seal_on_added(void *context, int rc, const PGresult *result,
				const struct problem *problem)
{
	struct event_seal *seal = context;

	(void)result;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, EVENT_SEAL_SUBJECT, problem);
	if (rc == 0)
		work_cycle_wake(&seal->cycle);
	event_seal_end(seal, rc);
}

static int event_seal_sign(struct event_seal *seal, const PGresult *result)
{
	const struct event_block_facts facts = {
		.previous_hash = db_text(result, 0, EVENT_SEAL_NEXT_PREVIOUS_HASH, ""),
		.block = db_int(result, 0, EVENT_SEAL_NEXT_BLOCK, 0),
		.events = db_int(result, 0, EVENT_SEAL_NEXT_EVENTS, 0),
		.digest = db_text(result, 0, EVENT_SEAL_NEXT_DIGEST, ""),
		.sealed_at = db_text(result, 0, EVENT_SEAL_NEXT_SEALED_AT, ""),
	};
	CLEANUP(text_done) struct text body = {0};
	char hash[DIGEST_TEXT_SIZE];
	char signature[CERTIFICATE_SIGNATURE_TEXT_SIZE];

	event_block_body(&facts, &body);
	if (body.failed)
		return -ENOMEM;
	certificate_sign(text_get(&body), seal->options.key->secret, hash, signature);
	return db_submit(seal->options.db, &event_seal_add_query,
			 (const char *const[]){text_get(&body), hash, signature,
					       seal->options.key->public_text},
			 event_seal_on_added, seal);
}

static void event_seal_on_next(void *context, int rc, const PGresult *result,
			       const struct problem *problem)
{
	struct event_seal *seal = context;

	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, EVENT_SEAL_SUBJECT, problem);
	if (rc || PQntuples(result) == 0) {
		event_seal_end(seal, rc);
		return;
	}
	rc = event_seal_sign(seal, result);
	if (rc)
		event_seal_end(seal, rc);
}

static void event_seal_look(void *context)
{
	struct event_seal *seal = context;

	if (db_submit(seal->options.db, &event_seal_next_query, NULL, event_seal_on_next, seal) !=
	    0)
		event_seal_end(seal, -ENOMEM);
}

void event_seal_db_state(struct event_seal *seal, bool connected)
{
	work_cycle_connected(&seal->cycle, connected);
}

int event_seal_new(struct loop *loop, const struct event_seal_options *options,
		   struct event_seal **ret)
{
	struct event_seal *seal = calloc(1, sizeof(*seal));
	int rc;

	if (!seal)
		return -ENOMEM;
	seal->options = *options;
	rc = work_cycle_open(&seal->cycle, loop, event_seal_look, seal);
	if (rc) {
		free(seal);
		return rc;
	}
	*ret = seal;
	return 0;
}

void event_seal_free(struct event_seal *seal)
{
	if (!seal)
		return;
	work_cycle_close(&seal->cycle);
	free(seal);
}
