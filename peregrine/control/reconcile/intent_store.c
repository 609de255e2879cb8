#include "peregrine/control/reconcile/intent_store.h"

#include <stdio.h>

#include "peregrine/control/reconcile/intent_store_sql.h"

#define NUMBER_SIZE 24

/* clang-format off */

/* `meant`: fabrics where a network that has no number yet will be tagged for a node: whose OS is told the number before its ports have it. */

/* clang-format on */

struct key_text {
	char fabric[NUMBER_SIZE], generation[NUMBER_SIZE], claim[NUMBER_SIZE];
};

static void key_texts(const struct claim_key *key, struct key_text *ret)
{
	(void)snprintf(ret->fabric, NUMBER_SIZE, "%lld", (long long)key->fabric_id);
	(void)snprintf(ret->generation, NUMBER_SIZE, "%lld", (long long)key->generation);
	(void)snprintf(ret->claim, NUMBER_SIZE, "%lu", (unsigned long)key->claim_ms);
}

int intent_store_load(struct db *db, db_result_fn fn, void *context)
{
	return db_submit(db, &intent_load_query, NULL, fn, context);
}

int intent_store_clear_orphans(struct db *db)
{
	const struct db_call calls[] = {{&alert_orphans_query, NULL, NULL, NULL},
					{&applied_notify_query, NULL, NULL, NULL}};

	return db_submit_all(db, calls, 2);
}

int intent_store_claim(struct db *db, const struct claim_ask *ask, db_result_fn fn, void *context)
{
	const struct claim_key key = {.fabric_id = ask->fabric_id, .claim_ms = ask->claim_ms};
	struct key_text texts;

	key_texts(&key, &texts);

	const char *params[] = {texts.fabric, ask->owner, texts.claim,
				ask->fresh ? "true" : "false"};

	return db_submit(db, &fabric_claim_query, params, fn, context);
}

int intent_store_unfinished(struct db *db, int64_t fabric_id, db_result_fn fn, void *context)
{
	const struct claim_key key = {.fabric_id = fabric_id};
	struct key_text texts;

	key_texts(&key, &texts);

	const char *params[] = {texts.fabric};

	return db_submit(db, &change_unfinished_query, params, fn, context);
}

static int intent_store_submit_rows(struct db *db, const struct db_query *query,
				    const struct claim_key *key, const char *rows, db_result_fn fn,
				    void *context)
{
	struct key_text texts;

	key_texts(key, &texts);

	const char *params[] = {texts.fabric, key->owner, texts.generation, texts.claim, rows};

	return db_submit(db, query, params, fn, context);
}

int intent_store_close(struct db *db, const struct claim_key *key, const char *rows,
		       db_result_fn fn, void *context)
{
	return intent_store_submit_rows(db, &change_close_query, key, rows, fn, context);
}

int intent_store_aggregate(struct db *db, const struct claim_key *key, const char *row,
			   db_result_fn fn, void *context)
{
	return intent_store_submit_rows(db, &aggregate_write_query, key, row, fn, context);
}

int intent_store_saved(struct db *db, int64_t switch_id)
{
	char id[NUMBER_SIZE];
	const char *params[] = {id};

	(void)snprintf(id, sizeof(id), "%lld", (long long)switch_id);
	return db_submit(db, &switch_saved_query, params, NULL, NULL);
}

int intent_store_abilities(struct db *db, const char *rows, db_result_fn fn, void *context)
{
	const char *params[] = {rows};

	return db_submit(db, &switch_ability_query, params, fn, context);
}

int intent_store_numbers(struct db *db, const struct claim_key *key, const char *rows,
			 db_result_fn fn, void *context)
{
	struct key_text texts;

	key_texts(key, &texts);

	const char *params[] = {texts.fabric, key->owner, texts.generation, texts.claim, rows};
	const struct db_call calls[] = {{&network_numbers_query, params, fn, context},
					{&network_gone_query, params, NULL, NULL},
					{&applied_notify_query, NULL, NULL, NULL}};

	return db_submit_all(db, calls, 3);
}

int intent_store_journal(struct db *db, const struct claim_key *key, const char *reason,
			 const char *changes, db_result_fn fn, void *context)
{
	struct key_text texts;

	key_texts(key, &texts);

	const char *params[] = {texts.fabric, key->owner, texts.generation,
				texts.claim,  reason,     changes};

	return db_submit(db, &change_journal_query, params, fn, context);
}

int intent_store_phase(struct db *db, const struct claim_key *key, const struct phase_ask *ask,
		       db_result_fn fn, void *context)
{
	struct key_text texts;
	char batch[NUMBER_SIZE];
	char number[NUMBER_SIZE];

	key_texts(key, &texts);
	(void)snprintf(batch, sizeof(batch), "%lld", (long long)ask->batch_id);
	(void)snprintf(number, sizeof(number), "%d", ask->phase);

	const char *params[] = {texts.fabric, key->owner, texts.generation, texts.claim,
				batch,        number,     ask->state};

	return db_submit(db, &change_phase_query, params, fn, context);
}

int intent_store_save(struct db *db, const struct claim_key *key, const char *result,
		      db_result_fn fn, void *context)
{
	struct key_text texts;

	key_texts(key, &texts);

	const char *params[] = {texts.fabric, key->owner, texts.generation, texts.claim, result};
	const struct db_call calls[] = {{&change_save_query, params, fn, context},
					{&applied_notify_query, NULL, NULL, NULL}};

	return db_submit_all(db, calls, 2);
}
