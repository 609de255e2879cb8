/* haasctl: the operator's and the on-call engineer's hand. */
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"

#include "portal/cli/haasctl.h"

static const struct option_row globals[] = {
	{"--output", 'o', OPTION_VALUE, "FORMAT", "table, json, jsonl or csv (default table)"},
	{"--columns", 'c', OPTION_VALUE, "A,B", "only these columns, in this order"},
	{"--socket", 0, OPTION_VALUE, "PATH",
	 "portald's socket (or HAAS_SOCKET; default " HAASCTL_DEFAULT_SOCKET ")"},
	{"--as-tenant", 0, OPTION_VALUE, "TENANT", "see and ask as this tenant would"},
	{"--idempotency-key", 0, OPTION_VALUE, "KEY", "repeat a request without doing it twice"},
};

static const struct command_group *const groups[] = {&node_group, &deployment_group, &image_group,
						     &site_group, &record_group,     &db_group};

int main(int argc, char **argv)
{
	struct haasctl *haasctl = NULL;
	struct command *commands;
	size_t count = 0;
	size_t used = 0;

	for (size_t i = 0; i < COUNT_OF(groups); i++)
		count += groups[i]->count;
	commands = calloc(count, sizeof(*commands));
	if (!commands || sodium_init() < 0 || haasctl_new(&haasctl) < 0) {
		fprintf(stderr, "haasctl: cannot start: %s\n", error_text(-12));
		free(commands);
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < COUNT_OF(groups); i++) {
		for (size_t j = 0; j < groups[i]->count; j++)
			commands[used++] = groups[i]->rows[j];
	}
	signal(SIGPIPE, SIG_IGN);
	int status = command_main(
		&(struct command_set){
			.program = "haasctl",
			.summary =
				"operate a hardware-as-a-service site: nodes, images, deployments",
			.globals = globals,
			.global_count = COUNT_OF(globals),
			.commands = commands,
			.command_count = count,
			.context = haasctl},
		argc, argv);
	haasctl_free(haasctl);
	free(commands);
	return status;
}
