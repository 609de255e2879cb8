/* SONiC's `config vlan`, `config switchport` and `config interface`: config/vlan.py,
 * config/switchport.py and config/main.py of sonic-utilities, whose words and checks these are. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/command_line/switch_cli_common.h"
#include "tests/sim/command_line/switch_cli_sonic.h"

/* --- VLANs --- */

/* One number, or with -m a list. */
static int switch_cli_sonic_vlan_read_vids(struct sonic_call *call, bool is_member,
					   struct vlan_set *ret)
{
	const char *text = call->arguments[0];

	*ret = (struct vlan_set){{0}};
	if (sonic_has_option(call, 'm'))
		return vlan_set_parse(text, ret) == 0
			       ? 0
			       : sonic_fail(call, "Failed to parse %s, reason: invalid range",
					    text);
	if (strspn(text, "0123456789") != strlen(text) || strlen(text) > 6)
		return is_member ? sonic_fail(call, "Vlan is not integer.")
				 : sonic_fail(call, "%s is not integer", text);
	if (strtoul(text, NULL, 10) == 1)
		return strstr(call->command->words, "add")
			       ? sonic_fail(call, "Vlan1 is default VLAN")
			       : sonic_fail(call, "Invalid VLAN ID 1 (2-4094)");
	if (strtoul(text, NULL, 10) < 2 || strtoul(text, NULL, 10) > VLAN_LAST)
		return sonic_fail(call, "Invalid VLAN ID %lu (2-4094)", strtoul(text, NULL, 10));
	vlan_set_add(ret, (unsigned)strtoul(text, NULL, 10));
	return 0;
}

int sonic_vlan_add(struct sonic_call *call)
{
	struct cli_store *store = call->shell->session->device->store;
	struct vlan_set vids;
	int status = switch_cli_sonic_vlan_read_vids(call, false, &vids);

	if (status != 0)
		return status;
	for
		EACH_VLAN(vid, &vids)
		{
			if (vlan_set_has(&store->running->vlans, vid))
				return sonic_fail(call, "Vlan%u already exists.", vid);
			cli_store_create(store, vid, "");
		}
	return 0;
}

static bool switch_cli_sonic_vlan_has_members(const struct cli_store *store, unsigned vid)
{
	for (unsigned number = 1; number <= store->port_count; number++) {
		const struct cli_port *port = &store->running->ports[number];

		if (port->access == vid || vlan_set_has(&port->allowed, vid))
			return true;
	}
	return false;
}

int sonic_vlan_del(struct sonic_call *call)
{
	struct cli_store *store = call->shell->session->device->store;
	struct vlan_set vids;
	int status = switch_cli_sonic_vlan_read_vids(call, false, &vids);

	if (status != 0)
		return status;
	for
		EACH_VLAN(vid, &vids)
		{
			if (!vlan_set_has(&store->running->vlans, vid))
				return sonic_fail(call, "Vlan%u does not exist", vid);
			if (switch_cli_sonic_vlan_has_members(store, vid))
				return sonic_fail(call,
						  "VLAN ID %u can not be removed. First remove all "
						  "members assigned to this VLAN.",
						  vid);
			vlan_set_remove(&store->running->vlans, vid);
			store->running->names[vid][0] = '\0';
		}
	return 0;
}

/* --- members --- */

static int may_join(struct sonic_call *call, const struct cli_port *port, unsigned vid,
		    bool untagged)
{
	const char *name = call->arguments[1];

	if (!vlan_set_has(&sonic_config_of(call)->vlans, vid))
		return sonic_fail(call, "Vlan%u does not exist", vid);
	if (port->access == vid || vlan_set_has(&port->allowed, vid))
		return sonic_fail(call, "%s is already a member of Vlan%u", name, vid);
	if (untagged && port->access != 0)
		return sonic_fail(call, "%s is already untagged member!", name);
	if (port->link == CLI_LINK_ROUTED)
		return sonic_fail(
			call,
			"%s is in routed mode!\nUse switchport mode command to change port mode",
			name);
	if (port->link == CLI_LINK_ACCESS && !untagged)
		return sonic_fail(call, "%s is in access mode! Tagged Members cannot be added",
				  name);
	return 0;
}

