/* SONiC's sFlow: sonic-utilities, config/main.py (sflow) and show/sflow.py; sonic-swss, sflowmgr:
 * ports are told of only while it is on. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/command_line/switch_cli_sonic.h"

static struct cli_sflow *sflow_of(struct sonic_call *call)
{
	return &call->shell->session->device->store->running->sflow;
}

int sonic_sflow_state(struct sonic_call *call)
{
	sflow_of(call)->is_up = strstr(call->command->words, "enable") != NULL;
	return 0;
}

int sonic_sflow_collector(struct sonic_call *call)
{
	struct cli_sflow *sflow = sflow_of(call);
	const char *name = call->arguments[0];
	bool is_add = strstr(call->command->words, "add") != NULL;
	size_t at = COUNT_OF(sflow->collectors);

	for (size_t i = 0; i < COUNT_OF(sflow->collectors); i++) {
		if (strcmp(sflow->collectors[i].name, name) == 0)
			at = i;
	}
	if (!is_add) {
		if (at == COUNT_OF(sflow->collectors))
			return sonic_fail(call, "Collector: %s not configured", name);
		sflow->collectors[at].name[0] = '\0';
		return 0;
	}
	if (at < COUNT_OF(sflow->collectors))
		return sonic_fail(call, "Collector: %s already exists", name);
	for (at = 0; at < COUNT_OF(sflow->collectors) && sflow->collectors[at].name[0];)
		at++;
	if (at == COUNT_OF(sflow->collectors))
		return sonic_fail(call, "Only 2 collectors can be configured, please delete one");
	if (strlen(name) > 16 ||
	    strspn(call->arguments[1], "0123456789.:abcdef") != strlen(call->arguments[1]))
		return sonic_fail(call, "Invalid IP address or name");
	(void)text_copy(sflow->collectors[at].name, sizeof(sflow->collectors[at].name), name);
	(void)text_copy(sflow->collectors[at].address, sizeof(sflow->collectors[at].address),
			call->arguments[1]);
	(void)text_copy(sflow->collectors[at].udp, sizeof(sflow->collectors[at].udp), "6343");
	(void)text_copy(sflow->collectors[at].vrf, sizeof(sflow->collectors[at].vrf), "default");
	for (int i = 2; i < call->count; i++) {
		if (call->options[i - 2] == 'P')
			(void)text_copy(sflow->collectors[at].udp,
					sizeof(sflow->collectors[at].udp), call->arguments[i]);
		else
			(void)text_copy(sflow->collectors[at].vrf,
					sizeof(sflow->collectors[at].vrf), call->arguments[i]);
	}
	return 0;
}

int sonic_sflow_polling(struct sonic_call *call)
{
	unsigned long poll = strtoul(call->arguments[0], NULL, 10);

	if (poll != 0 && (poll < 5 || poll > 300))
		return sonic_fail(call, "Polling interval must be between 5-300 (0 to disable)");
	sflow_of(call)->poll = (unsigned)poll;
	return 0;
}

int sonic_sflow_port(struct sonic_call *call)
{
	struct cli_sflow *sflow = sflow_of(call);
	unsigned port = sonic_port_find(call->shell->session, call->arguments[0]);
	unsigned long rate;

	if (port == 0)
		return sonic_fail(call, "Invalid interface name");
	if (call->count == 1) {
		sflow->is_off[port] = strstr(call->command->words, "disable") != NULL;
		return 0;
	}
	rate = strtoul(call->arguments[1], NULL, 10);
	if (rate < 256 || rate > 8388608)
		return sonic_fail(call, "Sample rate must be between 256 and 8388608");
	sflow->rates[port] = (unsigned)rate;
	return 0;
}

int sonic_sflow_show(struct sonic_call *call)
{
	const struct cli_sflow *sflow = sflow_of(call);
	struct text *out = call->shell->out;
	unsigned count = 0;
	char line[80];

	text_addf(out, "\nsFlow Global Information:\n%-35s%s\n%-35s%s\n",
		  "  sFlow Admin State:", sflow->is_up ? "up" : "down",
		  "  sFlow Sample Direction:", "rx");
	(void)text_format(line, sizeof(line), "%u", sflow->poll);
	text_addf(out, "%-35s%s\n%-35s%s\n",
		  "  sFlow Polling Interval:", sflow->poll ? line : "default",
		  "  sFlow AgentID:", "default");
	for (size_t i = 0; i < COUNT_OF(sflow->collectors); i++)
		count += sflow->collectors[i].name[0] != '\0';
	text_addf(out, "\n  %u Collectors configured:\n", count);
	for (size_t i = 0; i < COUNT_OF(sflow->collectors); i++) {
		char udp[24];

		if (sflow->collectors[i].name[0] == '\0')
			continue;
		(void)text_format(line, sizeof(line), "    Name: %s", sflow->collectors[i].name);
		text_addf(out, "%-35s", line);
		(void)text_format(line, sizeof(line), "IP addr: %s ", sflow->collectors[i].address);
		(void)text_format(udp, sizeof(udp), "UDP port: %s", sflow->collectors[i].udp);
		text_addf(out, "%-25s%-17sVRF: %s\n", line, udp, sflow->collectors[i].vrf);
	}
	return 0;
}

int sonic_sflow_show_ports(struct sonic_call *call)
{
	static const char bar[] =
		"+-------------+---------------+-----------------+----------------------+\n";
	const struct cli_session *session = call->shell->session;
	const struct cli_sflow *sflow = sflow_of(call);
	struct text *out = call->shell->out;

	text_addf(out, "\nsFlow interface configurations\n%s| %-11s | %-13s | %15s | %-20s |\n",
		  bar, "Interface", "Admin State", "Sampling Rate", "Sampling Direction");
	text_add(out, "+=============+===============+=================+======================+\n");
	for (unsigned i = 1; sflow->is_up && i <= session->device->store->port_count; i++) {
		char name[CLI_NAME_SIZE];

		text_addf(out, "| %-11s | %-13s | %15u | %-20s |\n%s",
			  sonic_port_name(session, i, name), sflow->is_off[i] ? "down" : "up",
			  sflow->rates[i] ? sflow->rates[i] : 100000, "rx", bar);
	}
	return 0;
}
