#include "bampi/storage/stored_key.h"

#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/seal_rotation.h"
#include "common/io/file.h"
#include "common/io/key_file.h"

#include "bampi/storage/volume_store.h"

struct stored_key {
	char path[PATH_MAX];
	struct seal_key_file file;
	struct seal_key *seal;
	uint8_t mark[STORAGE_MARK_KEY_SIZE];
	struct db *db;
	struct seal_rotation *rotation;
};

static void stored_key_make_mark(uint8_t ret[])
{
	key_file_draw(ret, STORAGE_MARK_KEY_SIZE);
}

static int stored_key_load_mark(const char *folder, struct stored_key *key, struct problem *problem)
{
	char path[PATH_MAX];
	const struct key_file file = {
		.path = path,
		.what = "key of targets",
		.size = sizeof(key->mark),
		.make = stored_key_make_mark,
		.exposed_hint = "make it 0600; who has read it can pass a target off as ours: "
				"remove it, then restart tgtd and bampi-stored",
	};

	if (!text_format(path, sizeof(path), "%s/stored-targets.key", folder))
		return problem_set(problem, E_LIMIT, "key_dir is too long");
	return key_file_load(&file, key->mark, problem);
}

static const struct seal_key *stored_key_present(void *context)
{
	return stored_key_get(context);
}

/* portald seals to it from now on: the row is written before any that is sealed anew. */
static int stored_key_reload(void *context, struct problem *problem)
{
	struct stored_key *key = context;
	int rc = seal_key_reload(&key->file, &key->seal, problem);

	if (rc)
		return rc;
	rc = storage_store_publish(key->db, key->seal);
	return rc ? problem_set(problem, rc, "the public key of the storage was not published") : 0;
}

int stored_key_new(const char *folder, struct stored_key **ret, struct problem *problem)
{
	struct stored_key *key = calloc(1, sizeof(*key));
	int rc;

	if (!key)
		return problem_set(problem, -ENOMEM, "no memory");
	key->file = (struct seal_key_file){
		.path = key->path,
		.what = "key of volumes' secrets",
		.exposed_hint = "make it 0600; the secrets of volumes may be known: make new ones",
	};
	rc = file_make_folder(folder, 0700);
	if (rc)
		(void)problem_set(problem, rc, "key_dir %s: %s", folder, error_text(rc));
	else if (!text_format(key->path, sizeof(key->path), "%s/stored-seal.key", folder))
		rc = problem_set(problem, E_LIMIT, "key_dir is too long");
	else
		rc = seal_key_load(&key->file, &key->seal, problem);
	if (rc == 0)
		rc = stored_key_load_mark(folder, key, problem);
	if (rc) {
		stored_key_free(key);
		return rc;
	}
	*ret = key;
	return 0;
}

int stored_key_start(struct stored_key *key, struct loop *loop, struct db *db)
{
	key->db = db;
	return seal_rotation_new(loop,
				 &(struct seal_rotation_options){.db = db,
								 .daemon = "bampi-stored",
								 .file = &key->file,
								 .key = stored_key_present,
								 .reload = stored_key_reload,
								 .context = key},
				 &key->rotation);
}

void stored_key_free(struct stored_key *key)
{
	if (!key)
		return;
	seal_rotation_free(key->rotation);
	seal_key_free(key->seal);
	sodium_memzero(key->mark, sizeof(key->mark));
	free(key);
}

const struct seal_key *stored_key_get(const struct stored_key *key)
{
	return key->seal;
}

const uint8_t *stored_key_mark(const struct stored_key *key)
{
	return key->mark;
}

void stored_key_wake(struct stored_key *key)
{
	if (key->rotation)
		seal_rotation_wake(key->rotation);
}

void stored_key_db_state(struct stored_key *key, bool connected)
{
	if (key->rotation)
		seal_rotation_db_state(key->rotation, connected);
}
