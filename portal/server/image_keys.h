/* The public keys that may sign images: files *.pub of one folder, 64 hex digits each (ed25519). */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"

#define IMAGE_KEY_ID_SIZE 17

struct image_keys;

/* A folder that does not exist has no keys. A file that is no key is a problem that names it. */
MUST_USE int image_keys_read(const char *folder, struct image_keys **ret, struct problem *problem);
void image_keys_free(struct image_keys *keys);
size_t image_keys_count(const struct image_keys *keys);
/* Who signed: the id of the key (first 16 hex digits of the BLAKE2b-256 of it), or E_DIGEST.
 * `signature` is 128 hex digits. */
MUST_USE int image_keys_verify(const struct image_keys *keys, const char *signature,
			       const void *data, size_t size, char ret_id[IMAGE_KEY_ID_SIZE]);
