/* bampid's side of certificates: its signing key, and the body for one release
 * (common/model/certificate.h has form and proof). */
#pragma once

#include <jansson.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/model/certificate.h"

#include "bampi/control/deploy/step.h"

struct certificate_key {
	uint8_t secret[CERTIFICATE_SECRET_KEY_SIZE];
	char public_text[2 * CERTIFICATE_PUBLIC_KEY_SIZE + 1];
};

/* Reads the key, or makes it (mode 0600) when the file is not there. A file that others may read is
 * refused. */
MUST_USE int certificate_key_load(const char *path, struct certificate_key *ret,
				  struct problem *problem);
void certificate_key_wipe(struct certificate_key *key);

/* The row to insert: {deployment_id, node, body, previous_hash, hash, signature, public_key}. From
 * the results of this release's erase and verify_erased. NULL = no memory. */
MUST_USE json_t *certificate_row(const struct facts *facts, int64_t now_ms,
				 const char *previous_hash, const struct certificate_key *key);
