#include "tests/sim/command_line/switch_cli_common.h"

#include <stdio.h>
#include <string.h>

#include "tests/sim/command_line/switch_cli_lag.h"

struct cli_port *cli_port_at(const struct cli_session *session, unsigned number)
{
	return &session->device->store->running->ports[number];
}

const char *cli_port_text(const struct cli_session *session, unsigned number, bool is_long,
			  char ret[CLI_NAME_SIZE])
{
	return cli_port_print(&session->device->family->naming, number, is_long, ret);
}

void cli_nothing(struct cli_call *call)
{
	(void)call;
}

/* --- levels --- */

static void on_enable_password(struct cli_session *session, const char *line, struct text *out)
{
	if (strcmp(line, session->device->password) == 0)
		session->mode = CLI_ENABLE;
	else
		text_add(out, "% Bad secrets\n\n");
}

void cli_enable(struct cli_call *call)
{
	if (call->session->mode != CLI_EXEC)
		return;
	if (!call->session->device->is_unprivileged) {
		call->session->mode = CLI_ENABLE;
		return;
	}
	cli_ask(call->session, call->out, "Password: ", on_enable_password);
	call->session->is_silent_echo = true;
}

void cli_disable(struct cli_call *call)
{
	cli_leave(call->session, CLI_EXEC);
}

void cli_logout(struct cli_call *call)
{
	call->session->is_over = true;
}

void cli_exit(struct cli_call *call)
{
	enum cli_mode mode = call->session->mode;

	if (mode <= CLI_ENABLE)
		call->session->is_over = true;
	else
		cli_leave(call->session, mode == CLI_CONFIG ? CLI_ENABLE : CLI_CONFIG);
}

void cli_end(struct cli_call *call)
{
	cli_leave(call->session, CLI_ENABLE);
}

void cli_enter_config(struct cli_call *call)
{
	(void)cli_configure(call);
}

void cli_do_exec(struct cli_call *call)
{
	cli_do(call, call->values[0].text);
}

void cli_hostname(struct cli_call *call)
{
	struct cli_device *device = call->session->device;

	(void)text_copy(device->hostname, sizeof(device->hostname), call->values[0].text);
}

void cli_pager(struct cli_call *call)
{
	call->session->pager = call->values[0].number;
}

void cli_pager_fixed(struct cli_call *call)
{
	call->session->pager = call->command->argument;
}

void cli_keep(struct cli_session *session)
{
	const struct cli_faults *faults = &session->device->faults;

	if (!faults->lost_save && (faults->lost >> SWITCH_SAVE & 1) == 0)
		cli_store_save(session->device->store);
}

void cli_save(struct cli_call *call)
{
	cli_keep(call->session);
	cli_say(call, CLI_SAYS_SAVED, 0);
}

static void switch_cli_common_on_reload(struct cli_session *session, const char *line,
					struct text *out)
{
	if (line[0] == 'n' || line[0] == 'N')
		return;
	text_add(out, "\n");
	cli_store_reboot(session->device->store);
	session->device->generation++;
	session->device->configuring = NULL;
	if (cli_store_push(session->device->store) != 0)
		text_add(out, "% the emulator cannot reach its data plane\n");
}

void cli_reload(struct cli_call *call)
{
	cli_ask(call->session, call->out, "Proceed with reload? [confirm]",
		switch_cli_common_on_reload);
	call->session->wants_key = true;
}

/* --- VLANs --- */

bool cli_vlans_usable(struct cli_call *call, const struct vlan_set *vids, enum cli_unknown unknown)
{
	struct cli_store *store = call->session->device->store;

	for
		EACH_VLAN(vid, vids)
		{
			if (cli_is_reserved(call->session, vid) && unknown != CLI_UNKNOWN_TAKEN) {
				cli_say(call, CLI_SAYS_RESERVED, vid);
				return false;
			}
			if (vlan_set_has(&store->running->vlans, vid))
				continue;
			if (unknown == CLI_UNKNOWN_REFUSED) {
				cli_say(call, CLI_SAYS_NO_VLAN, vid);
				return false;
			}
			if (unknown == CLI_UNKNOWN_MADE) {
				cli_say(call, CLI_SAYS_CREATING, vid);
				cli_store_create(store, vid, "");
			}
		}
	return true;
}

void cli_enter_vlan(struct cli_call *call)
{
	struct cli_session *session = call->session;
	const struct cli_value *value = &call->values[0];

	for
		EACH_VLAN(vid, &value->vids)
		{
			if (cli_is_reserved(session, vid)) {
				cli_say(call, CLI_SAYS_RESERVED, vid);
				return;
			}
		}
	cli_leave(session, CLI_VLAN);
	session->vids = value->vids;
	(void)text_copy(session->level_name, sizeof(session->level_name), value->text);
	if (session->device->family->vlan_on_exit)
		return;
	for
		EACH_VLAN(vid, &value->vids)
		{
			if (!vlan_set_has(&session->device->store->running->vlans, vid))
				cli_store_create(session->device->store, vid, "");
		}
}

