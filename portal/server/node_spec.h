/* Bodies of node routes -> the specs that node_put takes, with passwords sealed. */
#pragma once

#include "common/http/json_reader.h"

#include "portal/server/error_list.h"

/* Says in `errors` what is wrong with the body of POST /nodes (`patch` false) or PATCH. */
void node_body_check(json_t *body, bool patch, struct error_list *errors);
/* Says in `errors` what is wrong with the elements of "nodes". */
void node_names_check(const json_t *body, struct error_list *errors);
/* "nodes" as an array literal of PostgreSQL. */
void node_names_array(const json_t *body, struct text *ret);
/* What the specs say without their passwords, as canonical JSON: for the digest of the
 * Idempotency-Key. Caller frees; NULL without memory. */
char *node_specs_digest_text(const json_t *specs);
/* Replaces bmc.password by bmc.password_sealed in an array of specs. `public_key` NULL: refused
 * when there is a password. */
MUST_USE int node_specs_seal(json_t *specs, const char *public_key, struct problem *problem);
