/* An HTTP(S) client of daemons: libcurl on the loop, so a thousand slow peers hold no thread. Every
 * request has a deadline and a bound on its answer. TLS is verified against a CA file, or against
 * one known key.
 *
 * Passwords travel in headers only. A URL with a name in it is refused, no proxy and no redirect is
 * followed, and problems name the path alone. The agent and the relay use client.h instead. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/fence.h"
#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/loop.h"

struct sockaddr;
struct fetcher; /* connections of one program */
struct fetch;   /* one request under way */

enum {
	FETCH_DEADLINE_MS = 10000,
	FETCH_CONNECT_MS = 5000,
	FETCH_ANSWER_LIMIT = 1 << 20,
	FETCH_PIN_SIZE = 53, /* "sha256//" and 44 characters of base64, with NUL */
};

struct fetcher_options {
	const char *ca_file;  /* PEM; NULL or "" = the system's. Read at each connection */
	unsigned connections; /* kept open at most; 0 = 1024 */
	unsigned per_peer;    /* at most so many at once to one address and port; 0 = 2, the
				 rest waits (its deadline runs) */
	uint32_t drain_ms;    /* what fetcher_free gives requests that nobody waits for; 0 = 3000 */
};

/* Borrowed for the call of fetch_start. */
struct fetch_request {
	const char *peer;   /* who problems are about: "node n17: the BMC"; NULL = "the peer" */
	const char *method; /* "GET" */
	const char *url;
	const char *const *headers; /* "Name: value", NULL-ended; NULL = none */
	const char *body;           /* of `size` bytes; NULL = none */
	size_t size;
	const char *username, *password; /* basic authentication; NULL = none */
	uint32_t deadline_ms;            /* of all of it; 0 = FETCH_DEADLINE_MS */
	size_t answer_limit;             /* bytes of body; 0 = FETCH_ANSWER_LIMIT */
	/* "sha256//BASE64" of the peer's public key: that key is trusted, its certificate's issuer,
	 * name and dates do not matter. NULL or "" = a certificate that the CA file vouches for. */
	const char *pin;
	/* Whether this address may be connected to, asked for each that the URL's name leads to; the
	 * connection is this request's alone then. False: E_DENIED, with the problem set by us to name
	 * the address. NULL: all may. */
	bool (*may_connect)(void *context, const struct sockaddr *address);
	void *may_connect_context;
	bool unverified;     /* trust anybody (the operator said so) */
	bool keep;           /* fetcher_free lets this one end, too, and calls its fn */
	struct fence *fence; /* not sent after its end, by a connection that is ready only then
				neither; NULL = always. Kept */
};

struct fetch_answer {
	int status;
	const char *body; /* NUL-terminated */
	size_t size;
	struct fetch *fetch; /* for fetch_header */
};

/* rc 0: the answer, whatever its status, borrowed for the call. Else answer is NULL and problem
 * set: E_TIMEOUT      no answer in time, unreachable, or the connection broke before the answer
 * began E_PROTOCOL     TLS refused (key, certificate), or not HTTP, or it ended in the middle
 * E_DENIED       may_connect refused each address
 * E_LIMIT        the answer is larger than allowed; what came is dropped. E_LAPSED       the fence
 * was over before it was sent */
typedef void (*fetch_fn)(void *context, int rc, const struct fetch_answer *answer,
			 const struct problem *problem);

MUST_USE int fetcher_new(struct loop *loop, const struct fetcher_options *options,
			 struct fetcher **ret);
/* Requests with a callback are cancelled; those without, and those to be kept, get drain_ms,
 * blocking. */
void fetcher_free(struct fetcher *fetcher);

/* Calls fn once from the loop, never from inside. fn NULL: nobody waits, and *ret is not written.
 * -EINVAL: the URL or the pin is none. -ENOMEM. */
MUST_USE int fetch_start(struct fetcher *fetcher, const struct fetch_request *request, fetch_fn fn,
			 void *context, struct fetch **ret);
/* fn will not be called. The connection is closed. */
void fetch_cancel(struct fetch *fetch);
/* A header of the answer, the last one of that name; NULL when absent. Borrowed for the callback.
 */
const char *fetch_header(const struct fetch_answer *answer, const char *name);
/* "sha256//" and the base64 of 32 bytes? */
bool fetch_pin_is_valid(const char *pin);
