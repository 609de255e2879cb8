/* Commands that many families have, by whatever words: each is one `run` of struct cli_command. */
#pragma once

#include "tests/sim/command_line/switch_cli.h"

#define LOOK SWITCH_VERBS /* a verb that changes nothing */

/* `argument` of cli_allowed: what happens to a list of VLANs. */
enum cli_list {
	CLI_LIST_SET,
	CLI_LIST_ADD,
	CLI_LIST_REMOVE,
	CLI_LIST_EXCEPT,
	CLI_LIST_ALL,
	CLI_LIST_NONE
};

void cli_nothing(struct cli_call *call); /* taken, without effect */
void cli_enable(struct cli_call *call);
void cli_disable(struct cli_call *call);
void cli_exit(struct cli_call *call); /* a level up; out of the first one: logout */
void cli_end(struct cli_call *call);
void cli_logout(struct cli_call *call);
void cli_enter_config(struct cli_call *call);
void cli_do_exec(struct cli_call *call); /* `do ...` */
void cli_hostname(struct cli_call *call);
void cli_pager(struct cli_call *call);       /* values[0] lines */
void cli_pager_fixed(struct cli_call *call); /* `argument` lines */
void cli_save(struct cli_call *call);
/* Keeps the running configuration, unless a fault loses it. */
void cli_keep(struct cli_session *session);
void cli_reload(struct cli_call *call);

void cli_enter_vlan(struct cli_call *call); /* makes it */
void cli_delete_vlan(struct cli_call *call);
void cli_name_vlan(struct cli_call *call);
void cli_enter_ports(struct cli_call *call);
void cli_enter_svi(struct cli_call *call);

void cli_port_mode(struct cli_call *call); /* `argument`: enum cli_port_mode */
void cli_access(struct cli_call *call);    /* values[0]; without one: 1 */
void cli_native(struct cli_call *call);
void cli_allowed(struct cli_call *call);
void cli_describe(struct cli_call *call);
void cli_shut(struct cli_call *call); /* `argument`: down? */
/* `argument`: is it kept apart? From its group, values[0]. The data plane does not do it. */
void cli_apart(struct cli_call *call);

/* A LED; told on standard output: "led chassis on 10", "led 3 off". `argument`: bits of CLI_LED. */
enum { CLI_LED_ON = 1, CLI_LED_PORT = 2 };
void cli_led(struct cli_call *call);

void cli_show_running(struct cli_call *call); /* `argument`: the startup configuration */
void cli_show_running_port(struct cli_call *call);

/* May a port be put into these VLANs? Says why not, and makes them where the family does. */
bool cli_vlans_usable(struct cli_call *call, const struct vlan_set *vids, enum cli_unknown unknown);
/* "1-4,7" cut at `width`: each line begins with `first`, the following ones with `next`. */
void cli_wrap_list(struct text *out, const char *list, const char *first, const char *next,
		   size_t width);
const char *cli_vlan_name(const struct cli_config *config, unsigned vid, const char *format,
			  char ret[CLI_NAME_SIZE]);
/* Names of the ports, `separator` between them, at most `per_line` on a line; the lines after the
 * first begin with `indent` spaces. */
void cli_list_ports(const struct cli_session *session, const struct cli_ports *ports,
		    const char *separator, unsigned per_line, unsigned indent, struct text *out);
/* Ports that are in `vid` untagged, as far as they are no trunks (`tagged` false); tagged ones. */
struct cli_ports cli_members(const struct cli_store *store, unsigned vid, bool tagged);
struct cli_port *cli_port_at(const struct cli_session *session, unsigned number);
const char *cli_port_text(const struct cli_session *session, unsigned number, bool is_long,
			  char ret[CLI_NAME_SIZE]);
/* "0010.7b00.1540": the six bytes in groups of `size`. */
const char *cli_mac_text(struct mac mac, unsigned group, char separator, char ret[20]);
/* Rows of the address table: all, of the VLAN values[0] (`argument` 1) or of the port (2). */
struct cli_mac_style {
	unsigned group;
	char separator;
	bool is_long; /* names of ports */
	void (*row)(struct text *out, const char *mac, unsigned vid, const char *port);
};
void cli_each_mac(struct cli_call *call, struct cli_mac_style style);
/* Nothing for an empty set. */
void cli_write_list(struct text *out, const char *before, const struct vlan_set *vids,
		    const char *after);
/* "1-3,7" for ports of which only the numbers are written. */
void cli_write_ports(struct text *out, const char *before, const struct cli_ports *ports,
		     const char *after);

/* switch_cli_sflow.c: lines that are kept as typed, one of a kind (`argument` 1: one for each
 * value). */
void cli_keep_line(struct cli_call *call);
void cli_drop_line(struct cli_call *call);
bool cli_has_line(const struct cli_config *config, const char *line);
void cli_write_lines(const struct cli_config *config, struct text *out);
void cli_sample_port(struct cli_call *call); /* `argument`: is it? */

/* Modes that a command is there in. */
#define EX CLI_IN(CLI_EXEC)
#define EN CLI_IN(CLI_ENABLE)
#define CF CLI_IN(CLI_CONFIG)
#define VL CLI_IN(CLI_VLAN)
#define PT CLI_IN(CLI_PORT)
#define SV CLI_IN(CLI_SVI)
#define DB CLI_IN(CLI_DATABASE)

#define EACH_PORT(port, set) \
	(unsigned port = cli_ports_next(set, 1); port; port = cli_ports_next(set, port + 1))
#define EACH_VLAN(vid, set) \
	(unsigned vid = vlan_set_next(set, 1); vid; vid = vlan_set_next(set, vid + 1))
