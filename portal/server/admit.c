/* Who asks, and may it? Looked at when the head of a request is here: nobody sends us a body that
 * we would refuse anyhow. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "portal/server/access.h"
#include "portal/server/credential_wire.h"
#include "portal/server/demand_book.h"
#include "portal/server/exchange.h"
#include "portal/server/secret.h"

/* Any token may ask whose it is. */
#define ASK_WHO "/api/v1/whoami"
/* Of whom nobody knows yet: a login is small. */
#define STRANGERS_BODY 65536

static int admit_refuse(struct problem *problem, int status, int rc, const char *message,
			const char *hint)
{
	(void)problem_set(problem, rc, "%s", message);
	problem_hint(problem, "%s", hint);
	return status;
}

static bool admit_changes(const struct exchange *exchange)
{
	return exchange->route->method != HTTP_GET;
}

/* --- checks of somebody who is known: each 0 or the HTTP status, with the problem --- */

static int check_role(struct exchange *exchange, struct problem *problem)
{
	const struct identity *identity = &exchange->identity;

	if (role_set(exchange->route) & 1U << identity->role)
		return 0;
	(void)problem_set(problem, E_DENIED, "a%s %s may not do this",
			  strchr("aeiou", account_role_words[identity->role][0]) ? "n" : "",
			  account_role_words[identity->role]);
	problem_hint(problem, exchange->route->flags & ROUTE_CONSENT
				      ? "ask an admin of the tenant: nobody else consents for it"
			      : role_is_site(identity->role)
				      ? "ask an operator"
				      : "ask an admin of your tenant, or an operator");
	return 403;
}

static int check_scopes(struct exchange *exchange, struct problem *problem)
{
	const struct identity *identity = &exchange->identity;

	if (identity->way != IDENTITY_TOKEN || strcmp(exchange->route->pattern, ASK_WHO) == 0 ||
	    identity_scopes_allow(identity->scopes, exchange->route->pattern,
				  admit_changes(exchange)))
		return 0;
	(void)problem_set(problem, E_DENIED, "the token has no scope for this");
	problem_detail(problem, "it has %s", identity->scopes);
	problem_hint(problem, "make another one: haasctl token create --scope NOUN:%s",
		     admit_changes(exchange) ? "write" : "read");
	return 403;
}

/* Who has to show a second factor, and has none, can enable one: nothing else. */
static int check_second_factor(struct exchange *exchange, struct problem *problem)
{
	const struct identity *identity = &exchange->identity;
	int configured = exchange->portal->conf->login.second_factor;
	/* The stricter: who took an operator's session cannot undo what the file asks for. */
	int demand = configured > identity->demand ? configured : identity->demand;

	if (identity->way == IDENTITY_KERNEL || identity->second_factor ||
	    exchange->route->flags & ROUTE_ENROL || demand == FACTOR_NONE ||
	    (demand == FACTOR_OPERATORS && identity->role != ACCOUNT_OPERATOR))
		return 0;
	return admit_refuse(problem, 403, E_DENIED, "this site asks for a second factor",
			    "make one, then go on: haasctl totp enable");
}

/* A token makes no further ones, ends none, and manages no accounts: it could keep itself alive. */
static int check_self(struct exchange *exchange, struct problem *problem)
{
	bool people = exchange->route->role == ROLE_SELF || exchange->route->flags & ROUTE_MANAGE;

	if (exchange->identity.way != IDENTITY_TOKEN || !people || !admit_changes(exchange))
		return 0;
	return admit_refuse(problem, 403, E_DENIED, "a token may not do this",
			    "log in: haasctl login");
}

/* Another site's page sends our cookie along, but knows neither header. */
static int check_cross_site(struct exchange *exchange, struct problem *problem)
{
	const char *token = http_request_header(exchange->request, "X-CSRF-Token");
	const char *origin = http_request_header(exchange->request, "Origin");
	const char *host = http_request_header(exchange->request, "Host");
	bool local = http_request_peer(exchange->request)->local;
	const char *site = origin ? strstr(origin, "://") : NULL;

	if (exchange->csrf[0] == '\0' || !admit_changes(exchange))
		return 0;
	if (!site || !host || strcmp(site + 3, host) != 0 ||
	    (!local && strncmp(origin, "https:", 6) != 0))
		return admit_refuse(problem, 403, E_DENIED,
				    "this comes from the page of another site",
				    "open the portal by its own address");
	if (!token || strcmp(token, exchange->csrf) != 0)
		return admit_refuse(problem, 403, E_DENIED, "X-CSRF-Token is missing or wrong",
				    "send the csrf of GET /api/v1/whoami; load the page again");
	return 0;
}

static bool admit_is_name(const char *text)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return length > 0 && length < NAME_SIZE && text[length] == '\0' && text[0] != '-';
}

