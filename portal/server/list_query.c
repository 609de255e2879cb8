#include "portal/server/list_query.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "portal/server/filter_wire.h"
#include "portal/server/query_policy.h"

LEAKS_LEFT_TO_SANITIZER

#define SORT_TEXT 128
/* Characters of a text that its order looks at; a row's stand in the cursor, three columns and the key of the
 * list together at most 2 KiB, however many bytes a character takes in JSON. */
#define SORT_PREFIX 80

struct list_sort {
	const struct list_column *column;
	bool descending;
};

/* The statement while it is built. */
struct list_build {
	const struct list_ask *ask;
	struct list_query *query;
	struct list_refusal *refusal;
	struct list_sort sorts[LIST_SORTS];
	size_t sort_count;
	char sort_text[SORT_TEXT]; /* of `sorts`, in one spelling: stands in the cursor */
};

static const char *const list_query_columns[] = {"body", "next", "count", NULL};

/* --- refusals --- */

static int list_query_refuse(struct list_build *build, const char *parameter, const char *allowed)
{
	build->refusal->parameter = parameter;
	(void)text_copy(build->refusal->allowed, REFUSAL_ROOM, allowed);
	return E_MALFORMED;
}

static bool list_query_sees(const struct list_build *build, const struct list_column *column)
{
	return build->ask->site || !(column->flags & LIST_SITE);
}

/* "made of the columns name, state": those that have none of `without`. */
static int refuse_column(struct list_build *build, const char *parameter, unsigned without)
{
	CLEANUP(text_done) struct text allowed = {0};
	const char *before = "made of the columns ";

	for (const struct list_column *c = build->ask->list->columns; c->name; c++) {
		if (!list_query_sees(build, c) || c->flags & without)
			continue;
		text_addf(&allowed, "%s%s", before, c->name);
		before = ", ";
	}
	return list_query_refuse(build, parameter, text_get(&allowed));
}

/* --- pieces --- */

static const struct list_column *find_column(const struct list_build *build, const char *name,
					     size_t length)
{
	for (const struct list_column *c = build->ask->list->columns; c->name; c++) {
		if (strncmp(c->name, name, length) == 0 && c->name[length] == '\0')
			return list_query_sees(build, c) ? c : NULL;
	}
	return NULL;
}

/* Another parameter; its number, or an error number. */
static int add_param(struct list_build *build, const char *value)
{
	struct list_query *query = build->query;
	char *copy;

	if (query->query.param_count == LIST_PARAMS)
		return list_query_refuse(build, "q", "shorter");
	copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	query->owned[query->query.param_count] = copy;
	query->params[query->query.param_count] = copy;
	return ++query->query.param_count;
}

static bool is_text(const struct list_column *column)
{
	return column->kind == LIST_TEXT || column->kind == LIST_NATURAL;
}

/* --- the filter --- */

/* Adds `before` E `between` $N `after`. */
struct list_form {
	const char *before, *between, *after;
};

static int add_form(struct list_build *build, const char *sql, const struct list_form *form,
		    const char *value)
{
	int number = add_param(build, value);

	if (number < 0)
		return number;
	text_addf(&build->query->sql, "%s%s%s$%d%s", form->before, sql, form->between, number,
		  form->after);
	return 0;
}

/* A text as a parameter of its kind checks it; *ret is the caller's. */
static int list_query_value(struct list_build *build, enum query_kind kind, const char *value,
			    char **ret)
{
	const struct query_row row = {.name = "q", .kind = kind, .max = FILTER_SIZE};
	char allowed[QUERY_ALLOWED_SIZE] = "";
	int rc = query_check(&row, value, ret, allowed);

	return rc == E_MALFORMED ? list_query_refuse(build, "q", allowed) : rc;
}

static const char *sign_of(enum filter_operation operation)
{
	static const char *const signs[] = {
		[FILTER_BELOW] = " < ",     [FILTER_AT_MOST] = " <= ", [FILTER_ABOVE] = " > ",
		[FILTER_AT_LEAST] = " >= ", [FILTER_HAS] = " = ",      [FILTER_IS] = " = ",
		[FILTER_SEARCH] = " = "};

	return signs[operation];
}

/* The moment that lies so long before now: "since>2h" is older than that, so the sign turns. */
static const char *turned_sign_of(enum filter_operation operation)
{
	switch (operation) {
	case FILTER_BELOW: return sign_of(FILTER_ABOVE);
	case FILTER_AT_MOST: return sign_of(FILTER_AT_LEAST);
	case FILTER_ABOVE: return sign_of(FILTER_BELOW);
	case FILTER_AT_LEAST: return sign_of(FILTER_AT_MOST);
	case FILTER_HAS:
	case FILTER_IS:
	case FILTER_SEARCH: break;
	}
	return sign_of(operation);
}

