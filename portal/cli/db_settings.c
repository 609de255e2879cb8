#include <errno.h>
#include <stdlib.h>

#include "common/base/text.h"

#include "portal/cli/db_admin.h"

void db_settings_done(struct db_settings *settings)
{
	for (size_t i = 0; i < settings->count; i++)
		free(settings->texts[i]);
}

int db_settings_init(struct db_settings *settings, const char *conninfo, struct problem *problem)
{
	char *why = NULL;
	PQconninfoOption *options = PQconninfoParse(conninfo, &why);

	if (!options) {
		problem_set(problem, -EINVAL, "the connection string is malformed");
		problem_detail(problem, "%s", why ? why : "out of memory");
		PQfreemem(why);
		return -EINVAL;
	}
	for (const PQconninfoOption *option = options; option->keyword; option++) {
		CLEANUP(text_done) struct text line = {0};

		if (!option->val || !option->envvar ||
		    settings->count + 1 >= COUNT_OF(settings->environment))
			continue;
		text_addf(&line, "%s=%s", option->envvar, option->val);
		settings->texts[settings->count] = text_take(&line);
		settings->environment[settings->count] = settings->texts[settings->count];
		settings->count++;
	}
	PQconninfoFree(options);
	return 0;
}
