/* /login/oidc: a browser goes to a provider of OpenID Connect, and comes back with a code. Whom that
 * stands for is portal-outward's to find out. What the browser is told then is a code of ours, good for who began the
 * login (PKCE once more): the page, or haasctl on the same machine. No answer leads anywhere else. */
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/json_text.h"
#include "common/http/wipe.h"
#include "common/io/seal_key.h"

#include "portal/server/account_store_sql.h"
#include "portal/server/daemon_call.h"
#include "portal/server/exchange.h"
#include "portal/server/login_guess.h"
#include "portal/server/login_key.h"
#include "portal/server/login_state_wire.h"
#include "portal/server/secret.h"

#define OIDC_LOGIN_S     600
#define OIDC_TIMEOUT_MS  30000 /* three questions to the provider, 8 s each */
#define OIDC_ANSWER_MAX  65536
#define OIDC_COOKIE_TAIL "; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age="
#define OIDC_CALLBACK    "/api/v1/login/oidc/%s/callback"
#define OIDC_PURPOSE     "login by a provider" /* what our key of the state derives for */

static const struct json_bounds oidc_answer_bounds = {
	.size = OIDC_ANSWER_MAX, .depth = 4, .values = 64};

/* One login on its way to the provider, or back. */
struct oidc_login {
	struct login_state state;
	char code[CREDENTIAL_SIZE]; /* ours */
};

static void oidc_login_forget(void *data)
{
	wipe_borrowed(data, sizeof(struct oidc_login));
	free(data);
}

static struct oidc_login *oidc_login_new(struct exchange *exchange)
{
	struct oidc_login *login = calloc(1, sizeof(*login));

	exchange->data = login;
	exchange->data_free = oidc_login_forget;
	if (!login)
		login_busy(exchange, E_UNAVAILABLE);
	return login;
}

static void oidc_refuse(struct exchange *exchange, int status, int rc, const char *message,
			const char *hint)
{
	struct problem problem;

	(void)problem_set(&problem, rc, "%s", message);
	problem_hint(&problem, "%s", hint);
	exchange_problem(exchange, status, &problem);
}

static const struct seal_key *oidc_key(struct exchange *exchange)
{
	const struct seal_key *key = NULL;
	struct problem problem = {0};

	if (login_key_get(exchange->portal->login_key, &key, &problem) != 0)
		exchange_problem(exchange, 503, &problem);
	return key;
}

/* A login that has begun before the key was exchanged ends with the key before. */
static bool oidc_open_state(const struct seal_key *key, const char *cookie,
			    struct login_state *state)
{
	uint8_t derived[LOGIN_STATE_KEY];
	bool opened;

	seal_key_derive(key, OIDC_PURPOSE, derived);
	opened = login_state_open(derived, cookie, state);
	if (!opened && seal_key_derive_former(key, OIDC_PURPOSE, derived))
		opened = login_state_open(derived, cookie, state);
	sodium_memzero(derived, sizeof(derived));
	return opened;
}

static void oidc_set_cookie(struct exchange *exchange, const char *value, int seconds)
{
	char cookie[LOGIN_STATE_SIZE + 128];

	(void)text_format(cookie, sizeof(cookie), LOGIN_STATE_COOKIE "=%s" OIDC_COOKIE_TAIL "%d",
			  value, seconds);
	http_answer_header(exchange->request, "Set-Cookie", cookie);
	sodium_memzero(cookie, sizeof(cookie));
}

static void oidc_redirect(struct exchange *exchange, const char *url)
{
	http_answer_header(exchange->request, "Location", url);
	exchange_answer(exchange, 302, NULL);
}

/* Where the login comes back to: only the configuration says our name. */
static void oidc_redirect_uri(const struct exchange *exchange, const char *provider, char ret[512])
{
	const char *url = exchange->portal->conf->login.url;
	size_t size = strlen(url);

	(void)text_format(ret, 512, "%.*s" OIDC_CALLBACK,
			  (int)(size > 0 && url[size - 1] == '/' ? size - 1 : size), url, provider);
}

/* --- what portal-outward answers --- */

static json_t *oidc_read(const struct http_response *response)
{
	CLEANUP(json_decrefp) json_t *json = NULL;
	struct problem problem;

	return response->body && json_read_bounded(response->body, response->size,
						   &oidc_answer_bounds, &json, &problem) == 0
		       ? TAKE(json)
		       : NULL;
}