static int add_text_value(struct list_build *build, const struct list_column *column,
			  enum filter_operation operation, const char *value)
{
	CLEANUP(freep) char *like = NULL;
	int rc;

	if (operation == FILTER_HAS)
		return add_form(build, column->sql,
				&(struct list_form){"strpos(lower(", "), lower(", "::text)) > 0"},
				value);
	if (operation != FILTER_IS)
		return list_query_refuse(
			build, "q", "a filter that compares only numbers and times by < and >");
	if (!strpbrk(value, "*?"))
		return add_form(build, column->sql, &(struct list_form){"(", ") = ", "::text"},
				value);
	rc = list_query_value(build, QUERY_GLOB, value, &like);
	return rc != 0 ? rc
		       : add_form(build, column->sql, &(struct list_form){"(", ") like ", "::text"},
				  like);
}

static bool list_query_is_number(const char *value)
{
	size_t minus = value[0] == '-';
	size_t whole = strspn(value + minus, "0123456789");
	size_t point = value[minus + whole] == '.';
	size_t part = point ? strspn(value + minus + whole + 1, "0123456789") : 0;

	return whole > 0 && whole <= 18 && part <= 9 && (!point || part > 0) &&
	       value[minus + whole + point + part] == '\0';
}

static int add_number_value(struct list_build *build, const struct list_column *column,
			    enum filter_operation operation, const char *value)
{
	char between[8];

	if (!list_query_is_number(value))
		return list_query_refuse(build, "q",
					 "a filter whose numbers are like 12, -3 or 0.5");
	(void)text_format(between, sizeof(between), ")%s", sign_of(operation));
	return add_form(build, column->sql, &(struct list_form){"(", between, "::numeric"}, value);
}

static int add_time_value(struct list_build *build, const struct list_column *column,
			  enum filter_operation operation, const char *value)
{
	CLEANUP(freep) char *text = NULL;
	char between[24];
	size_t length = strspn(value, "0123456789");
	bool age = length > 0 && strchr("smhd", value[length]) && value[length] != '\0';
	int rc;

	if (operation == FILTER_HAS || operation == FILTER_IS)
		return list_query_refuse(
			build, "q",
			"a filter that compares times by < and >: since>2h, created<2026-11-01");
	rc = list_query_value(build, age ? QUERY_WINDOW : QUERY_TIME, value, &text);
	if (rc != 0)
		return rc;
	(void)text_format(between, sizeof(between), ")%s%s",
			  age ? turned_sign_of(operation) : sign_of(operation),
			  age ? "now() - " : "");
	return add_form(
		build, column->sql,
		&(struct list_form){"(", between,
				    age ? "::float8 * interval '1 second'" : "::timestamptz"},
		text);
}

static int add_bool_value(struct list_build *build, const struct list_column *column,
			  const char *value)
{
	bool yes = strcmp(value, "yes") == 0 || strcmp(value, "true") == 0;

	if (!yes && strcmp(value, "no") != 0 && strcmp(value, "false") != 0)
		return list_query_refuse(build, "q", "a filter whose yes and no are yes or no");
	return add_form(build, column->sql,
			&(struct list_form){"coalesce((", "), false) = ", "::boolean"},
			yes ? "true" : "false");
}

static int add_value(struct list_build *build, const struct list_column *column,
		     enum filter_operation operation, const char *value)
{
	if (value[0] == '\0' && operation == FILTER_IS) {
		text_addf(&build->query->sql,
			  is_text(column) ? "coalesce(%s, '') = ''" : "(%s) is null", column->sql);
		return 0;
	}
	if (value[0] == '\0') { /* "state:", while it is typed */
		text_add(&build->query->sql, "true");
		return 0;
	}
	switch (column->kind) {
	case LIST_TEXT:
	case LIST_NATURAL: return add_text_value(build, column, operation, value);
	case LIST_NUMBER: return add_number_value(build, column, operation, value);
	case LIST_TIME: return add_time_value(build, column, operation, value);
	case LIST_BOOL: return add_bool_value(build, column, value);
	}
	return -EINVAL;
}

