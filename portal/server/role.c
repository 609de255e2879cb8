#include "portal/server/role.h"

#include <string.h>

#include "portal/server/route.h"

#define BIT(role) (1U << (role))
#define ALL       (BIT(ACCOUNT_ROLES) - 1)

const char *const account_role_words[] = {"operator",     "on-call",       "auditor",
					  "tenant-admin", "tenant-member", NULL};

/* [role of the route][changes] */
static const unsigned role_sets[][2] = {
	[ROLE_ANYONE] = {ALL, ALL},
	[ROLE_SELF] = {ALL, ALL},
	[ROLE_TENANT] = {ALL, BIT(ACCOUNT_OPERATOR) | BIT(ACCOUNT_TENANT_ADMIN) |
				      BIT(ACCOUNT_TENANT_MEMBER)},
	[ROLE_OPERATOR] = {BIT(ACCOUNT_OPERATOR) | BIT(ACCOUNT_ON_CALL) | BIT(ACCOUNT_AUDITOR),
			   BIT(ACCOUNT_OPERATOR)},
};

enum account_role role_of_word(const char *word)
{
	enum account_role role = ACCOUNT_OPERATOR;

	while (role < ACCOUNT_ROLES && strcmp(account_role_words[role], word) != 0)
		role++;
	return role;
}

bool role_is_site(enum account_role role)
{
	return role < ACCOUNT_TENANT_ADMIN;
}

unsigned role_set(const struct route *route)
{
	bool changes = route->method != HTTP_GET && route->method != HTTP_HEAD;
	unsigned set = role_sets[route->role][changes];

	if (changes && route->flags & ROUTE_ON_CALL)
		set |= BIT(ACCOUNT_ON_CALL);
	if (route->flags & ROUTE_MANAGE)
		set &= ~BIT(ACCOUNT_TENANT_MEMBER);
	if (route->flags & ROUTE_CONSENT)
		set &= BIT(ACCOUNT_TENANT_ADMIN);
	if (route->flags & ROUTE_PRIVATE)
		set &= ~BIT(ACCOUNT_AUDITOR);
	return set;
}