/* A tenant's account is in its own scope always; the site's people may say one. */
static int check_tenant(struct exchange *exchange, struct problem *problem)
{
	const struct identity *identity = &exchange->identity;
	const char *tenant = http_request_header(exchange->request, "X-Haas-Tenant");

	if (!role_is_site(identity->role)) {
		(void)text_copy(exchange->tenant, sizeof(exchange->tenant), identity->tenant);
		if (!tenant || strcmp(tenant, identity->tenant) == 0)
			return 0;
		return admit_refuse(problem, 403, E_DENIED, "you may not see as another tenant",
				    "leave out --as-tenant (X-Haas-Tenant)");
	}
	if (!tenant)
		return 0;
	if (!admit_is_name(tenant))
		return 400;
	if (exchange->route->role == ROLE_OPERATOR)
		return admit_refuse(problem, 403, E_DENIED, "only an operator may do this",
				    "do it as yourself, without --as-tenant (X-Haas-Tenant)");
	(void)text_copy(exchange->tenant, sizeof(exchange->tenant), tenant);
	return 0;
}

typedef int (*admit_fn)(struct exchange *exchange, struct problem *problem);

static const admit_fn admit_checks[] = {check_role, check_second_factor, check_scopes,
					check_self, check_cross_site,    check_tenant};

/* --- the way through --- */

static void admit_answer(struct exchange *exchange, int status, const struct problem *problem)
{
	struct error_list errors = {0};

	exchange->dispatched = true; /* no handler follows */
	if (status == 400 && problem->message[0] == '\0') {
		error_list_header(&errors, "X-Haas-Tenant",
				  http_request_header(exchange->request, "X-Haas-Tenant"),
				  "the name of a tenant: haasctl tenant list shows them");
		exchange_refuse_as(exchange, status, &errors);
	} else {
		exchange_problem(exchange, status, problem);
	}
	exchange_release(exchange);
}

/* Root and the operators' group, on the local socket: whoever looks after us is never shut out. */
static bool admit_is_unlimited(const struct exchange *exchange)
{
	return exchange->identity.way == IDENTITY_KERNEL && exchange->identity.by_group;
}

static int admit_demand(struct exchange *exchange, struct problem *problem)
{
	static const char *const words[DEMAND_VERDICTS] = {
		[DEMAND_TOO_FAST] = "you ask too often",
		[DEMAND_TOO_MANY] = "too many requests of yours are under way",
		[DEMAND_TOO_MANY_STREAMS] = "too many streams of yours are open",
		[DEMAND_TOO_LARGE] = "too many bytes of yours are on their way",
	};
	bool stream = exchange->route->flags & ROUTE_STREAM;
	enum demand_verdict verdict;
	unsigned wait_s;
	char after[16];

	if (admit_is_unlimited(exchange))
		return 0;
	verdict = demand_ask(exchange->portal->demand, exchange->actor,
			     stream ? DEMAND_STREAM : DEMAND_REQUEST, exchange->request,
			     &exchange->demand, &wait_s);
	if (verdict == DEMAND_FINE)
		return 0;
	(void)text_format(after, sizeof(after), "%u", wait_s);
	http_answer_header(exchange->request, "Retry-After", after);
	if (verdict == DEMAND_VERDICTS)
		return admit_refuse(problem, 503, -ENOMEM, "no memory for the request",
				    "repeat it in a moment");
	return admit_refuse(problem, 429, E_LIMIT, words[verdict],
			    verdict == DEMAND_TOO_MANY_STREAMS
				    ? "close one; the limits are in portald.conf"
				    : "wait, then repeat; the limits are in portald.conf");
}

static void admit_known(struct exchange *exchange)
{
	struct problem problem = {0};
	int status;

	(void)text_copy(exchange->actor, sizeof(exchange->actor), exchange->identity.actor);
	status = admit_demand(exchange, &problem);
	for (size_t i = 0; i < COUNT_OF(admit_checks) && status == 0; i++)
		status = admit_checks[i](exchange, &problem);
	if (status != 0)
		admit_answer(exchange, status, &problem);
	else
		http_request_admit(exchange->request);
}

/* Who it is cannot be said now: the database is away, or slow. */
static void admit_unknown(struct exchange *exchange, int rc, const struct problem *why)
{
	struct problem problem = {0};

	if (why)
		problem = *why;
	problem_hint(&problem, "repeat it in a moment; your login stays good");
	http_answer_header(exchange->request, "Retry-After", "2");
	admit_answer(exchange, exchange_status_of(rc), &problem);
}

/* --- a secret --- */

static void admit_on_secret(void *context, int rc, const struct identity *identity,
			    const struct problem *why)
{
	struct exchange *exchange = context;
	struct problem problem = {0};

	if (!exchange->request) {
		exchange_release(exchange);
		return;
	}
	exchange->identity = *identity;
	if (rc == 0) {
		admit_known(exchange);
	} else if (rc == E_AUTHENTICATION) {
		admit_answer(exchange,
			     admit_refuse(&problem, 401, rc, "this login is over, or never was",
					  "log in again: haasctl login"),
			     &problem);
	} else {
		admit_unknown(exchange, rc, why);
	}
	exchange_release(exchange);
}