/* In any column: a line each, so that nothing is found across two. */
static int add_search(struct list_build *build, const char *value)
{
	CLEANUP(text_done) struct text all = {0};

	text_add(&all, "concat_ws(chr(10), ''");
	for (const struct list_column *c = build->ask->list->columns; c->name; c++) {
		if (is_text(c) && list_query_sees(build, c) && !(c->flags & LIST_UNSEARCHED))
			text_addf(&all, ", %s", c->sql);
	}
	text_add(&all, ")");
	if (all.failed)
		return -ENOMEM;
	return add_form(build, text_get(&all),
			&(struct list_form){"strpos(lower(", "), lower(", "::text)) > 0"}, value);
}

static int add_word(struct list_build *build, const struct filter_word *word)
{
	const struct list_column *column =
		word->column ? find_column(build, word->column, strlen(word->column)) : NULL;
	struct text *sql = &build->query->sql;
	int rc = 0;

	/* "leaf3:c17" is a port, and "a=b" a slip that must not choose other rows. */
	if (word->column && !column && word->operation != FILTER_HAS)
		return refuse_column(build, "q", 0);
	text_add(sql, word->inverted ? " and not coalesce((" : " and (");
	if (!column)
		rc = add_search(build, word->whole);
	for (size_t i = 0; column && rc == 0 && i < word->count; i++) {
		text_add(sql, i > 0 ? " or " : "");
		rc = add_value(build, column, word->operation, word->values[i]);
	}
	text_add(sql, word->inverted ? "), false)" : ")");
	return rc;
}

static int add_filter(struct list_build *build)
{
	struct filter filter;
	int rc;

	if (!build->ask->where)
		return 0;
	rc = filter_parse(build->ask->where, &filter);
	if (rc != 0)
		return list_query_refuse(build, "q",
					 "at most 16 words with 64 values, 1000 characters");
	for (size_t i = 0; rc == 0 && i < filter.count; i++)
		rc = add_word(build, &filter.words[i]);
	return rc;
}

/* --- the order --- */

static int read_sort(struct list_build *build)
{
	const char *at = build->ask->sort ? build->ask->sort : "";

	while (*at) {
		bool descending = *at == '-';
		size_t length = strcspn(at + descending, ",");
		const struct list_column *column = find_column(build, at + descending, length);

		if (!column || column->flags & LIST_UNSORTED)
			return refuse_column(build, "sort", LIST_UNSORTED);
		if (build->sort_count == LIST_SORTS)
			return list_query_refuse(build, "sort", "at most 3 columns");
		build->sorts[build->sort_count++] = (struct list_sort){column, descending};
		(void)text_format(build->sort_text + strlen(build->sort_text),
				  SORT_TEXT - strlen(build->sort_text), "%s%s,",
				  descending ? "-" : "", column->name);
		at += descending + length;
		at += *at == ',';
	}
	return 0;
}

static const char *collation_of(const struct list_column *column)
{
	return is_text(column) ? " collate haas.natural_order" : "";
}

static const char *type_of(const struct list_column *column)
{
	static const char *const types[] = {[LIST_TEXT] = "text",
					    [LIST_NATURAL] = "text",
					    [LIST_NUMBER] = "numeric",
					    [LIST_TIME] = "timestamptz",
					    [LIST_BOOL] = "boolean"};

	return types[column->kind];
}

/* The column is the list's own key, whose index gives the order. */
static bool list_query_is_key(const struct list_build *build, const struct list_column *column)
{
	const char *order = build->ask->list->order;
	size_t length = strlen(column->sql);

	return strncmp(order, column->sql, length) == 0 &&
	       strcmp(order + length, collation_of(column)) == 0;
}

/* What a column is ordered by, what its cursor holds, and what is compared with that. */
static void add_ordered(struct list_build *build, const struct list_column *column)
{
	if (is_text(column) && !list_query_is_key(build, column))
		text_addf(&build->query->sql, "left(%s, %d)", column->sql, SORT_PREFIX);
	else
		text_addf(&build->query->sql, "(%s)", column->sql);
}

static void add_order(struct list_build *build)
{
	struct text *sql = &build->query->sql;

	for (size_t i = 0; i < build->sort_count; i++) {
		add_ordered(build, build->sorts[i].column);
		text_addf(sql, "%s%s nulls last, ", collation_of(build->sorts[i].column),
			  build->sorts[i].descending ? " desc" : "");
	}
	text_addf(sql, "%s%s", build->ask->list->order,
		  build->ask->list->descending ? " desc" : "");
}

