/* sFlow on emulated command lines: what was typed is kept as a line of the running configuration,
 * in the place of one that says the same otherwise. What samples: switch_cli_samples.c. */
#include <string.h>
#include <strings.h>

#include "tests/sim/command_line/switch_cli_common.h"

/* A pattern with its values in their places. */
static void switch_cli_sflow_said(const struct cli_call *call, char ret[CLI_KEPT_SIZE])
{
	struct text text = {0};
	const char *at = call->command->pattern;

	for (size_t i = 0; *at;) {
		size_t size = strcspn(at, "<");

		text_add_bytes(&text, at, size);
		at += size;
		if (*at == '<') {
			text_add(&text, call->values[i++].text);
			at += strcspn(at, ">") + 1;
		}
	}
	(void)text_copy(ret, CLI_KEPT_SIZE, text_get(&text));
	text_done(&text);
}

static bool switch_cli_sflow_begins(const char *line, const char *with, size_t size)
{
	return strncasecmp(line, with, size) == 0;
}

static void switch_cli_sflow_drop(struct cli_config *config, const char *line, size_t size)
{
	for (size_t i = 0; i < CLI_KEPT_MAX; i++) {
		if (config->kept[i][0] && switch_cli_sflow_begins(config->kept[i], line, size))
			config->kept[i][0] = '\0';
	}
}

bool cli_has_line(const struct cli_config *config, const char *line)
{
	for (size_t i = 0; i < CLI_KEPT_MAX; i++) {
		if (switch_cli_sflow_begins(config->kept[i], line, strlen(line)) &&
		    config->kept[i][0])
			return true;
	}
	return false;
}

void cli_keep_line(struct cli_call *call)
{
	struct cli_config *config = call->session->device->store->running;
	const char *pattern = call->command->pattern;
	char line[CLI_KEPT_SIZE];

	switch_cli_sflow_said(call, line);
	/* One of a kind, or one for each port. */
	switch_cli_sflow_drop(config, line,
			      call->command->argument ? strlen(line) + 1 : strcspn(pattern, "<"));
	for (size_t i = 0; i < CLI_KEPT_MAX; i++) {
		if (config->kept[i][0])
			continue;
		(void)text_copy(config->kept[i], CLI_KEPT_SIZE, line);
		return;
	}
	text_add(call->out, "% Error: no room\n");
}

/* "no ...": `argument` takes everything away that begins with "sflow" as well. */
void cli_drop_line(struct cli_call *call)
{
	struct cli_config *config = call->session->device->store->running;
	char line[CLI_KEPT_SIZE];

	switch_cli_sflow_said(call, line);
	switch_cli_sflow_drop(config, line + 3, strlen(line + 3));
	if (call->command->argument)
		switch_cli_sflow_drop(config, "sflow", 5);
}

void cli_write_lines(const struct cli_config *config, struct text *out)
{
	for (size_t i = 0; i < CLI_KEPT_MAX; i++) {
		if (config->kept[i][0])
			text_addf(out, "%s\n", config->kept[i]);
	}
}

void cli_sample_port(struct cli_call *call)
{
	for
		EACH_PORT(port, &call->session->ports)
		{
			cli_port_at(call->session, port)->is_sampled = call->command->argument != 0;
		}
}
