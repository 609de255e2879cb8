#include "portal/server/error_list.h"

#include <stdbool.h>

#include "common/base/json_text.h"

static bool error_begin(struct error_list *errors)
{
	if (errors->count++ >= ERROR_LIST_MAX)
		return false; /* counted, not told */
	json_begin_object(&errors->json, NULL);
	return true;
}

void error_list_pointer(struct error_list *errors, const char *pointer, const char *message,
			const char *allowed)
{
	if (!error_begin(errors))
		return;
	json_put_string(&errors->json, "pointer", pointer);
	json_put_string(&errors->json, "message", message);
	if (allowed)
		json_put_string(&errors->json, "allowed", allowed);
	json_end_object(&errors->json);
}

void error_list_cell(struct error_list *errors, size_t row, const char *column, const char *message,
		     const char *allowed)
{
	if (!error_begin(errors))
		return;
	json_put_int(&errors->json, "row", (int64_t)row);
	json_put_string(&errors->json, "column", column);
	json_put_string(&errors->json, "message", message);
	if (allowed)
		json_put_string(&errors->json, "allowed", allowed);
	json_end_object(&errors->json);
}

void error_list_done(struct error_list *errors)
{
	text_done(&errors->json);
	*errors = (struct error_list){0};
}
