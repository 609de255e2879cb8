/* /volumes, /archives, /storages: what tenants store, and where. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/http/wipe.h"

#include "portal/server/exchange.h"
#include "portal/server/list.h"
#include "portal/server/member_check.h"
#include "portal/server/pdci_body.h"
#include "portal/server/seal.h"
#include "portal/server/store_text_sql.h"
#include "portal/server/volume_body.h"
#include "portal/server/volume_store_sql.h"
#include "portal/server/word_table.h"

/* CHAP as RFC 7143 (12.1.3) wants it: 96 bits at least; some initiators take 12 to 16 characters
 * only. 16 of 64. */
#define SECRET_LENGTH 16

/* clang-format off */
static const struct member_row volume_routes_volume_members[] = {
	{"name",       MEMBER_NAME, MEMBER_REQUIRED, 0, 0,                NULL},
	{"tenant",     MEMBER_NAME, 0,               0, 0,                NULL},
	{"size_bytes", MEMBER_INT,  0,               1, VOLUME_BYTES_MAX, NULL},
	{"archive",    MEMBER_TEXT, 0,               1, 63,               NULL},
	{"storage",    MEMBER_NAME, 0,               0, 0,                NULL},
	{"pdci",       MEMBER_TEXT, 0,               1, 63,               NULL},
	{"keep",       MEMBER_BOOL, 0,               0, 0,                NULL},
};
static const struct member_row volume_routes_action_members[] = {
	{"action",     MEMBER_WORD, MEMBER_REQUIRED, 0, 0,                volume_action_words},
	{"pdci",       MEMBER_TEXT, 0,               1, 63,               NULL},
	{"size_bytes", MEMBER_INT,  0,               1, VOLUME_BYTES_MAX, NULL},
	{"name",       MEMBER_NAME, 0,               0, 0,                NULL},
};
static const struct member_row storage_members[] = {
	{"portal",         MEMBER_TEXT, 0, 3, 63,               NULL},
	{"capacity_bytes", MEMBER_INT,  0, 1, VOLUME_BYTES_MAX, NULL},
	{"accepts",        MEMBER_BOOL, 0, 0, 0,                NULL},
	{"login",          MEMBER_TEXT, 0, 1, 63,               NULL},
	{"iqn",            MEMBER_TEXT, 0, 1, 95,               NULL},
	{"port",           MEMBER_TEXT, 0, 0, 127,              NULL},
	{"prefix",         MEMBER_PREFIX, 0, 0, 0,              NULL},
};
/* clang-format on */

static const char *volume_routes_tenant_of(const struct exchange *exchange)
{
	const char *tenant = exchange_text(exchange, "tenant");

	return tenant ? tenant : exchange->tenant[0] != '\0' ? exchange->tenant : NULL;
}

/* Decimal of an integer member; NULL when it is absent. */
static const char *volume_routes_number_of(const struct exchange *exchange, const char *name,
					   char room[24])
{
	const json_t *value = json_object_get(exchange->body, name);

	if (!json_is_integer(value))
		return NULL;
	(void)text_format(room, 24, "%lld", (long long)json_integer_value(value));
	return room;
}

static void volume_routes_volume_create(struct exchange *exchange)
{
	const json_t *keep = json_object_get(exchange->body, "keep");
	struct error_list errors = {0};
	char size[24];

	members_check(exchange->body, volume_routes_volume_members,
		      COUNT_OF(volume_routes_volume_members), "", &errors);
	if (exchange->tenant[0] == '\0' && !exchange_text(exchange, "tenant"))
		error_list_pointer(&errors, "/tenant", "is needed", "the owner of the volume");
	pdci_name_check(exchange->body, &errors);
	volume_size_check(exchange->body, "", &errors);
	if (exchange_refused(exchange, &errors))
		return;
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&volume_create_query,
			 {volume_routes_tenant_of(exchange), exchange_text(exchange, "name"),
			  volume_routes_number_of(exchange, "size_bytes", size),
			  exchange_text(exchange, "archive"), exchange_text(exchange, "storage"),
			  exchange_text(exchange, "pdci"),
			  !keep                ? NULL
			  : json_is_true(keep) ? "true"
					       : "false",
			  exchange->actor}},
			{&volume_created_query, {NULL}},
		},
		2);
}

/* --- actions --- */

static const struct action {
	const char *word;
	const struct db_query *store, *answer;
	const char *member; /* that it needs; NULL = none */
} volume_routes_actions[] = {
	{"attach", &volume_attach_query, &volume_changed_query, "pdci"},
	{"detach", &volume_detach_query, &volume_changed_query, NULL},
	{"resize", &volume_resize_query, &volume_changed_query, "size_bytes"},
	{"archive", &volume_archive_query, &archive_changed_query, "name"},
	{"secret", &volume_secret_query, &volume_changed_query, NULL},
};