/* --- the kernel --- */

static void admit_kernel_refuse(struct exchange *exchange, const char *user)
{
	struct problem problem;

	(void)problem_set(&problem, E_DENIED, "user %s may not use this server", user);
	problem_hint(
		&problem,
		"root, members of group haas-operators and users with an account may; ask one of them to add you");
	admit_answer(exchange, 403, &problem);
}

/* An operator by group is one whatever the database says: root always gets in. */
static void admit_on_user(void *context, int rc, const struct identity *identity,
			  const struct problem *problem)
{
	struct exchange *exchange = context;
	struct access access;

	if (!exchange->request) {
		exchange_release(exchange);
		return;
	}
	access = access_of(exchange->portal->access, &exchange->peer,
			   loop_now_ms(exchange->portal->loop));
	if (rc == 0)
		exchange->identity = *identity;
	else
		(void)text_format(exchange->identity.actor, sizeof(exchange->identity.actor),
				  "user %s", access.name);
	exchange->identity.way = IDENTITY_KERNEL;
	if (access.operator) {
		exchange->identity.role = ACCOUNT_OPERATOR;
		exchange->identity.by_group = true;
		exchange->identity.tenant[0] = '\0';
	}
	if (rc == 0 || access.operator)
		admit_known(exchange);
	else if (rc == E_AUTHENTICATION)
		admit_kernel_refuse(exchange, access.name);
	else
		admit_unknown(exchange, rc, problem);
	exchange_release(exchange);
}

static void admit_kernel(struct exchange *exchange)
{
	struct access access = access_of(exchange->portal->access, &exchange->peer,
					 loop_now_ms(exchange->portal->loop));

	exchange_hold(exchange);
	identity_of_user(exchange->portal->identities, access.name, admit_on_user, exchange);
}

/* --- who --- */

/* True: a secret was shown. Authorization comes before the cookie: no page can send it by accident. */
static bool admit_secret_of(struct exchange *exchange, char ret[CREDENTIAL_SIZE])
{
	const char *bearer = http_request_bearer(exchange->request);
	const char *cookie = http_request_header(exchange->request, "Cookie");

	if (http_request_header(exchange->request, "Authorization")) {
		bool ours = bearer && credential_is_ours(bearer, strlen(bearer));

		(void)text_copy(ret, CREDENTIAL_SIZE, ours ? bearer : "");
		return true;
	}
	if (!cookie || !credential_of_cookie(cookie, ret))
		return false;
	secret_csrf(ret, exchange->csrf);
	return true;
}

/* Of whom nobody knows yet who it is: its address may ask so often. The machine's own people are known. */
static bool admit_slows(struct exchange *exchange, const char *secret)
{
	struct problem problem = {0};

	if (http_request_peer(exchange->request)->local ||
	    (secret[0] != '\0' && identity_is_remembered(exchange->portal->identities, secret)) ||
	    demand_stranger(exchange->portal->demand, exchange->peer.address))
		return false;
	http_answer_header(exchange->request, "Retry-After", "2");
	admit_answer(exchange,
		     admit_refuse(&problem, 429, E_LIMIT,
				  "too many requests come from your address", "wait, then repeat"),
		     &problem);
	return true;
}

static void admit_who(struct exchange *exchange)
{
	char secret[CREDENTIAL_SIZE] = "";
	struct problem problem = {0};
	bool anyone = exchange->route->role == ROLE_ANYONE;
	bool shown = !anyone && admit_secret_of(exchange, secret);

	if (admit_slows(exchange, secret))
		return;
	if (anyone) {
		http_request_limit_body(exchange->request, STRANGERS_BODY);
		http_request_admit(exchange->request);
	} else if (shown) {
		exchange_hold(exchange);
		identity_of_secret(exchange->portal->identities, secret, admit_on_secret, exchange);
	} else if (http_request_peer(exchange->request)->local) {
		admit_kernel(exchange);
	} else {
		admit_answer(exchange,
			     admit_refuse(&problem, 401, E_AUTHENTICATION, "log in first",
					  "haasctl login, or a token in Authorization: Bearer"),
			     &problem);
	}
}

void exchange_admit(void *context, struct http_request *request)
{
	struct portal *portal = context;
	struct exchange *exchange = calloc(1, sizeof(*exchange));

	if (!exchange) {
		http_answer(request, 503, NULL, NULL, 0);
		return;
	}
	exchange->portal = portal;
	exchange->request = request;
	exchange->peer = *http_request_peer(request);
	exchange->route = route_find(http_request_method(request), http_request_route(request));
	exchange_hold(exchange);
	http_request_set_data(request, exchange);
	exchange_watch(exchange);
	token_new(exchange->request_id);
	http_answer_header(request, "X-Request-Id", exchange->request_id);
	http_answer_header(request, "Cache-Control", "no-store");
	admit_who(exchange);
}
