/* The key of one boot's agent (docs/decision/signed-tasks.md): ed25519. It signs results. What is
 * sealed to it is sealed to the X25519 key that follows from it, so one text names the agent. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/hex.h"
#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/seal_key.h"
#include "common/net/result_wire.h"

#define AGENT_KEY_SIZE 32

struct agent_key;

/* Reads the seed from the file, or makes it when the file is missing. Draws from the kernel, which may
 * wait until its generator is seeded (seal_key_seeded). As seal_key_load otherwise. */
MUST_USE int agent_key_load(const char *path, struct agent_key **ret, struct problem *problem);
/* A key that is gone with the process: for simulated agents. -ENOMEM, -EIO. */
MUST_USE int agent_key_make(struct agent_key **ret);
/* NULL is fine. */
void agent_key_free(struct agent_key *key);
/* The public key, hex; borrowed. */
const char *agent_key_text(const struct agent_key *key);
void agent_key_sign(const struct agent_key *key, const char *statement,
		    char ret[RESULT_SIGNATURE_TEXT_SIZE]);
/* As seal_key_seal: needs the public key only. E_MALFORMED: it is no key. */
MUST_USE int agent_key_seal(const uint8_t public_key[AGENT_KEY_SIZE], const char *secret,
			    uint8_t *ret, size_t *ret_size);
/* As seal_key_open. */
MUST_USE int agent_key_open(const struct agent_key *key, const uint8_t *sealed, size_t size,
			    char *ret, size_t room);