void cli_delete_vlan(struct cli_call *call)
{
	struct cli_config *running = call->session->device->store->running;

	for
		EACH_VLAN(vid, &call->values[0].vids)
		{
			if (vid == 1 || cli_is_reserved(call->session, vid)) {
				cli_say(call, CLI_SAYS_DEFAULT_VLAN, vid);
				return;
			}
			vlan_set_remove(&running->vlans, vid);
			running->names[vid][0] = '\0';
		}
	if (call->session->mode == CLI_VLAN)
		cli_leave(call->session, CLI_CONFIG);
}

/* Without a value: the name goes. */
void cli_name_vlan(struct cli_call *call)
{
	struct cli_session *session = call->session;
	struct cli_config *running = session->device->store->running;
	const char *name = call->values[0].text;

	for
		EACH_VLAN(vid, &session->vids)
		{
			if (vlan_set_has(&running->vlans, vid))
				(void)text_copy(running->names[vid], sizeof(running->names[vid]),
						name);
			else
				(void)text_copy(session->pending_name,
						sizeof(session->pending_name), name);
		}
}

/* --- ports --- */

void cli_enter_ports(struct cli_call *call)
{
	struct cli_session *session = call->session;
	const struct cli_value *value = &call->values[0];
	unsigned first = cli_ports_next(&value->ports, 1);
	char name[CLI_NAME_SIZE];

	cli_lag_make(call, &value->ports);
	cli_leave(session, CLI_PORT);
	session->ports = value->ports;
	(void)text_copy(session->level_name, sizeof(session->level_name),
			cli_ports_next(&value->ports, first + 1)
				? "range"
				: cli_port_text(session, first, false, name));
}

void cli_enter_svi(struct cli_call *call)
{
	cli_leave(call->session, CLI_SVI);
	(void)text_copy(call->session->level_name, sizeof(call->session->level_name),
			call->values[0].text);
}

void cli_port_mode(struct cli_call *call)
{
	for
		EACH_PORT(port, &call->session->ports)
		{
			cli_port_at(call->session, port)->mode =
				(enum cli_port_mode)call->command->argument;
		}
}

void cli_access(struct cli_call *call)
{
	unsigned vid = call->values[0].number;
	enum cli_unknown unknown = call->session->device->family->unknown_access;

	if (vid != 0 && !cli_vlans_usable(call, &call->values[0].vids, unknown))
		return;
	for
		EACH_PORT(port, &call->session->ports)
		{
			cli_port_at(call->session, port)->access = (uint16_t)(vid ? vid : 1);
		}
}

void cli_native(struct cli_call *call)
{
	unsigned vid = call->values[0].number;
	enum cli_unknown unknown = call->session->device->family->unknown_listed;

	if (vid != 0 && !cli_vlans_usable(call, &call->values[0].vids, unknown))
		return;
	for
		EACH_PORT(port, &call->session->ports)
		{
			cli_port_at(call->session, port)->native = (uint16_t)(vid ? vid : 1);
		}
}

static void switch_cli_common_change_list(struct cli_port *port, enum cli_list how,
					  const struct vlan_set *vids)
{
	struct vlan_set all = {{0}};

	vlan_set_add_range(&all, VLAN_FIRST, VLAN_LAST);
	port->is_allowed_all = how == CLI_LIST_ALL;
	switch (how) {
	case CLI_LIST_SET: port->allowed = *vids; break;
	case CLI_LIST_ADD: port->allowed = vlan_set_union(&port->allowed, vids); break;
	case CLI_LIST_REMOVE: port->allowed = vlan_set_minus(&port->allowed, vids); break;
	case CLI_LIST_EXCEPT: port->allowed = vlan_set_minus(&all, vids); break;
	case CLI_LIST_ALL: port->allowed = all; break;
	case CLI_LIST_NONE: port->allowed = (struct vlan_set){{0}}; break;
	}
	if (vlan_set_equal(&port->allowed, &all))
		port->is_allowed_all = true;
}

void cli_allowed(struct cli_call *call)
{
	enum cli_list how = (enum cli_list)call->command->argument;
	enum cli_unknown unknown = call->session->device->family->unknown_listed;

	if ((how == CLI_LIST_SET || how == CLI_LIST_ADD) &&
	    !cli_vlans_usable(call, &call->values[0].vids, unknown))
		return;
	for
		EACH_PORT(port, &call->session->ports)
		{
			switch_cli_common_change_list(cli_port_at(call->session, port), how,
						      &call->values[0].vids);
		}
}

void cli_describe(struct cli_call *call)
{
	for
		EACH_PORT(number, &call->session->ports)
		{
			struct cli_port *port = cli_port_at(call->session, number);

			(void)text_copy(port->description, sizeof(port->description),
					call->values[0].text);
		}
}

void cli_shut(struct cli_call *call)
{
	for
		EACH_PORT(port, &call->session->ports)
		{
			cli_port_at(call->session, port)->is_shut = call->command->argument != 0;
		}
}

void cli_apart(struct cli_call *call)
{
	unsigned group = call->command->argument ? call->values[0].number + 1 : 0;

	for
		EACH_PORT(port, &call->session->ports)
		{
			cli_port_at(call->session, port)->apart = (uint8_t)group;
		}
}

