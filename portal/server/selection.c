#include "portal/server/selection.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/error.h"

#include "portal/server/deployment_store_sql.h"
#include "portal/server/list_query.h"
#include "portal/server/node_store_sql.h"
#include "portal/server/selection_store_sql.h"

/* Lives as long as the exchange: parameters and the statement's text are in it. */
struct selection {
	struct list_query query;
	const char *args[ROUTE_ARGS];
	char expected[24];
	const char *kind[1];
};

const struct selection_row selection_nodes = {&node_list_table, "name", "node"};
const struct selection_row selection_deployments = {&deployment_list_table, "id", "deployment"};

static void selection_forget(void *data)
{
	struct selection *selection = data;

	list_query_done(&selection->query);
	free(selection);
}

void selection_check(const struct exchange *exchange, const char *names, struct error_list *errors)
{
	bool named = json_object_get(exchange->body, names) != NULL;
	bool where = json_object_get(exchange->body, "where") != NULL;
	bool expected = json_object_get(exchange->body, "expected") != NULL;
	char pointer[32];

	(void)text_format(pointer, sizeof(pointer), "/%s", names);
	if (named == where)
		error_list_pointer(errors, named ? "/where" : pointer,
				   named ? "stands beside the names" : "is needed",
				   "the names, or where with expected");
	else if (where != expected)
		error_list_pointer(errors, "/expected",
				   where ? "is needed beside where" : "belongs to where",
				   where ? "how many rows the filter lets through now" : NULL);
}

int selection_steps(struct exchange *exchange, const struct selection_row *row,
		    struct exchange_step steps[SELECTION_STEPS], size_t *ret_count)
{
	const json_t *expected = json_object_get(exchange->body, "expected");
	struct list_refusal refusal = {0};
	struct error_list errors = {0};
	struct problem problem = {0};
	struct selection *selection;
	int rc;

	*ret_count = 0;
	if (!exchange_text(exchange, "where"))
		return 0;
	selection = calloc(1, sizeof(*selection));
	if (!selection)
		return -ENOMEM;
	exchange->data = selection;
	exchange->data_free = selection_forget;
	rc = list_query_select(
		&(struct list_ask){
			.list = row->list,
			.site = exchange->tenant[0] == '\0',
			.where = exchange_text(exchange, "where"),
			.args = selection->args,
		},
		row->column, &selection->query, &refusal);
	if (rc == E_MALFORMED) {
		error_list_value(&errors, "/where", refusal.allowed);
		exchange_refuse(exchange, &errors);
		return rc;
	}
	if (rc != 0) {
		(void)problem_set(&problem, rc, "no memory for the request");
		exchange_problem(exchange, exchange_status_of(rc), &problem);
		return rc;
	}
	(void)text_format(selection->expected, sizeof(selection->expected), "%lld",
			  (long long)json_integer_value(expected));
	exchange->first = (struct db_call){.query = &selection->query.query,
					   .params = selection->query.params};
	selection->kind[0] = row->kind;
	exchange->lock =
		(struct db_call){.query = &selection_lock_query, .params = selection->kind};
	steps[0] = (struct exchange_step){.query = &selection_expect_query,
					  .params = {selection->expected}};
	*ret_count = SELECTION_STEPS;
	return 0;
}
