#include "bampi/storage/volume_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/json_text.h"
#include "common/http/json_reader.h"

#include "bampi/storage/volume_account.h"

#define INITIATORS_LIMIT ((size_t)4 << 20)

/* clang-format off */
static const struct db_query claim_query = {"storage_claim",
	"select id, generation, iqn from haas.storage_claim($1, $2, $3::bigint, decode($4, 'hex'), $5::bigint, $6::bigint, $7::jsonb)", 7};

static const struct db_query volumes_query = {"volume_work",
	"select id, name, tenant, state, absent, size_bytes, kept_bytes, coalesce(archive_id, 0), coalesce(archive_bytes, 0), coalesce(archive_digest, ''),"
	" coalesce(pdci_id, 0), coalesce(served_pdci_id, 0), initiators is not null, initiators, encode(secret_sealed, 'hex'), secret_number,"
	" pdci_id is not distinct from served_pdci_id and served is not distinct from initiators, coalesce(node_ids, '[]') from haas.volume_work($1::bigint)", 1};

static const struct db_query archives_query = {"archive_work",
	"select id, name, tenant, state, absent, size_bytes, coalesce(volume_id, 0) from haas.archive_work($1::bigint)", 1};

static const struct db_query networks_query = {"storage_network_work",
	"select id, name, vlan, address, length, portal, up, coalesce(problem ->> 'message', '') from haas.storage_network_work($1::bigint)", 1};
static const struct db_query networks_told_query = {"storage_network_tell", "select haas.storage_network_tell($1::bigint, $2::bigint, $3::jsonb)", 3};

static const struct db_query logins_query = {"volume_login_work",
	"select volume, node, agent_key, encode(secret_sealed, 'hex'), secret_number from haas.volume_login_work($1::bigint)", 1};
static const struct db_query secrets_made_query = {"volume_secret_make", "select haas.volume_secret_make($1::bigint, $2::bigint, $3::jsonb)", 3};
static const struct db_query logins_put_query = {"volume_login_put", "select haas.volume_login_put($1::bigint, $2::bigint, $3::jsonb)", 3};

/* $1 volume $2 storage $3 generation $4 state $5 kept_bytes $6 problem $7 kind of the event, or null $8 its message. Of the same problem again nothing is written. */
static const struct db_query made_query = {"volume_made",
	"with was as (select v.* from haas.volume v join haas.storage s on s.id = v.storage_id where v.id = $1::bigint and s.id = $2::bigint and s.generation = $3::bigint), "
	"saved as (update haas.volume v set state = $4, kept_bytes = $5::bigint, problem = $6::jsonb, version = v.version + 1, done_bytes = case when $4 = 'ready' then v.size_bytes else v.done_bytes end,"
	"  ready_at = case when $4 = 'ready' then coalesce(v.ready_at, now()) else v.ready_at end, ended_at = case when $4 = 'deleted' then now() end"
	"  from was where v.id = was.id and (was.state, was.kept_bytes, was.problem) is distinct from ($4, $5::bigint, $6::jsonb) returning v.id) "
	"select haas.event_add('bampi-stored', $7, 'volume', was.name, was.tenant_id, $8, jsonb_build_object('volume', was.id, 'problem', $6::jsonb)) "
	"from was join saved on true where $7 is not null", 8};

/* $4 PDCI, 0 = nobody $5 initiators $6 problem */
static const struct db_query served_query = {"volume_served",
	"with was as (select v.* from haas.volume v join haas.storage s on s.id = v.storage_id where v.id = $1::bigint and s.id = $2::bigint and s.generation = $3::bigint), "
	"saved as (update haas.volume v set served_pdci_id = nullif($4::bigint, 0), served = $5::jsonb, problem = $6::jsonb, version = v.version + 1"
	"  from was where v.id = was.id and (was.served_pdci_id, was.served, was.problem) is distinct from (nullif($4::bigint, 0), $5::jsonb, $6::jsonb) returning v.id) "
	"select haas.event_add('bampi-stored', case when $4::bigint = 0 then 'volume.detached' else 'volume.attached' end, 'volume', was.name, was.tenant_id,"
	"  case when $4::bigint = 0 then 'nobody can reach it' else 'its PDCI can reach it' end,"
	"  jsonb_build_object('volume', was.id, 'pdci', coalesce(nullif($4::bigint, 0), was.served_pdci_id), 'initiators', $5::jsonb, 'problem', $6::jsonb)) "
	"from was join saved on true where (was.served_pdci_id, was.served) is distinct from (nullif($4::bigint, 0), $5::jsonb)", 6};

