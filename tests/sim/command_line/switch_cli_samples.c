#include "tests/sim/command_line/switch_cli_samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

/* What is said of sFlow so far; 0 and "": nothing. */
struct heard {
	char address[48], udp[8];
	unsigned rate, header, poll;
	bool is_on, by_port; /* OS9: on, and ports are told one by one */
};

static void take_rate(struct heard *heard, const char *text)
{
	heard->rate = (unsigned)strtoul(text, NULL, 10);
}

static void take_header(struct heard *heard, const char *text)
{
	heard->header = (unsigned)strtoul(text, NULL, 10);
}

static void take_poll(struct heard *heard, const char *text)
{
	heard->poll = (unsigned)strtoul(text, NULL, 10);
}

static void take_udp(struct heard *heard, const char *text)
{
	(void)text_copy(heard->udp, sizeof(heard->udp), text);
}

/* "10.0.0.1", "10.0.0.1 vrf management", "10.0.0.1 port 6343", "10.0.0.1 agent-addr 10.0.0.2 6343":
 * what follows the address ends in the port, unless it is a VRF. */
static void switch_cli_samples_take_collector(struct heard *heard, const char *text)
{
	const char *last = strrchr(text, ' ');

	(void)text_format(heard->address, sizeof(heard->address), "%.*s", (int)strcspn(text, " "),
			  text);
	if (last && !strstr(text, " vrf "))
		take_udp(heard, last + 1);
}

static void take_on(struct heard *heard, const char *text)
{
	heard->is_on = true;
	heard->by_port = text[0] == '\0';
}

/* The words of all families; none means two things. */
static const struct {
	const char *begins;
	void (*take)(struct heard *heard, const char *rest);
} switch_cli_samples_lines[] = {
	{"sflow collector-ip ", switch_cli_samples_take_collector},
	{"sflow collector-port ", take_udp},
	{"sflow collector ", switch_cli_samples_take_collector},
	{"sflow sampling-rate ", take_rate},
	{"sflow sample-rate ", take_rate},
	{"sflow sampling ", take_rate},
	{"sflow max-sampled-size ", take_header},
	{"sflow max-header-size ", take_header},
	{"sflow header-size ", take_header},
	{"sflow counter-poll-interval ", take_poll},
	{"sflow polling-interval ", take_poll},
	{"sflow polling ", take_poll},
	{"sflow data-source interface ", take_on},
	{"sflow enable", take_on},
};

static void hear_lines(const struct cli_config *config, struct heard *heard)
{
	for (size_t k = 0; k < CLI_KEPT_MAX; k++) {
		const char *line = config->kept[k];

		if (strcmp(line, "sflow") == 0) /* AOS-CX */
			heard->is_on = true;
		for (size_t i = 0; line[0] && i < COUNT_OF(switch_cli_samples_lines); i++) {
			size_t size = strlen(switch_cli_samples_lines[i].begins);

			if (strncmp(line, switch_cli_samples_lines[i].begins, size) == 0)
				switch_cli_samples_lines[i].take(heard, line + size);
		}
	}
}

static void hear_sonic(const struct cli_store *store, struct heard *heard)
{
	const struct cli_sflow *sflow = &store->running->sflow;

	heard->is_on = sflow->is_up;
	heard->poll = sflow->poll;
	for (size_t i = 0; i < COUNT_OF(sflow->collectors); i++) {
		if (!sflow->collectors[i].name[0] || heard->address[0])
			continue;
		(void)text_copy(heard->address, sizeof(heard->address),
				sflow->collectors[i].address);
		take_udp(heard, sflow->collectors[i].udp);
	}
	for (unsigned port = 1; port <= store->port_count && !heard->rate; port++) {
		if (!sflow->is_off[port])
			heard->rate = sflow->rates[port];
	}
}

static bool is_any_port(const struct cli_store *store)
{
	for (unsigned port = 1; port <= store->port_count; port++) {
		if (store->running->ports[port].is_sampled)
			return true;
	}
	return false;
}

/* False: nothing is sampled. What is not said is as the lab has it; vendors differ. */
static bool switch_cli_samples_is_whole(const struct cli_store *store, struct switch_ovs_sflow *ret)
{
	struct heard heard = {0};

	if (store->running->sflow.is_up)
		hear_sonic(store, &heard);
	else
		hear_lines(store->running, &heard);
	memset(ret, 0, sizeof(*ret));
	if (!heard.is_on || !heard.address[0] || (heard.by_port && !is_any_port(store)))
		return false;
	(void)text_format(ret->target, sizeof(ret->target), "%s:%s", heard.address,
			  heard.udp[0] ? heard.udp : "6343");
	ret->rate = heard.rate ? heard.rate : 4096;
	ret->header = heard.header ? heard.header : 128;
	ret->interval = heard.poll ? heard.poll : 20;
	return true;
}

int cli_samples_push(struct cli_store *store)
{
	struct switch_ovs_sflow wanted;
	bool whole = switch_cli_samples_is_whole(store, &wanted);
	int rc;

	if (memcmp(&wanted, &store->samples, sizeof(wanted)) == 0)
		return 0;
	rc = switch_ovs_sample(store->ovs, whole ? &wanted : NULL);
	if (rc == 0)
		memcpy(&store->samples, &wanted, sizeof(wanted));
	return rc;
}