static const struct action *action_of(const struct exchange *exchange)
{
	const char *word = exchange_text(exchange, "action");

	for (size_t i = 0; word && i < COUNT_OF(volume_routes_actions); i++) {
		if (strcmp(volume_routes_actions[i].word, word) == 0)
			return &volume_routes_actions[i];
	}
	return NULL;
}

struct secret {
	char text[SECRET_LENGTH + 1];
};

static void secret_free(void *data)
{
	sodium_memzero(data, sizeof(struct secret));
	free(data);
}

static void secret_make(struct secret *ret)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

	for (size_t i = 0; i < SECRET_LENGTH; i++)
		ret->text[i] = letters[randombytes_uniform(sizeof(letters) - 1)];
	ret->text[SECRET_LENGTH] = '\0';
}

/* Once: what is kept for the Idempotency-Key has no secret in it. */
static void answer_secret(struct exchange *exchange)
{
	const struct secret *secret = exchange->data;
	CLEANUP(json_decrefp) json_t *answer = NULL;
	struct problem problem = {0};
	char *text = NULL;

	if (!exchange->request ||
	    json_read(text_get(&exchange->answer.body), exchange->answer.body.size,
		      JSON_LIMIT_DEFAULT, &answer, &problem) != 0 ||
	    json_object_set_new(answer, "secret", json_stringn(secret->text, SECRET_LENGTH)) != 0)
		return;
	text = json_dumps(answer, JSON_COMPACT);
	if (!text)
		return;
	exchange_answer(exchange, 200, text);
	wipe_borrowed(text, strlen(text));
	free(text);
}

static void secret_with_key(struct exchange *exchange, const PGresult *key)
{
	struct secret *secret = calloc(1, sizeof(*secret));
	CLEANUP(freep) char *sealed = NULL;
	struct problem problem = {0};

	exchange->data = secret;
	exchange->data_free = secret_free;
	if (!exchange->request || !secret)
		return;
	if (PQntuples(key) == 0 || db_is_null(key, 0, PUBLIC_KEY_PUBLIC_KEY)) {
		(void)problem_set(
			&problem, E_UNAVAILABLE,
			"the storage has not published the key that secrets are sealed to");
		problem_hint(&problem, "start its bampi-stored once, then repeat the request");
		exchange_problem(exchange, 503, &problem);
		return;
	}
	secret_make(secret);
	if (seal_text(db_text(key, 0, PUBLIC_KEY_PUBLIC_KEY, ""), secret->text, &sealed) != 0)
		return; /* the last release answers */
	exchange->answer_with = answer_secret;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&volume_secret_query,
				{exchange_arg(exchange, "{volume}"),
				 exchange_arg(exchange, "?tenant"), exchange->actor, sealed}},
			       {&volume_changed_query, {NULL}},
		       },
		       2);
}

static void check_action(const struct exchange *exchange, const struct action *action,
			 struct error_list *errors)
{
	static const char *const members[] = {"pdci", "size_bytes", "name"};
	char pointer[32];

	for (size_t i = 0; i < COUNT_OF(members); i++) {
		bool wanted = action->member && strcmp(action->member, members[i]) == 0;
		bool there = json_object_get(exchange->body, members[i]) != NULL;

		(void)text_format(pointer, sizeof(pointer), "/%s", members[i]);
		if (wanted && !there)
			error_list_pointer(errors, pointer, "is needed", NULL);
		else if (!wanted && there)
			error_list_pointer(errors, pointer, "does not belong to this action", NULL);
	}
	volume_size_check(exchange->body, "", errors);
}

static void volume_act(struct exchange *exchange)
{
	const struct action *action;
	const char *params[] = {exchange_arg(exchange, "{volume}"),
				exchange_arg(exchange, "?tenant")};
	struct error_list errors = {0};
	char size[24];

	members_check(exchange->body, volume_routes_action_members,
		      COUNT_OF(volume_routes_action_members), "", &errors);
	action = action_of(exchange);
	if (action)
		check_action(exchange, action, &errors);
	if (errors.count > 0 || !action) {
		exchange_refuse(exchange, &errors);
		return;
	}
	if (action->store == &volume_secret_query) {
		exchange_query(exchange, &volume_key_query, params, secret_with_key);
		return;
	}
	(void)volume_routes_number_of(exchange, "size_bytes", size);
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {action->store,
				{params[0], params[1], exchange->actor,
				 !action->member ? NULL
				 : strcmp(action->member, "size_bytes") == 0
					 ? size
					 : exchange_text(exchange, action->member)}},
			       {action->answer, {NULL}},
		       },
		       2);
}