static const char *oidc_text(const json_t *json, const char *name)
{
	const char *value = json_string_value(json_object_get(json, name));

	return value ? value : "";
}

/* Why there is no login: what portal-outward says, or that it says nothing. */
static int oidc_problem(const json_t *json, struct problem *ret)
{
	const json_t *problem = json_object_get(json, "problem");
	int status = (int)json_integer_value(json_object_get(json, "status"));

	(void)problem_set(ret, E_PROTOCOL, "%s",
			  problem ? oidc_text(problem, "message")
				  : "portal-outward is not understood");
	problem_detail(ret, "%s", oidc_text(problem, "detail"));
	problem_hint(ret, "%s", oidc_text(problem, "hint"));
	return problem && status >= 400 && status < 600 ? status : 502;
}

static void oidc_ask(struct exchange *exchange, const char *target, const char *body,
		     void (*answered)(struct exchange *exchange,
				      const struct http_response *response),
		     void (*failed)(struct exchange *exchange, const char *reason))
{
	daemon_pass_on(exchange,
		       &(struct daemon_ask){.daemon = "portal-outward",
					    .socket = exchange->portal->conf->outward_socket,
					    .timeout_ms = OIDC_TIMEOUT_MS,
					    .method = body ? "POST" : "GET",
					    .target = target,
					    .body = body,
					    .response_limit = OIDC_ANSWER_MAX,
					    .answered = answered,
					    .failed = failed});
}

/* --- home --- */

/* haasctl waits on the browser's machine; the page reads what stands behind the #, which no server sees. */
static void oidc_go_home(struct exchange *exchange, const char *name, const char *value,
			 const char *hint)
{
	const struct oidc_login *login = exchange->data;
	CLEANUP(text_done) struct text url = {0};

	if (!exchange->request)
		return;
	if (login->state.port)
		text_addf(&url, "http://127.0.0.1:%u/%s?%s=", login->state.port,
			  login->state.challenge, name);
	else
		text_addf(&url, "/#%s=", name);
	text_add_percent(&url, value);
	if (hint) {
		text_add(&url, "&hint=");
		text_add_percent(&url, hint);
	}
	/* One whose answer this is not may be under way in this browser. */
	if (login->state.state[0] != '\0')
		oidc_set_cookie(exchange, "", 0);
	oidc_redirect(exchange, text_get(&url));
	if (url.data)
		wipe_borrowed(url.data, url.size);
}

static void oidc_tell(struct exchange *exchange, const struct problem *problem)
{
	CLEANUP(text_done) struct text message = {0};

	text_add(&message, problem->message);
	if (problem->detail[0] != '\0')
		text_addf(&message, ": %s", problem->detail);
	oidc_go_home(exchange, "error", text_get(&message), problem->hint);
}

static void oidc_on_failed(struct exchange *exchange, const char *reason)
{
	oidc_go_home(exchange, "error", reason,
		     "try again in a moment; a password works meanwhile");
}

/* --- there --- */

static void oidc_on_begun(struct exchange *exchange, const struct http_response *response)
{
	const struct oidc_login *login = exchange->data;
	CLEANUP(json_decrefp) json_t *json = oidc_read(response);
	char cookie[LOGIN_STATE_SIZE];
	uint8_t key[LOGIN_STATE_KEY];
	const struct seal_key *own;
	struct problem problem = {0};
	const char *url = oidc_text(json, "url");

	if (url[0] == '\0') {
		int status = oidc_problem(json, &problem);

		/* haasctl waits for its browser; the page asks first, and shows the problem itself. */
		if (login->state.port)
			oidc_tell(exchange, &problem);
		else
			exchange_problem(exchange, status, &problem);
		return;
	}
	own = oidc_key(exchange);
	if (!own)
		return;
	seal_key_derive(own, OIDC_PURPOSE, key);
	if (login_state_seal(key, &login->state, cookie) == 0) {
		oidc_set_cookie(exchange, cookie, OIDC_LOGIN_S);
		oidc_redirect(exchange, url);
	}
	sodium_memzero(key, sizeof(key));
	sodium_memzero(cookie, sizeof(cookie));
}

