/* Who asks: a kernel user on the local socket, or the account behind a session or a token. What the
 * database said is remembered for a few seconds. Every transaction proves it again (identity_enter of
 * db/schema/account.sql), so that an old memory opens nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "portal/server/role.h"

struct portal;
struct identity_book;

#define IDENTITY_NAME_SIZE   128 /* "globex/ann" */
#define IDENTITY_ACTOR_SIZE  144
#define IDENTITY_TENANT_SIZE 64
#define IDENTITY_SCOPES_SIZE 512
#define IDENTITY_DIGEST_SIZE 65 /* SHA-256 in hex, with NUL */

enum identity_way {
	IDENTITY_NOBODY,
	IDENTITY_KERNEL,  /* the peer's uid on the local socket */
	IDENTITY_SESSION, /* a login */
	IDENTITY_TOKEN,
};

struct identity {
	enum identity_way way;
	enum account_role role;
	bool by_group;      /* an operator because the kernel's user is root, or in their group */
	bool second_factor; /* more than a password was shown; of a token: its account shows it */
	int demand;         /* enum of portal.h: who has to show one, by a setting of the site */
	char account[24];   /* decimal id; "" = a kernel user without an account */
	char proof[24];     /* id of the session or token; "" = neither */
	char name[IDENTITY_NAME_SIZE];
	char actor[IDENTITY_ACTOR_SIZE];   /* "user root", "account globex/ann" */
	char tenant[IDENTITY_TENANT_SIZE]; /* its own; "" = of the site */
	char scopes[IDENTITY_SCOPES_SIZE]; /* of a token, "node:read,pdci:write" */
	char digest[IDENTITY_DIGEST_SIZE]; /* of the session or token; "" = the kernel says */
};

/* rc 0, E_AUTHENTICATION (nobody of this secret, or its login is over), or what the database said. `identity` is
 * borrowed for the call. */
typedef void (*identity_fn)(void *context, int rc, const struct identity *identity,
			    const struct problem *problem);

MUST_USE int identity_book_new(struct portal *portal, struct identity_book **ret);
void identity_book_free(struct identity_book *book);
/* Something ended: whoever is remembered is looked up again. */
void identity_book_forget(struct identity_book *book);

/* SHA-256 of a secret, as the database has it. */
void identity_digest(const char *secret, char ret[IDENTITY_DIGEST_SIZE]);
/* Calls back exactly once, at once when it is remembered. */
void identity_of_secret(struct identity_book *book, const char *secret, identity_fn fn,
			void *context);
/* It would be called back at once. */
bool identity_is_remembered(struct identity_book *book, const char *secret);
/* `user` as the kernel's user is called. rc E_AUTHENTICATION: it has no account. */
void identity_of_user(struct identity_book *book, const char *user, identity_fn fn, void *context);

/* Do the scopes of a token allow a request? "node:write" covers "/api/v1/nodes..." and includes
 * reading; "*:read" all reading. `path` is a route's pattern. */
bool identity_scopes_allow(const char *scopes, const char *path, bool changes);
/* One scope: "*" or a noun of our paths, ":read" or ":write". */
bool identity_scope_is_known(const char *scope);