/* The key of a row, for the cursor behind it. */
static void add_key(struct list_build *build)
{
	struct text *sql = &build->query->sql;

	text_addf(sql, "jsonb_build_array('%s'", build->sort_text);
	for (size_t i = 0; i < build->sort_count; i++) {
		text_add(sql, ", ");
		add_ordered(build, build->sorts[i].column);
		text_add(sql, "::text");
	}
	text_addf(sql, ", (%s)::text)", build->ask->list->order);
}

/* Behind `value`, or equal to it "and" what the caller adds. Nulls come last. */
static int add_behind(struct list_build *build, const struct list_sort *sort, const char *value)
{
	struct text *sql = &build->query->sql;
	int number;

	if (!value) {
		text_addf(sql, "(%s) is null and ", sort->column->sql);
		return 0;
	}
	number = add_param(build, value);
	if (number < 0)
		return number;
	add_ordered(build, sort->column);
	text_addf(sql, "%s %s $%d::%s or (%s) is null or ", collation_of(sort->column),
		  sort->descending ? "<" : ">", number, type_of(sort->column), sort->column->sql);
	add_ordered(build, sort->column);
	text_addf(sql, "%s = $%d::%s and ", collation_of(sort->column), number,
		  type_of(sort->column));
	return 0;
}

/* Rows behind the key: each column opens a parenthesis, the list's own order is the innermost. */
static int add_behind_key(struct list_build *build, const json_t *key)
{
	const struct list *list = build->ask->list;
	struct text *sql = &build->query->sql;
	int number;

	for (size_t i = 0; i < build->sort_count; i++) {
		int rc;

		text_add(sql, "(");
		rc = add_behind(build, &build->sorts[i],
				json_string_value(json_array_get(key, i + 1)));
		if (rc != 0)
			return rc;
	}
	number = add_param(build, json_string_value(json_array_get(key, build->sort_count + 1)));
	if (number < 0)
		return number;
	text_addf(sql, "%s %s $%d::%s", list->order, list->descending ? "<" : ">", number,
		  list->type);
	for (size_t i = 0; i < build->sort_count; i++)
		text_add(sql, ")");
	return 0;
}

static bool list_query_key_fits(const struct list_build *build, const json_t *key)
{
	const char *sort = json_string_value(json_array_get(key, 0));
	size_t i;
	json_t *value;

	if (json_array_size(key) != build->sort_count + 2 || !sort ||
	    strcmp(sort, build->sort_text) != 0 ||
	    !json_is_string(json_array_get(key, build->sort_count + 1)))
		return false;
	json_array_foreach(key, i, value)
	{
		if (!json_is_string(value) && !json_is_null(value))
			return false;
	}
	return true;
}

static int add_cursor(struct list_build *build)
{
	CLEANUP(json_decrefp) json_t *key = NULL;
	int rc;

	if (!build->ask->cursor)
		return 0;
	key = json_loads(build->ask->cursor, 0, NULL);
	if (!list_query_key_fits(build, key))
		return list_query_refuse(build, "cursor",
					 "the `next` of the previous page in the same order");
	text_add(&build->query->sql, " and (");
	rc = add_behind_key(build, key);
	text_add(&build->query->sql, ")");
	return rc;
}

/* --- tables --- */

static int read_columns(struct list_build *build)
{
	struct list_query *query = build->query;
	const char *at = build->ask->columns;

	for (const struct list_column *c = build->ask->list->columns; !at && c->name; c++) {
		if (list_query_sees(build, c))
			query->columns[query->column_count++] = c;
	}
	while (at && *at) {
		size_t length = strcspn(at, ",");
		const struct list_column *column = find_column(build, at, length);

		if (!column || query->column_count == LIST_COLUMNS)
			return refuse_column(build, "columns", 0);
		query->columns[query->column_count++] = column;
		at += length;
		at += *at == ',';
	}
	return 0;
}

/* One line of CSV. Numbers and times cannot begin a formula, so texts alone are guarded. */
static void add_line(struct list_build *build)
{
	struct list_query *query = build->query;

	for (size_t i = 0; i < query->column_count; i++) {
		const struct list_column *column = query->columns[i];

		text_add(&query->sql, i > 0 ? " || ',' || " : "");
		switch (column->kind) {
		case LIST_TEXT:
		case LIST_NATURAL:
			text_addf(&query->sql, "coalesce(haas.csv_cell(%s), '')", column->sql);
			break;
		case LIST_TIME:
			text_addf(&query->sql, "coalesce(to_json(%s) #>> '{}', '')", column->sql);
			break;
		case LIST_NUMBER:
		case LIST_BOOL:
			text_addf(&query->sql, "coalesce((%s)::text, '')", column->sql);
			break;
		}
	}
}

