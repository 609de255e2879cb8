/* /pdcis/{pdci}/sheet: what the OS at each place of a PDCI is told. Rows come as JSON or CSV, are checked
 * against the PDCI's request, and written whole. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "portal/server/exchange.h"
#include "portal/server/list_table.h"
#include "portal/server/member_check.h"
#include "portal/server/pdci_sheet.h"
#include "portal/server/pdci_sheet_store_sql.h"
#include "portal/server/store_text_sql.h"

#define PDCI_SHEET_LIMIT ((size_t)8 << 20)

/* clang-format off */
static const struct member_row pdci_sheet_body_members[] = {
	{"rows", MEMBER_LIST, MEMBER_REQUIRED, 0, PDCI_PLACES_MAX, NULL},
};
/* clang-format on */

/* Rows under way, and where they came from. */
struct pdci_sheet_work {
	json_t *rows;
	bool csv;
};

static void pdci_sheet_work_free(void *data)
{
	struct pdci_sheet_work *work = data;

	json_decref(work->rows);
	free(work);
}

static void pdci_sheet_refuse(struct exchange *exchange, const struct pdci_sheet_work *work,
			      struct error_list *errors)
{
	if (work->csv)
		pdci_sheet_errors_of_csv(errors);
	exchange_refuse(exchange, errors);
}

/* --- reading --- */

static void pdci_sheet_answer_csv(struct exchange *exchange, const PGresult *result)
{
	CLEANUP(json_decrefp) json_t *sheet = NULL;
	CLEANUP(text_done) struct text csv = {0};
	struct problem problem = {0};
	const char *body = db_text(result, 0, RESOURCE_BODY, "");
	char etag[32];

	if (PQntuples(result) == 0) {
		exchange_not_found(exchange);
		return;
	}
	if (!exchange->request ||
	    json_read(body, strlen(body), (size_t)256 << 20, &sheet, &problem) != 0)
		return; /* the last release answers */
	pdci_sheet_csv_text(sheet, &csv);
	if (csv.failed)
		return;
	(void)text_format(etag, sizeof(etag), "\"%s\"", db_text(result, 0, RESOURCE_VERSION, "0"));
	http_answer_header(exchange->request, "ETag", etag);
	exchange_answer_as(exchange, "text/csv", text_get(&csv), csv.size);
}

static void pdci_sheet_get(struct exchange *exchange)
{
	const char *params[ROUTE_ARGS] = {NULL};

	http_answer_header(exchange->request, "Vary", "Accept");
	if (!list_table_wanted(http_request_header(exchange->request, "accept"))) {
		exchange_read_version(exchange);
		return;
	}
	exchange_args(exchange, params);
	exchange_query(exchange, exchange->route->store, params, pdci_sheet_answer_csv);
}

/* --- writing --- */

/* The facts are there: the rows are right for this PDCI, or it is said why not. */
static void pdci_sheet_with_facts(struct exchange *exchange, const PGresult *facts)
{
	const struct pdci_sheet_work *work = exchange->data;
	CLEANUP(json_decrefp) json_t *request = NULL;
	CLEANUP(json_decrefp) json_t *refused = NULL;
	CLEANUP(freep) char *rows = NULL;
	struct error_list errors = {0};
	struct problem problem = {0};
	const char *request_text = db_text(facts, 0, PDCI_SHEET_FACTS_REQUEST, "");
	const char *refused_text = db_text(facts, 0, PDCI_SHEET_FACTS_REFUSED, "");
	const char *id = db_text(facts, 0, PDCI_SHEET_FACTS_ID, "0");

	if (PQntuples(facts) == 0) {
		exchange_not_found(exchange);
		return;
	}
	if (json_read(request_text, strlen(request_text), PDCI_SHEET_LIMIT, &request, &problem) !=
		    0 ||
	    json_read(refused_text, strlen(refused_text), PDCI_SHEET_LIMIT, &refused, &problem) !=
		    0)
		return; /* the last release answers */
	pdci_sheet_check(work->rows, request, "/rows", &errors);
	pdci_sheet_check_packages(work->rows, refused, "/rows", &errors);
	if (errors.count > 0) {
		pdci_sheet_refuse(exchange, work, &errors);
		return;
	}
	rows = json_dumps(work->rows, JSON_COMPACT);
	if (!rows)
		return;
	if (strcmp(exchange_arg(exchange, "?dry_run"), "true") == 0) {
		exchange_query(exchange, &pdci_sheet_try_query, (const char *const[]){id, rows},
			       exchange_answer_body);
		return;
	}
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&pdci_sheet_put_query, {id, exchange->version, rows, exchange->actor}},
			{&pdci_sheet_written_query, {id}},
		},
		2);
}

