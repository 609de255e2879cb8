#include "portal/server/login_key.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/seal_rotation.h"
#include "common/io/file.h"
#include "common/io/log.h"
#include "common/io/seal_key.h"

#include "portal/server/portal.h"

struct login_key {
	const char *folder;
	char path[PATH_MAX];
	struct seal_key_file file;
	struct seal_key *key; /* NULL: not wanted yet */
	struct seal_rotation *rotation;
};

static int login_key_load(void *context, struct problem *problem)
{
	struct login_key *key = context;
	int rc = file_make_folder(key->folder, 0700);

	if (rc)
		return problem_set(problem, rc, "key_dir %s cannot be made: %s", key->folder,
				   error_text(rc));
	return seal_key_reload(&key->file, &key->key, problem);
}

static const struct seal_key *login_key_present(void *context)
{
	const struct login_key *key = context;

	return key->key;
}

int login_key_get(struct login_key *key, const struct seal_key **ret, struct problem *problem)
{
	int rc = key->key ? 0 : login_key_load(key, problem);

	if (rc == 0)
		*ret = key->key;
	return rc;
}

void login_key_db_state(struct login_key *key, bool connected)
{
	if (key)
		seal_rotation_db_state(key->rotation, connected);
}

int login_key_new(struct portal *portal, struct login_key **ret, struct problem *problem)
{
	struct login_key *key = calloc(1, sizeof(*key));
	int rc;

	if (!key)
		return problem_set(problem, -ENOMEM, "no memory");
	key->folder = portal->conf->key_dir;
	key->file = (struct seal_key_file){
		.path = key->path,
		.what = "key of second factors",
		.exposed_hint = "chmod 0600 it; who has read it knows the secrets of "
				"authenticators: reset them"};
	if (!text_format(key->path, sizeof(key->path), "%s/login.key", key->folder))
		rc = problem_set(problem, E_LIMIT, "key_dir %s is too long", key->folder);
	else
		rc = seal_rotation_new(portal->loop,
				       &(struct seal_rotation_options){.db = portal->db,
								       .daemon = "portald",
								       .file = &key->file,
								       .key = login_key_present,
								       .reload = login_key_load,
								       .context = key},
				       &key->rotation);
	if (rc) {
		login_key_free(key);
		return rc;
	}
	*ret = key;
	return 0;
}

void login_key_free(struct login_key *key)
{
	if (!key)
		return;
	seal_rotation_free(key->rotation);
	seal_key_free(key->key);
	free(key);
}
