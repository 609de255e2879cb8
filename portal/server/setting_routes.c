/* /settings: what an operator changes while the site runs; /settings/own: what the page keeps for a
 * person. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "portal/server/exchange.h"
#include "portal/server/member_check.h"
#include "portal/server/setting_store_sql.h"
#include "portal/server/word_table.h"

#define SETTING_SCREENS_MAX 64
#define SETTING_COLUMNS_MAX 64

/* clang-format off */
static const struct member_row setting_site_members[] = {
	{"values", MEMBER_OBJECT, MEMBER_REQUIRED, 0, 0, NULL},
};
static const struct member_row setting_own_members[] = {
	{"scheme", MEMBER_WORD,   0, 0, 0, scheme_words},
	{"hidden", MEMBER_OBJECT, 0, 0, 0, NULL},
};
static const struct member_row setting_column = {"column", MEMBER_TEXT, 0, 1, 63, NULL};
/* clang-format on */

/* {"nodes": ["rack"], "pdcis": null}: few screens with few columns each. */
static void setting_check_hidden(json_t *hidden, struct error_list *errors)
{
	const char *screen;
	json_t *columns;

	if (json_object_size(hidden) > SETTING_SCREENS_MAX)
		error_list_pointer(errors, "/hidden", "has too many screens", "at most 64");
	json_object_foreach(hidden, screen, columns)
	{
		char pointer[96];

		if (strlen(screen) > 63 ||
		    !text_format(pointer, sizeof(pointer), "/hidden/%s", screen))
			error_list_pointer(errors, "/hidden", "has a screen with a long name",
					   "at most 63 characters");
		else if (json_array_size(columns) > SETTING_COLUMNS_MAX ||
			 !(json_is_array(columns) || json_is_null(columns)))
			error_list_pointer(errors, pointer, "is no list of columns",
					   "at most 64 names, or null to forget it");
		else
			elements_check(columns, &setting_column, true, pointer, errors);
	}
}

static char *setting_member_text(const struct exchange *exchange, const char *member)
{
	const json_t *value = json_object_get(exchange->body, member);

	return value ? json_dumps(value, JSON_COMPACT) : NULL;
}

static void setting_change(struct exchange *exchange)
{
	CLEANUP(freep) char *values = NULL;
	struct error_list errors = {0};

	members_check(exchange->body, setting_site_members, COUNT_OF(setting_site_members), "",
		      &errors);
	if (exchange_refused(exchange, &errors))
		return;
	values = setting_member_text(exchange, "values");
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&setting_change_query,
				{exchange_arg(exchange, "@version"), values, exchange->actor}},
			       {&setting_changed_query, {NULL}},
		       },
		       2);
}

static void setting_own_change(struct exchange *exchange)
{
	CLEANUP(freep) char *hidden = NULL;
	struct error_list errors = {0};

	members_check(exchange->body, setting_own_members, COUNT_OF(setting_own_members), "",
		      &errors);
	if (errors.count == 0)
		setting_check_hidden(json_object_get(exchange->body, "hidden"), &errors);
	if (exchange_refused(exchange, &errors))
		return;
	hidden = setting_member_text(exchange, "hidden");
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&own_setting_change_query,
				{exchange_arg(exchange, "@version"),
				 exchange_text(exchange, "scheme"), hidden}},
			       {&own_setting_changed_query, {NULL}},
		       },
		       2);
}

/* clang-format off */
const struct route setting_routes[] = {
	{HTTP_GET, "/api/v1/settings", ROLE_OPERATOR, BODY_NONE, 0, exchange_read_version, NULL, &setting_list_query, {NULL}},
	{HTTP_PATCH, "/api/v1/settings", ROLE_OPERATOR, BODY_PATCH, ROUTE_IF_MATCH, setting_change, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/settings/own", ROLE_SELF, BODY_NONE, 0, exchange_read_version, NULL, &own_setting_get_query, {NULL}},
	{HTTP_PATCH, "/api/v1/settings/own", ROLE_SELF, BODY_PATCH, ROUTE_IF_MATCH, setting_own_change, NULL, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
