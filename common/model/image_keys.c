#include "common/model/image_keys.h"

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

#define FILE_LIMIT     512
#define KEY_HEX_DIGITS ((size_t)IMAGE_KEY_TEXT_SIZE - 1)

struct image_keys {
	size_t count;
	struct image_key rows[IMAGE_KEYS_MAX];
};

static int image_keys_is_key_file(const struct dirent *entry)
{
	const char *end = strrchr(entry->d_name, '.');

	return end && strcmp(end, ".pub") == 0 && entry->d_name[0] != '.';
}

int image_key_parse(const char *text, struct image_key *ret)
{
	char digest[DIGEST_TEXT_SIZE];

	if (strlen(text) != KEY_HEX_DIGITS || hex_decode(text, ret->bytes, sizeof(ret->bytes)) != 0)
		return E_MALFORMED;
	(void)text_copy(ret->text, sizeof(ret->text), text);
	digest_text(ret->bytes, sizeof(ret->bytes), digest);
	(void)text_format(ret->id, sizeof(ret->id), "%.16s", digest);
	return 0;
}

static int image_keys_read_key(const char *folder, const char *name, struct image_key *ret,
			       struct problem *problem)
{
	CLEANUP(freep) char *text = NULL;
	size_t size = 0;
	int rc = text_format(ret->path, sizeof(ret->path), "%s/%s", folder, name)
			 ? file_read(ret->path, FILE_LIMIT, &text, &size)
			 : -ENAMETOOLONG;

	if (rc != 0)
		return problem_set(problem, rc, "key %s/%s cannot be read: %s", folder, name,
				   error_text(rc));
	text[strcspn(text, " \r\n")] = '\0';
	if (image_key_parse(text, ret) == 0)
		return 0;
	(void)problem_set(problem, E_MALFORMED, "%s is not a public key", ret->path);
	problem_hint(problem, "one line of %zu hex digits (ed25519)", KEY_HEX_DIGITS);
	return E_MALFORMED;
}

static void entries_free(struct dirent **entries, int count)
{
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
}

int image_keys_read(const char *folder, struct image_keys **ret, struct problem *problem)
{
	struct image_keys *keys = calloc(1, sizeof(*keys));
	struct dirent **entries = NULL;
	int count;
	int rc = 0;

	if (!keys)
		return problem_set(problem, -ENOMEM, "out of memory");
	count = scandir(folder, &entries, image_keys_is_key_file, alphasort);
	if (count < 0 && errno != ENOENT)
		rc = problem_set(problem, -errno, "folder %s cannot be read: %s", folder,
				 error_text(-errno));
	if (count > IMAGE_KEYS_MAX)
		rc = problem_set(problem, E_LIMIT, "folder %s holds more than %d keys", folder,
				 IMAGE_KEYS_MAX);
	for (int i = 0; rc == 0 && i < count; i++)
		rc = image_keys_read_key(folder, entries[i]->d_name, &keys->rows[keys->count++],
					 problem);
	if (count > 0)
		entries_free(entries, count);
	if (rc != 0) {
		free(keys);
		return rc;
	}
	*ret = keys;
	return 0;
}

void image_keys_free(struct image_keys *keys)
{
	free(keys);
}

void image_keys_freep(struct image_keys **keys)
{
	image_keys_free(*keys);
}

size_t image_keys_count(const struct image_keys *keys)
{
	return keys->count;
}

const struct image_key *image_keys_at(const struct image_keys *keys, size_t index)
{
	return &keys->rows[index];
}

int image_keys_verify(const struct image_keys *keys, const char *signature, const void *data,
		      size_t size, char ret_id[IMAGE_KEY_ID_SIZE])
{
	unsigned char bytes[crypto_sign_BYTES];

	if (hex_decode(signature, bytes, sizeof(bytes)) != 0)
		return E_DIGEST;
	for (size_t i = 0; i < keys->count; i++) {
		if (crypto_sign_verify_detached(bytes, data, size, keys->rows[i].bytes) == 0) {
			(void)text_copy(ret_id, IMAGE_KEY_ID_SIZE, keys->rows[i].id);
			return 0;
		}
	}
	return E_DIGEST;
}

int image_keys_find(const struct image_keys *keys, const char *public_key,
		    char ret_id[IMAGE_KEY_ID_SIZE])
{
	unsigned char bytes[crypto_sign_PUBLICKEYBYTES];

	if (hex_decode(public_key, bytes, sizeof(bytes)) != 0)
		return E_NOT_FOUND;
	for (size_t i = 0; i < keys->count; i++) {
		if (memcmp(bytes, keys->rows[i].bytes, sizeof(bytes)) == 0) {
			(void)text_copy(ret_id, IMAGE_KEY_ID_SIZE, keys->rows[i].id);
			return 0;
		}
	}
	return E_NOT_FOUND;
}
