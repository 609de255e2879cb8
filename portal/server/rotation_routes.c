/* /rotations: new passwords for BMCs. bampid makes them; nobody else ever sees them. The list has
 * those of switches too, which fabric_routes.c takes. */
#include <string.h>

#include "portal/server/exchange.h"
#include "portal/server/list.h"
#include "portal/server/member_check.h"
#include "portal/server/node_spec.h"
#include "portal/server/rotation_store_sql.h"

enum { ROTATION_KEEP_S = 86400, KEY_KEEP_S = 30 * 86400, ROTATION_KEEP_MAX_S = 31536000 };

static const struct member_row rotation_members[] = {
	{"nodes", MEMBER_LIST, MEMBER_REQUIRED, 1, 1000, NULL},
	{"keep_s", MEMBER_INT, 0, 0, ROTATION_KEEP_MAX_S, NULL},
};

static void rotation_create(struct exchange *exchange)
{
	const json_t *keep = json_object_get(exchange->body, "keep_s");
	CLEANUP(text_done) struct text nodes = {0};
	struct error_list errors = {0};
	char seconds[24];

	members_check(exchange->body, rotation_members, COUNT_OF(rotation_members), "", &errors);
	node_names_check(exchange->body, &errors);
	if (exchange_refused(exchange, &errors))
		return;
	node_names_array(exchange->body, &nodes);
	(void)text_format(seconds, sizeof(seconds), "%lld",
			  keep ? (long long)json_integer_value(keep) : (long long)ROTATION_KEEP_S);
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&rotation_request_query, {text_get(&nodes), seconds, exchange->actor}},
		},
		1);
}

static const char *const seal_daemon_words[] = {"bampid",         "bampi-stored", "peregrined",
						"portal-outward", "portald",      NULL};
static const char *const rotation_key_words[] = {"seal", "certificate", NULL};
static const struct member_row key_rotation_members[] = {
	{"daemon", MEMBER_WORD, MEMBER_REQUIRED, 0, 0, seal_daemon_words},
	{"key", MEMBER_WORD, 0, 0, 0, rotation_key_words},
	{"keep_s", MEMBER_INT, 0, 0, ROTATION_KEEP_MAX_S, NULL},
	{"storage", MEMBER_NAME, 0, 0, 0, NULL},
};

static void key_rotation_create(struct exchange *exchange)
{
	const json_t *keep = json_object_get(exchange->body, "keep_s");
	const char *key = exchange_text_or(exchange, "key", "seal");
	struct error_list errors = {0};
	char seconds[24];

	members_check(exchange->body, key_rotation_members, COUNT_OF(key_rotation_members), "",
		      &errors);
	if (strcmp(key, "certificate") == 0 &&
	    strcmp(exchange_text_or(exchange, "daemon", ""), "bampid") != 0)
		error_list_pointer(&errors, "/key", "only bampid has a certificate key", "seal");
	if (exchange_text(exchange, "storage") &&
	    strcmp(exchange_text_or(exchange, "daemon", ""), "bampi-stored") != 0)
		error_list_pointer(&errors, "/storage", "only bampi-stored has storages", NULL);
	if (exchange_refused(exchange, &errors))
		return;
	(void)text_format(seconds, sizeof(seconds), "%lld",
			  keep ? (long long)json_integer_value(keep) : (long long)KEY_KEEP_S);
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&key_rotation_begin_query,
				{exchange_text(exchange, "daemon"), key, seconds, exchange->actor,
				 exchange_text(exchange, "storage")}},
		       },
		       1);
}

/* haasctl exchanges the CA in files; here it becomes an event. */
static void rotation_routes_ca(struct exchange *exchange)
{
	static const char *const steps[] = {"believed", "issued", "ended", NULL};
	static const struct member_row members[] = {
		{"step", MEMBER_WORD, MEMBER_REQUIRED, 0, 0, steps},
		{"fingerprint", MEMBER_HEX, MEMBER_REQUIRED, 0, 64, NULL},
	};
	struct error_list errors = {0};

	members_check(exchange->body, members, COUNT_OF(members), "", &errors);
	if (exchange_refused(exchange, &errors))
		return;
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&ca_rotation_told_query,
			 {exchange_text(exchange, "step"), exchange_text(exchange, "fingerprint")}},
		},
		1);
}

static const struct query_row key_rotation_query[] = {QUERY_PAGE_ID, {0}};
static const struct query_row rotation_query[] = {
	QUERY_LIST,
	{"node", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"open", QUERY_BOOL, 0, NULL, NULL, false, NULL},
	{0},
};

/* clang-format off */
const struct route rotation_routes[] = {
	{HTTP_GET, "/api/v1/rotations", ROLE_OPERATOR, BODY_NONE, 0, exchange_list, rotation_query,
	 &rotation_list_query, {"?limit", "?cursor", "?node", "?open"}},
	{HTTP_POST, "/api/v1/rotations", ROLE_OPERATOR, BODY_JSON, ROUTE_IDEMPOTENT, rotation_create, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/rotations/keys", ROLE_OPERATOR, BODY_NONE, 0, exchange_read, key_rotation_query,
	 &key_rotation_list_query, {"?limit", "?cursor"}},
	{HTTP_POST, "/api/v1/rotations/keys", ROLE_OPERATOR, BODY_JSON, ROUTE_IDEMPOTENT, key_rotation_create, NULL, NULL, {NULL}},
	{HTTP_POST, "/api/v1/rotations/ca", ROLE_OPERATOR, BODY_JSON, ROUTE_IDEMPOTENT, rotation_routes_ca, NULL, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
