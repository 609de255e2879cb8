/* The public keys that a check of certificates trusts, and when each may have signed. */
#pragma once

#include <jansson.h>

#include "common/model/certificate.h"

#include "portal/cli/haasctl.h"

#define CERTIFICATE_KEYS_MAX 64

struct certificate_keys {
	struct certificate_signer
		rows[CERTIFICATE_KEYS_MAX + 1]; /* ends with a row without a key */
	size_t count;
	char *files[CERTIFICATE_KEYS_MAX];        /* holds keys that were given by hand */
	json_t *statements[CERTIFICATE_KEYS_MAX]; /* holds what keys say of those after them */
	json_t *list;                             /* holds the list */
	char used[CERTIFICATE_KEYS_MAX][2 * CERTIFICATE_PUBLIC_KEY_SIZE + 1]; /* oldest first */
	size_t used_count;
};

/* Keys that a person trusts: files of one key in hex each. EXIT_OK, or told. */
MUST_USE int certificate_keys_read(struct certificate_keys *keys, const char *const *paths);
/* The list of `certificate keys`. Where keys were read before, only those of the list are trusted that
 * follow from one of them; else all. EXIT_OK, or told. */
MUST_USE int certificate_keys_take(struct certificate_keys *keys, json_t *list);
/* The list of a file. EXIT_OK, or told. */
MUST_USE int certificate_keys_read_list(struct certificate_keys *keys, const char *path);
/* The next of a chain, as a row of the API, signed by one of the keys. `time` is the member of its body with
 * the time. */
MUST_USE int certificate_keys_next(struct certificate_keys *keys, struct certificate_chain *chain,
				   const json_t *row, const char *time, struct problem *problem);
/* Prints each key that was noted, with the time from which, and until when, it may have signed. */
void certificate_keys_tell(const struct certificate_keys *keys);
void certificate_keys_done(struct certificate_keys *keys);
