/* /second-factor: who is logged in makes one, shows its first code, gives it up. */
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/http/wipe.h"
#include "common/net/ipv4.h"

#include "portal/server/account_store_sql.h"
#include "portal/server/exchange.h"
#include "portal/server/login_guess.h"
#include "portal/server/member_check.h"
#include "portal/server/second_factor.h"
#include "portal/server/secret.h"

LEAKS_LEFT_TO_SANITIZER

#define FACTOR_URI_SIZE 512
#define FACTOR_NUMBER   24

/* clang-format off */
static const struct member_row factor_begin_members[] = {
	{"password", MEMBER_TEXT, MEMBER_REQUIRED, 1, SECRET_PASSWORD_MAX, NULL},
};
static const struct member_row factor_confirm_members[] = {
	{"code", MEMBER_TEXT, MEMBER_REQUIRED, TOTP_DIGITS, TOTP_DIGITS, NULL},
};
static const struct member_row factor_end_members[] = {
	{"password", MEMBER_TEXT, MEMBER_REQUIRED, 1,           SECRET_PASSWORD_MAX,    NULL},
	{"code",     MEMBER_TEXT, MEMBER_REQUIRED, TOTP_DIGITS, SECOND_FACTOR_CODE_MAX, NULL},
};
/* clang-format on */

/* One exchange of these; wiped with it. */
struct factor {
	char account[IDENTITY_NAME_SIZE], address[LOGIN_ADDRESS_SIZE];
	char used[FACTOR_NUMBER];
	struct second_factor_code code;
	char *sealed; /* as the database has it, or the new one */
	char text[TOTP_TEXT_SIZE];
	char codes[SECOND_FACTOR_CODES][SECOND_FACTOR_CODE_SIZE];
	void (*proven)(struct exchange *exchange); /* by the password */
};

static void factor_forget(void *data)
{
	struct factor *factor = data;

	free(factor->sealed);
	wipe_borrowed(factor, sizeof(*factor));
	free(factor);
}

static const char *factor_session(const struct exchange *exchange)
{
	return exchange->identity.way == IDENTITY_SESSION ? exchange->identity.proof : NULL;
}

static struct login_try factor_try_of(const struct factor *factor)
{
	/* Who is logged in is guessed at from inside: counted apart from logins elsewhere. */
	return (struct login_try){
		.account = factor->account, .address = factor->address, .known = true};
}

static void factor_refuse(struct exchange *exchange, int status, int rc, const char *message,
			  const char *hint)
{
	struct problem problem;

	(void)problem_set(&problem, rc, "%s", message);
	problem_hint(&problem, "%s", hint);
	exchange_problem(exchange, status, &problem);
}

/* Reads the body of a secret route. False: refused. */
static bool factor_read(struct exchange *exchange, const struct member_row *rows, size_t count)
{
	struct error_list errors = {0};
	struct problem problem = {0};
	struct factor *factor;
	int rc = exchange_read_body(exchange, &problem);

	if (rc != 0) {
		exchange_problem(exchange, exchange_status_of(rc), &problem);
		return false;
	}
	members_check(exchange->body, rows, count, "", &errors);
	if (exchange_refused(exchange, &errors))
		return false;
	factor = calloc(1, sizeof(*factor));
	if (!factor) {
		login_busy(exchange, -ENOMEM);
		return false;
	}
	exchange->data = factor;
	exchange->data_free = factor_forget;
	login_address(exchange, factor->address);
	return true;
}

/* --- the password --- */

static void factor_on_verdict(struct exchange *exchange, bool good, const char *hash)
{
	struct factor *factor = exchange->data;
	struct login_try wanted = factor_try_of(factor);

	(void)hash;
	if (!good) {
		login_tell_wrong(exchange, factor->account, factor->address, "password");
		factor_refuse(exchange, 403, E_DENIED, "this is not your password",
			      "who has lost it asks for a link: haasctl account link NAME");
		return;
	}
	/* One that also shows a code counts as wrong until that was right. A password alone resets no
	 * count: who has it may be guessing codes. */
	if (!json_object_get(exchange->body, "code"))
		login_gate_untried(exchange->portal->gate, &wanted);
	factor->proven(exchange);
}

static bool factor_has_account(struct exchange *exchange, const PGresult *result)
{
	if (PQntuples(result) > 0)
		return true;
	factor_refuse(exchange, 409, E_CONFLICT,
		      "a second factor belongs to an account, and you have none",
		      "log in first: haasctl login");
	return false;
}

