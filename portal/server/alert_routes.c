/* /alerts, /silences, /cases: what a person should look at, what nobody wants to hear of for a
 * while, and complaints with their clock, their findings and their answer. */
#include <inttypes.h>
#include <string.h>

#include "portal/server/alert_store_sql.h"
#include "portal/server/exchange.h"
#include "portal/server/list.h"
#include "portal/server/member_check.h"
#include "portal/server/word_table.h"

#define SILENCE_S_MAX (INT64_C(90) * 86400)

/* clang-format off */
static const struct member_row silence_members[] = {
	{"kind",    MEMBER_TEXT, 0,               0, 63,            NULL},
	{"subject", MEMBER_TEXT, 0,               0, 160,           NULL},
	{"reason",  MEMBER_TEXT, MEMBER_REQUIRED, 1, 255,           NULL},
	{"for_s",   MEMBER_INT,  MEMBER_REQUIRED, 1, SILENCE_S_MAX, NULL},
};
static const struct member_row case_members[] = {
	{"tenant", MEMBER_NAME, 0,               0, 0,         NULL},
	{"alert",  MEMBER_INT,  0,               1, INT64_MAX, NULL},
	{"text",   MEMBER_TEXT, MEMBER_REQUIRED, 1, 2000,      NULL},
};
static const struct member_row entry_members[] = {
	{"kind", MEMBER_WORD, MEMBER_REQUIRED, 0, 0,    case_entry_words},
	{"text", MEMBER_TEXT, MEMBER_REQUIRED, 1, 2000, NULL},
};
static const struct member_row close_members[] = {
	{"answer",  MEMBER_TEXT, MEMBER_REQUIRED, 1, 2000, NULL},
	{"publish", MEMBER_BOOL, 0,               0, 0,    NULL},
};
/* clang-format on */

/* A number as a statement takes it; NULL when it is not there. */
static const char *alert_routes_number_of(const struct exchange *exchange, const char *name,
					  char room[24])
{
	const json_t *value = json_object_get(exchange->body, name);

	if (!json_is_integer(value))
		return NULL;
	(void)text_format(room, 24, "%" PRId64, (int64_t)json_integer_value(value));
	return room;
}

/* False: it was refused. */
static bool body_is_good(struct exchange *exchange, const struct member_row rows[], size_t count)
{
	struct error_list errors = {0};

	members_check(exchange->body, rows, count, "", &errors);
	if (errors.count == 0)
		return true;
	exchange_refuse(exchange, &errors);
	return false;
}

static void alert_routes_alert_acknowledge(struct exchange *exchange)
{
	const char *id = exchange_arg(exchange, "{alert}");

	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&alert_acknowledge_query, {id, exchange->actor}},
			       {&alert_told_query, {id}},
		       },
		       2);
}

/* Words of kinds: the database would say the same, but not which member. */
static bool is_kind(const char *kind)
{
	return !kind || kind[strspn(kind, "abcdefghijklmnopqrstuvwxyz_.")] == '\0';
}

static void silence_add(struct exchange *exchange)
{
	struct error_list errors = {0};
	char seconds[24];

	members_check(exchange->body, silence_members, COUNT_OF(silence_members), "", &errors);
	if (errors.count == 0 && !is_kind(exchange_text(exchange, "kind")))
		error_list_value(&errors, "/kind",
				 "the begin of a kind of alert, traffic. or wiring.miscabled");
	if (exchange_refused(exchange, &errors))
		return;
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&silence_put_query,
			 {exchange_text(exchange, "kind"), exchange_text(exchange, "subject"),
			  exchange_text(exchange, "reason"),
			  alert_routes_number_of(exchange, "for_s", seconds), exchange->actor}},
			{&silence_made_query, {NULL}},
		},
		2);
}

static void alert_routes_case_open(struct exchange *exchange)
{
	char alert[24];

	if (!body_is_good(exchange, case_members, COUNT_OF(case_members)))
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&case_open_query,
				{exchange_text(exchange, "tenant"),
				 alert_routes_number_of(exchange, "alert", alert),
				 exchange_text(exchange, "text"), exchange->actor}},
			       {&case_opened_query, {NULL}},
		       },
		       2);
}

static void alert_recorded(struct exchange *exchange, const PGresult *result)
{
	const char *const params[] = {exchange_arg(exchange, "{alert}")};

	(void)result;
	if (exchange->request)
		exchange_query(exchange, &alert_get_query, params, exchange_answer_body);
}

/* What is looked at for a case is in the case, or it is not told. */
static void alert_get(struct exchange *exchange)
{
	const char *number = exchange_arg(exchange, "?case");
	const char *const params[] = {number, exchange_arg(exchange, "{alert}"), exchange->actor};

	if (number)
		exchange_query(exchange, &case_alert_query, params, alert_recorded);
	else
		alert_recorded(exchange, NULL);
}