static const struct db_query refused_query = {"volume_refused",
	"update haas.volume v set problem = $4::jsonb, version = v.version + 1 from haas.storage s"
	" where v.id = $1::bigint and s.id = v.storage_id and s.id = $2::bigint and s.generation = $3::bigint and v.problem is distinct from $4::jsonb", 4};

/* $4 state $5 digest $6 stored_digest $7 stored_bytes $8 problem $9 kind of the event $10 its message */
static const struct db_query archived_query = {"archive_done",
	"with was as (select a.* from haas.archive a join haas.storage s on s.id = a.storage_id where a.id = $1::bigint and s.id = $2::bigint and s.generation = $3::bigint), "
	"saved as (update haas.archive a set state = $4, digest = coalesce($5, a.digest), stored_digest = coalesce($6, a.stored_digest), stored_bytes = coalesce($7::bigint, a.stored_bytes),"
	"  problem = $8::jsonb, version = a.version + 1, done_bytes = case when $4 = 'ready' then a.size_bytes else a.done_bytes end,"
	"  ready_at = case when $4 = 'ready' then coalesce(a.ready_at, now()) else a.ready_at end, ended_at = case when $4 = 'deleted' then now() end"
	"  from was where a.id = was.id and (was.state, was.problem) is distinct from ($4, $8::jsonb) returning a.id) "
	"select haas.event_add('bampi-stored', $9, 'archive', was.name, was.tenant_id, $10, jsonb_build_object('archive', was.id, 'digest', $5::text, 'problem', $8::jsonb)) "
	"from was join saved on true where $9 is not null", 10};

static const struct db_query progress_queries[] = {
	{"volume_progress", "update haas.volume v set done_bytes = x.done from unnest($1::bigint[], $2::bigint[]) as x (id, done) where v.id = x.id", 2},
	{"archive_progress", "update haas.archive a set done_bytes = x.done from unnest($1::bigint[], $2::bigint[]) as x (id, done) where a.id = x.id", 2},
};
/* clang-format on */

void volume_row_done(struct volume_row *row)
{
	free(row->initiators);
	free(row->users);
	free(row->addresses);
	*row = (struct volume_row){0};
}

static void storage_volume_store_number(char ret[24], int64_t value)
{
	(void)text_format(ret, 24, "%lld", (long long)value);
}

/* JSON of a problem; false = there is none, or no memory. */
static bool problem_json(const struct problem *problem, struct text *ret)
{
	if (!problem || !problem_is_set(problem))
		return false;
	json_begin_object(ret, NULL);
	json_put_string(ret, "code", error_word(problem->code));
	json_put_string(ret, "message", problem->message);
	json_put_string(ret, "detail", problem->detail);
	json_put_string(ret, "hint", problem->hint);
	json_end_object(ret);
	return !ret->failed;
}

int storage_store_claim(struct db *db, const struct storage_state *state, db_result_fn fn,
			void *context)
{
	CLEANUP(text_done) struct text problem = {0};
	char key[2 * SEAL_KEY_SIZE + 1];
	char claim[24];
	char total[24];
	char left[24];
	const char *params[] = {state->name, state->owner, claim, key, total, left, NULL};

	hex_encode(state->public_key, SEAL_KEY_SIZE, key);
	storage_volume_store_number(claim, state->claim_ms);
	storage_volume_store_number(total, state->total_bytes);
	storage_volume_store_number(left, state->free_bytes);
	if (problem_json(state->problem, &problem))
		params[6] = text_get(&problem);
	return db_submit(db, &claim_query, params, fn, context);
}

bool storage_claim_read(const PGresult *result, struct storage_claim *ret)
{
	if (PQntuples(result) == 0)
		return false;
	ret->id = db_int(result, 0, 0, 0);
	ret->generation = db_int(result, 0, 1, 0);
	return text_copy(ret->iqn, sizeof(ret->iqn), db_text(result, 0, 2, ""));
}

