#include "portal/outward/oidc.h"

#include <errno.h>
#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/db/db.h"
#include "common/http/fetch.h"
#include "common/http/json_reader.h"
#include "common/http/server.h"
#include "common/io/log.h"

#include "portal/outward/address_guard.h"
#include "portal/outward/id_token.h"
#include "portal/outward/oidc_provider.h"
#include "portal/outward/outward_sql.h"

#define OIDC_ASKS_MAX     64
#define OIDC_DEADLINE_MS  8000
#define OIDC_ANSWER_MAX   65536
#define OIDC_KEEP_MS      600000 /* what a provider says of itself */
#define OIDC_KEYS_REST_MS 60000  /* unknown keys are asked for no sooner */
#define OIDC_ABOUT        "/.well-known/openid-configuration"

static const struct json_bounds answer_bounds = {
	.size = OIDC_ANSWER_MAX, .depth = 8, .values = 2048};

/* One question of portald's under way. */
struct oidc_ask {
	struct oidc_ask *next;
	struct oidc *oidc;
	struct http_request *request; /* NULL: portald is gone */
	struct oidc_provider *provider;
	void (*go_on)(struct oidc_ask *ask); /* when the provider has told about itself */
	json_t *body;
	char *token;
	struct address_guard guard;
	struct fetch *fetch;
	void (*on_answer)(struct oidc_ask *ask, const struct fetch_answer *answer);
	const char *part; /* what is asked for, in problems */
	bool anew;        /* its keys were asked for in this question */
	bool in_database;
};

struct oidc {
	struct db *db;
	struct fetcher *fetcher;
	char **allow;
	struct oidc_book book;
	struct oidc_ask *asks;
	size_t count;
};

/* --- life --- */

static void oidc_ask_free(struct oidc_ask *ask)
{
	for (struct oidc_ask **link = &ask->oidc->asks; *link; link = &(*link)->next) {
		if (*link == ask) {
			*link = ask->next;
			ask->oidc->count--;
			break;
		}
	}
	if (ask->fetch)
		fetch_cancel(ask->fetch);
	if (ask->request)
		http_request_on_close(ask->request, NULL, NULL);
	if (ask->token)
		sodium_memzero(ask->token, strlen(ask->token));
	free(ask->token);
	json_decref(ask->body);
	address_guard_done(&ask->guard);
	free(ask);
}

static void oidc_on_gone(void *context)
{
	struct oidc_ask *ask = context;

	ask->request = NULL;
	if (!ask->in_database)
		oidc_ask_free(ask);
}

static void oidc_answer(struct oidc_ask *ask, const struct text *body)
{
	if (ask->request) {
		http_request_on_close(ask->request, NULL, NULL);
		http_answer_json(ask->request, 200, body);
	}
	ask->request = NULL;
	oidc_ask_free(ask);
}

static void oidc_refuse(struct oidc_ask *ask, int status, const struct problem *problem)
{
	CLEANUP(text_done) struct text body = {0};

	log_problem(LOG_LEVEL_WARN, ask->provider ? ask->provider->name : "oidc", problem);
	json_begin_object(&body, NULL);
	json_put_int(&body, "status", status);
	json_put_problem(&body, "problem", problem);
	json_end_object(&body);
	oidc_answer(ask, &body);
}

/* The provider's own mistake. */
static void oidc_refuse_it(struct oidc_ask *ask, const char *what)
{
	struct problem problem;

	(void)problem_set(&problem, E_PROTOCOL, "%s: %s", ask->provider->name, what);
	problem_hint(&problem, "try again; if it stays so, tell an operator");
	oidc_refuse(ask, 502, &problem);
}

static const char *oidc_word(const struct oidc_ask *ask, const char *name)
{
	const char *value = json_string_value(json_object_get(ask->body, name));

	return value ? value : "";
}

static const char *oidc_about(const struct oidc_ask *ask, const char *name)
{
	const char *value = json_string_value(json_object_get(ask->provider->about, name));

	return value ? value : "";
}

/* --- asking the provider --- */

