/* SWITCH_APART: which ports the running configuration keeps apart from each other. Other ways of
 * reading do not tell it. */
#include <errno.h>
#include <stdlib.h>

#include "common/base/text.h"

#include "peregrine/switch/cli/cli_apart_policy.h"
#include "peregrine/switch/cli/cli_switch.h"

static void cli_apart_on_config(struct cli_switch *one, int rc, const struct problem *problem)
{
	const struct cli_config *config = one->config;
	CLEANUP(freep) struct cli_apart *apart = NULL;
	struct switch_reading reading = {0};

	if (rc) {
		switch_call_end(&one->call, rc, NULL, problem);
		return;
	}
	reading.ports = calloc(config->port_count + 1, sizeof(*reading.ports));
	apart = calloc(config->port_count + 1, sizeof(*apart));
	if (!reading.ports || !apart || cli_apart_find(config, apart)) {
		switch_reading_done(&reading);
		switch_call_end(&one->call, -ENOMEM, NULL, NULL);
		return;
	}
	for (size_t i = 0; i < config->port_count; i++) {
		const struct cli_port *from = &config->ports[i];
		struct switch_port *port = &reading.ports[reading.port_count];

		if (!from->configured)
			continue;
		*port = (struct switch_port){.if_index = (uint32_t)++reading.port_count,
					     .index_made = true,
					     .apart = apart[i].apart,
					     .apart_group = apart[i].group};
		(void)text_copy(port->name, sizeof(port->name), from->name);
	}
	reading.requests = cli_dialogue_commands(one->dialogue) - one->call.requests_before;
	switch_call_end(&one->call, 0, &reading, NULL);
}

int cli_apart_start(struct cli_switch *one)
{
	cli_look_start(one, cli_apart_on_config);
	return 0;
}
