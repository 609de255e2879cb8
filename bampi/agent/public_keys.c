#include "bampi/agent/public_keys.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/io/file.h"

#include "bampi/agent/sysfs.h"
#include "bampi/agent/task.h"

static int public_keys_read(const char *path, struct public_keys *ret, struct problem *problem)
{
	CLEANUP(freep) char *data = NULL;
	size_t size = 0;
	int rc = file_read(path, 256, &data, &size);

	if (rc)
		return problem_set(problem, rc, "the public key %s cannot be read: %s", path,
				   error_text(rc));
	if (ret->count == PUBLIC_KEY_LIMIT)
		return problem_set(problem, E_LIMIT, "more than %d public keys beside %s",
				   PUBLIC_KEY_LIMIT, path);
	if (size == PUBLIC_KEY_SIZE) {
		memcpy(ret->keys[ret->count++], data, PUBLIC_KEY_SIZE);
		return 0;
	}
	while (size > 0 &&
	       (data[size - 1] == '\n' || data[size - 1] == '\r' || data[size - 1] == ' '))
		data[--size] = '\0';
	if (hex_decode(data, ret->keys[ret->count], PUBLIC_KEY_SIZE) != 0) {
		(void)problem_set(problem, E_MALFORMED, "the file %s holds no ed25519 public key",
				  path);
		problem_hint(problem, "32 raw bytes or 64 hex digits are expected");
		return problem->code;
	}
	ret->count++;
	return 0;
}

int public_keys_load(const struct agent_env *env, const char *folder, struct public_keys *ret,
		     struct problem *problem)
{
	char names[PUBLIC_KEY_LIMIT + 1][64];
	size_t count = sysfs_names(env, folder, names, COUNT_OF(names));
	struct public_keys keys = {0};
	char path[SYSFS_PATH_SIZE];
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++) {
		size_t size = strlen(names[i]);

		if (size > 4 && strcmp(names[i] + size - 4, ".pub") == 0 &&
		    sysfs_path(env, path, "%s/%s", folder, names[i]))
			rc = public_keys_read(path, &keys, problem);
	}
	if (!rc)
		*ret = keys;
	return rc;
}

bool public_keys_verify(const struct public_keys *keys, const void *bytes, size_t size,
			const uint8_t signature[PUBLIC_SIGNATURE_SIZE])
{
	for (size_t i = 0; i < keys->count; i++)
		if (crypto_sign_verify_detached(signature, bytes, size, keys->keys[i]) == 0)
			return true;
	return false;
}
