/* haasctl: the operator's and the on-call engineer's hand. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/error.h"

#include "portal/cli/haasctl.h"

/* What a shell says of a program that SIGPIPE ended. */
#define EXIT_BROKEN_PIPE 141

static const struct option_row cli_globals[] = {
	{"--output", 'o', OPTION_VALUE, "table|wide|json|jsonl|csv",
	 "default table; json: refusals too"},
	{"--columns", 'c', OPTION_VALUE, "A,B", "only these columns, in this order"},
	{"--color", 0, OPTION_VALUE, "auto|always|never", "default auto: on a terminal"},
	{"--socket", 0, OPTION_VALUE, "PATH", "default HAAS_SOCKET, else " HAASCTL_DEFAULT_SOCKET},
	{"--case", 0, OPTION_VALUE, "CASE", "default HAAS_CASE: stores answers and captures in it"},
	{"--as-tenant", 0, OPTION_VALUE, "TENANT", "see and ask as this tenant would"},
	{"--idempotency-key", 0, OPTION_VALUE, "KEY", "repeat a request without doing it twice"},
};

static const struct completion_row cli_completions[] = {
	{"NODE", "node list -c name", false},
	{"DEPLOYMENT", "deployment list -c id --limit 50", false},
	{"JOB", "job list -c id --limit 50", false},
	{"TENANT", "tenant list -c name", false},
	{"SUBNET", "subnet list -c name", false},
	{"MAC", "reservation list -c mac", false},
	{"SWITCH", "switch list -c name", false},
	{"CIRCUIT", "circuit unknown -c id", false},
	{"FABRIC", "fabric list -c name", false},
	{"ALERT", "alert list -c id", false},
	{"SILENCE", "alert silences -c id", false},
	{"CASE", "case list -c id", false},
	{"PDCI", "pdci list -c name", false},
	{"NETWORK", "network list -c name", false},
	{"VOLUME", "volume list -c name", false},
	{"ARCHIVE", "archive list -c name", false},
	{"RULE", "circuit list -c name", false},
	{"FAMILY", "circuit families -c name", false},
	{"WHERE", "drill --complete", true},
};

/* In the order of help: what has the same noun stands together. */
static const struct command_group *const cli_groups[] = {
	&status_group,  &node_group,       &bmc_group,         &node_network_group,
	&health_group,  &deployment_group, &pdci_group,        &volume_group,
	&network_group, &image_group,      &image_sign_group,  &grant_group,
	&site_group,    &fabric_group,     &alert_group,       &switch_group,
	&cable_group,   &sampling_group,   &drill_group,       &case_group,
	&capture_group, &record_group,     &certificate_group, &db_group};

/* Did all of stdout arrive? A reader that left early (| head) is no error to talk about. */
static int close_output(int status)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	int error = errno;
	if (error == EPIPE || (poll(&out, 1, 0) == 1 && (out.revents & POLLERR)))
		return EXIT_BROKEN_PIPE;
	/* The reason of a failure in the middle is gone by now. */
	fprintf(stderr, "haasctl: cannot write stdout: %s\n",
		error ? error_text(-error) : "it is not complete");
	return EXIT_FAILED;
}

int main(int argc, char **argv)
{
	struct haasctl *haasctl = NULL;
	struct command *commands;
	size_t count = 0;
	size_t used = 0;

	for (size_t i = 0; i < COUNT_OF(cli_groups); i++)
		count += cli_groups[i]->count;
	commands = calloc(count, sizeof(*commands));
	if (!commands || sodium_init() < 0 || haasctl_new(&haasctl) < 0) {
		fprintf(stderr, "haasctl: cannot start: %s\n", error_text(-ENOMEM));
		free(commands);
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < COUNT_OF(cli_groups); i++) {
		for (size_t j = 0; j < cli_groups[i]->count; j++)
			commands[used++] = cli_groups[i]->rows[j];
	}
	(void)signal(SIGPIPE, SIG_IGN);
	int status = command_main(
		&(struct command_set){
			.program = "haasctl",
			.summary =
				"operate a hardware-as-a-service site: nodes, images, deployments",
			.globals = cli_globals,
			.global_count = COUNT_OF(cli_globals),
			.commands = commands,
			.command_count = count,
			.completions = cli_completions,
			.completion_count = COUNT_OF(cli_completions),
			.lists = &node_sheet_list,
			.list_count = 1,
			.context = haasctl},
		argc, argv);
	haasctl_free(haasctl);
	free(commands);
	return close_output(status);
}
