/* The roles of accounts, and which of them a route answers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct route;

/* In the order of role_words. */
enum account_role {
	ACCOUNT_OPERATOR,
	ACCOUNT_ON_CALL,
	ACCOUNT_AUDITOR,
	ACCOUNT_TENANT_ADMIN,
	ACCOUNT_TENANT_MEMBER,
	ACCOUNT_ROLES,
};

/* NULL-ended; as account_role of db/schema has them. */
extern const char *const account_role_words[];

/* ACCOUNT_ROLES: no such word. */
enum account_role role_of_word(const char *word);
/* Of the site, not of a tenant. */
bool role_is_site(enum account_role role);
/* Who may call it, as bits `1 << role`:
 *
 *                 reads (GET)                      changes
 *   ROLE_SELF     all                              all
 *   ROLE_TENANT   all                              operator, tenant-admin, tenant-member
 *   ROLE_OPERATOR operator, on-call, auditor       operator
 *
 * ROUTE_ON_CALL lets the on-call engineer change too. ROUTE_MANAGE keeps the tenant's members from
 * it. ROUTE_CONSENT is for the tenant's admins alone. ROUTE_PRIVATE keeps auditors from reading: packets, consoles. */
unsigned role_set(const struct route *route);
