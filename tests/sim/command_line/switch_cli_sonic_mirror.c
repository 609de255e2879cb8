/* SONiC's mirror sessions: sonic-utilities, config/main.py (mirror_session span, erspan). */
#include <string.h>

#include "tests/sim/command_line/switch_cli_mirror.h"
#include "tests/sim/command_line/switch_cli_sonic.h"

/* "Ethernet0,Ethernet4" */
static bool switch_cli_sonic_mirror_read_ports(struct sonic_call *call, const char *text,
					       struct cli_ports *ret)
{
	char copy[256];
	char *rest = NULL;

	*ret = (struct cli_ports){{0}};
	if (!text_copy(copy, sizeof(copy), text))
		return false;
	for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		unsigned port = sonic_port_find(call->shell->session, name);

		if (port == 0)
			return false;
		cli_ports_add(ret, port);
	}
	return true;
}

int sonic_span_add(struct sonic_call *call)
{
	struct cli_store *store = call->shell->session->device->store;
	unsigned target = sonic_port_find(call->shell->session, call->arguments[1]);
	struct cli_ports sources;

	if (target == 0)
		return sonic_fail(call, "Destination Interface %s is invalid", call->arguments[1]);
	if (!switch_cli_sonic_mirror_read_ports(call, call->arguments[2], &sources))
		return sonic_fail(call, "Source Interface %s is invalid", call->arguments[2]);
	if (strcmp(call->arguments[3], "both") != 0)
		return sonic_fail(call, "Direction %s is not emulated", call->arguments[3]);
	switch (cli_mirror_name(store, call->arguments[0], target, &sources)) {
	case CLI_MIRROR_FINE: return 0;
	case CLI_MIRROR_THERE: return sonic_fail(call, "%s already exists", call->arguments[0]);
	case CLI_MIRROR_TAKEN:
		return sonic_fail(call, "Destination Interface %s already has mirror config",
				  call->arguments[1]);
	case CLI_MIRROR_FULL: break;
	}
	return sonic_fail(call, "Failed to add mirror session: table is full");
}

/* For ports; without them it would wait for a rule of an ACL, which is not emulated. */
int sonic_erspan_add(struct sonic_call *call)
{
	const char *const *words = call->arguments;
	struct cli_ports sources;

	for (int i = 1; i < 3; i++) {
		if (strspn(words[i], "0123456789.") != strlen(words[i]))
			return sonic_fail(call, "%s is not a valid IPv4 address", words[i]);
	}
	if (call->count < 9 || strcmp(words[8], "both") != 0)
		return sonic_fail(call, "Only ports, both ways, are emulated");
	if (!switch_cli_sonic_mirror_read_ports(call, words[7], &sources))
		return sonic_fail(call, "Source Interface %s is invalid", words[7]);
	switch (cli_erspan_name(call->shell->session->device->store, words[0], words[1], words[2],
				&sources)) {
	case CLI_MIRROR_FINE: return 0;
	case CLI_MIRROR_THERE: return sonic_fail(call, "%s already exists", words[0]);
	case CLI_MIRROR_TAKEN:
	case CLI_MIRROR_FULL: break;
	}
	return sonic_fail(call, "Failed to add mirror session: table is full");
}

int sonic_mirror_remove(struct sonic_call *call)
{
	(void)cli_mirror_forget(call->shell->session->device->store, call->arguments[0]);
	return 0;
}