static struct cli_port *named_port(struct sonic_call *call, const char *name, int *ret_status)
{
	unsigned number = sonic_port_find(call->shell->session, name);

	*ret_status = number == 0 ? sonic_fail(call, "%s does not exist", name) : 0;
	return number == 0 ? NULL : &sonic_config_of(call)->ports[number];
}

int sonic_member_add(struct sonic_call *call)
{
	bool untagged = sonic_has_option(call, 'u');
	struct vlan_set vids;
	struct cli_port *port;
	int status;

	if (untagged && sonic_has_option(call, 'm'))
		return sonic_fail(call, "%s cannot have more than one untagged Vlan.",
				  call->arguments[1]);
	status = switch_cli_sonic_vlan_read_vids(call, true, &vids);
	port = status == 0 ? named_port(call, call->arguments[1], &status) : NULL;
	if (!port)
		return status;
	for
		EACH_VLAN(vid, &vids)
		{
			status = may_join(call, port, vid, untagged);
			if (status != 0)
				return status;
			if (untagged)
				port->access = (uint16_t)vid;
			else
				vlan_set_add(&port->allowed, vid);
		}
	return 0;
}

int sonic_member_del(struct sonic_call *call)
{
	struct vlan_set vids;
	int status = switch_cli_sonic_vlan_read_vids(call, true, &vids);
	struct cli_port *port = NULL;

	if (status == 0)
		port = named_port(call, call->arguments[1], &status);
	if (!port)
		return status;
	for
		EACH_VLAN(vid, &vids)
		{
			if (!vlan_set_has(&sonic_config_of(call)->vlans, vid))
				return sonic_fail(call, "Vlan%u does not exist", vid);
			if (port->access == vid)
				port->access = 0;
			else if (vlan_set_has(&port->allowed, vid))
				vlan_set_remove(&port->allowed, vid);
			else
				return sonic_fail(call, "%s is not a member of Vlan%u",
						  call->arguments[1], vid);
		}
	return 0;
}

/* --- ports --- */

int sonic_switchport_mode(struct sonic_call *call)
{
	static const char *const words[] = {"access", "trunk", "routed"};
	static const enum cli_link links[] = {CLI_LINK_ACCESS, CLI_LINK_TRUNK, CLI_LINK_ROUTED};
	const char *mode = call->arguments[0];
	const char *name = call->arguments[1];
	struct cli_port *port;
	size_t i = 0;
	int status;

	while (i < COUNT_OF(words) && strcmp(words[i], mode) != 0)
		i++;
	if (i == COUNT_OF(words))
		return sonic_fail(
			call,
			"Invalid value for \"<mode_type>\": invalid choice: %s. (choose from "
			"access, trunk, routed)",
			mode);
	port = named_port(call, name, &status);
	if (!port)
		return status;
	if (port->link == links[i])
		return sonic_fail(call, "%s is already in %s mode", name, mode);
	if (links[i] == CLI_LINK_ACCESS && port->link == CLI_LINK_TRUNK &&
	    !vlan_set_is_empty(&port->allowed))
		return sonic_fail(call,
				  "%s is in trunk mode and have tagged member(s).\nRemove tagged "
				  "member(s) from %s to switch to access mode",
				  name, name);
	if (links[i] == CLI_LINK_ROUTED && !vlan_set_is_empty(&port->allowed))
		return sonic_fail(call,
				  "%s has tagged member(s). \nRemove them to change mode to routed",
				  name);
	if (links[i] == CLI_LINK_ROUTED && port->access != 0)
		return sonic_fail(
			call, "%s has untagged member. \nRemove it to change mode to routed", name);
	port->link = links[i];
	text_addf(call->shell->out, "%s switched to %s mode\n", name, mode);
	return 0;
}

int sonic_interface_up(struct sonic_call *call)
{
	int status;
	struct cli_port *port = named_port(call, call->arguments[0], &status);

	if (port)
		port->is_shut = strstr(call->command->words, "shutdown") != NULL;
	return status;
}
