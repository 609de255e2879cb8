#include "portal/server/content.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/log.h"

#include "portal/server/image_upload.h"
#include "portal/server/store_text_sql.h"

/* Of the row, while its part is with the worker. */
struct content_part {
	const struct content_kind *kind;
	char id[24], before[24];
	size_t size;
	int rc; /* E_DIGEST, E_STALE: why it was discarded */
};

static void part_problem(struct exchange *exchange, int rc)
{
	const struct content_part *part = exchange->data;
	struct problem problem = {0};
	int status = 500;

	switch (rc) {
	case -ENOSPC:
	case -EDQUOT:
		status = 507;
		(void)problem_set(&problem, rc, "there is no room for the %s on the disk",
				  part->kind->what);
		problem_hint(&problem, "make room in %s, then repeat the upload: it continues here",
			     exchange->portal->conf->image_dir);
		break;
	case E_CONFLICT:
		status = 409;
		(void)problem_set(&problem, rc, "a part of this %s is under way", part->kind->what);
		problem_hint(&problem, "another upload of it goes on; wait for its end");
		break;
	case -EAGAIN:
	case -ECANCELED:
		status = 503;
		(void)problem_set(&problem, rc, "too many uploads are under way");
		problem_hint(&problem, "repeat the upload in a moment: it continues here");
		break;
	default:
		(void)problem_set(&problem, rc, "the part cannot be stored: %s", error_text(rc));
		problem_hint(&problem, "is %s a folder that portald may write to?",
			     exchange->portal->conf->image_dir);
	}
	if (status >= 500)
		log_problem(LOG_LEVEL_ERROR, "upload", &problem);
	exchange_problem(exchange, status, &problem);
}

static void save_part(struct exchange *exchange, int64_t received, bool whole)
{
	const struct content_part *part = exchange->data;
	char now[24];

	(void)text_format(now, sizeof(now), "%lld", (long long)received);
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {part->kind->received,
				{part->id, part->before, now, whole ? "ready" : "uploading"}}},
		       1);
}

/* The row goes back to 0; the answer says why. */
static void on_discarded(struct exchange *exchange)
{
	const struct content_part *part = exchange->data;
	struct problem problem = {0};
	bool wrong = part->rc == E_DIGEST;

	(void)problem_set(
		&problem, part->rc,
		wrong ? "the content does not have the digest of the manifest; it was discarded"
		      : "the parts before this one are not here any more; they were discarded");
	problem_hint(&problem,
		     wrong ? "repeat the upload with the file that the manifest was made for"
			   : "repeat the upload: it begins anew");
	exchange_problem(exchange, wrong ? 422 : 409, &problem);
}

static void content_on_part(void *context, int rc, int64_t received, bool whole)
{
	struct exchange *exchange = context;
	struct content_part *part = exchange->data;

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
static int check_part(const char *what, const PGresult *row, int64_t offset, size_t size,
		      struct problem *problem)
{
	if (!db_bool(row, 0, UPLOAD_IN_SCOPE)) {
		(void)problem_set(problem, E_DENIED, "the %s belongs to another owner", what);
		problem_hint(problem, "only its owner may upload it");
	} else if (strcmp(db_text(row, 0, UPLOAD_STATE, ""), "uploading") != 0) {
		(void)problem_set(problem, E_CONFLICT, "the %s is %s", what,
				  db_text(row, 0, UPLOAD_STATE, ""));
		problem_hint(problem, "upload a new content as a new version");
	} else if (db_int(row, 0, UPLOAD_RECEIVED_BYTES, 0) != offset) {
		(void)problem_set(problem, E_CONFLICT, "the next part begins at %s",
				  db_text(row, 0, UPLOAD_RECEIVED_BYTES, "0"));
		problem_hint(problem, "continue at offset %s, the received_bytes of the %s",
			     db_text(row, 0, UPLOAD_RECEIVED_BYTES, "0"), what);
	} else if (size == 0 || (int64_t)size > db_int(row, 0, UPLOAD_SIZE_BYTES, 0) - offset) {
		(void)problem_set(problem, E_INVALID,
				  "the part is empty or goes beyond the %s bytes of the manifest",
				  db_text(row, 0, UPLOAD_SIZE_BYTES, "0"));
		problem_hint(problem, "upload the file that the manifest was made for");
	}
	return problem->code;
}

static void part_with_row(struct exchange *exchange, const PGresult *row)
{
	int64_t offset = strtoll(exchange_arg(exchange, "?offset"), NULL, 10);
	struct upload_part part = {.offset = offset};
	struct content_part *mine = exchange->data;
	struct problem problem = {0};
	int rc;

	if (!exchange->request)
		return;
	if (PQntuples(row) == 0) {
		exchange_not_found(exchange);
		return;
	}
	part.data = http_request_body(exchange->request, &part.size);
	rc = check_part(mine->kind->what, row, offset, part.size, &problem);
	if (rc != 0) {
		exchange_problem(exchange, exchange_status_of(rc), &problem);
		return;
	}
	part.image = mine->kind->sign * db_int(row, 0, UPLOAD_ID, 0);
	part.total = db_int(row, 0, UPLOAD_SIZE_BYTES, 0);
	(void)text_copy(part.digest, sizeof(part.digest), db_text(row, 0, UPLOAD_DIGEST, ""));
	(void)text_copy(mine->id, sizeof(mine->id), db_text(row, 0, UPLOAD_ID, ""));
	(void)text_copy(mine->before, sizeof(mine->before),
			db_text(row, 0, UPLOAD_RECEIVED_BYTES, ""));
	mine->size = part.size;
	exchange_hold(exchange);
	rc = upload_add(exchange->portal->uploads, &part, content_on_part, exchange);
	if (rc != 0) {
		part_problem(exchange, rc);
		exchange_release(exchange);
	}
}

void content_put(struct exchange *exchange, const struct content_kind *kind, const char *name,
		 const char *version)
{
	const char *params[] = {name, version};
	struct content_part *mine = calloc(1, sizeof(*mine));
	struct problem problem = {0};
	size_t size;

	exchange->data = mine;
	exchange->data_free = free;
	if (!mine)
		return;
	mine->kind = kind;
	(void)http_request_body(exchange->request, &size);
	if (size > UPLOAD_PART_MAX) {
		(void)problem_set(&problem, E_LIMIT, "a part is larger than 8 MiB");
		problem_hint(&problem, "send it in smaller parts");
		exchange_problem(exchange, 413, &problem);
		return;
	}
	exchange_query(exchange, kind->row, params, part_with_row);
}