static void alert_routes_case_note(struct exchange *exchange)
{
	const char *id = exchange_arg(exchange, "{case}");

	if (!body_is_good(exchange, entry_members, COUNT_OF(entry_members)))
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&case_note_query,
				{id, exchange_text(exchange, "kind"),
				 exchange_text(exchange, "text"), exchange->actor}},
			       {&case_told_query, {id}},
		       },
		       2);
}

static void alert_routes_case_close(struct exchange *exchange)
{
	const char *id = exchange_arg(exchange, "{case}");
	bool publish = json_is_true(json_object_get(exchange->body, "publish"));

	if (!body_is_good(exchange, close_members, COUNT_OF(close_members)))
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&case_close_query,
				{id, exchange_text(exchange, "answer"), publish ? "true" : "false",
				 exchange->actor}},
			       {&case_told_query, {id}},
		       },
		       2);
}

static void alert_routes_case_publish(struct exchange *exchange)
{
	const char *id = exchange_arg(exchange, "{case}");

	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&case_publish_query, {id, exchange->actor}},
			       {&case_told_query, {id}},
		       },
		       2);
}

static const struct query_row alert_query[] = {
	QUERY_LIST,
	{"state", QUERY_WORD, 0, alert_state_words, "open", false, NULL},
	{"kind", QUERY_GLOB, 63, NULL, NULL, false, NULL},
	{"subject", QUERY_TEXT, 160, NULL, NULL, false, NULL},
	{0},
};
static const struct query_row alert_case_query[] = {
	{"case", QUERY_ID, 0, NULL, NULL, false, "X-Haas-Case"},
	{0},
};
static const struct query_row silence_query[] = {
	QUERY_LIST,
	{"state", QUERY_WORD, 0, silence_state_words, "open", false, NULL},
	{0},
};
static const struct query_row case_query[] = {
	QUERY_LIST,
	{"state", QUERY_WORD, 0, silence_state_words, "all", false, NULL},
	QUERY_TENANT,
	{0},
};

/* clang-format off */
const struct route alert_routes[] = {
	{HTTP_GET, "/api/v1/alerts", ROLE_TENANT, BODY_NONE, 0, exchange_list, alert_query,
	 &alert_list_query, {"?limit", "?cursor", "?state", "?kind", "?subject"}},
	{HTTP_GET, "/api/v1/alerts/{alert}", ROLE_TENANT, BODY_NONE, 0, alert_get, alert_case_query, NULL, {NULL}},
	{HTTP_POST, "/api/v1/alerts/{alert}/acknowledge", ROLE_OPERATOR, BODY_NONE, ROUTE_IDEMPOTENT | ROUTE_ON_CALL, alert_routes_alert_acknowledge, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/silences", ROLE_OPERATOR, BODY_NONE, 0, exchange_list, silence_query,
	 &silence_list_query, {"?limit", "?cursor", "?state"}},
	{HTTP_POST, "/api/v1/silences", ROLE_OPERATOR, BODY_JSON, ROUTE_IDEMPOTENT | ROUTE_ON_CALL, silence_add, NULL, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/silences/{silence}", ROLE_OPERATOR, BODY_NONE, ROUTE_ON_CALL, exchange_change, NULL,
	 &silence_end_query, {"{silence}", "@actor"}},
	{HTTP_GET, "/api/v1/cases", ROLE_TENANT, BODY_NONE, 0, exchange_list, case_query,
	 &case_list_query, {"?limit", "?cursor", "?state", "?tenant"}},
	{HTTP_POST, "/api/v1/cases", ROLE_TENANT, BODY_JSON, ROUTE_IDEMPOTENT | ROUTE_ON_CALL, alert_routes_case_open, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/cases/{case}", ROLE_TENANT, BODY_NONE, 0, exchange_read, NULL, &case_get_query, {"{case}"}},
	{HTTP_GET, "/api/v1/cases/{case}/report", ROLE_TENANT, BODY_NONE, 0, exchange_read, NULL, &case_report_query, {"{case}"}},
	{HTTP_POST, "/api/v1/cases/{case}/entries", ROLE_OPERATOR, BODY_JSON, ROUTE_IDEMPOTENT | ROUTE_ON_CALL, alert_routes_case_note, NULL, NULL, {NULL}},
	{HTTP_POST, "/api/v1/cases/{case}/close", ROLE_OPERATOR, BODY_JSON, ROUTE_IDEMPOTENT | ROUTE_ON_CALL, alert_routes_case_close, NULL, NULL, {NULL}},
	{HTTP_POST, "/api/v1/cases/{case}/publish", ROLE_OPERATOR, BODY_NONE, ROUTE_IDEMPOTENT | ROUTE_ON_CALL, alert_routes_case_publish, NULL, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