void cli_led(struct cli_call *call)
{
	unsigned how = call->command->argument;
	bool is_port = (how & CLI_LED_PORT) != 0;
	char what[16] = "chassis";
	char time[16] = "";

	if (is_port)
		(void)text_format(what, sizeof(what), "%u", call->values[0].number);
	else if (strstr(call->command->pattern, "<number>"))
		(void)text_format(time, sizeof(time), " %u", call->values[0].number);
	(void)printf("led %s %s%s\n", what, (how & CLI_LED_ON) != 0 ? "on" : "off", time);
	(void)fflush(stdout);
}

/* --- showing --- */

void cli_show_running(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;

	call->session->device->family->running(
		call->session, call->command->argument ? store->startup : store->running, NULL,
		call->out);
}

void cli_show_running_port(struct cli_call *call)
{
	call->session->device->family->running(call->session, call->session->device->store->running,
					       &call->values[0].ports, call->out);
}

void cli_wrap_list(struct text *out, const char *list, const char *first, const char *next,
		   size_t width)
{
	const char *start = first;

	do {
		size_t room = width - strlen(start);
		size_t size = strlen(list);

		if (size > room) {
			for (size = room; size > 1 && list[size] != ','; size--) {
			}
		}
		text_addf(out, "%s%.*s\n", start, (int)size, list);
		list += size + (list[size] == ',');
		start = next;
	} while (*list);
}

const char *cli_vlan_name(const struct cli_config *config, unsigned vid, const char *format,
			  char ret[CLI_NAME_SIZE])
{
	const char *hole = strstr(format, "{}");

	if (vid > VLAN_LAST || config->names[vid][0] != '\0')
		(void)text_copy(ret, CLI_NAME_SIZE, vid > VLAN_LAST ? "" : config->names[vid]);
	else if (vid == 1)
		(void)text_copy(ret, CLI_NAME_SIZE, "default");
	else if (hole)
		(void)text_format(ret, CLI_NAME_SIZE, "%.*s%04u", (int)(hole - format), format,
				  vid);
	else
		(void)text_copy(ret, CLI_NAME_SIZE, format);
	return ret;
}

void cli_list_ports(const struct cli_session *session, const struct cli_ports *ports,
		    const char *separator, unsigned per_line, unsigned indent, struct text *out)
{
	unsigned on_line = 0;

	for
		EACH_PORT(port, ports)
		{
			char name[CLI_NAME_SIZE];

			if (on_line == per_line) {
				text_addf(out, "\n%*s", (int)indent, "");
				on_line = 0;
			} else if (on_line > 0) {
				text_add(out, separator);
			}
			text_add(out, cli_port_text(session, port, false, name));
			on_line++;
		}
}

struct cli_ports cli_members(const struct cli_store *store, unsigned vid, bool tagged)
{
	struct cli_ports ports = {{0}};

	for (unsigned number = 1; number <= store->port_count; number++) {
		const struct cli_port *port = &store->running->ports[number];
		struct vlan_set set;
		unsigned untagged;

		cli_store_membership(store, port, &untagged, &set);
		if (tagged ? vlan_set_has(&set, vid) : untagged == vid)
			cli_ports_add(&ports, number);
	}
	return ports;
}

const char *cli_mac_text(struct mac mac, unsigned group, char separator, char ret[20])
{
	static const char digits[] = "0123456789abcdef";
	size_t at = 0;

	for (unsigned i = 0; i < sizeof(mac.bytes); i++) {
		if (i > 0 && i % group == 0)
			ret[at++] = separator;
		ret[at++] = digits[mac.bytes[i] >> 4];
		ret[at++] = digits[mac.bytes[i] & 15];
	}
	ret[at] = '\0';
	return ret;
}

void cli_each_mac(struct cli_call *call, struct cli_mac_style style)
{
	struct cli_store *store = call->session->device->store;
	unsigned kind = call->command->argument;

	cli_store_learn(store);
	for (size_t i = 0; i < store->learned_count; i++) {
		const struct cli_learned *row = &store->learned[i];
		char mac[20];
		char name[CLI_NAME_SIZE];

		if ((kind == 1 && row->vid != call->values[0].number) ||
		    (kind == 2 && row->port != call->values[0].number))
			continue;
		(void)cli_mac_text(row->mac, style.group, style.separator, mac);
		(void)cli_port_text(call->session, row->port, style.is_long, name);
		style.row(call->out, mac, row->vid, name);
	}
}

void cli_write_list(struct text *out, const char *before, const struct vlan_set *vids,
		    const char *after)
{
	struct text list = {0};

	vlan_set_text(vids, &list);
	if (list.size > 0)
		text_addf(out, "%s%s%s", before, text_get(&list), after);
	text_done(&list);
}

void cli_write_ports(struct text *out, const char *before, const struct cli_ports *ports,
		     const char *after)
{
	struct vlan_set numbers = {{0}};

	for
		EACH_PORT(port, ports)
		{
			vlan_set_add(&numbers, port);
		}
	cli_write_list(out, before, &numbers, after);
}
