/* Contexts: the servers that a person has logged in to, in ~/.config/haas/contexts.json (XDG_CONFIG_HOME). The file holds secrets: it is its
 * owner's alone, written whole, and not read when others could read it. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/http/tls.h"

#define CONTEXT_NAME_SIZE   64
#define CONTEXT_URL_SIZE    300
#define CONTEXT_SECRET_SIZE 80 /* "haas_s_SECRET", with NUL */
#define CONTEXT_COUNT_MAX   100

struct context {
	char name[CONTEXT_NAME_SIZE];
	char url[CONTEXT_URL_SIZE]; /* "https://haas.example", "unix:/run/haas/portald/socket" */
	char account[128];
	char secret[CONTEXT_SECRET_SIZE]; /* of a session or token; "" = logged out */
	/* How the server is known: its key, its CA; both "" = the CAs of this machine. */
	char pin[TLS_PIN_SIZE];
	char ca[256];
};

struct context_book {
	char path[PATH_MAX];
	int lock; /* of a change; -1 */
	char current[CONTEXT_NAME_SIZE];
	struct context *rows;
	size_t count;
};

/* No file is an empty book. E_DENIED: others may read it; E_MALFORMED; -errno. A problem is always set. */
MUST_USE int context_book_read(struct context_book *ret, struct problem *problem);
/* The same, to be changed: another haasctl waits until context_book_done. */
MUST_USE int context_book_open(struct context_book *ret, struct problem *problem);
MUST_USE int context_book_save(const struct context_book *book, struct problem *problem);
void context_book_done(struct context_book *book);

/* NULL: there is none of that name. */
struct context *context_find(const struct context_book *book, const char *name);
/* Adds a context or replaces the one of its name. E_LIMIT, -ENOMEM. */
MUST_USE int context_put(struct context_book *book, const struct context *context);
/* False: there was none. */
bool context_drop(struct context_book *book, const char *name);

/* Letters, digits, '.', '-', '_', a letter or digit first; "none" is no name. */
bool context_name_is_good(const char *name);
/* "https://Haas.Example:443/" becomes "https://haas.example". False: neither https://HOST[:PORT] nor unix:/PATH. */
bool context_url_clean(const char *url, char ret[CONTEXT_URL_SIZE]);
/* "haas.example", "10.0.0.1"; "" for a socket. The port, 0 for a socket. */
unsigned context_url_host(const char *url, char ret[CONTEXT_URL_SIZE]);
/* The name that a context of this URL gets: "haas.example", "haas.example-8443", "local". */
void context_url_name(const char *url, char ret[CONTEXT_NAME_SIZE]);
/* Is it a secret of portald's? Nothing else goes into a header. */
bool context_secret_is_good(const char *secret);
