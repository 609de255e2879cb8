/* Certificates of erasure (docs/story/certificate.md): a body in one canonical form, its
 * BLAKE2b-256 hash, an ed25519 signature (RFC 8032) over the body. Each body names the hash of the
 * one before, so none can be removed or slipped in later. Made by bampid, checked by anyone without
 * us: everything here is pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hex.h"
#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/base/text.h"

#define CERTIFICATE_SECRET_KEY_SIZE     64 /* ed25519: seed and public key */
#define CERTIFICATE_PUBLIC_KEY_SIZE     32
#define CERTIFICATE_SIGNATURE_TEXT_SIZE 129
#define CERTIFICATE_FIRST_HASH          "0000000000000000000000000000000000000000000000000000000000000000"

struct certificate_drive {
	const char *serial, *name, *model;
	int64_t size_bytes;
	const char *method;  /* how it was erased: "nvme_format_crypto" */
	const char *verdict; /* erased, skipped */
	const char *reason;
	const char *verified; /* what reading back said: "verified", or "" when it was not read */
	int64_t samples, nonzero; /* places read back; of them not zero */
};

/* Times in RFC 3339, UTC. Strings are UTF-8, NULL counts as "". */
struct certificate_facts {
	const char *previous_hash;
	const char *node, *serial;
	int64_t deployment_id;
	const char *tenant; /* who held the node; "" = the operator */
	const char *asked_by, *asked_at;
	const char *issued_at;
	const struct certificate_drive *drives;
	size_t drive_count;
};

struct certificate {
	const char *body;
	const char *previous_hash, *hash, *signature, *public_key; /* hex */
	const char *issued_at; /* as the body says; NULL: its time is not compared with its key's */
};

/* A key that may sign (hex), and when. RFC 3339 as clock_text writes it; NULL: no bound. */
struct certificate_signer {
	const char *public_key;
	const char *since, *until;
};

/* Members in a fixed order, no white space. */
void certificate_body(const struct certificate_facts *facts, struct text *ret);
void certificate_sign(const char *body, const uint8_t secret_key[CERTIFICATE_SECRET_KEY_SIZE],
		      char ret_hash[DIGEST_TEXT_SIZE],
		      char ret_signature[CERTIFICATE_SIGNATURE_TEXT_SIZE]);

/* Checking a chain from its first certificate on, row by row in the order of their ids. What bampid
 * else signs in a chain has bodies of the same beginning, with a format and a noun of its own. */
struct certificate_chain {
	const char *format, *noun;
	char head[DIGEST_TEXT_SIZE]; /* hash of the last good one; CERTIFICATE_FIRST_HASH before the
					first */
	size_t count;
};
struct certificate_chain certificate_chain(void);
/* 0, or E_DIGEST with a problem that names what does not fit: order, hash, signature, a key that is
 * none of `signers`, or a time at which its key signed nothing. `signers` ends with a row without a
 * key; NULL = any key, the caller shows them. After an error the chain is as it was. */
MUST_USE int certificate_chain_next(struct certificate_chain *chain, const struct certificate *next,
				    const struct certificate_signer signers[],
				    struct problem *problem);

/* --- a new key --- */

/* What the key before says of a new one, and signs: {"format", "follows", "public_key", "since"}. */
void certificate_key_statement(const char *follows, const char *public_key, const char *since,
			       struct text *ret);
/* Has `follows` (hex) signed the statement? */
bool certificate_key_vouched(const char *statement, const char *signature, const char *follows);
