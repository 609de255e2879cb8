/* Flexible NetFlow of IOS-XE ("Flexible NetFlow Configuration Guide", "Catalyst 9300: Configuring
 * Flexible NetFlow"): records, exporters, monitors, samplers and the ports that use them. What is
 * in use is neither changed nor deleted; what is not there is not used. Nothing is exported. */
#include "tests/sim/command_line/switch_cli_flow.h"

#include <string.h>

#include "tests/sim/command_line/switch_cli_common.h"

static const char *const switch_cli_flow_heads[] = {"flow record ", "flow exporter ",
						    "flow monitor ", "sampler "};

static struct cli_flow *switch_cli_flow_find(struct cli_config *config, enum cli_flow_kind kind,
					     const char *name)
{
	for (size_t i = 0; i < CLI_FLOWS; i++) {
		if (config->flows[i].name[0] && config->flows[i].kind == (unsigned)kind &&
		    strcmp(config->flows[i].name, name) == 0)
			return &config->flows[i];
	}
	return NULL;
}

static bool switch_cli_flow_names(const char *text, const char *name)
{
	size_t size = strlen(name);

	for (const char *at = strstr(text, name); at; at = strstr(at + 1, name)) {
		if ((at == text || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0'))
			return true;
	}
	return false;
}

/* By a monitor, or by a port. */
static bool is_used(const struct cli_store *store, const struct cli_flow *flow)
{
	const struct cli_config *config = store->running;

	for (unsigned i = 1; i <= store->port_count; i++) {
		const char *text = config->ports[i].flow;
		const char *sampler = strstr(text, " sampler ");

		if (flow->kind == CLI_FLOW_MONITOR && switch_cli_flow_names(text, flow->name))
			return true;
		if (flow->kind == CLI_FLOW_SAMPLER && sampler &&
		    switch_cli_flow_names(sampler + 9, flow->name))
			return true;
	}
	for (size_t i = 0; i < CLI_FLOWS; i++) {
		const struct cli_flow *other = &config->flows[i];

		for (size_t k = 0; other->kind == CLI_FLOW_MONITOR && k < other->count; k++) {
			if ((flow->kind == CLI_FLOW_RECORD || flow->kind == CLI_FLOW_EXPORTER) &&
			    strncmp(other->lines[k], switch_cli_flow_heads[flow->kind] + 5,
				    strlen(switch_cli_flow_heads[flow->kind]) - 5) == 0 &&
			    switch_cli_flow_names(other->lines[k], flow->name))
				return true;
		}
	}
	return false;
}

/* Is it in use by something that has frames? */
static bool is_busy(const struct cli_store *store, const struct cli_flow *flow)
{
	struct cli_config *config = store->running;

	if (flow->kind == CLI_FLOW_MONITOR || flow->kind == CLI_FLOW_SAMPLER)
		return is_used(store, flow);
	for (size_t i = 0; i < CLI_FLOWS; i++) {
		const struct cli_flow *monitor = &config->flows[i];
		bool uses = false;

		for (size_t k = 0; monitor->kind == CLI_FLOW_MONITOR && k < monitor->count; k++)
			uses |= switch_cli_flow_names(monitor->lines[k], flow->name);
		if (monitor->name[0] && uses && is_used(store, monitor))
			return true;
	}
	return false;
}

void cli_flow_enter(struct cli_call *call)
{
	struct cli_config *config = call->session->device->store->running;
	enum cli_flow_kind kind = call->command->argument;
	struct cli_flow *flow = switch_cli_flow_find(config, kind, call->values[0].text);

	for (size_t i = 0; !flow && i < CLI_FLOWS; i++) {
		if (config->flows[i].name[0] == '\0') {
			flow = &config->flows[i];
			*flow = (struct cli_flow){.kind = kind};
			(void)text_copy(flow->name, sizeof(flow->name), call->values[0].text);
		}
	}
	if (!flow) {
		text_add(call->out, "% Error: no room\n");
		return;
	}
	cli_leave(call->session, CLI_FLOW_MODE);
	call->session->flow = (unsigned)(flow - config->flows);
}

void cli_flow_drop(struct cli_call *call)
{
	struct cli_store *store = call->session->device->store;
	struct cli_flow *flow =
		switch_cli_flow_find(store->running, call->command->argument, call->values[0].text);

	if (!flow)
		text_add(call->out, "% Error: it does not exist\n");
	else if (is_used(store, flow))
		text_addf(call->out,
			  "%% %s%s is in use. Remove from all clients before deleting.\n",
			  switch_cli_flow_heads[flow->kind], flow->name);
	else
		*flow = (struct cli_flow){0};
}

/* What it names has to be there. */
static bool switch_cli_flow_is_known(struct cli_call *call, const char *line)
{
	struct cli_config *config = call->session->device->store->running;

	if (strncmp(line, "exporter ", 9) == 0)
		return switch_cli_flow_find(config, CLI_FLOW_EXPORTER, line + 9) != NULL;
	return strncmp(line, "record ", 7) != 0 ||
	       switch_cli_flow_find(config, CLI_FLOW_RECORD, line + 7) != NULL;
}

/* A line of the mode's section, in the place of one that begins with the same word and may be there
 * once; `argument` says of which kind of section it is one. */
void cli_flow_line(struct cli_call *call)
{
	struct cli_store *store = call->session->device->store;
	struct cli_flow *flow = &store->running->flows[call->session->flow];
	const char *pattern = call->command->pattern;
	size_t fixed = strcspn(pattern, "<");
	char line[CLI_KEPT_SIZE];
	size_t at = 0;

	(void)text_format(line, sizeof(line), "%.*s%s", (int)fixed, pattern,
			  pattern[fixed] ? call->values[0].text : "");
	if (flow->kind != (call->command->argument & 7) ||
	    (strncmp(line, "mode", 4) == 0 &&
	     (call->values[0].number < 2 || call->values[0].number > 1024))) {
		text_add(call->out, "% Invalid input detected at '^' marker.\n");
	} else if (is_busy(store, flow)) {
		text_addf(call->out, "%% %s%s is in use. Remove from all clients before editing.\n",
			  switch_cli_flow_heads[flow->kind], flow->name);
	} else if (!switch_cli_flow_is_known(call, line)) {
		text_add(call->out, "% Error: it does not exist\n");
	} else {
		size_t same = call->command->argument & CLI_FLOW_MANY ? strlen(line) + 1 : fixed;

		while (at < flow->count && strncmp(flow->lines[at], line, same) != 0)
			at++;
		if (at == COUNT_OF(flow->lines)) {
			text_add(call->out, "% Error: no room\n");
			return;
		}
		(void)text_copy(flow->lines[at], sizeof(flow->lines[at]), line);
		flow->count += at == flow->count;
	}
}

/* "haas sampler haas": how a port is looked at; the values are the monitor and the sampler. */
void cli_flow_port(struct cli_call *call)
{
	struct cli_config *config = call->session->device->store->running;
	bool on = call->command->argument != 0;

	if (on && (!switch_cli_flow_find(config, CLI_FLOW_MONITOR, call->values[0].text) ||
		   !switch_cli_flow_find(config, CLI_FLOW_SAMPLER, call->values[1].text))) {
		text_add(call->out, "% Error: it does not exist\n");
		return;
	}
	for
		EACH_PORT(port, &call->session->ports)
		{
			char *flow = cli_port_at(call->session, port)->flow;

			if (!on)
				flow[0] = '\0';
			else if (flow[0])
				text_add(call->out, "% Error: a monitor is there already\n");
			else
				(void)text_format(flow, CLI_NAME_SIZE, "%s sampler %s",
						  call->values[0].text, call->values[1].text);
		}
}

void cli_flow_write(const struct cli_config *config, struct text *out)
{
	for (unsigned kind = 0; kind < COUNT_OF(switch_cli_flow_heads); kind++) {
		for (size_t i = 0; i < CLI_FLOWS; i++) {
			const struct cli_flow *flow = &config->flows[i];

			if (flow->name[0] == '\0' || flow->kind != kind)
				continue;
			text_addf(out, "%s%s\n", switch_cli_flow_heads[kind], flow->name);
			for (size_t k = 0; k < flow->count; k++)
				text_addf(out, " %s\n", flow->lines[k]);
			text_add(out, "!\n");
		}
	}
}
