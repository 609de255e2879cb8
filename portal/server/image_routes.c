/* /images: the catalogue, uploads, grants. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/log.h"

#include "portal/server/exchange.h"
#include "portal/server/image_keys.h"
#include "portal/server/image_manifest_wire.h"
#include "portal/server/image_store.h"
#include "portal/server/image_upload.h"
#include "portal/server/member_check.h"
#include "portal/server/word_table.h"

/* clang-format off */
static const struct member_row create_members[] = {
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

	(void)problem_set(&problem, E_DIGEST, "the signature is not by a key that is trusted here");
	problem_detail(&problem, "%zu keys in %s", image_keys_count(exchange->portal->image_keys),
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

	members_check(exchange->body, create_members, COUNT_OF(create_members), "", &errors);
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
			       {&store_image_create,
				{text, signature, key, owner, public, exchange->actor}}},
		       1);
}

/* --- content --- */

/* Of the row, while its part is with the worker. */
struct image_part {
	char id[24], before[24];
	size_t size;
	int rc; /* E_DIGEST, E_STALE: why it was discarded */
};

static void part_problem(struct exchange *exchange, int rc)
{
	struct problem problem = {0};
	int status = 500;

	switch (rc) {
	case -ENOSPC:
	case -EDQUOT:
		status = 507;
		(void)problem_set(&problem, rc, "there is no room for the image on the disk");
		problem_hint(&problem, "make room in %s, then send the same part again",
			     exchange->portal->conf->image_dir);
		break;
	case E_CONFLICT:
		status = 409;
		(void)problem_set(&problem, rc, "a part of this image is under way");
		problem_hint(&problem, "one part at a time; wait for its answer");
		break;
	case -EAGAIN:
	case -ECANCELED:
		status = 503;
		(void)problem_set(&problem, rc, "too many uploads are under way");
		problem_hint(&problem, "send the part again in a moment");
		break;
	default:
		(void)problem_set(&problem, rc, "the part cannot be stored: %s", error_text(rc));
		problem_hint(&problem, "is %s a folder that portald may write to?",
			     exchange->portal->conf->image_dir);
	}
	if (status >= 500)
		log_problem(LOG_LEVEL_ERROR, "image upload", &problem);
	exchange_problem(exchange, status, &problem);
}

static void save_part(struct exchange *exchange, int64_t received, bool whole)
{
	const struct image_part *part = exchange->data;
	char now[24];

	(void)text_format(now, sizeof(now), "%lld", (long long)received);
	exchange_write(
		exchange,
		(const struct exchange_step[]){{&store_image_received,
						{part->id, part->before, now,
						 whole ? "ready" : "uploading", exchange->actor}}},
		1);
}

/* The row goes back to 0; the answer says why. */
static void on_discarded(struct exchange *exchange)
{
	const struct image_part *part = exchange->data;
	struct problem problem = {0};
	bool wrong = part->rc == E_DIGEST;

	(void)problem_set(
		&problem, part->rc,
		wrong ? "the content does not have the digest of the manifest; it was discarded"
		      : "the parts before this one are not here any more; they were discarded");
	problem_hint(&problem, wrong ? "send the file that the manifest was made for, from offset 0"
				     : "send it again from offset 0");
	exchange_problem(exchange, wrong ? 422 : 409, &problem);
}

static void on_part(void *context, int rc, int64_t received, bool whole)
{
	struct exchange *exchange = context;
	struct image_part *part = exchange->data;

	part->rc = rc;
	if (rc == 0) {
		exchange->portal->counters.upload_bytes += part->size;
		save_part(exchange, received, whole);
	} else if (rc == E_DIGEST || rc == E_STALE) {
		exchange->answer_with = on_discarded;
		save_part(exchange, 0, false);
	} else {
		part_problem(exchange, rc);
	}
	exchange_release(exchange);
}

