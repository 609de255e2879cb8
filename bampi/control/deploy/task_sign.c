#include "bampi/control/deploy/task_sign.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"
#include "common/io/key_file.h"

static void task_sign_make_key(uint8_t ret[])
{
	uint8_t public_key[TASK_PUBLIC_KEY_SIZE];

	(void)crypto_sign_keypair(public_key, ret);
}

/* Whoever builds the ramdisk reads this file. */
static int task_sign_publish(const char *path, const struct task_key *key, struct problem *problem)
{
	CLEANUP(freep) char *content = NULL;
	char line[sizeof(key->public_text) + 1];
	size_t size = 0;
	int rc;

	(void)text_format(line, sizeof(line), "%s\n", key->public_text);
	if (file_read(path, sizeof(line), &content, &size) == 0 && strcmp(content, line) == 0)
		return 0;
	rc = file_write_atomic(path, line, strlen(line), 0644);
	return rc ? problem_set(problem, rc, "the task key's public half %s: %s", path,
				error_text(rc))
		  : 0;
}

int task_key_load(const char *folder, struct task_key *ret, struct problem *problem)
{
	char path[4096];
	const struct key_file file = {.path = path,
				      .what = "task key",
				      .size = TASK_SECRET_KEY_SIZE,
				      .make = task_sign_make_key,
				      .exposed_hint = "chmod 600, and think about who has read it"};
	uint8_t public_key[TASK_PUBLIC_KEY_SIZE];
	struct task_key key = {0};
	int rc;

	if (!text_format(path, sizeof(path), "%s/bampid-task.key", folder))
		return problem_set(problem, E_LIMIT, "key_dir is too long");
	rc = key_file_load(&file, key.secret, problem);
	if (rc)
		return rc;
	(void)crypto_sign_ed25519_sk_to_pk(public_key, key.secret);
	hex_encode(public_key, sizeof(public_key), key.public_text);
	(void)text_format(path, sizeof(path), "%s/bampid-task.pub", folder);
	rc = task_sign_publish(path, &key, problem);
	if (rc == 0)
		*ret = key;
	task_key_wipe(&key);
	return rc;
}

void task_key_wipe(struct task_key *key)
{
	sodium_memzero(key->secret, sizeof(key->secret));
}

json_t *task_sign(const struct task_key *key, struct task_statement *statement,
		  const json_t *params)
{
	CLEANUP(freep) char *text = params ? json_dumps(params, JSON_COMPACT) : strdup("{}");
	char encoded[TASK_STATEMENT_SIZE];
	uint8_t signature[TASK_SIGNATURE_SIZE];
	char signature_text[TASK_SIGNATURE_TEXT_SIZE];

	if (!text)
		return NULL;
	digest_text(text, strlen(text), statement->params);
	if (task_statement_encode(statement, encoded) != 0)
		return NULL;
	(void)crypto_sign_detached(signature, NULL, (const uint8_t *)encoded, strlen(encoded),
				   key->secret);
	hex_encode(signature, sizeof(signature), signature_text);
	return json_pack("{s:s, s:s, s:s}", "statement", encoded, "params", text, "signature",
			 signature_text);
}
