#include "portal/outward/oidc_provider.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/conf.h"
#include "common/io/file.h"

#define OIDC_ENDING     ".conf"
#define OIDC_AT(member) offsetof(struct oidc_conf, member)

/* clang-format off */
static const struct conf_row oidc_conf_rows[] = {
	{"issuer", CONF_TEXT, OIDC_AT(issuer), NULL, 0, 0, NULL, NULL,
	 "as the provider names itself, \"https://login.example\": its configuration lies below"},
	{"client_id", CONF_TEXT, OIDC_AT(client_id), NULL, 0, 0, NULL, NULL,
	 "what the provider calls us; it has to know our redirect URI too"},
	{"client_secret_file", CONF_STRING, OIDC_AT(client_secret_file), "", 0, 0, NULL, NULL,
	 "its first line is the secret; /run/credentials/portal-outward.service/secret_NAME is /etc/haas/secret/portal-outward/NAME; empty = none"},
	{"scopes", CONF_TEXT, OIDC_AT(scopes), "openid", 0, 0, NULL, NULL,
	 "what we ask to be told, separated by blanks; openid is one of them"},
};
/* clang-format on */

static int oidc_is_conf(const struct dirent *entry)
{
	const char *end = strrchr(entry->d_name, '.');

	return end && strcmp(end, OIDC_ENDING) == 0 && entry->d_name[0] != '.';
}

static bool oidc_name(const char *file, char ret[OIDC_NAME_SIZE])
{
	size_t length = strlen(file) - strlen(OIDC_ENDING);

	return length > 0 && length < OIDC_NAME_SIZE &&
	       strspn(file, "abcdefghijklmnopqrstuvwxyz0123456789-") == length &&
	       text_format(ret, OIDC_NAME_SIZE, "%.*s", (int)length, file);
}

static int oidc_check(const struct oidc_provider *provider, const char *path,
		      struct problem *problem)
{
	const char *issuer = provider->conf.issuer;

	if (strncmp(issuer, "https://", 8) != 0 || strpbrk(issuer, "?# \t\"")) {
		(void)problem_set(problem, E_MALFORMED, "%s: issuer is \"%s\"", path, issuer);
		problem_hint(problem, "https://HOST or https://HOST/PATH, as the provider says");
		return E_MALFORMED;
	}
	if (strncmp(provider->conf.scopes, "openid", 6) == 0 ||
	    strstr(provider->conf.scopes, " openid"))
		return 0;
	return problem_set(problem, E_MALFORMED, "%s: scopes lack openid", path);
}

static int oidc_read_secret(struct oidc_provider *provider, struct problem *problem)
{
	const char *path = provider->conf.client_secret_file;
	size_t size;
	int rc;

	if (!path[0]) {
		provider->secret = strdup("");
		return provider->secret ? 0 : -ENOMEM;
	}
	rc = file_read(path, OIDC_SECRET_LIMIT, &provider->secret, &size);
	if (rc)
		return problem_set(problem, rc, "client_secret_file %s cannot be read: %s", path,
				   error_text(rc));
	provider->secret[strcspn(provider->secret, "\r\n")] = '\0';
	return provider->secret[0]
		       ? 0
		       : problem_set(problem, E_MALFORMED, "client_secret_file %s is empty", path);
}

static int oidc_read(const char *folder, const char *file, struct oidc_provider *ret,
		     struct problem *problem)
{
	char path[PATH_MAX];
	int rc = text_format(path, sizeof(path), "%s/%s", folder, file) ? 0 : -ENAMETOOLONG;

	if (rc == 0 && !oidc_name(file, ret->name))
		return problem_set(problem, E_MALFORMED,
				   "%s: a provider's name is 1 to 32 of a-z 0-9 -", path);
	if (rc == 0)
		rc = conf_load(path, oidc_conf_rows, COUNT_OF(oidc_conf_rows), &ret->conf, problem);
	if (rc == 0)
		rc = oidc_check(ret, path, problem);
	return rc == 0 ? oidc_read_secret(ret, problem) : rc;
}

int oidc_book_read(const char *folder, struct oidc_book *ret, struct problem *problem)
{
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, oidc_is_conf, alphasort);
	int rc = 0;

	if (count < 0)
		return errno == ENOENT
			       ? 0
			       : problem_set(problem, -errno, "folder %s cannot be read: %s",
					     folder, error_text(-errno));
	if (count > OIDC_PROVIDERS_MAX)
		rc = problem_set(problem, E_LIMIT, "folder %s holds more than %d providers", folder,
				 OIDC_PROVIDERS_MAX);
	for (int i = 0; i < count; i++) {
		if (rc == 0)
			rc = oidc_read(folder, entries[i]->d_name, &ret->rows[ret->count++],
				       problem);
		free(entries[i]);
	}
	free(entries);
	return rc;
}

void oidc_book_done(struct oidc_book *book)
{
	for (size_t i = 0; i < book->count; i++) {
		struct oidc_provider *provider = &book->rows[i];

		if (provider->secret)
			sodium_memzero(provider->secret, strlen(provider->secret));
		free(provider->secret);
		conf_done(oidc_conf_rows, COUNT_OF(oidc_conf_rows), &provider->conf);
		json_decref(provider->about);
		json_decref(provider->keys);
	}
	book->count = 0;
}

struct oidc_provider *oidc_book_find(struct oidc_book *book, const char *name)
{
	for (size_t i = 0; name && i < book->count; i++) {
		if (strcmp(book->rows[i].name, name) == 0)
			return &book->rows[i];
	}
	return NULL;
}