/* What forbids this part now; 0 = nothing. */
static int check_part(const PGresult *row, int64_t offset, size_t size, struct problem *problem)
{
	if (!db_bool(row, 0, 5)) {
		(void)problem_set(problem, E_DENIED, "the image is somebody else's");
		problem_hint(problem, "only its owner may upload it");
	} else if (strcmp(db_text(row, 0, 1, ""), "uploading") != 0) {
		(void)problem_set(problem, E_CONFLICT, "the image is %s", db_text(row, 0, 1, ""));
		problem_hint(problem, "a new content is a new version");
	} else if (db_int(row, 0, 2, 0) != offset) {
		(void)problem_set(problem, E_CONFLICT, "the next part begins at %s",
				  db_text(row, 0, 2, "0"));
		problem_hint(problem, "send offset=%s (received_bytes of the image)",
			     db_text(row, 0, 2, "0"));
	} else if (size == 0 || (int64_t)size > db_int(row, 0, 3, 0) - offset) {
		(void)problem_set(problem, E_INVALID,
				  "the part is empty or goes beyond the %s bytes of the manifest",
				  db_text(row, 0, 3, "0"));
		problem_hint(problem, "send the file that the manifest was made for");
	}
	return problem->code;
}

static void part_with_row(struct exchange *exchange, const PGresult *row)
{
	int64_t offset = strtoll(exchange_arg(exchange, "?offset"), NULL, 10);
	struct upload_part part = {.offset = offset};
	struct image_part *mine = calloc(1, sizeof(*mine));
	struct problem problem = {0};
	int rc;

	exchange->data = mine;
	exchange->data_free = free;
	if (!exchange->request || !mine)
		return;
	if (PQntuples(row) == 0) {
		exchange_not_found(exchange);
		return;
	}
	part.data = http_request_body(exchange->request, &part.size);
	rc = check_part(row, offset, part.size, &problem);
	if (rc != 0) {
		exchange_problem(exchange, exchange_status_of(rc), &problem);
		return;
	}
	part.image = db_int(row, 0, 0, 0);
	part.total = db_int(row, 0, 3, 0);
	(void)text_copy(part.digest, sizeof(part.digest), db_text(row, 0, 4, ""));
	(void)text_copy(mine->id, sizeof(mine->id), db_text(row, 0, 0, ""));
	(void)text_copy(mine->before, sizeof(mine->before), db_text(row, 0, 2, ""));
	mine->size = part.size;
	exchange_hold(exchange);
	rc = upload_add(exchange->portal->uploads, &part, on_part, exchange);
	if (rc != 0) {
		part_problem(exchange, rc);
		exchange_release(exchange);
	}
}

static void image_content(struct exchange *exchange)
{
	const char *params[] = {exchange_arg(exchange, "{image}"),
				exchange_arg(exchange, "{version}")};
	struct problem problem = {0};
	size_t size;

	(void)http_request_body(exchange->request, &size);
	if (size > UPLOAD_PART_MAX) {
		(void)problem_set(&problem, E_LIMIT, "a part is larger than 8 MiB");
		problem_hint(&problem, "send it in smaller parts");
		exchange_problem(exchange, 413, &problem);
		return;
	}
	exchange_query(exchange, &store_image_upload, params, part_with_row);
}

/* --- routes --- */

static const struct query_row list_query[] = {
	QUERY_PAGE_ID,
	{"state", QUERY_WORD, 0, image_state_words, NULL, false, NULL},
	{"name", QUERY_GLOB, 63, NULL, NULL, false, NULL},
	{0},
};
static const struct query_row content_query[] = {
	{"offset", QUERY_OFFSET, 0, NULL, NULL, true, NULL}, {0}};

/* clang-format off */
const struct route image_routes[] = {
	{HTTP_GET, "/api/v1/images", ROLE_TENANT, BODY_NONE, 0, exchange_read, list_query,
	 &store_image_list, {"?limit", "?cursor", "?state", "?name"}},
	{HTTP_POST, "/api/v1/images", ROLE_TENANT, BODY_JSON, ROUTE_IDEMPOTENT, image_create, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/images/{image}/{version}", ROLE_TENANT, BODY_NONE, 0, exchange_read_version, NULL,
	 &store_image_get, {"{image}", "{version}"}},
	{HTTP_PUT, "/api/v1/images/{image}/{version}/content", ROLE_TENANT, BODY_BYTES, 0, image_content, content_query, NULL, {NULL}},
	{HTTP_PUT, "/api/v1/images/{image}/{version}/grants/{tenant}", ROLE_OPERATOR, BODY_NONE, 0, exchange_change, NULL,
	 &store_grant_put, {"{image}", "{version}", "{tenant}", "@actor"}},
	{HTTP_DELETE, "/api/v1/images/{image}/{version}/grants/{tenant}", ROLE_OPERATOR, BODY_NONE, 0, exchange_change, NULL,
	 &store_grant_drop, {"{image}", "{version}", "{tenant}", "@actor"}},
	{.pattern = NULL},
};
/* clang-format on */
