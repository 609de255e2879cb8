#include "portal/server/identity.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hash_table.h"
#include "common/base/hex.h"
#include "common/base/text.h"

#include "portal/server/account_store_sql.h"
#include "portal/server/portal.h"
#include "portal/server/route.h"

#define IDENTITY_KEEP_MS 5000
#define BOOK_MAX         4096
#define PATH_FRONT       "/api/v1/"

/* One secret or kernel user that was looked up. */
struct identity_row {
	char key[IDENTITY_DIGEST_SIZE + 8]; /* "s:DIGEST", "u:NAME" */
	int64_t until_ms;
	int rc; /* 0 or E_AUTHENTICATION */
	struct identity identity;
	UT_hash_handle hh;
};

struct identity_book {
	struct portal *portal;
	struct identity_row *rows; /* in the order of their arrival */
	uint64_t epoch;            /* grows when all is forgotten */
};

/* A question under way. */
struct identity_question {
	struct identity_book *book;
	char key[IDENTITY_DIGEST_SIZE + 8];
	uint64_t epoch;
	identity_fn fn;
	void *context;
};

int identity_book_new(struct portal *portal, struct identity_book **ret)
{
	struct identity_book *book = calloc(1, sizeof(*book));

	if (!book)
		return -ENOMEM;
	book->portal = portal;
	*ret = book;
	return 0;
}

static void identity_drop(struct identity_book *book, struct identity_row *row)
{
	HASH_DEL(book->rows, row);
	free(row);
}

void identity_book_forget(struct identity_book *book)
{
	if (!book)
		return;
	book->epoch++;
	while (book->rows)
		identity_drop(book, book->rows);
}

void identity_book_free(struct identity_book *book)
{
	identity_book_forget(book);
	free(book);
}

void identity_digest(const char *secret, char ret[IDENTITY_DIGEST_SIZE])
{
	unsigned char digest[crypto_hash_sha256_BYTES];

	(void)crypto_hash_sha256(digest, (const unsigned char *)secret, strlen(secret));
	hex_encode(digest, sizeof(digest), ret);
}

static struct identity_row *identity_remember(struct identity_book *book, const char *key, int rc,
					      const struct identity *identity)
{
	struct identity_row *row;

	HASH_FIND_STR(book->rows, key, row);
	if (row)
		identity_drop(book, row);
	if (HASH_COUNT(book->rows) >= BOOK_MAX)
		identity_drop(book, book->rows);
	row = calloc(1, sizeof(*row));
	if (!row)
		return NULL;
	(void)text_copy(row->key, sizeof(row->key), key);
	row->until_ms = loop_now_ms(book->portal->loop) + IDENTITY_KEEP_MS;
	row->rc = rc;
	if (identity)
		row->identity = *identity;
	HASH_ADD_STR(book->rows, key, row);
	return row;
}

static int identity_demand_of(const char *word)
{
	return strcmp(word, "all") == 0         ? FACTOR_ALL
	       : strcmp(word, "operators") == 0 ? FACTOR_OPERATORS
						: FACTOR_NONE;
}

/* "{node:read,pdci:write}" of PostgreSQL: words without quotes. */
static void identity_read_scopes(const char *array, char ret[IDENTITY_SCOPES_SIZE])
{
	size_t size = strlen(array);

	(void)text_format(ret, IDENTITY_SCOPES_SIZE, "%.*s", size > 2 ? (int)size - 2 : 0,
			  size > 2 ? array + 1 : "");
}

static void identity_read(const PGresult *result, const char *digest, struct identity *ret)
{
	const char *way = db_text(result, 0, IDENTITY_WAY, "");

	*ret = (struct identity){
		.way = strcmp(way, "session") == 0 ? IDENTITY_SESSION
		       : strcmp(way, "token") == 0 ? IDENTITY_TOKEN
						   : IDENTITY_KERNEL,
		.role = role_of_word(db_text(result, 0, IDENTITY_ROLE, "")),
		.second_factor = db_bool(result, 0, IDENTITY_SECOND_FACTOR),
		.demand = identity_demand_of(db_text(result, 0, IDENTITY_DEMAND, "")),
	};
	(void)text_copy(ret->account, sizeof(ret->account),
			db_text(result, 0, IDENTITY_ACCOUNT, ""));
	(void)text_copy(ret->proof, sizeof(ret->proof), db_text(result, 0, IDENTITY_PROOF, ""));
	(void)text_copy(ret->name, sizeof(ret->name), db_text(result, 0, IDENTITY_NAME, ""));
	(void)text_format(ret->actor, sizeof(ret->actor), "account %s", ret->name);
	(void)text_copy(ret->tenant, sizeof(ret->tenant), db_text(result, 0, IDENTITY_TENANT, ""));
	identity_read_scopes(db_text(result, 0, IDENTITY_SCOPES, ""), ret->scopes);
	if (ret->way != IDENTITY_KERNEL)
		(void)text_copy(ret->digest, sizeof(ret->digest), digest);
}

