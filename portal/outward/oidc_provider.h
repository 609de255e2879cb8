/* Providers of OpenID Connect that people of the site log in by: a file each, NAME.conf, in one folder.
 * What a provider says of itself is kept beside it for a while. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#define OIDC_PROVIDERS_MAX 16
#define OIDC_NAME_SIZE     33
#define OIDC_SECRET_LIMIT  4096

/* NAME.conf; the rows are in oidc_provider.c. */
struct oidc_conf {
	char *issuer, *client_id, *scopes;
	char *client_secret_file; /* "" = a client without a secret */
};

struct oidc_provider {
	char name[OIDC_NAME_SIZE];
	struct oidc_conf conf;
	char *secret; /* "" = none */
	/* What it told: NULL = not asked yet. */
	json_t *about; /* of OpenID Connect Discovery */
	json_t *keys;
	int64_t about_until_ms, keys_until_ms;
};

struct oidc_book {
	struct oidc_provider rows[OIDC_PROVIDERS_MAX];
	size_t count;
};

/* Reads all; a folder that is not there has none. A problem names the file. */
MUST_USE int oidc_book_read(const char *folder, struct oidc_book *ret, struct problem *problem);
void oidc_book_done(struct oidc_book *book);
/* NULL: there is none of that name. */
struct oidc_provider *oidc_book_find(struct oidc_book *book, const char *name);
