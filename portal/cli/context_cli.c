/* haasctl context: the servers that this person has logged in to. Nothing here asks one of them. */
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"

#include "portal/cli/context.h"
#include "portal/cli/listing.h"

static int context_cli_problem(const struct problem *problem)
{
	haasctl_problem(problem);
	return problem->code == E_DENIED ? EXIT_DENIED : EXIT_FAILED;
}

static const char *context_cli_login(const struct context *context)
{
	if (context->secret[0] == '\0')
		return "none";
	return strncmp(context->secret, "haas_s_", 7) == 0 ? "session" : "token";
}

static const char *context_cli_known_by(const struct context *context)
{
	if (strncmp(context->url, "https:", 6) != 0)
		return "socket";
	if (context->pin[0])
		return "pin";
	return context->ca[0] ? "ca" : "system";
}

static json_t *context_cli_row(const struct context_book *book, const struct context *context)
{
	json_t *row = json_object();

	(void)json_object_set_new(row, "name", json_string(context->name));
	(void)json_object_set_new(row, "in_use",
				  json_boolean(strcmp(book->current, context->name) == 0));
	(void)json_object_set_new(row, "url", json_string(context->url));
	(void)json_object_set_new(row, "account", json_string(context->account));
	(void)json_object_set_new(row, "login", json_string(context_cli_login(context)));
	(void)json_object_set_new(row, "known_by", json_string(context_cli_known_by(context)));
	(void)json_object_set_new(row, "pin",
				  context->pin[0] ? json_string(context->pin) : json_null());
	(void)json_object_set_new(row, "ca",
				  context->ca[0] ? json_string(context->ca) : json_null());
	return row;
}

static int context_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("name"),  COLUMN("in_use"),   COLUMN("url"), COLUMN("account"),
		COLUMN("login"), COLUMN("known_by"), WIDE("pin"),   WIDE("ca"),
	};
	CLEANUP(context_book_done) struct context_book book = {.lock = -1};
	struct problem problem;
	json_t *rows;
	int status;

	(void)context;
	if (context_book_read(&book, &problem) != 0)
		return context_cli_problem(&problem);
	rows = json_array();
	for (size_t i = 0; i < book.count; i++)
		(void)json_array_append_new(rows, context_cli_row(&book, &book.rows[i]));
	status = listing_rows(input, rows, COLUMNS(columns));
	json_decref(rows);
	return status;
}

static int context_cli_absent(const char *name)
{
	struct problem problem;

	(void)problem_set(&problem, E_NOT_FOUND, "there is no context %s", name);
	problem_hint(&problem, "haasctl context list shows them; haasctl login makes one");
	haasctl_problem(&problem);
	return EXIT_NOT_FOUND;
}

static int context_use(void *context, const struct command_input *input)
{
	CLEANUP(context_book_done) struct context_book book = {.lock = -1};
	const char *name = input->words[0];
	bool none = strcmp(name, "none") == 0;
	struct problem problem;

	(void)context;
	if (context_book_open(&book, &problem) != 0)
		return context_cli_problem(&problem);
	if (!none && !context_find(&book, name))
		return context_cli_absent(name);
	(void)text_copy(book.current, sizeof(book.current), none ? "" : name);
	if (context_book_save(&book, &problem) != 0)
		return context_cli_problem(&problem);
	haasctl_say_done(input,
			 none ? "no context is in use: the socket of this machine is asked"
			      : input->command->done,
			 NULL, NULL);
	return EXIT_OK;
}

static int context_delete(void *context, const struct command_input *input)
{
	CLEANUP(context_book_done) struct context_book book = {.lock = -1};
	struct problem problem;

	(void)context;
	if (context_book_open(&book, &problem) != 0)
		return context_cli_problem(&problem);
	if (!context_drop(&book, input->words[0]))
		return context_cli_absent(input->words[0]);
	if (context_book_save(&book, &problem) != 0)
		return context_cli_problem(&problem);
	haasctl_say_done(input, input->command->done, NULL, NULL);
	return EXIT_OK;
}

static const struct command context_cli_commands[] = {
	{"context", "list", "", "servers that you have logged in to", NO_OPTIONS, 0, 0,
	 context_list, .example = "context list"},
	{"context", "use", "CONTEXT", "ask this server from now on; none: this machine's socket",
	 NO_OPTIONS, 1, 1, context_use, .example = "context use haas.example",
	 .done = "context {1} is in use"},
	{"context", "delete", "CONTEXT",
	 "forget a server and its login; logout first ends it there", NO_OPTIONS, 1, 1,
	 context_delete, .example = "context delete haas.example", .done = "context {1} deleted"},
};
const struct command_group context_group = {context_cli_commands, COUNT_OF(context_cli_commands)};