int volume_store_work(struct db *db, const struct storage_claim *claim,
		      const struct volume_work_fns *fns, void *context)
{
	char id[24];
	const char *params[] = {id};
	const struct db_call calls[] = {{&networks_query, params, fns->on_networks, context},
					{&logins_query, params, fns->on_logins, context},
					{&volumes_query, params, fns->on_volumes, context},
					{&archives_query, params, fns->on_archives, context}};

	storage_volume_store_number(id, claim->id);
	return db_submit_all(db, calls, COUNT_OF(calls));
}

static int store_rows(struct db *db, const struct db_query *query,
		      const struct storage_claim *claim, const char *rows, db_result_fn fn,
		      void *context)
{
	char id[24];
	char generation[24];
	const char *params[] = {id, generation, rows};

	storage_volume_store_number(id, claim->id);
	storage_volume_store_number(generation, claim->generation);
	return db_submit(db, query, params, fn, context);
}

int storage_store_networks(struct db *db, const struct storage_claim *claim, const char *rows,
			   db_result_fn fn, void *context)
{
	return store_rows(db, &networks_told_query, claim, rows, fn, context);
}

int storage_store_secrets(struct db *db, const struct storage_claim *claim, const char *rows,
			  db_result_fn fn, void *context)
{
	return store_rows(db, &secrets_made_query, claim, rows, fn, context);
}

int storage_store_logins(struct db *db, const struct storage_claim *claim, const char *rows,
			 db_result_fn fn, void *context)
{
	return store_rows(db, &logins_put_query, claim, rows, fn, context);
}

static int storage_volume_store_add_user(struct volume_row *row, int64_t node)
{
	struct storage_user *users = reallocarray(row->users, row->user_count + 1, sizeof(*users));

	if (!users)
		return -ENOMEM;
	row->users = users;
	users[row->user_count] = (struct storage_user){0};
	volume_account_name(row->id, row->secret_number, node, users[row->user_count++].name);
	return 0;
}

/* The tenant's account and, where the volume has a secret to derive theirs from, the nodes'. */
static int read_users(const char *text, struct volume_row *row)
{
	CLEANUP(json_decrefp) json_t *list = NULL;
	struct problem ignored = {0};
	const json_t *node;
	size_t i;
	int rc = json_read(text, strlen(text), INITIATORS_LIMIT, &list, &ignored);

	if (rc == 0)
		rc = storage_volume_store_add_user(row, 0);
	if (row->sealed_size == 0)
		return rc;
	json_array_foreach(list, i, node)
	{
		if (rc == 0 && json_integer_value(node) > 0)
			rc = storage_volume_store_add_user(row, json_integer_value(node));
	}
	return rc;
}

/* [{"node", "address"}]; a node without an address cannot be let in, and is named. */
static int read_initiators(const char *text, struct volume_row *row)
{
	CLEANUP(json_decrefp) json_t *list = NULL;
	struct problem ignored = {0};
	const json_t *one;
	size_t i;
	int rc = json_read(text, strlen(text), INITIATORS_LIMIT, &list, &ignored);

	if (rc)
		return rc;
	row->initiators = strdup(text);
	row->addresses = calloc(json_array_size(list) + 1, sizeof(*row->addresses));
	if (!row->initiators || !row->addresses)
		return -ENOMEM;
	json_array_foreach(list, i, one)
	{
		const char *address = json_string_value(json_object_get(one, "address"));
		const char *node = json_string_value(json_object_get(one, "node"));

		if (row->address_count >= STORAGE_ADDRESSES_MAX)
			return E_LIMIT;
		if (!address)
			(void)text_copy(row->nameless, sizeof(row->nameless), node ? node : "?");
		else if (text_copy(row->addresses[row->address_count].text, STORAGE_ADDRESS_SIZE,
				   address))
			row->address_count++;
	}
	return 0;
}

static int read_sealed(const char *hex, struct volume_row *row)
{
	size_t size = strlen(hex) / 2;

	if (size > sizeof(row->sealed) || hex_decode(hex, row->sealed, size) != 0)
		return E_MALFORMED;
	row->sealed_size = size;
	return 0;
}

void volume_nameless(const struct volume_row *row, struct problem *ret)
{
	(void)problem_set(ret, E_INVALID, "node %s has no address to be let in by", row->nameless);
	problem_hint(ret, "give its PDCI a network with a prefix, untagged on one of its NICs");
}