static void oidc_on_fetched(void *context, int rc, const struct fetch_answer *answer,
			    const struct problem *problem)
{
	struct oidc_ask *ask = context;
	struct problem told;

	ask->fetch = NULL;
	if (rc == 0) {
		ask->on_answer(ask, answer);
		return;
	}
	(void)problem_set(&told, rc, "%s does not answer", ask->provider->name);
	problem_detail(&told, "%s: %s %s", ask->part, problem->message, problem->detail);
	problem_hint(&told, rc == E_DENIED
				    ? "its address is of this machine, a BMC, a switch or a node: "
				      "allow it in portal-outward.conf, if that is right"
				    : "try again in a moment; a password works meanwhile");
	oidc_refuse(ask, rc == E_TIMEOUT ? 504 : 502, &told);
}

static void oidc_fetch(struct oidc_ask *ask, const char *part, const char *url,
		       const struct fetch_request *more,
		       void (*on_answer)(struct oidc_ask *ask, const struct fetch_answer *answer))
{
	struct fetch_request request = *more;

	ask->part = part;
	ask->on_answer = on_answer;
	request.peer = ask->provider->name;
	request.url = url;
	request.deadline_ms = OIDC_DEADLINE_MS;
	request.answer_limit = OIDC_ANSWER_MAX;
	request.may_connect = address_guard_may_connect;
	request.may_connect_context = &ask->guard;
	if (fetch_start(ask->oidc->fetcher, &request, oidc_on_fetched, ask, &ask->fetch) != 0)
		oidc_refuse_it(ask, "its address cannot be used");
}

/* A JSON object of an answer; NULL: refused. */
static json_t *oidc_json(struct oidc_ask *ask, const struct fetch_answer *answer)
{
	CLEANUP(json_decrefp) json_t *json = NULL;
	struct problem problem = {0};
	char what[120];

	if (answer->status == 200 &&
	    json_read_bounded(answer->body, answer->size, &answer_bounds, &json, &problem) == 0 &&
	    json_is_object(json))
		return TAKE(json);
	(void)text_format(what, sizeof(what), "its %s is not understood (HTTP %d)", ask->part,
			  answer->status);
	oidc_refuse_it(ask, what);
	return NULL;
}

/* --- what it says of itself --- */

static bool oidc_is_secure(const char *url)
{
	return strncmp(url, "https://", 8) == 0 && url[8] != '\0' && !strpbrk(url, "# \t\r\n\"");
}

static void oidc_on_about(struct oidc_ask *ask, const struct fetch_answer *answer)
{
	static const char *const endpoints[] = {"authorization_endpoint", "token_endpoint",
						"jwks_uri"};
	CLEANUP(json_decrefp) json_t *about = oidc_json(ask, answer);
	const char *issuer;

	if (!about)
		return;
	issuer = json_string_value(json_object_get(about, "issuer"));
	if (!issuer || strcmp(issuer, ask->provider->conf.issuer) != 0) {
		oidc_refuse_it(ask, "it says that it is another issuer");
		return;
	}
	for (size_t i = 0; i < COUNT_OF(endpoints); i++) {
		const char *url = json_string_value(json_object_get(about, endpoints[i]));

		if (!url || !oidc_is_secure(url)) {
			oidc_refuse_it(ask, "it names no endpoints by https");
			return;
		}
	}
	json_decref(ask->provider->about);
	ask->provider->about = TAKE(about);
	ask->provider->about_until_ms = clock_monotonic_ms() + OIDC_KEEP_MS;
	ask->go_on(ask);
}

static void oidc_ask_about(struct oidc_ask *ask)
{
	CLEANUP(text_done) struct text url = {0};
	const char *issuer = ask->provider->conf.issuer;
	size_t size = strlen(issuer);

	if (ask->provider->about && ask->provider->about_until_ms > clock_monotonic_ms()) {
		ask->go_on(ask);
		return;
	}
	text_add_bytes(&url, issuer, issuer[size - 1] == '/' ? size - 1 : size);
	text_add(&url, OIDC_ABOUT);
	oidc_fetch(ask, "configuration", text_get(&url), &(struct fetch_request){.method = "GET"},
		   oidc_on_about);
}