static void oidc_make_state(struct exchange *exchange, struct login_state *ret)
{
	const char *port = exchange_arg(exchange, "?port");

	(void)text_copy(ret->provider, sizeof(ret->provider), exchange_arg(exchange, "{provider}"));
	(void)text_copy(ret->challenge, sizeof(ret->challenge),
			exchange_arg(exchange, "?challenge"));
	ret->port = port ? (uint16_t)strtoul(port, NULL, 10) : 0;
	ret->until_s = clock_wall_us() / 1000000 + OIDC_LOGIN_S;
	login_word_new(ret->state);
	login_word_new(ret->nonce);
	login_word_new(ret->verifier);
}

/* False: refused. Which names there are is portal-outward's to know. */
static bool oidc_is_there(struct exchange *exchange)
{
	if (exchange->portal->conf->login.url[0] != '\0' &&
	    strlen(exchange_arg(exchange, "{provider}")) < LOGIN_PROVIDER_SIZE)
		return true;
	oidc_refuse(exchange, 404, E_NOT_FOUND, "nobody logs in by this provider here",
		    "GET /api/v1/login/providers has their names; login.url in portald.conf lets "
		    "them in");
	return false;
}

static bool oidc_may_begin(struct exchange *exchange)
{
	const char *port = exchange_arg(exchange, "?port");
	struct error_list errors = {0};
	uint8_t bytes[32];

	if (!login_word_bytes(exchange_arg(exchange, "?challenge"), bytes))
		error_list_parameter(&errors, "challenge", exchange_arg(exchange, "?challenge"),
				     "SHA-256 of the verifier in base64url, 43 letters");
	if (port && strtoll(port, NULL, 10) > UINT16_MAX)
		error_list_parameter(&errors, "port", port, "1 to 65535");
	if (errors.count > 0) {
		exchange_refuse_as(exchange, 400, &errors);
		return false;
	}
	return oidc_is_there(exchange);
}

static void oidc_go(struct exchange *exchange)
{
	CLEANUP(text_done) struct text body = {0};
	struct oidc_login *login;
	char challenge[LOGIN_WORD_SIZE];
	char uri[512];

	if (!oidc_may_begin(exchange))
		return;
	login = oidc_login_new(exchange);
	if (!login)
		return;
	oidc_make_state(exchange, &login->state);
	oidc_redirect_uri(exchange, login->state.provider, uri);
	login_word_hash(login->state.verifier, challenge);
	json_begin_object(&body, NULL);
	json_put_string(&body, "provider", login->state.provider);
	json_put_string(&body, "redirect_uri", uri);
	json_put_string(&body, "state", login->state.state);
	json_put_string(&body, "nonce", login->state.nonce);
	json_put_string(&body, "challenge", challenge);
	json_end_object(&body);
	oidc_ask(exchange, "/oidc/begin", text_get(&body), oidc_on_begun,
		 login->state.port ? oidc_on_failed : NULL);
}

/* --- and back --- */

static void oidc_finished(struct exchange *exchange)
{
	const struct oidc_login *login = exchange->data;

	oidc_go_home(exchange, "code", login->code, NULL);
}

static void oidc_on_known(struct exchange *exchange, const struct http_response *response)
{
	struct oidc_login *login = exchange->data;
	CLEANUP(json_decrefp) json_t *json = oidc_read(response);
	const char *issuer = oidc_text(json, "issuer");
	const char *subject = oidc_text(json, "subject");
	char digest[IDENTITY_DIGEST_SIZE];
	char state[IDENTITY_DIGEST_SIZE];
	char challenge[65];
	uint8_t bytes[32];
	struct problem problem = {0};

	if (issuer[0] == '\0' || subject[0] == '\0' ||
	    !login_word_bytes(login->state.challenge, bytes)) {
		(void)oidc_problem(json, &problem);
		oidc_tell(exchange, &problem);
		return;
	}
	hex_encode(bytes, sizeof(bytes), challenge);
	secret_new("o", login->code);
	identity_digest(login->code, digest);
	identity_digest(login->state.state, state);
	exchange->answer_with = oidc_finished;
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&login_code_made_query, {digest, state, challenge, issuer, subject}},
		},
		1);
}

/* Is it the answer to what this browser began? False: refused, and sent to the page. The browser keeps
 * the cookie for as long as a login may take, so one that took too long often has none. */
