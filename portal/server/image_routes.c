/* /images: the catalogue, uploads, grants. */
#include <stdlib.h>
#include <string.h>

#include "common/base/count_text.h"
#include "common/base/error.h"
#include "common/model/image_keys.h"

#include "portal/server/content.h"
#include "portal/server/exchange.h"
#include "portal/server/image_key_store_sql.h"
#include "portal/server/image_manifest_wire.h"
#include "portal/server/image_store_sql.h"
#include "portal/server/image_sweep.h"
#include "portal/server/list.h"
#include "portal/server/member_check.h"
#include "portal/server/word_table.h"

/* clang-format off */
static const struct member_row image_routes_create_members[] = {
	{"manifest",  MEMBER_TEXT, MEMBER_REQUIRED, 2, MANIFEST_LIMIT, NULL},
	{"signature", MEMBER_HEX,  MEMBER_REQUIRED, 0, 128,            NULL},
	{"public",    MEMBER_BOOL, 0,               0, 0,              NULL},
	{"tenant",    MEMBER_NAME, 0,               0, 0,              NULL},
};
/* clang-format on */

/* --- announcing --- */

static void refuse_signature(struct exchange *exchange)
{
	struct problem problem = {0};
	char keys[COUNT_TEXT_SIZE];

	(void)problem_set(&problem, E_DIGEST, "the signature is not by a key that is trusted here");
	problem_detail(
		&problem, "%s in %s",
		count_text(keys, (int64_t)image_keys_count(exchange->portal->image_keys), "key"),
		exchange->portal->conf->image_keys);
	problem_hint(&problem,
		     "put the signer's public key there as NAME.pub and send SIGHUP to portald");
	exchange_problem(exchange, 422, &problem);
}

static void image_create(struct exchange *exchange)
{
	const json_t *manifest = json_object_get(exchange->body, "manifest");
	const char *text = json_string_value(manifest);
	const char *signature = json_string_value(json_object_get(exchange->body, "signature"));
	const char *public =
		json_is_true(json_object_get(exchange->body, "public")) ? "true" : "false";
	const char *owner = json_string_value(json_object_get(exchange->body, "tenant"));
	struct error_list errors = {0};
	char key[IMAGE_KEY_ID_SIZE];

	members_check(exchange->body, image_routes_create_members,
		      COUNT_OF(image_routes_create_members), "", &errors);
	if (errors.count == 0 && strcmp(public, "true") == 0 &&
	    (owner || exchange->tenant[0] != '\0'))
		error_list_pointer(&errors, "/public",
				   "only an image of the operator can be public", "false");
	if (errors.count > 0 ||
	    image_manifest_check(text, json_string_length(manifest), &errors) != 0) {
		exchange_refuse(exchange, &errors);
		return;
	}
	if (image_keys_verify(exchange->portal->image_keys, signature, text,
			      json_string_length(manifest), key) != 0) {
		refuse_signature(exchange);
		return;
	}
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&image_create_query, {text, signature, key, owner, public}}},
		       1);
}

/* --- who signs --- */

/* portald must have read the key itself: so the command that made it waits until it has. */
static void image_routes_key_add(struct exchange *exchange)
{
	static const struct member_row members[] = {
		{"public_key", MEMBER_HEX, MEMBER_REQUIRED, 0, 64, NULL}};
	const char *public_key = exchange_text_or(exchange, "public_key", "");
	struct error_list errors = {0};
	struct problem problem = {0};
	char id[IMAGE_KEY_ID_SIZE];

	members_check(exchange->body, members, COUNT_OF(members), "", &errors);
	if (exchange_refused(exchange, &errors))
		return;
	if (image_keys_find(exchange->portal->image_keys, public_key, id) != 0) {
		(void)problem_set(&problem, E_CONFLICT, "portald has not read this key");
		problem_detail(&problem, "it is not in %s, or came there later",
			       exchange->portal->conf->image_keys);
		problem_hint(&problem, "systemctl reload portald bampid; then again");
		exchange_problem(exchange, 409, &problem);
		return;
	}
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&image_key_add_query, {id, public_key, exchange->actor}},
			       {&image_key_added_query, {id}},
		       },
		       2);
}

/* The manifest has to be known: it is read first, and verified. */
static void image_routes_on_manifest(struct exchange *exchange, const PGresult *result)
{
	const char *signature = exchange_text_or(exchange, "signature", "");
	const char *name = exchange_arg(exchange, "{image}");
	const char *version = exchange_arg(exchange, "{version}");
	struct problem problem = {0};
	char key[IMAGE_KEY_ID_SIZE];
	const char *manifest;

	if (PQntuples(result) == 0) {
		(void)problem_set(&problem, E_NOT_FOUND, "image %s:%s does not exist", name,
				  version);
		exchange_problem(exchange, 404, &problem);
		return;
	}
	manifest = db_text(result, 0, IMAGE_MANIFEST_MANIFEST, "");
	if (image_keys_verify(exchange->portal->image_keys, signature, manifest, strlen(manifest),
			      key) != 0) {
		refuse_signature(exchange);
		return;
	}
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&image_resign_query, {name, version, signature, key, exchange->actor}},
			{&image_changed_query, {name, version}},
		},
		2);
}