static void oidc_on_closed(void *context, int rc, const PGresult *result,
			   const struct problem *problem)
{
	struct oidc_ask *ask = context;
	struct problem told;

	ask->in_database = false;
	if (!ask->request) {
		oidc_ask_free(ask);
		return;
	}
	if (rc == 0)
		rc = address_list_add(&ask->guard.closed,
				      db_text(result, 0, OUTWARD_CLOSED_CLOSED, ""));
	if (rc == 0) {
		oidc_ask_about(ask);
		return;
	}
	(void)problem_set(&told, rc, "which addresses are closed cannot be said now");
	problem_detail(&told, "%s", problem ? problem->message : error_text(rc));
	problem_hint(&told, "try again in a moment");
	oidc_refuse(ask, 503, &told);
}

/* --- a question --- */

static struct oidc_ask *oidc_ask_new(struct oidc *oidc, struct http_request *request)
{
	struct oidc_ask *ask = oidc->count < OIDC_ASKS_MAX ? calloc(1, sizeof(*ask)) : NULL;
	int rc = ask ? 0 : E_UNAVAILABLE;

	if (!ask)
		return NULL;
	ask->oidc = oidc;
	ask->next = oidc->asks;
	oidc->asks = ask;
	oidc->count++;
	for (char **each = oidc->allow; each && *each && rc == 0; each++)
		rc = address_list_add(&ask->guard.allowed, *each);
	if (rc == 0) {
		ask->request = request;
		return ask;
	}
	oidc_ask_free(ask);
	return NULL;
}

static void oidc_ask_begin(struct oidc *oidc, struct http_request *request,
			   void (*go_on)(struct oidc_ask *ask))
{
	struct oidc_ask *ask = oidc_ask_new(oidc, request);
	struct problem problem = {0};
	size_t size;
	const char *body = http_request_body(request, &size);
	int rc = ask ? json_read_bounded(body, size, &answer_bounds, &ask->body, &problem)
		     : problem_set(&problem, E_UNAVAILABLE, "too many logins at the same time");

	if (!ask) {
		http_answer_problem(request, 503, &problem);
		return;
	}
	ask->go_on = go_on;
	http_request_on_close(request, oidc_on_gone, ask);
	if (rc == 0)
		ask->provider = oidc_book_find(&oidc->book, oidc_word(ask, "provider"));
	if (!ask->provider) {
		(void)problem_set(&problem, E_NOT_FOUND, "there is no provider %s here",
				  oidc_word(ask, "provider"));
		problem_hint(&problem, "GET /api/v1/login/providers has their names");
		oidc_refuse(ask, 404, &problem);
		return;
	}
	ask->in_database = true;
	if (db_submit(oidc->db, &outward_closed_query, NULL, oidc_on_closed, ask) == 0)
		return;
	ask->in_database = false;
	(void)problem_set(&problem, E_UNAVAILABLE, "the database is away");
	problem_hint(&problem, "try again in a moment");
	oidc_refuse(ask, 503, &problem);
}

static void oidc_put(struct text *text, const char *name, const char *value)
{
	text_addf(text, "%s=", name);
	text_add_percent(text, value);
}

/* --- begin: where the browser goes --- */

static void oidc_tell_url(struct oidc_ask *ask)
{
	const char *endpoint = oidc_about(ask, "authorization_endpoint");
	const struct {
		const char *name, *value;
	} members[] = {
		{"response_type", "code"},
		{"client_id", ask->provider->conf.client_id},
		{"scope", ask->provider->conf.scopes},
		{"redirect_uri", oidc_word(ask, "redirect_uri")},
		{"state", oidc_word(ask, "state")},
		{"nonce", oidc_word(ask, "nonce")},
		{"code_challenge", oidc_word(ask, "challenge")},
		{"code_challenge_method", "S256"},
	};
	CLEANUP(text_done) struct text url = {0};
	CLEANUP(text_done) struct text body = {0};

	text_addf(&url, "%s%c", endpoint, strchr(endpoint, '?') ? '&' : '?');
	for (size_t i = 0; i < COUNT_OF(members); i++) {
		text_add(&url, i > 0 ? "&" : "");
		oidc_put(&url, members[i].name, members[i].value);
	}
	json_begin_object(&body, NULL);
	json_put_string(&body, "url", text_get(&url));
	json_end_object(&body);
	oidc_answer(ask, &body);
}

