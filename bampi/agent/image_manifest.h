/* An image's manifest and its signature (docs/architecture.md, "What an image is"): ed25519 (RFC
 * 8032) over the exact bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hex.h"
#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/http/json_reader.h"

#define IMAGE_KEY_SIZE       32
#define IMAGE_KEY_LIMIT      16
#define IMAGE_SIGNATURE_SIZE 64

struct agent_env;

struct image_manifest {
	char name[128];
	char version[64];
	uint8_t digest[DIGEST_SIZE]; /* of the raw disk */
	uint8_t stored_digest[DIGEST_SIZE];
	uint64_t size_bytes;
	uint64_t stored_bytes;
	uint32_t root_partition;
};

struct image_keys {
	uint8_t keys[IMAGE_KEY_LIMIT][IMAGE_KEY_SIZE];
	size_t count;
};

/* The manifest of write_image's params. A JSON string holds the exact signed bytes. An object has
 * lost them (jsonb keeps no order), so the signature is then tried on the serialisations that mean
 * the same object: compact, keys in the order of the documentation or sorted, with and without a
 * last newline. `keys` NULL = the signature is not looked at. E_MALFORMED, E_DIGEST. */
MUST_USE int image_manifest_read(json_t *manifest, const char *signature,
				 const struct image_keys *keys, struct image_manifest *ret,
				 struct problem *problem);
/* /etc/haas/image-keys/ *.pub and /etc/haas/image.pub, each 32 raw bytes or 64 hex digits. A file
 * that is neither is a problem: a key that somebody meant to be there must not be skipped in
 * silence. */
MUST_USE int image_keys_load(const struct agent_env *env, struct image_keys *ret,
			     struct problem *problem);