static void image_routes_resign(struct exchange *exchange)
{
	static const struct member_row members[] = {
		{"signature", MEMBER_HEX, MEMBER_REQUIRED, 0, 128, NULL}};
	const char *params[] = {exchange_arg(exchange, "{image}"),
				exchange_arg(exchange, "{version}")};
	struct error_list errors = {0};

	members_check(exchange->body, members, COUNT_OF(members), "", &errors);
	if (exchange_refused(exchange, &errors))
		return;
	exchange_query(exchange, &image_manifest_query, params, image_routes_on_manifest);
}

/* --- content --- */

static void image_content(struct exchange *exchange)
{
	static const struct content_kind kind = {"image", &image_upload_query,
						 &image_received_query, 1};

	content_put(exchange, &kind, exchange_arg(exchange, "{image}"),
		    exchange_arg(exchange, "{version}"));
}

/* --- its end --- */

static void image_patch(struct exchange *exchange)
{
	static const char *const states[] = {"ready", "retired", "withdrawn", NULL};
	static const struct member_row members[] = {
		{"state", MEMBER_WORD, MEMBER_REQUIRED, 0, 0, states},
		{"older", MEMBER_BOOL, 0, 0, 0, NULL},
	};
	const char *name = exchange_arg(exchange, "{image}");
	const char *version = exchange_arg(exchange, "{version}");
	struct error_list errors = {0};

	members_check(exchange->body, members, COUNT_OF(members), "", &errors);
	if (exchange_refused(exchange, &errors))
		return;
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&image_state_set_query,
			 {name, version, exchange_text(exchange, "state"),
			  json_is_true(json_object_get(exchange->body, "older")) ? "true" : "false",
			  exchange->actor}},
			{&image_changed_query, {name, version}},
		},
		2);
}

static void image_routes_image_delete(struct exchange *exchange)
{
	image_sweep_soon(exchange->portal->sweep);
	exchange_change(exchange);
}

/* --- routes --- */

static const struct query_row image_routes_list_query[] = {
	QUERY_LIST,
	{"state", QUERY_WORD, 0, image_state_words, NULL, false, NULL},
	{"name", QUERY_GLOB, 63, NULL, NULL, false, NULL},
	{0},
};
static const struct query_row image_routes_key_query[] = {QUERY_PAGE_TEXT, {0}};
static const struct query_row image_routes_content_query[] = {
	{"offset", QUERY_OFFSET, 0, NULL, NULL, true, NULL}, {0}};

/* clang-format off */
const struct route image_routes[] = {
	{HTTP_GET, "/api/v1/images", ROLE_TENANT, BODY_NONE, 0, exchange_list, image_routes_list_query,
	 &image_list_query, {"?limit", "?cursor", "?state", "?name"}},
	{HTTP_POST, "/api/v1/images", ROLE_TENANT, BODY_JSON, ROUTE_IDEMPOTENT, image_create, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/images/{image}/{version}", ROLE_TENANT, BODY_NONE, 0, exchange_read_version, NULL,
	 &image_get_query, {"{image}", "{version}"}},
	{HTTP_PATCH, "/api/v1/images/{image}/{version}", ROLE_TENANT, BODY_PATCH, 0, image_patch, NULL, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/images/{image}/{version}", ROLE_TENANT, BODY_NONE, 0, image_routes_image_delete, NULL,
	 &image_delete_query, {"{image}", "{version}", "@actor"}},
	{HTTP_PUT, "/api/v1/images/{image}/{version}/content", ROLE_TENANT, BODY_BYTES, 0, image_content, image_routes_content_query, NULL, {NULL}},
	{HTTP_PUT, "/api/v1/images/{image}/{version}/signature", ROLE_TENANT, BODY_JSON, 0, image_routes_resign, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/keys/image", ROLE_OPERATOR, BODY_NONE, 0, exchange_read, image_routes_key_query, &image_key_list_query, {"?limit", "?cursor"}},
	{HTTP_POST, "/api/v1/keys/image", ROLE_OPERATOR, BODY_JSON, ROUTE_IDEMPOTENT, image_routes_key_add, NULL, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/keys/image/{key}", ROLE_OPERATOR, BODY_NONE, 0, exchange_change, NULL, &image_key_retire_query, {"{key}", "@actor"}},
	{HTTP_PUT, "/api/v1/images/{image}/{version}/grants/{tenant}", ROLE_OPERATOR, BODY_NONE, 0, exchange_change, NULL,
	 &grant_put_query, {"{image}", "{version}", "{tenant}", "@actor"}},
	{HTTP_DELETE, "/api/v1/images/{image}/{version}/grants/{tenant}", ROLE_OPERATOR, BODY_NONE, 0, exchange_change, NULL,
	 &grant_drop_query, {"{image}", "{version}", "{tenant}", "@actor"}},
	{.pattern = NULL},
};
/* clang-format on */
