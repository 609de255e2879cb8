/* "Catalyst 9300: Configuring EtherChannels", "Nexus 9000: Configuring Port Channels", "Dell
 * SmartFabric OS10" and "S-Series 9.14: Link Aggregation (LACP)", "AOS-CX: Link Aggregation", "HPE
 * 5940: Ethernet link aggregation". */
#include "tests/sim/command_line/switch_cli_lag.h"

#include <string.h>

#include "tests/sim/command_line/switch_cli_common.h"

/* What a family thinks of a port that is to join: `wrong` is said to one that is not as it shall
 * be; `made` when the aggregate is made along the way, NULL: it has to be there, and `missing` is
 * said. */
static const struct {
	const char *family;
	const char *wrong, *made, *missing;
	bool alike;          /* it has the aggregate's VLANs, or is refused */
	bool bare;           /* it is no port of a bridge, or is refused */
	bool cleared;        /* it is none from then on */
	bool follows;        /* it shows what its aggregate has */
	bool shuts;          /* it is shut down when the aggregate is deleted around it */
	const char *feature; /* without this line there is no such command */
} switch_cli_lag_manners[] = {
	{.family = "ios",
	 .made = "Creating a port-channel interface Port-channel {}\n\n",
	 .follows = true,
	 .shuts = true},
	{.family = "nxos",
	 .wrong = "command failed: port not compatible [Port VLAN]\n",
	 .made = "",
	 .alike = true,
	 .follows = true,
	 .feature = "feature lacp"},
	{.family = "os10",
	 .wrong = "% Error: Interface has switchport configuration\n",
	 .made = "",
	 .bare = true},
	{.family = "os9", .wrong = "% Error: Port is in Layer 2 mode.\n", .made = "", .bare = true},
	{.family = "aoscx", .missing = "LAG {} does not exist.\n", .cleared = true},
	{.family = "comware",
	 .missing = "The aggregate interface {} does not exist.\n",
	 .follows = true},
};

static size_t switch_cli_lag_manner_of(const struct cli_session *session)
{
	for (size_t i = 0; i < COUNT_OF(switch_cli_lag_manners); i++) {
		if (strcmp(switch_cli_lag_manners[i].family, session->device->family->name) == 0)
			return i;
	}
	return 0;
}

static void switch_cli_lag_say(struct cli_call *call, const char *text, unsigned number)
{
	const char *hole = strstr(text, "{}");

	if (hole)
		text_addf(call->out, "%.*s%u%s", (int)(hole - text), text, number, hole + 2);
	else
		text_add(call->out, text);
}

static struct cli_config *running_of(const struct cli_call *call)
{
	return call->session->device->store->running;
}

void cli_lag_make(struct cli_call *call, const struct cli_ports *ports)
{
	for
		EACH_PORT(port, ports)
		{
			struct cli_port *at = &running_of(call)->ports[port];

			if (!cli_lag_number(port) || at->is_there)
				continue;
			*at = cli_port_new(&call->session->device->family->port);
			at->is_there = true;
		}
}

static bool is_fit(struct cli_call *call, size_t manner, const struct cli_port *member,
		   const struct cli_port *lag)
{
	bool alike = member->mode == lag->mode && member->access == lag->access &&
		     member->native == lag->native &&
		     vlan_set_equal(&member->allowed, &lag->allowed);

	if ((switch_cli_lag_manners[manner].alike && !alike) ||
	    (switch_cli_lag_manners[manner].bare && member->mode != CLI_OFF))
		text_add(call->out, switch_cli_lag_manners[manner].wrong);
	else
		return true;
	return false;
}

void cli_lag_join(struct cli_call *call)
{
	size_t manner = switch_cli_lag_manner_of(call->session);
	unsigned number = call->values[0].number;
	unsigned port = cli_lag_port(number);
	struct cli_config *running = running_of(call);
	struct cli_ports made = {{0}};

	if (switch_cli_lag_manners[manner].feature &&
	    !cli_has_line(running, switch_cli_lag_manners[manner].feature)) {
		text_add(call->out, "% Invalid command at '^' marker.\n");
		return;
	}
	if (!port) {
		text_add(call->out, "% Invalid number of an aggregate\n");
		return;
	}
	if (!running->ports[port].is_there) {
		switch_cli_lag_say(call,
				   switch_cli_lag_manners[manner].made
					   ? switch_cli_lag_manners[manner].made
					   : switch_cli_lag_manners[manner].missing,
				   number);
		if (!switch_cli_lag_manners[manner].made)
			return;
		cli_ports_add(&made, port);
		cli_lag_make(call, &made);
	}
	for
		EACH_PORT(member, &call->session->ports)
		{
			struct cli_port *at = &running->ports[member];

			if (cli_lag_number(member) ||
			    !is_fit(call, manner, at, &running->ports[port]))
				continue;
			at->lag = (uint8_t)number;
			if (switch_cli_lag_manners[manner].cleared)
				at->mode = CLI_OFF;
		}
}

void cli_lag_leave(struct cli_call *call)
{
	for
		EACH_PORT(port, &call->session->ports)
		{
			running_of(call)->ports[port].lag = 0;
		}
}

void cli_lag_delete(struct cli_call *call)
{
	struct cli_config *running = running_of(call);
	unsigned port = call->values[0].number;
	struct cli_ports members = cli_lag_members(running, cli_lag_number(port));

	if (!cli_lag_number(port) || !running->ports[port].is_there) {
		text_add(call->out, "% Error: there is no such interface to delete\n");
		return;
	}
	for
		EACH_PORT(member, &members)
		{
			running->ports[member].lag = 0;
			running->ports[member].is_shut |=
				switch_cli_lag_manners[switch_cli_lag_manner_of(call->session)]
					.shuts;
		}
	running->ports[port] = (struct cli_port){.mode = CLI_OFF};
}

void cli_lags_settle(const struct cli_session *session)
{
	struct cli_config *running = session->device->store->running;

	for (unsigned port = 1; port < CLI_LAG_FIRST; port++) {
		struct cli_port *at = &running->ports[port];
		const struct cli_port *lag = &running->ports[cli_lag_port(at->lag)];

		if (!at->lag || !switch_cli_lag_manners[switch_cli_lag_manner_of(session)].follows)
			continue;
		at->mode = lag->mode;
		at->access = lag->access;
		at->native = lag->native;
		at->allowed = lag->allowed;
		at->is_allowed_all = lag->is_allowed_all;
	}
}

unsigned cli_lag_next(const struct cli_config *config, const struct cli_ports *ports,
		      unsigned after)
{
	unsigned from = after < CLI_LAG_FIRST ? CLI_LAG_FIRST : after + 1;

	for (unsigned port = from; port <= CLI_PORTS_MAX; port++) {
		if (config->ports[port].is_there && (!ports || cli_ports_has(ports, port)))
			return port;
	}
	return 0;
}

unsigned cli_port_next(const struct cli_store *store, unsigned after)
{
	return after < store->port_count ? after + 1 : cli_lag_next(store->running, NULL, after);
}
