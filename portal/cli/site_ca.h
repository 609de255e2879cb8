/* The CA of a site: who may call itself a controller, a relay or the portal of it (docs/decision/site-ca.md). A
 * folder of the operator: ca.crt, ca.key and issued/NAME.crt of each certificate that it made. */
#pragma once

#include <openssl/x509.h>
#include <stdbool.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#define SITE_CA_YEARS 20
#define SITE_CA_DAYS  397

/* A portal shows its certificate to people alone: daemons do not believe it. */
enum site_ca_role { SITE_CA_CONTROLLER, SITE_CA_RELAY, SITE_CA_PORTAL };
#define SITE_CA_ROLES 3
extern const char *const site_ca_roles[SITE_CA_ROLES + 1];

struct site_ca_request {
	const char *ca; /* its folder */
	const char *name;
	enum site_ca_role role;
	const char *const *addresses; /* IPv4, as nodes and relays reach it; NULL-ended, or NULL */
	const char *const *shared; /* addresses that other certificates may have, too; the same */
	const char *const *names;  /* of DNS, as people reach a portal; the same */
	int days;
	const char *out;               /* the folder of NAME.crt and NAME.key */
	const char *key, *certificate; /* instead: where the key is, and the certificate goes */
	bool new_key;                  /* a key that is there is replaced */
};

/* Makes FOLDER/ca.key (0600) and FOLDER/ca.crt. A key that is there alone is used. E_CONFLICT: there is a CA. */
MUST_USE int site_ca_create(const char *folder, const char *site, int years,
			    struct problem *problem);
/* E_CONFLICT: FOLDER/ca.key is the key of one of these CAs. */
MUST_USE int site_ca_check_unused(const char *folder, const STACK_OF(X509) * cas,
				  struct problem *problem);
/* E_CONFLICT: the CA in FOLDER is that of another site. */
MUST_USE int site_ca_of(const char *folder, const char *site, struct problem *problem);
/* Makes or renews a certificate. E_CONFLICT: the CA has ended, another name has the address, or the name
 * another role. */
MUST_USE int site_ca_issue(const struct site_ca_request *request, struct problem *problem);
/* Adds the certificate of a CA to those in `bundle`, and takes out those that have ended. */
MUST_USE int site_ca_trust(const char *bundle, const char *certificate, struct problem *problem);

/* Writes a bundle of these and no other. */
MUST_USE int site_ca_believe(const char *bundle, const STACK_OF(X509) * certificates,
			     struct problem *problem);

/* --- certificates in files --- */

/* All certificates of a PEM file, the caller frees with sk_X509_pop_free. E_NOT_FOUND, E_MALFORMED:
 * there is none in it. */
MUST_USE int site_ca_read(const char *path, STACK_OF(X509) * *ret, struct problem *problem);
/* What a certificate is good for, as in site_ca_request. */
#define SITE_CA_REACH_MAX 64
struct site_ca_reach {
	char texts[SITE_CA_REACH_MAX][254];
	const char *addresses[SITE_CA_REACH_MAX + 1], *names[SITE_CA_REACH_MAX + 1];
};
/* False: it has more, or other ones. */
bool site_ca_reach(const X509 *certificate, struct site_ca_reach *ret);
/* Days until it ends; negative: since then. */
int site_ca_days_left(const X509 *certificate);
/* NULL: a CA of `bundle` has signed it and it may be used now. Else why not. */
const char *site_ca_fault(X509 *certificate, const STACK_OF(X509) * bundle);

/* --- making them (site_ca_sign.c) --- */

struct site_ca_subject {
	const char *site, *role, *name;                              /* O, OU, CN */
	const char *const *addresses, *const *shared, *const *names; /* as in site_ca_request */
};
MUST_USE int site_ca_key(int bits, EVP_PKEY **ret);
/* `issuer` NULL: signs itself, a CA of `days`. */
MUST_USE int site_ca_sign(const struct site_ca_subject *subject, EVP_PKEY *key, const X509 *issuer,
			  EVP_PKEY *issuer_key, int days, X509 **ret);
