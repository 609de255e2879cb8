/* Health of nodes: what their BMCs told, the labels concluded from it, what operators say of them.
 */
#include "common/db/array.h"

#include "portal/server/exchange.h"
#include "portal/server/health_store_sql.h"
#include "portal/server/list.h"
#include "portal/server/member_check.h"
#include "portal/server/node_spec.h"
#include "portal/server/word_table.h"

/* clang-format off */
static const struct member_row health_routes_action_members[] = {
	{"nodes",    MEMBER_LIST, MEMBER_REQUIRED, 1, 1000,    NULL},
	{"action",   MEMBER_WORD, MEMBER_REQUIRED, 0, 0,       label_action_words},
	{"label",    MEMBER_TEXT, MEMBER_REQUIRED, 1, 48,      NULL},
	{"reason",   MEMBER_TEXT, MEMBER_REQUIRED, 1, 255,     NULL},
	{"severity", MEMBER_WORD, 0,               0, 0,       severity_words},
	{"effects",  MEMBER_LIST, 0,               0, 2,       NULL},
	{"for_s",    MEMBER_INT,  0,               1, 7776000, NULL},
};
static const struct member_row effect_row = {.kind = MEMBER_WORD, .words = effect_words};
/* clang-format on */

static void words_array(const json_t *words, struct text *ret)
{
	const json_t *word;
	size_t i;

	array_begin(ret);
	json_array_foreach(words, i, word) array_add(ret, json_string_value(word));
	array_end(ret);
}

static void label_action(struct exchange *exchange)
{
	const json_t *body = exchange->body;
	const json_t *effects = json_object_get(body, "effects");
	const json_t *duration = json_object_get(body, "for_s");
	struct error_list errors = {0};
	struct text nodes = {0};
	struct text words = {0};
	char seconds[24];

	members_check(exchange->body, health_routes_action_members,
		      COUNT_OF(health_routes_action_members), "", &errors);
	node_names_check(body, &errors);
	if (json_is_array(effects))
		elements_check(effects, &effect_row, true, "/effects", &errors);
	if (exchange_refused(exchange, &errors))
		return;
	node_names_array(body, &nodes);
	words_array(effects, &words);
	(void)text_format(seconds, sizeof(seconds), "%lld",
			  (long long)json_integer_value(duration));
	exchange_write(
		exchange,
		(const struct exchange_step[]){{
			&label_request_query,
			{text_get(&nodes), json_string_value(json_object_get(body, "action")),
			 json_string_value(json_object_get(body, "label")),
			 json_string_value(json_object_get(body, "severity")),
			 effects ? text_get(&words) : NULL,
			 json_string_value(json_object_get(body, "reason")),
			 duration ? seconds : NULL, exchange->actor},
		}},
		1);
	text_done(&nodes);
	text_done(&words);
}

static const struct query_row health_routes_list_query[] = {
	QUERY_LIST,
	{"node", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"label", QUERY_TEXT, 48, NULL, NULL, false, NULL},
	{"severity", QUERY_WORD, 0, severity_words, NULL, false, NULL},
	{"effect", QUERY_WORD, 0, effect_words, NULL, false, NULL},
	{0},
};
static const struct query_row sel_query[] = {QUERY_PAGE_ID, {0}};
static const struct query_row series_query[] = {
	{"window", QUERY_WINDOW, 0, NULL, "1d", false, NULL},
	{"points", QUERY_LIMIT, 0, NULL, "144", false, NULL},
	{"sensor", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{0},
};

/* clang-format off */
const struct route health_routes[] = {
	{HTTP_GET, "/api/v1/nodes/{node}/health", ROLE_TENANT, BODY_NONE, 0, exchange_read, NULL, &node_health_query, {"{node}"}},
	{HTTP_GET, "/api/v1/nodes/{node}/sensors", ROLE_TENANT, BODY_NONE, 0, exchange_read, series_query,
	 &node_sensors_query, {"{node}", "?window", "?points", "?sensor"}},
	{HTTP_GET, "/api/v1/nodes/{node}/sel", ROLE_TENANT, BODY_NONE, 0, exchange_read, sel_query,
	 &node_sel_query, {"?limit", "?cursor", "{node}"}},
	{HTTP_GET, "/api/v1/labels", ROLE_TENANT, BODY_NONE, 0, exchange_list, health_routes_list_query,
	 &label_list_query, {"?limit", "?cursor", "?node", "?label", "?severity", "?effect"}},
	{HTTP_POST, "/api/v1/labels/actions", ROLE_OPERATOR, BODY_JSON, ROUTE_IDEMPOTENT, label_action, NULL, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
