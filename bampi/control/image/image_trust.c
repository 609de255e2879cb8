#include "bampi/control/image/image_trust.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/io/file.h"

#define KEY_FILE_MAX   1024
#define SIGNATURE_SIZE 64

static int image_trust_read_key(const char *path, uint8_t ret[IMAGE_TRUST_KEY_SIZE],
				struct problem *problem)
{
	CLEANUP(freep) char *content = NULL;
	size_t size;
	int rc = file_read(path, KEY_FILE_MAX, &content, &size);

	if (rc)
		return problem_set(problem, rc, "image key %s: %s", path, error_text(rc));
	if (size == IMAGE_TRUST_KEY_SIZE) {
		memcpy(ret, content, IMAGE_TRUST_KEY_SIZE);
		return 0;
	}
	while (size > 0 && isspace((unsigned char)content[size - 1]))
		content[--size] = '\0';
	if (hex_decode(content, ret, IMAGE_TRUST_KEY_SIZE) == 0)
		return 0;
	(void)problem_set(problem, E_MALFORMED, "image key %s is not an ed25519 public key", path);
	problem_hint(problem, "it must hold 32 raw bytes or 64 hex digits");
	return problem->code;
}

static int image_trust_is_key_file(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 4 && entry->d_name[0] != '.' &&
	       strcmp(entry->d_name + length - 4, ".pub") == 0;
}

int image_trust_load(const char *folder, struct image_trust *ret, struct problem *problem)
{
	struct image_trust trust = {0};
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, image_trust_is_key_file, alphasort);
	int rc = 0;

	if (count < 0 && errno == ENOENT) {
		*ret = trust;
		return 0;
	}
	if (count < 0)
		return problem_set(problem, -errno, "image keys %s: %s", folder,
				   error_text(-errno));
	for (int i = 0; i < count; i++) {
		char path[4096];

		if (rc == 0 && trust.count == IMAGE_TRUST_KEYS_MAX)
			rc = problem_set(problem, E_LIMIT, "image keys %s: more than %d", folder,
					 IMAGE_TRUST_KEYS_MAX);
		if (rc == 0 &&
		    !text_format(path, sizeof(path), "%s/%s", folder, entries[i]->d_name))
			rc = problem_set(problem, E_LIMIT, "image keys %s: path too long", folder);
		if (rc == 0)
			rc = image_trust_read_key(path, trust.keys[trust.count], problem);
		if (rc == 0)
			trust.count++;
		free(entries[i]);
	}
	free(entries);
	if (rc == 0)
		*ret = trust;
	return rc;
}

int image_trust_verify(const struct image_trust *trust, const char *manifest, const char *signature,
		       struct problem *problem)
{
	uint8_t bytes[SIGNATURE_SIZE];

	if (hex_decode(signature, bytes, sizeof(bytes)) == 0)
		for (size_t i = 0; i < trust->count; i++)
			if (crypto_sign_verify_detached(bytes, (const unsigned char *)manifest,
							strlen(manifest), trust->keys[i]) == 0)
				return 0;
	(void)problem_set(problem, E_DIGEST,
			  "the image's manifest is not signed by a key that we trust");
	problem_detail(problem, "tried %zu keys", trust->count);
	problem_hint(problem,
		     "put the signer's public key into image_keys (bampid.conf) and reload bampid");
	return problem->code;
}