static void volume_routes_volume_delete(struct exchange *exchange)
{
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&volume_delete_query,
				{exchange_arg(exchange, "{volume}"),
				 exchange_arg(exchange, "?tenant"), exchange->actor}},
			       {&volume_changed_query, {NULL}},
		       },
		       2);
}

static void volume_routes_archive_delete(struct exchange *exchange)
{
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&archive_delete_query,
				{exchange_arg(exchange, "{archive}"),
				 exchange_arg(exchange, "?tenant"), exchange->actor}},
			       {&archive_changed_query, {NULL}},
		       },
		       2);
}

static void storage_put(struct exchange *exchange)
{
	const char *name = exchange_arg(exchange, "{storage}");
	CLEANUP(freep) char *spec = NULL;

	spec = exchange_checked_body(exchange, storage_members, COUNT_OF(storage_members));
	if (!spec)
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&storage_put_query, {name, spec, exchange->actor}},
			       {&storage_done_query, {name}},
		       },
		       2);
}

static const struct query_row volume_routes_list_query[] = {
	QUERY_LIST,
	QUERY_TENANT,
	{"pdci", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"kind", QUERY_WORD, 0, volume_kind_words, NULL, false, NULL},
	{"state", QUERY_WORD, 0, volume_state_words, NULL, false, NULL},
	{"name", QUERY_TEXT, 127, NULL, NULL, false, NULL},
	{"active", QUERY_BOOL, 0, NULL, NULL, false, NULL},
	{0},
};
static const struct query_row archive_query[] = {
	QUERY_LIST,
	QUERY_TENANT,
	{"state", QUERY_WORD, 0, archive_state_words, NULL, false, NULL},
	{"name", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"active", QUERY_BOOL, 0, NULL, NULL, false, NULL},
	{0},
};
static const struct query_row volume_routes_one_query[] = {
	QUERY_TENANT,
	{0},
};
static const struct query_row pdci_query[] = {
	QUERY_PAGE_TEXT,
	QUERY_TENANT,
	{0},
};
static const struct query_row storage_query[] = {QUERY_LIST, {0}};

/* clang-format off */
const struct route volume_routes[] = {
	{HTTP_GET, "/api/v1/volumes", ROLE_TENANT, BODY_NONE, 0, exchange_list, volume_routes_list_query,
	 &volume_list_query, {"?limit", "?cursor", "?tenant", "?pdci", "?kind", "?state", "?name", "?active"}},
	{HTTP_POST, "/api/v1/volumes", ROLE_TENANT, BODY_JSON, ROUTE_IDEMPOTENT, volume_routes_volume_create, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/volumes/{volume}", ROLE_TENANT, BODY_NONE, 0, exchange_read, volume_routes_one_query, &volume_get_query, {"{volume}", "?tenant"}},
	{HTTP_DELETE, "/api/v1/volumes/{volume}", ROLE_TENANT, BODY_NONE, 0, volume_routes_volume_delete, volume_routes_one_query, NULL, {NULL}},
	{HTTP_POST, "/api/v1/volumes/{volume}/actions", ROLE_TENANT, BODY_JSON, ROUTE_IDEMPOTENT, volume_act, volume_routes_one_query, NULL, {NULL}},
	{HTTP_GET, "/api/v1/pdcis/{pdci}/volumes", ROLE_TENANT, BODY_NONE, 0, exchange_read, pdci_query,
	 &pdci_volumes_query, {"?limit", "?cursor", "{pdci}", "?tenant"}},
	{HTTP_GET, "/api/v1/archives", ROLE_TENANT, BODY_NONE, 0, exchange_list, archive_query,
	 &archive_list_query, {"?limit", "?cursor", "?tenant", "?state", "?name", "?active"}},
	{HTTP_GET, "/api/v1/archives/{archive}", ROLE_TENANT, BODY_NONE, 0, exchange_read, volume_routes_one_query, &archive_get_query, {"{archive}", "?tenant"}},
	{HTTP_DELETE, "/api/v1/archives/{archive}", ROLE_TENANT, BODY_NONE, 0, volume_routes_archive_delete, volume_routes_one_query, NULL, {NULL}},
	{HTTP_GET, "/api/v1/storages", ROLE_OPERATOR, BODY_NONE, 0, exchange_list, storage_query, &storage_list_query, {"?limit", "?cursor"}},
	{HTTP_GET, "/api/v1/storages/{storage}", ROLE_OPERATOR, BODY_NONE, 0, exchange_read_version, NULL, &storage_get_query, {"{storage}"}},
	{HTTP_PUT, "/api/v1/storages/{storage}", ROLE_OPERATOR, BODY_JSON, 0, storage_put, NULL, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
