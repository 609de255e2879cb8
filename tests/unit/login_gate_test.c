// links: portal_server
/* Who guesses waits, who was here before does not; scopes of tokens; the secret in a header. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "portal/server/credential_wire.h"
#include "portal/server/identity.h"
#include "portal/server/login_gate.h"
#include "portal/server/role.h"
#include "portal/server/route.h"
#include "portal/server/secret.h"
#include "tests/support/cmocka.h"

static void wrong(struct login_gate *gate, const struct login_try *wanted, unsigned times,
		  int64_t now_ms)
{
	for (unsigned i = 0; i < times; i++)
		login_gate_try(gate, wanted, now_ms);
}

static void test_waits(void **state)
{
	const struct login_try evil = {.account = "ann", .address = "10.0.0.66"};
	const struct login_try ann = {.account = "ann", .address = "10.0.0.1", .known = true};
	const struct login_try bob = {.account = "bob", .address = "10.0.0.2"};
	struct login_gate *gate;

	(void)state;
	assert_int_equal(login_gate_new(&gate), 0);
	wrong(gate, &evil, LOGIN_GATE_FREE - 1, 1000);
	assert_int_equal(login_gate_wait_s(gate, &evil, 1000), 0);
	wrong(gate, &evil, 1, 1000);
	assert_int_equal(login_gate_wait_s(gate, &evil, 1000), 1);
	assert_int_equal(login_gate_wait_s(gate, &evil, 2000), 0);
	wrong(gate, &evil, 20, 2000);
	assert_int_equal(login_gate_wait_s(gate, &evil, 2000), LOGIN_GATE_WAIT_S);
	/* The account from elsewhere waits too, but not from where it logged in before. */
	assert_int_equal(
		login_gate_wait_s(gate, &(struct login_try){"ann", "10.0.0.9", false}, 2000),
		LOGIN_GATE_WAIT_S);
	assert_int_equal(login_gate_wait_s(gate, &ann, 2000), 0);
	assert_int_equal(login_gate_wait_s(gate, &bob, 2000), 0);
	/* An address that guesses at many names. */
	for (int i = 0; i < 9; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "n%d", i);
		login_gate_try(gate, &(struct login_try){name, "10.0.0.77", false}, 2000);
	}
	assert_int_equal(
		login_gate_wait_s(gate, &(struct login_try){"bob", "10.0.0.77", false}, 2000), 16);
	/* Forgotten after an hour; a right one forgets the account's, not the address's. */
	assert_int_equal(login_gate_wait_s(gate, &evil, 2000 + LOGIN_GATE_KEEP_S * 1000LL + 1), 0);
	wrong(gate, &ann, 9, 3000);
	assert_int_equal(login_gate_wait_s(gate, &ann, 3000), 16);
	/* Another person behind ann's address is not slowed by that, nor ann elsewhere. */
	assert_int_equal(
		login_gate_wait_s(gate, &(struct login_try){"bob", "10.0.0.1", true}, 3000), 0);
	assert_int_equal(
		login_gate_wait_s(gate, &(struct login_try){"ann", "10.0.0.3", true}, 3000), 0);
	login_gate_right(gate, &ann);
	assert_int_equal(login_gate_wait_s(gate, &ann, 3000), 0);
	login_gate_free(gate);
}

/* Tries that have no verdict yet count: nobody guesses sixty at the same time. */
static void test_at_once(void **state)
{
	const struct login_try evil = {.account = "ann", .address = "10.0.0.66"};
	struct login_gate *gate;
	unsigned let = 0;

	(void)state;
	assert_int_equal(login_gate_new(&gate), 0);
	for (unsigned i = 0; i < 60; i++) {
		if (login_gate_wait_s(gate, &evil, 1000) > 0)
			continue;
		login_gate_try(gate, &evil, 1000);
		let++;
	}
	assert_int_equal(let, LOGIN_GATE_FREE);
	/* What was not tried, and what was right, does not count: not for the address either. */
	login_gate_untried(gate, &evil);
	assert_int_equal(login_gate_wait_s(gate, &evil, 1000), 0);
	login_gate_try(gate, &evil, 1000);
	login_gate_right(gate, &evil);
	assert_int_equal(
		login_gate_wait_s(gate, &(struct login_try){"bob", "10.0.0.66", false}, 1000), 0);
	login_gate_free(gate);
}