static void factor_on_row(struct exchange *exchange, const PGresult *result)
{
	struct factor *factor = exchange->data;
	struct login_try wanted;
	int64_t wait_s;
	int rc;

	if (!factor_has_account(exchange, result))
		return;
	(void)text_copy(factor->account, sizeof(factor->account),
			db_text(result, 0, FACTOR_ROW_NAME, ""));
	(void)text_copy(factor->used, sizeof(factor->used),
			db_text(result, 0, FACTOR_ROW_COUNTER, "0"));
	factor->sealed = strdup(db_text(result, 0, FACTOR_ROW_SEALED, ""));
	wanted = factor_try_of(factor);
	wait_s = login_gate_wait_s(exchange->portal->gate, &wanted,
				   loop_now_ms(exchange->portal->loop));
	if (wait_s > 0) {
		login_refuse_wait(exchange, wait_s);
		return;
	}
	login_gate_try(exchange->portal->gate, &wanted, loop_now_ms(exchange->portal->loop));
	rc = factor->sealed ? secret_work(exchange, exchange_text(exchange, "password"),
					  db_text(result, 0, FACTOR_ROW_PASSWORD_HASH, ""),
					  factor_on_verdict)
			    : -ENOMEM;
	if (rc != 0) {
		login_gate_untried(exchange->portal->gate, &wanted);
		login_busy(exchange, rc);
	}
}

static void factor_prove(struct exchange *exchange, void (*proven)(struct exchange *exchange))
{
	struct factor *factor = exchange->data;

	factor->proven = proven;
	exchange_query(exchange, &factor_row_query, NULL, factor_on_row);
}

/* --- begin --- */

/* otpauth://totp/HaaS:ann?secret=...: as authenticators read it from a QR code. */
static void factor_uri(const struct exchange *exchange, char ret[FACTOR_URI_SIZE])
{
	const struct factor *factor = exchange->data;
	CLEANUP(text_done) struct text issuer = {0};
	CLEANUP(text_done) struct text account = {0};

	text_add_percent(&issuer, exchange->portal->conf->login.name);
	text_add_percent(&account, factor->account);
	(void)text_format(
		ret, FACTOR_URI_SIZE,
		"otpauth://totp/%s:%s?secret=%s&issuer=%s&algorithm=SHA1&digits=6&period=30",
		text_get(&issuer), text_get(&account), factor->text, text_get(&issuer));
}

static void factor_begun(struct exchange *exchange)
{
	const struct factor *factor = exchange->data;
	CLEANUP(text_done) struct text body = {0};
	char uri[FACTOR_URI_SIZE];

	factor_uri(exchange, uri);
	json_begin_object(&body, NULL);
	json_put_string(&body, "account", factor->account);
	json_put_string(&body, "secret", factor->text);
	json_put_string(&body, "uri", uri);
	json_end_object(&body);
	exchange_answer(exchange, 201, text_get(&body));
	sodium_memzero(uri, sizeof(uri));
	if (body.data)
		wipe_borrowed(body.data, body.size);
}

static void factor_make(struct exchange *exchange)
{
	struct factor *factor = exchange->data;
	struct problem problem = {0};
	int rc;

	free(factor->sealed);
	factor->sealed = NULL;
	rc = second_factor_make(exchange->portal, factor->text, &factor->sealed, &problem);
	if (rc != 0) {
		exchange_problem(exchange, 503, &problem);
		return;
	}
	exchange->answer_with = factor_begun;
	exchange_write(exchange,
		       (const struct exchange_step[]){{&factor_begin_query, {factor->sealed}}}, 1);
}

static void factor_begin(struct exchange *exchange)
{
	if (factor_read(exchange, factor_begin_members, COUNT_OF(factor_begin_members)))
		factor_prove(exchange, factor_make);
}

/* --- the code: 0, or refused --- */

static int factor_check_code(struct exchange *exchange)
{
	struct factor *factor = exchange->data;
	struct problem problem = {0};
	int rc = second_factor_check(exchange->portal, factor->sealed,
				     strtoll(factor->used, NULL, 10),
				     exchange_text(exchange, "code"), &factor->code, &problem);

	if (rc == E_AUTHENTICATION)
		factor_refuse(exchange, 403, E_DENIED, "the code is wrong, or was used before",
			      "wait for the next code; is the clock of the device right?");
	else if (rc != 0)
		exchange_problem(exchange, 503, &problem);
	return rc;
}