/* --- statements --- */

static int list_query_begin(struct list_build *build)
{
	const struct list_ask *ask = build->ask;
	struct list_query *query = build->query;

	memset(query, 0, sizeof(*query));
	query->query.param_count = ask->list->plain->param_count;
	for (int i = 0; i < query->query.param_count; i++)
		query->params[i] = ask->args[i];
	query->params[1] = NULL; /* our cursors have parameters of their own */
	return 0;
}

static int list_query_end(struct list_build *build, int rc)
{
	struct list_query *query = build->query;

	if (rc == 0 && query->sql.failed)
		rc = -ENOMEM;
	if (rc != 0) {
		list_query_done(query);
		return rc;
	}
	query->query.sql = text_get(&query->sql);
	query->query.columns = list_query_columns;
	return 0;
}

/* A filter is added twice where it is counted too: parameters are cheap. */
static int add_count(struct list_build *build)
{
	struct text *sql = &build->query->sql;
	int rc;

	if (!build->ask->count) {
		text_add(sql, "null::bigint");
		return 0;
	}
	text_addf(sql, "(select count(*) from %s", build->ask->list->from);
	rc = add_filter(build);
	text_add(sql, ")");
	return rc;
}

static int add_page(struct list_build *build)
{
	const struct list *list = build->ask->list;
	struct text *sql = &build->query->sql;
	int rc;

	text_add(sql, "select row_number() over (order by ");
	add_order(build);
	text_add(sql, ") as n, ");
	add_key(build);
	text_add(sql, " as key, ");
	if (build->ask->csv)
		add_line(build);
	else
		text_add(sql, list->item);
	text_addf(sql, " as item from %s", list->from);
	rc = add_filter(build);
	if (rc == 0)
		rc = add_cursor(build);
	text_add(sql, " order by ");
	add_order(build);
	text_add(sql, " limit $1::int + 1");
	return rc;
}

int list_query_build(const struct list_ask *ask, struct list_query *ret,
		     struct list_refusal *refusal)
{
	struct list_build build = {.ask = ask, .query = ret, .refusal = refusal};
	struct text *sql = &ret->sql;
	int rc = list_query_begin(&build);

	if (rc == 0)
		rc = read_sort(&build);
	if (rc == 0 && ask->csv)
		rc = read_columns(&build);
	text_add(sql, "with page as materialized (");
	if (rc == 0)
		rc = add_page(&build);
	text_add(sql,
		 "), end_of as (select encode(convert_to(p.key::text, 'UTF8'), 'hex') as next from "
		 "page p where p.n = $1::int and exists (select from page q where q.n > $1::int)), "
		 "counted as (select ");
	if (rc == 0)
		rc = add_count(&build);
	text_add(sql, " as count) select ");
	if (ask->csv)
		text_add(
			sql,
			"coalesce((select string_agg(p.item, E'\\r\\n' order by p.n) from page p where "
			"p.n <= $1::int), '')");
	else
		text_addf(
			sql,
			"json_build_object('items', coalesce((select json_agg(p.item order by p.n) from "
			"page p where p.n <= $1::int), '[]'), 'next', (select next from end_of)%s)::text",
			ask->count ? ", 'count', c.count" : "");
	text_add(sql, " as body, (select next from end_of) as next, c.count from counted c");
	return list_query_end(&build, rc);
}

int list_query_select(const struct list_ask *ask, const char *column, struct list_query *ret,
		      struct list_refusal *refusal)
{
	struct list_build build = {.ask = ask, .query = ret, .refusal = refusal};
	int rc = list_query_begin(&build);
	const struct list_column *key = find_column(&build, column, strlen(column));

	if (rc == 0 && !key)
		rc = -EINVAL;
	if (rc != 0)
		return rc;
	text_addf(&ret->sql,
		  "select set_config('haas.selected', coalesce(array_agg(s.key order by s.n), "
		  "'{}')::text, true) from (select (%s)::text as key, row_number() over (order by ",
		  key->sql);
	add_order(&build);
	text_addf(&ret->sql, ") as n from %s and $1::text is null", ask->list->from);
	rc = add_filter(&build);
	text_addf(&ret->sql, " limit %d) s", LIST_SELECTED + 1);
	rc = list_query_end(&build, rc);
	ret->query.columns = NULL;
	return rc;
}

void list_query_done(struct list_query *query)
{
	for (size_t i = 0; i < LIST_PARAMS; i++)
		free(query->owned[i]);
	text_done(&query->sql);
	memset(query, 0, sizeof(*query));
}
