/* /login, /logout, /links, /whoami: how a person comes in, and who that is then. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/http/wipe.h"

#include "portal/server/account_store_sql.h"
#include "portal/server/exchange.h"
#include "portal/server/identity.h"
#include "portal/server/login_guess.h"
#include "portal/server/login_state_wire.h"
#include "portal/server/member_check.h"
#include "portal/server/second_factor.h"
#include "portal/server/secret.h"

LEAKS_LEFT_TO_SANITIZER

#define BROWSER_IDLE_S "1800"
#define CLI_IDLE_S     "604800"
#define BROWSER_HOURS  "12"
#define CLI_HOURS      "168"
#define AGENT_SIZE     128

/* clang-format off */
static const struct member_row login_members[] = {
	{"account",  MEMBER_TEXT, MEMBER_REQUIRED, 1, IDENTITY_NAME_SIZE - 1, NULL},
	{"password", MEMBER_TEXT, MEMBER_REQUIRED, 1, SECRET_PASSWORD_MAX,    NULL},
	{"code",     MEMBER_TEXT, 0,               TOTP_DIGITS, SECOND_FACTOR_CODE_MAX, NULL},
	{"cookie",   MEMBER_BOOL, 0,               0, 0,                      NULL},
};
static const struct member_row link_members[] = {
	{"link",     MEMBER_TEXT, MEMBER_REQUIRED, 1,                   CREDENTIAL_SIZE - 1, NULL},
	{"password", MEMBER_TEXT, MEMBER_REQUIRED, SECRET_PASSWORD_MIN, SECRET_PASSWORD_MAX, NULL},
};
static const struct member_row login_code_members[] = {
	{"code",     MEMBER_TEXT, MEMBER_REQUIRED, 1,                   CREDENTIAL_SIZE - 1, NULL},
	{"verifier", MEMBER_TEXT, MEMBER_REQUIRED, LOGIN_WORD_SIZE - 1, 128,                 NULL},
	{"link",     MEMBER_TEXT, 0,               1,                   CREDENTIAL_SIZE - 1, NULL},
	{"cookie",   MEMBER_BOOL, 0,               0,                   0,                   NULL},
};
/* clang-format on */

/* A login under way. The password is wiped with it. */
struct login {
	char account[IDENTITY_NAME_SIZE], address[LOGIN_ADDRESS_SIZE], agent[AGENT_SIZE];
	char id[24]; /* of the account, as the database has it */
	bool known, cookie;
	char secret[CREDENTIAL_SIZE], digest[IDENTITY_DIGEST_SIZE];
	char *password; /* until a thread has it */
	char *sealed;   /* of its second factor; "" = it shows none */
	int64_t used;   /* the counter of the last code */
	struct second_factor_code code;
};

static void login_forget(void *data)
{
	struct login *login = data;

	if (login->password)
		wipe_borrowed(login->password, strlen(login->password));
	free(login->password);
	free(login->sealed);
	wipe_borrowed(login->secret, sizeof(login->secret));
	free(login);
}

static struct login_try login_try_of(const struct login *login)
{
	return (struct login_try){
		.account = login->account, .address = login->address, .known = login->known};
}

/* One sentence for a wrong name and a wrong password: which names exist is nobody's to learn. */
static void login_refuse(struct exchange *exchange)
{
	struct problem problem;

	(void)problem_set(&problem, E_AUTHENTICATION, "wrong account or password");
	problem_hint(&problem,
		     "an admin makes a link for a new password: haasctl account link NAME");
	exchange_problem(exchange, 401, &problem);
}

/* The session is committed: its secret is told once, here. */
static void login_answer(struct exchange *exchange)
{
	struct login *login = exchange->data;
	struct login_try wanted = login_try_of(login);
	CLEANUP(text_done) struct text body = {0};
	char cookie[CREDENTIAL_SIZE + 80];
	char csrf[65];

	login_gate_right(exchange->portal->gate, &wanted);
	if (!exchange->request)
		return;
	secret_csrf(login->secret, csrf);
	json_begin_object(&body, NULL);
	json_put_string(&body, "account", login->account);
	if (login->cookie) {
		(void)text_format(cookie, sizeof(cookie),
				  CREDENTIAL_COOKIE
				  "=%s; Path=/; Secure; HttpOnly; SameSite=Strict",
				  login->secret);
		http_answer_header(exchange->request, "Set-Cookie", cookie);
		json_put_string(&body, "csrf", csrf);
	} else {
		json_put_string(&body, "secret", login->secret);
	}
	json_end_object(&body);
	exchange_answer(exchange, 201, text_get(&body));
	wipe_borrowed(cookie, sizeof(cookie));
	if (body.data)
		wipe_borrowed(body.data, body.size);
}