static void test_scopes(void **state)
{
	(void)state;
	assert_true(identity_scopes_allow("node:read", "/api/v1/nodes", false));
	assert_true(identity_scopes_allow("pdci:read,node:write",
					  "/api/v1/nodes/{node}/console/input", true));
	assert_true(identity_scopes_allow("switch:read", "/api/v1/switches/{switch}", false));
	assert_true(identity_scopes_allow("capture-grant:write", "/api/v1/capture-grants", true));
	assert_true(identity_scopes_allow("*:read", "/api/v1/pdcis", false));
	assert_false(identity_scopes_allow("*:read", "/api/v1/pdcis", true));
	assert_false(identity_scopes_allow("node:read", "/api/v1/nodes", true));
	assert_false(identity_scopes_allow("node:read", "/api/v1/networks", false));
	assert_false(identity_scopes_allow("capture:read", "/api/v1/capture-grants", false));
	assert_false(identity_scopes_allow("", "/api/v1/nodes", false));
	assert_false(identity_scopes_allow("*:read", "/metrics", false));
	assert_true(identity_scope_is_known("drill:read"));
	assert_true(identity_scope_is_known("*:write"));
	assert_false(identity_scope_is_known("drill"));
	assert_false(identity_scope_is_known("drill:own"));
	assert_false(identity_scope_is_known("nothing:read"));
	assert_false(identity_scope_is_known(":read"));
}

static void test_secrets(void **state)
{
	char found[CREDENTIAL_SIZE];
	char secret[CREDENTIAL_SIZE];
	char header[256];

	(void)state;
	secret_new("s", secret);
	assert_true(credential_is_ours(secret, strlen(secret)));
	assert_int_equal(strlen(secret), 7 + 43);
	(void)snprintf(header, sizeof(header), "a=b;  " CREDENTIAL_COOKIE "=%s ; c=d", secret);
	assert_true(credential_of_cookie(header, found));
	assert_string_equal(found, secret);
	assert_false(credential_of_cookie("", found));
	assert_false(credential_of_cookie("x__Host-haas=haas_s_A", found));
	assert_false(credential_of_cookie("__Host-haas=haas_s_A B", found));
	assert_false(credential_of_cookie("__Host-haas=\"haas_s_A\"", found));
	assert_false(credential_of_cookie("__Host-haas=no; __Host-haas=haas_s_A", found));
	assert_false(credential_is_ours("haas_", 5));
}

/* No tenant's account may call what is of the site, no operator's consents; auditors change nothing but themselves. */
static void test_roles(void **state)
{
	size_t rows = 0;

	(void)state;
	for (const struct route *const *table = route_tables; *table; table++) {
		for (const struct route *route = *table; route->pattern; route++) {
			unsigned set = role_set(route);

			rows++;
			assert_int_equal(!(set & 1U << ACCOUNT_OPERATOR),
					 (route->flags & ROUTE_CONSENT) != 0);
			if (route->role == ROLE_OPERATOR)
				assert_false(set & (1U << ACCOUNT_TENANT_ADMIN |
						    1U << ACCOUNT_TENANT_MEMBER));
			if (route->method != HTTP_GET && route->role != ROLE_SELF &&
			    route->role != ROLE_ANYONE)
				assert_false(set & 1U << ACCOUNT_AUDITOR);
		}
	}
	assert_true(rows > 150);
	assert_int_equal(role_of_word("on-call"), ACCOUNT_ON_CALL);
	assert_int_equal(role_of_word("boss"), ACCOUNT_ROLES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits),  cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_scopes), cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_roles),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