void oidc_begin(struct oidc *oidc, struct http_request *request)
{
	oidc_ask_begin(oidc, request, oidc_tell_url);
}

/* --- finish: whom a code stands for --- */

static void oidc_verify(struct oidc_ask *ask);

static void oidc_on_keys(struct oidc_ask *ask, const struct fetch_answer *answer)
{
	json_t *keys = NULL;
	struct problem problem = {0};

	if (answer->status != 200 ||
	    id_token_keys(answer->body, answer->size, &keys, &problem) != 0) {
		oidc_refuse_it(ask, "its keys are not understood");
		return;
	}
	json_decref(ask->provider->keys);
	ask->provider->keys = keys;
	ask->provider->keys_until_ms = clock_monotonic_ms() + OIDC_KEEP_MS;
	ask->anew = true;
	oidc_verify(ask);
}

static void oidc_ask_keys(struct oidc_ask *ask)
{
	oidc_fetch(ask, "keys", oidc_about(ask, "jwks_uri"),
		   &(struct fetch_request){.method = "GET"}, oidc_on_keys);
}

/* A key that is not known may be new: asked for, but not as often as somebody wants it. */
static bool oidc_may_ask_anew(const struct oidc_ask *ask)
{
	return !ask->anew && ask->provider->keys_until_ms - OIDC_KEEP_MS + OIDC_KEYS_REST_MS <
				     clock_monotonic_ms();
}

static void oidc_verify(struct oidc_ask *ask)
{
	const struct id_token_want want = {.issuer = ask->provider->conf.issuer,
					   .client = ask->provider->conf.client_id,
					   .nonce = oidc_word(ask, "nonce"),
					   .now_s = clock_wall_us() / 1000000};
	CLEANUP(text_done) struct text body = {0};
	char subject[ID_TOKEN_SUBJECT_SIZE];
	struct problem problem = {0};
	int rc;

	if (!ask->provider->keys || ask->provider->keys_until_ms <= clock_monotonic_ms()) {
		oidc_ask_keys(ask);
		return;
	}
	rc = id_token_verify(ask->token, ask->provider->keys, &want, subject, &problem);
	if (rc == E_NOT_FOUND && oidc_may_ask_anew(ask)) {
		oidc_ask_keys(ask);
		return;
	}
	if (rc != 0) {
		problem_hint(&problem,
			     "nobody is logged in; if it happens again, tell an operator");
		oidc_refuse(ask, 502, &problem);
		return;
	}
	json_begin_object(&body, NULL);
	json_put_string(&body, "issuer", ask->provider->conf.issuer);
	json_put_string(&body, "subject", subject);
	json_end_object(&body);
	oidc_answer(ask, &body);
}

/* {"error": "invalid_grant"}: the code was used before, is too old, or was never ours. */
static void oidc_refuse_code(struct oidc_ask *ask, const struct fetch_answer *answer)
{
	CLEANUP(json_decrefp) json_t *json = NULL;
	struct problem problem = {0};
	const char *error;

	if (json_read_bounded(answer->body, answer->size, &answer_bounds, &json, &problem) != 0)
		json = NULL;
	error = json_string_value(json_object_get(json, "error"));
	(void)problem_set(&problem, E_AUTHENTICATION, "%s refuses this login", ask->provider->name);
	problem_detail(&problem, "%.60s", error ? error : "");
	problem_hint(&problem, "begin it again; a login is finished once, and soon");
	oidc_refuse(ask, 403, &problem);
}

