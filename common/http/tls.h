/* TLS 1.2 and 1.3 for the HTTP server and client: what we show, and whom we believe (docs/decision/site-ca.md).
 * Certificates are PEM files, read at the start and again by tls_reload. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

struct ssl_st; /* SSL of OpenSSL */
struct tls;

enum tls_side { TLS_SERVER, TLS_CLIENT };

/* Copied by tls_new. NULL and "" are the same: none. */
struct tls_files {
	const char *certificate; /* ours, and those between it and the CA; a client may have none */
	const char *key;         /* of our certificate */
	/* The certificates of CAs that we believe, one or several. A server without it asks nobody
	 * for a certificate; with it a client may show one. */
	const char *ca;
	/* Of a client, instead of `ca`: the CAs of this machine; or one known key, "sha256//BASE64" of a
	 * server's SubjectPublicKeyInfo (RFC 7469 2.4), whatever its certificate says. */
	bool system;
	const char *pin;
};

#define TLS_PIN_SIZE 53 /* "sha256//" and 44 characters of base64, with NUL */

/* Of a certificate that was verified. */
#define TLS_ROLE_CONTROLLER "controller"
#define TLS_ROLE_RELAY      "relay"
#define TLS_ROLE_PORTAL     "portal" /* shown to people; no daemon believes it */
#define TLS_ROLE_SIZE       24
#define TLS_NAME_SIZE       65
struct tls_peer {
	char role[TLS_ROLE_SIZE]; /* one of these; "" = it shows no certificate */
	char name[TLS_NAME_SIZE];
};

/* -ENOENT and the like, E_MALFORMED, E_CONFLICT (key of another certificate), E_DENIED (others may
 * read the key). */
MUST_USE int tls_new(enum tls_side side, const struct tls_files *files, struct tls **ret,
		     struct problem *problem);
/* Sessions that begin from now on use the files as they are now. On failure the old ones stay in
 * use. */
MUST_USE int tls_reload(struct tls *tls, struct problem *problem);
void tls_free(struct tls *tls);
/* Is the certificate's file another one than that in use? */
bool tls_is_outdated(const struct tls *tls);
/* When our certificate ends, in seconds of the wall clock; 0 = we have none. */
int64_t tls_end_s(const struct tls *tls);

/* A new session; SSL_free ends it. `host` is what a client connects to, a literal IPv4 address or a
 * name: the certificate of the server has to name it. NULL for a server. -ENOMEM. */
MUST_USE int tls_session(const struct tls *tls, const char *host, struct ssl_st **ret);
/* The pin of the key that the last server has shown, to a client with `system` or `pin`; "" = none was
 * shown. */
const char *tls_shown_pin(const struct tls *tls);
bool tls_pin_is_valid(const char *pin);
/* Who is at the other end, after the handshake. */
void tls_peer_read(const struct ssl_st *session, struct tls_peer *ret);
/* Why a session failed, in OpenSSL's words; "" = it does not say. */
void tls_why(const struct ssl_st *session, char *ret, size_t room);