/* --- confirm --- */

static void factor_confirmed(struct exchange *exchange)
{
	const struct factor *factor = exchange->data;
	CLEANUP(text_done) struct text body = {0};

	identity_book_forget(exchange->portal->identities);
	json_begin_object(&body, NULL);
	json_put_string(&body, "account", factor->account);
	json_begin_array(&body, "recovery_codes");
	for (size_t i = 0; i < SECOND_FACTOR_CODES; i++)
		json_put_string(&body, NULL, factor->codes[i]);
	json_end_array(&body);
	json_end_object(&body);
	exchange_answer(exchange, 200, text_get(&body));
	if (body.data)
		wipe_borrowed(body.data, body.size);
}

static void factor_on_begun(struct exchange *exchange, const PGresult *result)
{
	struct factor *factor = exchange->data;
	CLEANUP(text_done) struct text digests = {0};

	if (!factor_has_account(exchange, result))
		return;
	if (db_is_null(result, 0, FACTOR_ROW_SEALED) || db_bool(result, 0, FACTOR_ROW_CONFIRMED)) {
		factor_refuse(exchange, 409, E_CONFLICT, "nothing waits for a code",
			      "begin anew: haasctl totp enable");
		return;
	}
	(void)text_copy(factor->account, sizeof(factor->account),
			db_text(result, 0, FACTOR_ROW_NAME, ""));
	(void)text_copy(factor->used, sizeof(factor->used), "0");
	factor->sealed = strdup(db_text(result, 0, FACTOR_ROW_SEALED, ""));
	if (!factor->sealed) {
		login_busy(exchange, -ENOMEM);
		return;
	}
	if (factor_check_code(exchange) != 0)
		return;
	text_add(&digests, "{");
	for (size_t i = 0; i < SECOND_FACTOR_CODES; i++) {
		char digest[IDENTITY_DIGEST_SIZE];

		second_factor_recovery(factor->codes[i], digest);
		text_addf(&digests, "%s%s", i > 0 ? "," : "", digest);
	}
	text_add(&digests, "}");
	exchange->answer_with = factor_confirmed;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&factor_confirm_query,
				{factor->code.counter, text_get(&digests), factor_session(exchange),
				 exchange->actor}},
		       },
		       1);
}

static void factor_confirm(struct exchange *exchange)
{
	if (factor_read(exchange, factor_confirm_members, COUNT_OF(factor_confirm_members)))
		exchange_query(exchange, &factor_row_query, NULL, factor_on_begun);
}

/* --- end --- */

static void factor_ended(struct exchange *exchange)
{
	struct login_try wanted = factor_try_of(exchange->data);

	login_gate_right(exchange->portal->gate, &wanted);
	identity_book_forget(exchange->portal->identities);
	exchange_answer_written(exchange);
}

static void factor_give_up(struct exchange *exchange)
{
	struct factor *factor = exchange->data;

	if (factor->sealed[0] == '\0') {
		factor_refuse(exchange, 409, E_CONFLICT, "you have no second factor",
			      "haasctl totp enable makes one");
		return;
	}
	if (factor_check_code(exchange) != 0)
		return;
	exchange->answer_with = factor_ended;
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&factor_end_query,
			 {text_or_null(factor->code.counter), text_or_null(factor->code.digest),
			  factor_session(exchange), exchange->actor}},
		},
		1);
}

static void factor_end(struct exchange *exchange)
{
	if (factor_read(exchange, factor_end_members, COUNT_OF(factor_end_members)))
		factor_prove(exchange, factor_give_up);
}

/* clang-format off */
const struct route second_factor_routes[] = {
	{HTTP_POST, "/api/v1/second-factor", ROLE_SELF, BODY_JSON, ROUTE_SECRET | ROUTE_ENROL, factor_begin, NULL, NULL, {NULL}},
	{HTTP_POST, "/api/v1/second-factor/confirm", ROLE_SELF, BODY_JSON, ROUTE_SECRET | ROUTE_ENROL, factor_confirm, NULL, NULL, {NULL}},
	{HTTP_POST, "/api/v1/second-factor/disable", ROLE_SELF, BODY_JSON, ROUTE_SECRET, factor_end, NULL, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/accounts/{account}/second-factor", ROLE_TENANT, BODY_NONE, ROUTE_MANAGE, exchange_change, NULL, &factor_reset_query, {"{account}", "@actor"}},
	{.pattern = NULL},
};
/* clang-format on */
