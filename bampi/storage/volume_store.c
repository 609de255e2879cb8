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
#include "bampi/storage/volume_store_sql.h"

#define INITIATORS_LIMIT ((size_t)4 << 20)

/* clang-format off */

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
	json_put_problem(ret, NULL, problem);
	return !ret->failed;
}

int storage_store_publish(struct db *db, const struct seal_key *key)
{
	char hex[2 * SEAL_KEY_SIZE + 1];
	const char *params[] = {hex};

	hex_encode(seal_key_public_key(key), SEAL_KEY_SIZE, hex);
	return db_submit(db, &storage_publish_query, params, NULL, NULL);
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
	return db_submit(db, &storage_claim_query, params, fn, context);
}

bool storage_claim_read(const PGresult *result, struct storage_claim *ret)
{
	if (PQntuples(result) == 0)
		return false;
	ret->id = db_int(result, 0, STORAGE_CLAIM_ID, 0);
	ret->generation = db_int(result, 0, STORAGE_CLAIM_GENERATION, 0);
	return text_copy(ret->iqn, sizeof(ret->iqn), db_text(result, 0, STORAGE_CLAIM_IQN, ""));
}

int volume_store_work(struct db *db, const struct storage_claim *claim,
		      const struct volume_work_fns *fns, void *context)
{
	char id[24];
	const char *params[] = {id};
	const struct db_call calls[] = {
		{&storage_network_work_query, params, fns->on_networks, context},
		{&volume_login_work_query, params, fns->on_logins, context},
		{&volume_work_query, params, fns->on_volumes, context},
		{&archive_work_query, params, fns->on_archives, context}};

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
	return store_rows(db, &storage_network_tell_query, claim, rows, fn, context);
}

int storage_store_secrets(struct db *db, const struct storage_claim *claim, const char *rows,
			  db_result_fn fn, void *context)
{
	return store_rows(db, &volume_secret_make_query, claim, rows, fn, context);
}

int storage_store_logins(struct db *db, const struct storage_claim *claim, const char *rows,
			 db_result_fn fn, void *context)
{
	return store_rows(db, &volume_login_put_query, claim, rows, fn, context);
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
	(void)problem_set(ret, E_INVALID, "node %s has no address for the storage's access list",
			  row->nameless);
	problem_hint(ret, "give its PDCI a network with a prefix, untagged on one of its NICs");
}

int volume_row_read(const PGresult *result, int row, struct volume_row *ret)
{
	int state = enum_value(volume_state_words, VOLUME_STATE_COUNT,
			       db_text(result, row, VOLUME_WORK_STATE, ""));
	struct volume_row volume = {
		.id = db_int(result, row, VOLUME_WORK_ID, 0),
		.absent = db_bool(result, row, VOLUME_WORK_ABSENT),
		.size_bytes = db_int(result, row, VOLUME_WORK_SIZE_BYTES, 0),
		.kept_bytes = db_int(result, row, VOLUME_WORK_KEPT_BYTES, 0),
		.source = {.archive = db_int(result, row, VOLUME_WORK_ARCHIVE, 0),
			   .size_bytes = db_int(result, row, VOLUME_WORK_ARCHIVE_BYTES, 0)},
		.pdci = db_int(result, row, VOLUME_WORK_PDCI, 0),
		.served_pdci = db_int(result, row, VOLUME_WORK_SERVED_PDCI, 0),
		.open_wanted = db_bool(result, row, VOLUME_WORK_OPEN_WANTED),
		.secret_number = db_int(result, row, VOLUME_WORK_SECRET_NUMBER, 0),
		.told = db_bool(result, row, VOLUME_WORK_TOLD),
	};
	int rc = 0;

	if (state < 0 || volume.id < 1 || volume.id > INT32_MAX)
		return E_MALFORMED;
	volume.state = (enum volume_state)state;
	(void)text_copy(volume.name, sizeof(volume.name),
			db_text(result, row, VOLUME_WORK_NAME, ""));
	(void)text_copy(volume.tenant, sizeof(volume.tenant),
			db_text(result, row, VOLUME_WORK_TENANT, ""));
	(void)text_copy(volume.source_digest, sizeof(volume.source_digest),
			db_text(result, row, VOLUME_WORK_ARCHIVE_DIGEST, ""));
	if (volume.open_wanted)
		rc = read_initiators(db_text(result, row, VOLUME_WORK_INITIATORS, "[]"), &volume);
	if (rc == 0)
		rc = read_sealed(db_text(result, row, VOLUME_WORK_SECRET, ""), &volume);
	if (rc == 0)
		rc = read_users(db_text(result, row, VOLUME_WORK_USERS, "[]"), &volume);
	if (rc) {
		volume_row_done(&volume);
		return rc;
	}
	*ret = volume;
	return 0;
}

int archive_row_read(const PGresult *result, int row, struct volume_row *ret)
{
	int state = enum_value(archive_state_words, ARCHIVE_STATE_COUNT,
			       db_text(result, row, ARCHIVE_WORK_STATE, ""));

	if (state < 0)
		return E_MALFORMED;
	*ret = (struct volume_row){
		.id = db_int(result, row, ARCHIVE_WORK_ID, 0),
		.archive = true,
		.archive_state = (enum archive_state)state,
		.absent = db_bool(result, row, ARCHIVE_WORK_ABSENT),
		.size_bytes = db_int(result, row, ARCHIVE_WORK_SIZE_BYTES, 0),
		.volume = db_int(result, row, ARCHIVE_WORK_VOLUME, 0),
	};
	(void)text_copy(ret->name, sizeof(ret->name), db_text(result, row, ARCHIVE_WORK_NAME, ""));
	(void)text_copy(ret->tenant, sizeof(ret->tenant),
			db_text(result, row, ARCHIVE_WORK_TENANT, ""));
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
	return db_submit(db, &volume_made_query, params, fn, context);
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
	return db_submit(db, &volume_refused_query, params, fn, context);
}

static int save_odd_logins(struct db *db, const struct storage_claim *claim,
			   const struct volume_row *row, const struct volume_done *done,
			   db_result_fn fn, void *context)
{
	char id[24];
	char storage[24];
	char generation[24];
	char logins[24];
	const char *params[] = {id, storage, generation, logins};

	storage_volume_store_number(id, row->id);
	storage_volume_store_number(storage, claim->id);
	storage_volume_store_number(generation, claim->generation);
	storage_volume_store_number(logins, (int64_t)done->odd_logins);
	return db_submit(db, &volume_login_cut_query, params, fn, context);
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
	return db_submit(db, &volume_served_query, params, fn, context);
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
	return db_submit(db, &archive_done_query, params, fn, context);
}

int volume_store_done(struct db *db, const struct storage_claim *claim,
		      const struct volume_row *row, const struct volume_done *done, db_result_fn fn,
		      void *context)
{
	if (row->archive)
		return save_archive(db, claim, row, done, fn, context);
	if (volume_steps[done->action].event)
		return save_made(db, claim, row, done, fn, context);
	if (problem_is_set(&done->problem))
		return save_refused(db, claim, row, done, fn, context);
	return done->odd_logins ? save_odd_logins(db, claim, row, done, fn, context)
				: save_served(db, claim, row, done, fn, context);
}

int volume_store_progress(struct db *db, bool archives, const char *ids, const char *bytes)
{
	const char *params[] = {ids, bytes};

	return db_submit(db, archives ? &archive_progress_query : &volume_progress_query, params,
			 NULL, NULL);
}