/* The password was right, and more is wanted. Neither right nor wrong: who has the password alone gains no guesses by asking again. */
static void login_want_code(struct exchange *exchange)
{
	struct login_try wanted = login_try_of(exchange->data);
	struct problem problem;

	login_gate_untried(exchange->portal->gate, &wanted);
	(void)problem_set(&problem, E_AUTHENTICATION, "the code of your second factor is needed");
	problem_hint(
		&problem,
		"send the same with the code that your authenticator shows, or a recovery code");
	exchange_problem(exchange, 428, &problem);
}

/* 0: go on. Else it is refused. */
static int login_check_code(struct exchange *exchange)
{
	struct login *login = exchange->data;
	const char *code = exchange_text(exchange, "code");
	struct problem problem = {0};
	int rc;

	if (login->sealed[0] == '\0')
		return 0;
	if (!code) {
		login_want_code(exchange);
		return E_AUTHENTICATION;
	}
	rc = second_factor_check(exchange->portal, login->sealed, login->used, code, &login->code,
				 &problem);
	if (rc == E_AUTHENTICATION) {
		login_tell_wrong(exchange, login->account, login->address, "code");
		(void)problem_set(&problem, rc, "the code is wrong, or was used before");
		problem_hint(&problem, "wait for the next code; is the clock of the device right?");
		exchange_problem(exchange, 401, &problem);
	} else if (rc != 0) {
		exchange_problem(exchange, 503, &problem);
	}
	return rc;
}

/* Wrong until its session is committed: the database may say that the code was used. */
static void login_on_verdict(struct exchange *exchange, bool good, const char *hash)
{
	struct login *login = exchange->data;

	(void)hash;
	if (!good) {
		login_tell_wrong(exchange, login->account, login->address, "password");
		login_refuse(exchange);
		return;
	}
	if (login_check_code(exchange) != 0)
		return;
	secret_new("s", login->secret);
	identity_digest(login->secret, login->digest);
	exchange->answer_with = login_answer;
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&login_session_query,
			 {login->id, login->digest, login->address, login->agent,
			  login->cookie ? BROWSER_IDLE_S : CLI_IDLE_S,
			  login->cookie ? BROWSER_HOURS : CLI_HOURS,
			  text_or_null(login->code.counter), text_or_null(login->code.digest)}},
		},
		1);
}

static void login_on_row(struct exchange *exchange, const PGresult *result)
{
	struct login *login = exchange->data;
	bool found = PQntuples(result) > 0 && !db_is_null(result, 0, LOGIN_ROW_PASSWORD_HASH);
	const char *hash = found ? db_text(result, 0, LOGIN_ROW_PASSWORD_HASH, "") : "";
	struct login_try wanted;
	int64_t wait_s;
	int rc;

	if (found)
		(void)text_copy(login->id, sizeof(login->id),
				db_text(result, 0, LOGIN_ROW_ACCOUNT, ""));
	login->sealed = strdup(found ? db_text(result, 0, LOGIN_ROW_SEALED, "") : "");
	login->used = found ? db_int(result, 0, LOGIN_ROW_COUNTER, 0) : 0;
	login->known = found && db_bool(result, 0, LOGIN_ROW_KNOWN);
	wanted = login_try_of(login);
	wait_s = login_gate_wait_s(exchange->portal->gate, &wanted,
				   loop_now_ms(exchange->portal->loop));
	if (wait_s > 0) {
		login_refuse_wait(exchange, wait_s);
		return;
	}
	login_gate_try(exchange->portal->gate, &wanted, loop_now_ms(exchange->portal->loop));
	rc = login->sealed ? secret_work(exchange, login->password, hash, login_on_verdict)
			   : -ENOMEM;
	if (rc != 0) {
		login_gate_untried(exchange->portal->gate, &wanted);
		login_busy(exchange, rc);
	}
}