int volume_row_read(const PGresult *result, int row, struct volume_row *ret)
{
	int state = enum_value(volume_state_words, VOLUME_STATE_COUNT, db_text(result, row, 3, ""));
	struct volume_row volume = {
		.id = db_int(result, row, 0, 0),
		.absent = db_bool(result, row, 4),
		.size_bytes = db_int(result, row, 5, 0),
		.kept_bytes = db_int(result, row, 6, 0),
		.source = {.archive = db_int(result, row, 7, 0),
			   .size_bytes = db_int(result, row, 8, 0)},
		.pdci = db_int(result, row, 10, 0),
		.served_pdci = db_int(result, row, 11, 0),
		.open_wanted = db_bool(result, row, 12),
		.secret_number = db_int(result, row, 15, 0),
		.told = db_bool(result, row, 16),
	};
	int rc = 0;

	if (state < 0 || volume.id < 1 || volume.id > INT32_MAX)
		return E_MALFORMED;
	volume.state = (enum volume_state)state;
	(void)text_copy(volume.name, sizeof(volume.name), db_text(result, row, 1, ""));
	(void)text_copy(volume.tenant, sizeof(volume.tenant), db_text(result, row, 2, ""));
	(void)text_copy(volume.source_digest, sizeof(volume.source_digest),
			db_text(result, row, 9, ""));
	if (volume.open_wanted)
		rc = read_initiators(db_text(result, row, 13, "[]"), &volume);
	if (rc == 0)
		rc = read_sealed(db_text(result, row, 14, ""), &volume);
	if (rc == 0)
		rc = read_users(db_text(result, row, 17, "[]"), &volume);
	if (rc) {
		volume_row_done(&volume);
		return rc;
	}
	*ret = volume;
	return 0;
}

int archive_row_read(const PGresult *result, int row, struct volume_row *ret)
{
	int state =
		enum_value(archive_state_words, ARCHIVE_STATE_COUNT, db_text(result, row, 3, ""));

	if (state < 0)
		return E_MALFORMED;
	*ret = (struct volume_row){
		.id = db_int(result, row, 0, 0),
		.archive = true,
		.archive_state = (enum archive_state)state,
		.absent = db_bool(result, row, 4),
		.size_bytes = db_int(result, row, 5, 0),
		.volume = db_int(result, row, 6, 0),
	};
	(void)text_copy(ret->name, sizeof(ret->name), db_text(result, row, 1, ""));
	(void)text_copy(ret->tenant, sizeof(ret->tenant), db_text(result, row, 2, ""));
	return 0;
}

/* --- what was done --- */

/* The row that an action leads to, when it is done and when it failed; the event that tells so. */
static const struct {
	const char *done, *failed; /* state; NULL = as it is */
	const char *event;
	const char *failed_event;
} volume_steps[ACTION_COUNT] =
	{
		[ACTION_MAKE] = {"ready", "failed", "volume.ready", "volume.failed"},
		[ACTION_RESTORE] = {"ready", "failed", "volume.ready", "volume.failed"},
		[ACTION_GROW] = {"ready", NULL, "volume.grown", "volume.failed"},
		[ACTION_DESTROY] = {"deleted", "deleting", "volume.destroyed", "volume.failed"},
},
  archive_steps[ACTION_COUNT] = {
	  [ACTION_ARCHIVE] = {"ready", "failed", "archive.ready", "archive.failed"},
	  [ACTION_DESTROY] = {"deleted", "deleting", "archive.destroyed", "archive.failed"},
};

static void event_text(const struct volume_row *row, const struct volume_done *done, bool failed,
		       char ret[256])
{
	if (failed)
		(void)text_copy(ret, 256, done->problem.message);
	else if (done->action == ACTION_DESTROY)
		(void)text_format(ret, 256, "%lld bytes overwritten with zeros and read back",
				  (long long)done->bytes);
	else if (done->action == ACTION_ARCHIVE)
		(void)text_format(ret, 256, "%lld bytes kept in %lld", (long long)row->size_bytes,
				  (long long)done->digest.stored_bytes);
	else
		(void)text_format(ret, 256, "%lld bytes%s", (long long)row->size_bytes,
				  done->action == ACTION_RESTORE ? ", as its archive has them"
								 : "");
}

