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

#include "bampi/agent/public_keys.h"

struct image_manifest {
	char name[128];
	char version[64];
	char arch[16];               /* as uname(2) has it */
	uint8_t digest[DIGEST_SIZE]; /* of the raw disk */
	uint8_t stored_digest[DIGEST_SIZE];
	uint64_t size_bytes;
	uint64_t stored_bytes;
	uint32_t root_partition;
};

/* The manifest of write_image's params. A JSON string holds the exact signed bytes. An object has
 * lost them (jsonb keeps no order), so the signature is then tried on the serialisations that mean
 * the same object: compact, keys in the order of the documentation or sorted, with and without a
 * last newline. E_MALFORMED, E_DIGEST. */
MUST_USE int image_manifest_read(json_t *manifest, const char *signature,
				 const struct public_keys *keys, struct image_manifest *ret,
				 struct problem *problem);
/* What it says, whoever says it. */
MUST_USE int image_manifest_decode(json_t *manifest, struct image_manifest *ret,
				   struct problem *problem);