static struct login *login_of_body(struct exchange *exchange)
{
	struct login *login = calloc(1, sizeof(*login));
	const char *agent = http_request_header(exchange->request, "User-Agent");

	if (!login)
		return NULL;
	exchange->data = login;
	exchange->data_free = login_forget;
	(void)text_copy(login->account, sizeof(login->account),
			exchange_text_or(exchange, "account", ""));
	(void)text_copy(login->agent, sizeof(login->agent), agent ? agent : "");
	text_blank_controls(login->agent, strlen(login->agent));
	login_address(exchange, login->address);
	login->cookie = json_is_true(json_object_get(exchange->body, "cookie"));
	login->password = strdup(exchange_text_or(exchange, "password", ""));
	return login->password ? login : NULL;
}

static void login_begin(struct exchange *exchange)
{
	struct error_list errors = {0};
	struct problem problem = {0};
	struct login *login;
	int rc = exchange_read_body(exchange, &problem);

	if (rc != 0) {
		exchange_problem(exchange, exchange_status_of(rc), &problem);
		return;
	}
	members_check(exchange->body, login_members, COUNT_OF(login_members), "", &errors);
	if (exchange_refused(exchange, &errors))
		return;
	login = login_of_body(exchange);
	if (login)
		exchange_query(exchange, &login_row_query,
			       (const char *const[]){login->account, login->address}, login_on_row);
	else
		login_busy(exchange, -ENOMEM);
}

/* --- by a provider: the code that the browser brought --- */

static void login_by_code_answer(struct exchange *exchange)
{
	struct login *login = exchange->data;
	CLEANUP(json_decrefp) json_t *json = NULL;
	struct problem problem;

	if (json_read(text_get(&exchange->answer.body), exchange->answer.body.size,
		      JSON_LIMIT_DEFAULT, &json, &problem) == 0)
		(void)text_copy(login->account, sizeof(login->account),
				json_string_value(json_object_get(json, "account")));
	login_answer(exchange);
}

static void login_by_code(struct exchange *exchange)
{
	struct error_list errors = {0};
	struct problem problem = {0};
	char code[IDENTITY_DIGEST_SIZE];
	char challenge[IDENTITY_DIGEST_SIZE];
	char link[IDENTITY_DIGEST_SIZE] = "";
	struct login *login;
	int rc = exchange_read_body(exchange, &problem);

	if (rc != 0) {
		exchange_problem(exchange, exchange_status_of(rc), &problem);
		return;
	}
	members_check(exchange->body, login_code_members, COUNT_OF(login_code_members), "",
		      &errors);
	if (exchange_refused(exchange, &errors))
		return;
	login = login_of_body(exchange);
	if (!login) {
		login_busy(exchange, -ENOMEM);
		return;
	}
	identity_digest(exchange_text(exchange, "code"), code);
	identity_digest(exchange_text(exchange, "verifier"), challenge);
	if (exchange_text(exchange, "link"))
		identity_digest(exchange_text(exchange, "link"), link);
	secret_new("s", login->secret);
	identity_digest(login->secret, login->digest);
	exchange->answer_with = login_by_code_answer;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&login_code_session_query,
				{code, challenge, text_or_null(link), login->digest, login->address,
				 login->agent, login->cookie ? BROWSER_IDLE_S : CLI_IDLE_S,
				 login->cookie ? BROWSER_HOURS : CLI_HOURS}},
		       },
		       1);
}

/* --- links --- */

static void link_on_hash(struct exchange *exchange, bool good, const char *hash)
{
	if (!good) {
		login_busy(exchange, -ENOMEM);
		return;
	}
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&link_use_query, {exchange->data, hash}},
		       },
		       1);
}

/* Nothing is computed for a link that opens nothing. */
static void link_on_open(struct exchange *exchange, const PGresult *result)
{
	struct problem problem;
	int rc;

	if (!db_bool(result, 0, LINK_OPEN_OPEN)) {
		(void)problem_set(&problem, E_NOT_FOUND,
				  "this link was used before, is too old, or never was one");
		problem_hint(&problem, "ask for a new one: haasctl account link NAME makes it");
		exchange_problem(exchange, 404, &problem);
		return;
	}
	rc = secret_work(exchange, exchange_text(exchange, "password"), NULL, link_on_hash);
	if (rc != 0)
		login_busy(exchange, rc);
}