static void identity_on_row(void *context, int rc, const PGresult *result,
			    const struct problem *problem)
{
	struct identity_question *question = context;
	struct identity_book *book = question->book;
	struct identity identity = {0};

	if (rc == 0 && PQntuples(result) == 0)
		rc = E_AUTHENTICATION;
	if (rc == 0)
		identity_read(result, question->key + 2, &identity);
	if (identity.role == ACCOUNT_ROLES) /* a role that this portald does not know */
		rc = E_AUTHENTICATION;
	if ((rc == 0 || rc == E_AUTHENTICATION) && question->epoch == book->epoch)
		(void)identity_remember(book, question->key, rc, &identity);
	question->fn(question->context, rc, &identity, problem);
	free(question);
}

static void identity_ask(struct identity_book *book, const char *key, const struct db_query *query,
			 identity_fn fn, void *context)
{
	const char *params[] = {key + 2};
	struct identity_question *question;
	struct identity_row *row;
	struct problem problem = {0};
	int rc = -ENOMEM;

	HASH_FIND_STR(book->rows, key, row);
	if (row && row->until_ms > loop_now_ms(book->portal->loop)) {
		fn(context, row->rc, &row->identity, NULL);
		return;
	}
	question = calloc(1, sizeof(*question));
	if (question) {
		*question = (struct identity_question){
			.book = book, .epoch = book->epoch, .fn = fn, .context = context};
		(void)text_copy(question->key, sizeof(question->key), key);
		rc = db_submit(book->portal->live, query, params, identity_on_row, question);
	}
	if (rc == 0)
		return;
	free(question);
	(void)problem_set(&problem, rc, "who asks could not be looked up: %s", error_text(rc));
	fn(context, rc, &(struct identity){0}, &problem);
}

static const struct identity_row *identity_find(const struct identity_book *book, const char *key)
{
	struct identity_row *row = NULL;

	HASH_FIND_STR(book->rows, key, row);
	return row && row->until_ms > loop_now_ms(book->portal->loop) ? row : NULL;
}

bool identity_is_remembered(struct identity_book *book, const char *secret)
{
	char key[IDENTITY_DIGEST_SIZE + 8] = "s:";
	const struct identity_row *row;

	identity_digest(secret, key + 2);
	row = identity_find(book, key);
	return row && row->rc == 0;
}

void identity_of_secret(struct identity_book *book, const char *secret, identity_fn fn,
			void *context)
{
	char key[IDENTITY_DIGEST_SIZE + 8] = "s:";

	identity_digest(secret, key + 2);
	identity_ask(book, key, &identity_secret_query, fn, context);
}

void identity_of_user(struct identity_book *book, const char *user, identity_fn fn, void *context)
{
	char key[IDENTITY_DIGEST_SIZE + 8];

	if (text_format(key, sizeof(key), "u:%s", user))
		identity_ask(book, key, &identity_user_query, fn, context);
	else
		fn(context, E_AUTHENTICATION, &(struct identity){0}, NULL);
}

/* --- scopes --- */

/* "node" names the paths of "nodes", "switch" those of "switches". */
static bool identity_noun_fits(const char *noun, size_t length, const char *path)
{
	size_t front = strlen(PATH_FRONT);
	size_t segment;

	if (strncmp(path, PATH_FRONT, front) != 0)
		return false;
	if (length == 1 && noun[0] == '*')
		return true;
	path += front;
	segment = strcspn(path, "/");
	if (segment < length || strncmp(path, noun, length) != 0)
		return false;
	return segment == length || (segment == length + 1 && path[length] == 's') ||
	       (segment == length + 2 && strncmp(path + length, "es", 2) == 0);
}

bool identity_scopes_allow(const char *scopes, const char *path, bool changes)
{
	while (*scopes) {
		size_t size = strcspn(scopes, ",");
		const char *colon = memchr(scopes, ':', size);

		if (colon &&
		    (!changes || strncmp(colon, ":write", size - (size_t)(colon - scopes)) == 0) &&
		    identity_noun_fits(scopes, (size_t)(colon - scopes), path))
			return true;
		scopes += size + (scopes[size] == ',');
	}
	return false;
}

bool identity_scope_is_known(const char *scope)
{
	const char *colon = strchr(scope, ':');

	if (!colon || colon == scope ||
	    (strcmp(colon, ":read") != 0 && strcmp(colon, ":write") != 0))
		return false;
	for (const struct route *const *table = route_tables; *table; table++) {
		for (const struct route *route = *table; route->pattern; route++) {
			if (identity_noun_fits(scope, (size_t)(colon - scope), route->pattern))
				return true;
		}
	}
	return false;
}
