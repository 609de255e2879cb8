/* What portald asks of providers of OpenID Connect: where a browser goes, and whom a code stands for.
 * Discovery, the exchange of the code, the provider's keys and its ID token are looked at here. portald
 * opens no connection outward and reads none of it. */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"

struct http_request;
struct oidc;

struct db;
struct fetcher;

/* Reads the providers of a folder, and their secrets, which may be root's. `allow`: prefixes that are
 * called although they are ours, NULL-ended, borrowed. */
MUST_USE int oidc_new(const char *folder, char **allow, struct oidc **ret, struct problem *problem);
/* `db` says which addresses are closed. Before the first question; both are borrowed. */
void oidc_connect(struct oidc *oidc, struct db *db, struct fetcher *fetcher);
/* Ends what is under way, before its fetcher and database go. */
void oidc_free(struct oidc *oidc);

/* Each takes a body of JSON and answers 200: with what was asked for, or with {"status", "problem"}
 * for the person who logs in.
 *   begin   {provider, redirect_uri, state, nonce, challenge}       -> {url}
 *   finish  {provider, redirect_uri, code, verifier, nonce, iss?}   -> {issuer, subject} */
void oidc_begin(struct oidc *oidc, struct http_request *request);
void oidc_finish(struct oidc *oidc, struct http_request *request);
/* {"items": [{"name"}]} */
void oidc_list(struct oidc *oidc, struct http_request *request);