static void link_use(struct exchange *exchange)
{
	struct error_list errors = {0};
	struct problem problem = {0};
	int rc = exchange_read_body(exchange, &problem);

	if (rc != 0) {
		exchange_problem(exchange, exchange_status_of(rc), &problem);
		return;
	}
	members_check(exchange->body, link_members, COUNT_OF(link_members), "", &errors);
	if (exchange_refused(exchange, &errors))
		return;
	exchange->data = malloc(IDENTITY_DIGEST_SIZE);
	exchange->data_free = free;
	if (exchange->data)
		identity_digest(exchange_text(exchange, "link"), exchange->data);
	if (exchange->data)
		exchange_query(exchange, &link_open_query, (const char *const[]){exchange->data},
			       link_on_open);
	else
		login_busy(exchange, -ENOMEM);
}

/* --- oneself --- */

/* The transaction has proven the login anew: what was remembered is not enough to say so. */
static void whoami_answer(struct exchange *exchange, const PGresult *result)
{
	static const char *const ways[] = {
		[IDENTITY_NOBODY] = "nobody",
		[IDENTITY_KERNEL] = "kernel",
		[IDENTITY_SESSION] = "session",
		[IDENTITY_TOKEN] = "token",
	};
	const struct identity *identity = &exchange->identity;
	CLEANUP(text_done) struct text body = {0};

	(void)result;
	json_begin_object(&body, NULL);
	json_put_string(&body, "actor", identity->actor);
	if (identity->account[0] != '\0')
		json_put_string(&body, "account", identity->name);
	json_put_string(&body, "role", account_role_words[identity->role]);
	if (exchange->tenant[0] != '\0')
		json_put_string(&body, "tenant", exchange->tenant);
	json_put_string(&body, "way", ways[identity->way]);
	if (identity->scopes[0] != '\0')
		json_put_string(&body, "scopes", identity->scopes);
	if (exchange->csrf[0] != '\0')
		json_put_string(&body, "csrf", exchange->csrf);
	if (identity->way != IDENTITY_KERNEL)
		json_put_bool(&body, "second_factor", identity->second_factor);
	json_end_object(&body);
	exchange_answer(exchange, 200, text_get(&body));
}

static void login_whoami(struct exchange *exchange)
{
	exchange_query(exchange, &whoami_query, NULL, whoami_answer);
}

/* Until then the cookie is good, and the browser keeps it: it may have to try again. */
static void login_ended(struct exchange *exchange)
{
	identity_book_forget(exchange->portal->identities);
	if (exchange->request)
		http_answer_header(exchange->request, "Set-Cookie",
				   CREDENTIAL_COOKIE
				   "=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0");
	exchange_answer_written(exchange);
}

static void login_end(struct exchange *exchange)
{
	struct problem problem;

	if (exchange->identity.way != IDENTITY_SESSION) {
		(void)problem_set(&problem, E_CONFLICT, "this request has no session to end");
		problem_hint(&problem, "a token ends by haasctl token end");
		exchange_problem(exchange, 409, &problem);
		return;
	}
	exchange->answer_with = login_ended;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&session_stop_query, {exchange->identity.proof, exchange->actor}},
		       },
		       1);
}

/* clang-format off */
const struct route login_routes[] = {
	{HTTP_POST, "/api/v1/login", ROLE_ANYONE, BODY_JSON, ROUTE_SECRET, login_begin, NULL, NULL, {NULL}},
	{HTTP_POST, "/api/v1/login/code", ROLE_ANYONE, BODY_JSON, ROUTE_SECRET, login_by_code, NULL, NULL, {NULL}},
	{HTTP_POST, "/api/v1/logout", ROLE_SELF, BODY_NONE, ROUTE_ENROL, login_end, NULL, NULL, {NULL}},
	{HTTP_POST, "/api/v1/links/use", ROLE_ANYONE, BODY_JSON, ROUTE_SECRET, link_use, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/whoami", ROLE_SELF, BODY_NONE, ROUTE_ENROL, login_whoami, NULL, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
