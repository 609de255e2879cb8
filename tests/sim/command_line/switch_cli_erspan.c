/* Mirror sessions whose copies the switch sends itself. "Catalyst 9300: Configuring ERSPAN", "Nexus
 * 9000: Configuring ERSPAN", "Dell Configuration Guide 9.x: Encapsulated Remote Port Monitoring",
 * "SmartFabric OS10: Encapsulated remote port monitoring". Their type is said when they are made
 * and stays; they are off until they are told. */
#include <string.h>

#include "tests/sim/command_line/switch_cli_common.h"
#include "tests/sim/command_line/switch_cli_mirror.h"

void cli_erspan_enter(struct cli_call *call)
{
	unsigned number = call->values[0].number;
	struct cli_config *config = call->session->device->store->running;
	struct cli_mirror_row *row = NULL;

	for (size_t i = 0; i < CLI_MIRRORS; i++) {
		if (config->mirrors[i].number == number)
			row = &config->mirrors[i];
	}
	if (row && !row->is_sent) {
		text_add(call->out, "% Error: the type of a session cannot be changed\n");
		return;
	}
	row = cli_mirror_row_of(call, number);
	if (!row)
		return;
	row->is_sent = true;
	cli_mirror_enter(call);
}

void cli_erspan_below(struct cli_call *call)
{
	unsigned number = call->session->mirror;

	cli_leave(call->session, CLI_MIRROR_TO);
	call->session->mirror = number;
}

void cli_erspan_above(struct cli_call *call)
{
	unsigned number = call->session->mirror;

	cli_leave(call->session, CLI_MIRROR);
	call->session->mirror = number;
}

/* "10.0.0.1", as far as a switch looks. */
static bool switch_cli_erspan_is_address(const char *text)
{
	unsigned dots = 0;

	for (const char *at = text; *at; at++) {
		if (!strchr("0123456789.", *at))
			return false;
		dots += *at == '.';
	}
	return dots == 3;
}

static bool switch_cli_erspan_keep(struct cli_call *call, const char *text, char ret[16])
{
	if (!switch_cli_erspan_is_address(text) || !text_copy(ret, 16, text)) {
		text_add(call->out, "% Invalid input: not an address\n");
		return false;
	}
	return true;
}

void cli_erspan_set(struct cli_call *call)
{
	struct cli_mirror_row *row = cli_mirror_row_of(call, call->session->mirror);
	const struct cli_value *values = call->values;

	if (!row)
		return;
	if (!row->is_sent) {
		text_add(call->out, "% Error: the session is a local one\n");
		return;
	}
	switch (call->command->argument) {
	case CLI_ERSPAN_ID:
		if (values[0].number < 1 || values[0].number > 1023)
			text_add(call->out, "% Invalid input: 1 to 1023\n");
		else
			row->id = values[0].number;
		break;
	case CLI_ERSPAN_TO: (void)switch_cli_erspan_keep(call, values[0].text, row->to); break;
	case CLI_ERSPAN_FROM: (void)switch_cli_erspan_keep(call, values[0].text, row->from); break;
	case CLI_ERSPAN_BOTH:
		if (switch_cli_erspan_keep(call, values[0].text, row->from))
			(void)switch_cli_erspan_keep(call, values[1].text, row->to);
		break;
	default: break;
	}
}

void cli_mirror_on(struct cli_call *call)
{
	struct cli_mirror_row *row = cli_mirror_row_of(call, call->session->mirror);

	if (row)
		row->is_on = true;
}
