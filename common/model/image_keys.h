/* The public keys that may sign images: files *.pub of one folder, 64 hex digits each (ed25519). */
#pragma once

#include <sodium.h>
#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#define IMAGE_KEYS_MAX      64
#define IMAGE_KEY_ID_SIZE   17
#define IMAGE_KEY_TEXT_SIZE (2 * crypto_sign_PUBLICKEYBYTES + 1)
#define IMAGE_KEY_PATH_SIZE 512

struct image_key {
	unsigned char bytes[crypto_sign_PUBLICKEYBYTES];
	char text[IMAGE_KEY_TEXT_SIZE]; /* in hex */
	char id[IMAGE_KEY_ID_SIZE];     /* the first 16 hex digits of its BLAKE2b-256 */
	char path[IMAGE_KEY_PATH_SIZE];
};
struct image_keys;

/* A folder that does not exist has no keys. A file that is no key is a problem that names it; so are more
 * than IMAGE_KEYS_MAX files. */
MUST_USE int image_keys_read(const char *folder, struct image_keys **ret, struct problem *problem);
void image_keys_free(struct image_keys *keys);
void image_keys_freep(struct image_keys **keys);
size_t image_keys_count(const struct image_keys *keys);
/* In the order of the names of their files. */
const struct image_key *image_keys_at(const struct image_keys *keys, size_t index);
/* Is the public key (hex) one of them? Its id, or E_NOT_FOUND. */
MUST_USE int image_keys_find(const struct image_keys *keys, const char *public_key,
			     char ret_id[IMAGE_KEY_ID_SIZE]);
/* Who signed: the id of the key, or E_DIGEST. `signature` is 128 hex digits. */
MUST_USE int image_keys_verify(const struct image_keys *keys, const char *signature,
			       const void *data, size_t size, char ret_id[IMAGE_KEY_ID_SIZE]);
/* A public key in hex; `path` stays as it is. E_MALFORMED. */
MUST_USE int image_key_parse(const char *text, struct image_key *ret);