static bool oidc_is_answer(struct exchange *exchange, struct login_state *state)
{
	const char *cookie = http_request_header(exchange->request, "Cookie");
	const char *told = exchange_arg(exchange, "?state");
	const struct seal_key *key = oidc_key(exchange);
	bool ours;

	if (!key)
		return false;
	ours = cookie && oidc_open_state(key, cookie, state) && told &&
	       strlen(told) == strlen(state->state) &&
	       sodium_memcmp(told, state->state, strlen(told)) == 0 &&
	       strcmp(state->provider, exchange_arg(exchange, "{provider}")) == 0;
	if (!ours)
		*state = (struct login_state){0};
	if (ours && state->until_s > clock_wall_us() / 1000000)
		return true;
	oidc_refuse(exchange, 403, E_DENIED,
		    "this browser began no such login, or it took too long",
		    "begin it again, and let the same browser finish it within ten minutes");
	return false;
}

static void oidc_exchange_code(struct exchange *exchange, const struct login_state *state,
			       const char *code)
{
	CLEANUP(text_done) struct text body = {0};
	const char *iss = exchange_arg(exchange, "?iss");
	char uri[512];

	oidc_redirect_uri(exchange, state->provider, uri);
	json_begin_object(&body, NULL);
	json_put_string(&body, "provider", state->provider);
	json_put_string(&body, "redirect_uri", uri);
	json_put_string(&body, "code", code);
	json_put_string(&body, "verifier", state->verifier);
	json_put_string(&body, "nonce", state->nonce);
	if (iss)
		json_put_string(&body, "iss", iss);
	json_end_object(&body);
	oidc_ask(exchange, "/oidc/finish", text_get(&body), oidc_on_known, oidc_on_failed);
	if (body.data)
		wipe_borrowed(body.data, body.size);
}

static void oidc_callback(struct exchange *exchange)
{
	const char *error = exchange_arg(exchange, "?error");
	const char *code = exchange_arg(exchange, "?code");
	struct oidc_login *login = oidc_is_there(exchange) ? oidc_login_new(exchange) : NULL;
	struct problem problem = {0};

	if (!login)
		return;
	/* A person looks at this answer: what goes wrong from here on is told by the page. */
	exchange->problem_with = oidc_tell;
	if (!oidc_is_answer(exchange, &login->state))
		return;
	if (code && !error) {
		oidc_exchange_code(exchange, &login->state, code);
		return;
	}
	(void)problem_set(&problem, E_DENIED, "%s lets nobody in", login->state.provider);
	problem_detail(&problem, "%.60s", error ? error : "it sent no code");
	problem_hint(&problem, "begin it again, or ask who runs the provider");
	oidc_tell(exchange, &problem);
}

static void oidc_list(struct exchange *exchange)
{
	if (exchange->portal->conf->login.url[0] == '\0')
		exchange_answer(exchange, 200, "{\"items\":[]}");
	else
		oidc_ask(exchange, "/oidc/providers", NULL, NULL, NULL);
}

static const struct query_row oidc_go_query[] = {
	{"challenge", QUERY_TEXT, LOGIN_WORD_SIZE - 1, NULL, NULL, true, NULL},
	{"port", QUERY_ID, 0, NULL, NULL, false, NULL},
	{0},
};
static const struct query_row oidc_callback_query[] = {
	{"state", QUERY_TEXT, LOGIN_WORD_SIZE - 1, NULL, NULL, false, NULL},
	{"code", QUERY_TEXT, 2048, NULL, NULL, false, NULL},
	{"iss", QUERY_TEXT, 1000, NULL, NULL, false, NULL},
	{"error", QUERY_TEXT, 255, NULL, NULL, false, NULL},
	{0},
};

/* clang-format off */
const struct route oidc_routes[] = {
	{HTTP_GET, "/api/v1/login/providers", ROLE_ANYONE, BODY_NONE, 0, oidc_list, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/login/oidc/{provider}", ROLE_ANYONE, BODY_NONE, 0, oidc_go, oidc_go_query, NULL, {NULL}},
	{HTTP_GET, "/api/v1/login/oidc/{provider}/callback", ROLE_ANYONE, BODY_NONE, 0, oidc_callback, oidc_callback_query, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