static void oidc_on_token(struct oidc_ask *ask, const struct fetch_answer *answer)
{
	CLEANUP(json_decrefp) json_t *json = NULL;
	const char *token;

	if (answer->status == 400 || answer->status == 401) {
		oidc_refuse_code(ask, answer);
		return;
	}
	json = oidc_json(ask, answer);
	if (!json)
		return;
	token = json_string_value(json_object_get(json, "id_token"));
	ask->token = token ? strdup(token) : NULL;
	if (ask->token)
		oidc_verify(ask);
	else
		oidc_refuse_it(ask, "it sent no ID token");
}

/* RFC 9207: an answer of another provider is not taken for one of this. */
static bool oidc_is_its_answer(const struct oidc_ask *ask)
{
	const json_t *iss = json_object_get(ask->body, "iss");
	bool says = json_is_true(json_object_get(ask->provider->about,
						 "authorization_response_iss_parameter_supported"));

	return iss ? strcmp(oidc_word(ask, "iss"), ask->provider->conf.issuer) == 0 : !says;
}

static void oidc_exchange(struct oidc_ask *ask)
{
	static const char *const headers[] = {"Content-Type: application/x-www-form-urlencoded",
					      "Accept: application/json", NULL};
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(text_done) struct text id = {0};
	CLEANUP(text_done) struct text secret = {0};
	const char *password = ask->provider->secret;

	if (!oidc_is_its_answer(ask)) {
		oidc_refuse_it(ask, "the answer is not of this provider (iss)");
		return;
	}
	oidc_put(&body, "grant_type", "authorization_code");
	oidc_put(&body, "&code", oidc_word(ask, "code"));
	oidc_put(&body, "&redirect_uri", oidc_word(ask, "redirect_uri"));
	oidc_put(&body, "&code_verifier", oidc_word(ask, "verifier"));
	if (!password[0])
		oidc_put(&body, "&client_id", ask->provider->conf.client_id);
	/* RFC 6749, 2.3.1: both are encoded before they are joined. */
	oidc_put(&id, "", ask->provider->conf.client_id);
	oidc_put(&secret, "", password);
	oidc_fetch(ask, "token", oidc_about(ask, "token_endpoint"),
		   &(struct fetch_request){.method = "POST",
					   .headers = headers,
					   .body = text_get(&body),
					   .size = body.size,
					   .username = password[0] ? text_get(&id) + 1 : NULL,
					   .password = password[0] ? text_get(&secret) + 1 : NULL},
		   oidc_on_token);
	sodium_memzero(body.data, body.size);
	sodium_memzero(secret.data, secret.size);
}

void oidc_finish(struct oidc *oidc, struct http_request *request)
{
	oidc_ask_begin(oidc, request, oidc_exchange);
}

/* --- all of them --- */

void oidc_list(struct oidc *oidc, struct http_request *request)
{
	CLEANUP(text_done) struct text body = {0};

	json_begin_object(&body, NULL);
	json_begin_array(&body, "items");
	for (size_t i = 0; i < oidc->book.count; i++) {
		json_begin_object(&body, NULL);
		json_put_string(&body, "name", oidc->book.rows[i].name);
		json_end_object(&body);
	}
	json_end_array(&body);
	json_end_object(&body);
	http_answer_json(request, 200, &body);
}

int oidc_new(const char *folder, char **allow, struct oidc **ret, struct problem *problem)
{
	struct oidc *oidc = calloc(1, sizeof(*oidc));
	int rc = oidc ? oidc_book_read(folder, &oidc->book, problem) : -ENOMEM;

	if (rc != 0) {
		oidc_free(oidc);
		return rc;
	}
	oidc->allow = allow;
	*ret = oidc;
	return 0;
}

void oidc_connect(struct oidc *oidc, struct db *db, struct fetcher *fetcher)
{
	oidc->db = db;
	oidc->fetcher = fetcher;
}

void oidc_free(struct oidc *oidc)
{
	if (!oidc)
		return;
	while (oidc->asks)
		oidc_ask_free(oidc->asks);
	oidc_book_done(&oidc->book);
	free(oidc);
}