/* Takes the rows. */
static void pdci_sheet_begin(struct exchange *exchange, json_t *rows, bool csv)
{
	struct pdci_sheet_work *work = calloc(1, sizeof(*work));
	CLEANUP(text_done) struct text packages = {0};
	const json_t *row;
	const json_t *name;
	size_t i;
	size_t at;

	if (!work) {
		json_decref(rows);
		return;
	}
	*work = (struct pdci_sheet_work){.rows = rows, .csv = csv};
	exchange->data = work;
	exchange->data_free = pdci_sheet_work_free;
	text_add(&packages, "{");
	json_array_foreach(rows, i, row)
	{
		json_array_foreach(json_object_get(row, "packages"), at, name)
		{
			/* what is no name of a package is refused by the check */
			const char *text = json_string_value(name);
			const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					    "0123456789.-_+:";

			if (text && text[0] && text[strspn(text, plain)] == '\0')
				text_addf(&packages, "%s\"%s\"", packages.size > 1 ? "," : "",
					  text);
		}
	}
	text_add(&packages, "}");
	if (!packages.failed)
		exchange_query(exchange, &pdci_sheet_facts_query,
			       (const char *const[]){exchange_arg(exchange, "{pdci}"),
						     exchange_arg(exchange, "?tenant"),
						     text_get(&packages)},
			       pdci_sheet_with_facts);
}

static void pdci_sheet_put(struct exchange *exchange)
{
	struct error_list errors = {0};

	members_check(exchange->body, pdci_sheet_body_members, COUNT_OF(pdci_sheet_body_members),
		      "", &errors);
	if (exchange_refused(exchange, &errors))
		return;
	pdci_sheet_begin(exchange, json_incref(json_object_get(exchange->body, "rows")), false);
}

static void pdci_sheet_import(struct exchange *exchange)
{
	struct error_list errors = {0};
	struct problem problem = {0};
	struct sheet sheet = {0};
	json_t *rows = NULL;
	size_t size;
	const char *body = http_request_body(exchange->request, &size);
	CLEANUP(freep) char *copy = size <= PDCI_SHEET_LIMIT ? malloc(size + 1) : NULL;
	int rc = size <= PDCI_SHEET_LIMIT
			 ? -ENOMEM
			 : problem_set(&problem, E_LIMIT, "the sheet is larger than 8 MiB");

	if (copy) {
		memcpy(copy, body, size);
		copy[size] = '\0';
		rc = sheet_parse(copy, size, &sheet, &problem);
		if (rc == 0)
			rc = pdci_sheet_of_csv(&sheet, &rows, &errors);
		else
			problem_hint(&problem, "the sheet is CSV (RFC 4180), as haasctl pdci sheet "
					       "show PDCI -o csv prints it");
	}
	if (rc == E_INVALID)
		exchange_refuse(exchange, &errors);
	else if (rc != 0)
		exchange_problem(exchange, exchange_status_of(rc), &problem);
	else
		pdci_sheet_begin(exchange, rows, true);
	sheet_done(&sheet);
}

static const struct query_row pdci_sheet_get_query_rows[] = {
	QUERY_TENANT,
	{0},
};
static const struct query_row pdci_sheet_put_query_rows[] = {
	QUERY_TENANT,
	{"dry_run", QUERY_BOOL, 0, NULL, "false", false, NULL},
	{0},
};

/* clang-format off */
const struct route pdci_sheet_routes[] = {
	{HTTP_GET, "/api/v1/pdcis/{pdci}/sheet", ROLE_TENANT, BODY_NONE, 0, pdci_sheet_get, pdci_sheet_get_query_rows, &pdci_sheet_get_query, {"{pdci}", "?tenant"}},
	{HTTP_PUT, "/api/v1/pdcis/{pdci}/sheet", ROLE_TENANT, BODY_JSON, ROUTE_IF_MATCH, pdci_sheet_put, pdci_sheet_put_query_rows, NULL, {NULL}},
	{HTTP_POST, "/api/v1/pdcis/{pdci}/sheet/import", ROLE_TENANT, BODY_CSV, ROUTE_IF_MATCH, pdci_sheet_import, pdci_sheet_put_query_rows, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
