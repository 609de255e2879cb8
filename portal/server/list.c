#include "portal/server/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "portal/server/exchange.h"
#include "portal/server/list_query.h"
#include "portal/server/list_table.h"
#include "portal/server/query_policy.h"
#include "portal/server/shared_read.h"
#include "portal/server/store_text_sql.h"

const char *const list_count_words[] = {"exact", NULL};
const char *const list_format_words[] = {"json", "csv", NULL};

static void list_forget(void *data)
{
	list_query_done(data);
	free(data);
}

/* Where the rest is (RFC 8288): the same request with another cursor. */
static void list_link(struct exchange *exchange, const char *next)
{
	CLEANUP(text_done) struct text link = {0};

	text_addf(&link, "<%s?cursor=%s", http_request_path(exchange->request), next);
	for (const struct query_row *row = exchange->route->query; row->name; row++) {
		const char *value = http_request_query(exchange->request, row->name);

		if (!value || strcmp(row->name, "cursor") == 0)
			continue;
		text_addf(&link, "&%s=", row->name);
		text_add_percent(&link, value);
	}
	text_add(&link, ">; rel=\"next\"");
	if (!link.failed)
		http_answer_header(exchange->request, "Link", text_get(&link));
}

/* The last word of the path: "nodes.csv". */
static void list_disposition(struct exchange *exchange)
{
	const char *path = http_request_path(exchange->request);
	CLEANUP(text_done) struct text header = {0};

	text_addf(&header, "attachment; filename=\"%s.csv\"", strrchr(path, '/') + 1);
	if (!header.failed)
		http_answer_header(exchange->request, "Content-Disposition", text_get(&header));
}

static void list_answer_table(struct exchange *exchange, const PGresult *result)
{
	const struct list_query *query = exchange->data;
	const char *next = db_text(result, 0, LISTED_NEXT, NULL);
	const char *lines = db_text(result, 0, LISTED_BODY, "");
	CLEANUP(text_done) struct text table = {0};

	if (!exchange->request)
		return;
	for (size_t i = 0; i < query->column_count; i++)
		text_addf(&table, "%s%s", i > 0 ? "," : "", query->columns[i]->name);
	text_add(&table, "\r\n");
	text_add(&table, lines);
	text_add(&table, lines[0] != '\0' ? "\r\n" : "");
	if (table.failed)
		return; /* the last release answers */
	if (next)
		list_link(exchange, next);
	if (!db_is_null(result, 0, LISTED_COUNT))
		http_answer_header(exchange->request, "Haas-Count",
				   db_text(result, 0, LISTED_COUNT, ""));
	list_disposition(exchange);
	exchange_answer_as(exchange, "text/csv", text_get(&table), table.size);
}

static void list_read(struct exchange *exchange, const struct db_query *query,
		      const char *const params[])
{
	if (exchange->route->flags & ROUTE_SHARED)
		exchange_query_shared(exchange, query, params);
	else
		exchange_query(exchange, query, params, exchange_answer_body);
}

static void list_refuse(struct exchange *exchange, const char *parameter, const char *allowed)
{
	char arg[16];
	struct error_list errors = {0};

	(void)text_format(arg, sizeof(arg), "?%s", parameter);
	error_list_parameter(&errors, parameter, exchange_arg(exchange, arg), allowed);
	exchange_refuse_as(exchange, 400, &errors);
}

static void list_ask(struct exchange *exchange, const struct list_ask *ask)
{
	struct list_query *query = calloc(1, sizeof(*query));
	struct list_refusal refusal = {0};
	struct problem problem = {0};
	int rc = query ? list_query_build(ask, query, &refusal) : -ENOMEM;

	if (rc != 0) {
		free(query);
		if (rc == E_MALFORMED) {
			list_refuse(exchange, refusal.parameter, refusal.allowed);
			return;
		}
		(void)problem_set(&problem, rc, "no memory for the request");
		exchange_problem(exchange, exchange_status_of(rc), &problem);
		return;
	}
	exchange->data = query;
	exchange->data_free = list_forget;
	if (ask->csv)
		exchange_query(exchange, &query->query, query->params, list_answer_table);
	else
		list_read(exchange, &query->query, query->params);
}

static bool list_is_plain(const struct list_ask *ask)
{
	return !ask->where && !ask->sort && !ask->count && !ask->csv;
}

/* A plain page's cursor is its key alone; an id is one, before the database sees it. */
static bool list_cursor_fits(const struct list_ask *ask)
{
	if (!ask->cursor || !list_is_plain(ask))
		return true;
	return strcmp(ask->list->type, "bigint") == 0 ? query_is_id(ask->cursor)
						      : ask->cursor[0] != '[';
}

void exchange_list_of(struct exchange *exchange, const struct list *list)
{
	const char *args[ROUTE_ARGS];
	const char *format = exchange_arg(exchange, "?format");
	struct list_ask ask = {
		.list = list,
		.site = exchange->tenant[0] == '\0',
		.csv = format ? strcmp(format, "csv") == 0
			      : list_table_wanted(http_request_header(exchange->request, "Accept")),
		.count = exchange_arg(exchange, "?count") != NULL,
		.where = exchange_arg(exchange, "?q"),
		.sort = exchange_arg(exchange, "?sort"),
		.cursor = exchange_arg(exchange, "?cursor"),
		.columns = exchange_arg(exchange, "?columns"),
		.args = args,
	};

	exchange_args(exchange, args);
	if (exchange->tries == 0) /* else it was here before */
		http_answer_header(exchange->request, "Vary", "Accept");
	if (!list_cursor_fits(&ask))
		list_refuse(exchange, "cursor", "the `next` of the previous page");
	else if (list_is_plain(&ask))
		list_read(exchange, list->plain, args);
	else
		list_ask(exchange, &ask);
}

void exchange_list(struct exchange *exchange)
{
	const struct list *const *list = list_tables;

	while ((*list)->plain != exchange->route->store)
		list++;
	exchange_list_of(exchange, *list);
}