static int save_made(struct db *db, const struct storage_claim *claim, const struct volume_row *row,
		     const struct volume_done *done, db_result_fn fn, void *context)
{
	bool failed = problem_is_set(&done->problem);
	CLEANUP(text_done) struct text problem = {0};
	char id[24];
	char storage[24];
	char generation[24];
	char kept[24];
	char message[256];
	const char *state =
		failed ? volume_steps[done->action].failed : volume_steps[done->action].done;
	const char *params[] = {id,
				storage,
				generation,
				state ? state : volume_state_words[row->state],
				kept,
				problem_json(&done->problem, &problem) ? text_get(&problem) : NULL,
				failed ? volume_steps[done->action].failed_event
				       : volume_steps[done->action].event,
				message};

	storage_volume_store_number(id, row->id);
	storage_volume_store_number(storage, claim->id);
	storage_volume_store_number(generation, claim->generation);
	storage_volume_store_number(
		kept,
		failed ? row->kept_bytes : (done->action == ACTION_DESTROY ? 0 : row->size_bytes));
	event_text(row, done, failed, message);
	return db_submit(db, &made_query, params, fn, context);
}

/* It stays as the row says until it is tried again; only why is written down. */
static int save_refused(struct db *db, const struct storage_claim *claim,
			const struct volume_row *row, const struct volume_done *done,
			db_result_fn fn, void *context)
{
	CLEANUP(text_done) struct text problem = {0};
	char id[24];
	char storage[24];
	char generation[24];
	const char *params[] = {id, storage, generation, NULL};

	storage_volume_store_number(id, row->id);
	storage_volume_store_number(storage, claim->id);
	storage_volume_store_number(generation, claim->generation);
	if (!problem_json(&done->problem, &problem))
		return -ENOMEM;
	params[3] = text_get(&problem);
	return db_submit(db, &refused_query, params, fn, context);
}

static int save_served(struct db *db, const struct storage_claim *claim,
		       const struct volume_row *row, const struct volume_done *done,
		       db_result_fn fn, void *context)
{
	bool open = done->action != ACTION_CLOSE && done->action != ACTION_TELL_CLOSED;
	CLEANUP(text_done) struct text text = {0};
	struct problem left_out = {0};
	char id[24];
	char storage[24];
	char generation[24];
	char pdci[24];
	const char *params[] = {id, storage, generation, pdci, open ? row->initiators : NULL, NULL};

	storage_volume_store_number(id, row->id);
	storage_volume_store_number(storage, claim->id);
	storage_volume_store_number(generation, claim->generation);
	storage_volume_store_number(pdci, open ? row->pdci : 0);
	if (open && row->nameless[0])
		volume_nameless(row, &left_out);
	if (problem_json(&left_out, &text))
		params[5] = text_get(&text);
	return db_submit(db, &served_query, params, fn, context);
}

static int save_archive(struct db *db, const struct storage_claim *claim,
			const struct volume_row *row, const struct volume_done *done,
			db_result_fn fn, void *context)
{
	bool failed = problem_is_set(&done->problem);
	bool made = !failed && done->action == ACTION_ARCHIVE;
	CLEANUP(text_done) struct text problem = {0};
	char id[24];
	char storage[24];
	char generation[24];
	char stored[24];
	char message[256];
	const char *params[] = {id,
				storage,
				generation,
				failed ? archive_steps[done->action].failed
				       : archive_steps[done->action].done,
				made ? done->digest.digest : NULL,
				made ? done->digest.stored_digest : NULL,
				made ? stored : NULL,
				problem_json(&done->problem, &problem) ? text_get(&problem) : NULL,
				failed ? archive_steps[done->action].failed_event
				       : archive_steps[done->action].event,
				message};

	storage_volume_store_number(id, row->id);
	storage_volume_store_number(storage, claim->id);
	storage_volume_store_number(generation, claim->generation);
	storage_volume_store_number(stored, done->digest.stored_bytes);
	event_text(row, done, failed, message);
	return db_submit(db, &archived_query, params, fn, context);
}

int volume_store_done(struct db *db, const struct storage_claim *claim,
		      const struct volume_row *row, const struct volume_done *done, db_result_fn fn,
		      void *context)
{
	if (row->archive)
		return save_archive(db, claim, row, done, fn, context);
	if (volume_steps[done->action].event)
		return save_made(db, claim, row, done, fn, context);
	return problem_is_set(&done->problem) ? save_refused(db, claim, row, done, fn, context)
					      : save_served(db, claim, row, done, fn, context);
}

int volume_store_progress(struct db *db, bool archives, const char *ids, const char *bytes)
{
	const char *params[] = {ids, bytes};

	return db_submit(db, &progress_queries[archives], params, NULL, NULL);
}
