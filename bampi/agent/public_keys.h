/* Public keys that were built into the ramdisk: whose images, and whose tasks, the agent believes
 * (ed25519, RFC 8032). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#define PUBLIC_KEY_SIZE       32
#define PUBLIC_KEY_LIMIT      16
#define PUBLIC_SIGNATURE_SIZE 64

#define PUBLIC_KEYS_OF_IMAGES "/etc/haas/image-keys"
#define PUBLIC_KEYS_OF_TASKS  "/etc/haas/task-keys"

struct agent_env;

struct public_keys {
	uint8_t keys[PUBLIC_KEY_LIMIT][PUBLIC_KEY_SIZE];
	size_t count;
};

/* All *.pub of a folder, each 32 raw bytes or 64 hex digits; an absent folder holds none. A file
 * that is no key is a problem: a key that somebody meant to be there must not be skipped in
 * silence. */
MUST_USE int public_keys_load(const struct agent_env *env, const char *folder,
			      struct public_keys *ret, struct problem *problem);
/* Whether one of them signed exactly these bytes. */
bool public_keys_verify(const struct public_keys *keys, const void *bytes, size_t size,
			const uint8_t signature[PUBLIC_SIGNATURE_SIZE]);
