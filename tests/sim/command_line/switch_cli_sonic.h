/* SONiC's configuration database as JSON, and `config apply-patch` on it: sonic-utilities,
 * generic_config_updater, and the YANG models of VLAN and PORT. */
#pragma once

#include <jansson.h>

#include "tests/sim/command_line/switch_cli_shell.h"

/* "Ethernet4" */
const char *sonic_port_name(const struct cli_session *session, unsigned number,
			    char ret[CLI_NAME_SIZE]);
/* 0: no such port. */
unsigned sonic_port_find(const struct cli_session *session, const char *name);

/* The whole of it; a new reference. */
json_t *sonic_config_json(const struct cli_session *session, const struct cli_config *config);
/* As `sonic-cfggen -d --print-data` prints it. */
void sonic_config_text(const struct cli_session *session, const struct cli_config *config,
		       struct text *out);
/* Back again, VLANs and ports only. False, with what the YANG models have against it. */
bool sonic_config_read(const struct cli_session *session, const json_t *db, struct cli_config *ret,
		       struct text *why);

/* RFC 6902: all of `patch` or, with what the library says of it, a part. */
bool sonic_patch(json_t *document, const json_t *patch, struct text *why);

/* `config apply-patch` (`is_patch`) or `replace` of what `text` says: tells what it does, as the
 * real one, and does it. False with the reason. */
bool sonic_update(struct shell_call *call, const char *text, bool is_patch, bool is_dry,
		  struct text *why);

/* --- commands --- */

enum { SONIC_ARGUMENTS_MAX = 9 };

struct sonic_call {
	struct shell_call *shell;
	const struct sonic_command *command;
	const char *arguments[SONIC_ARGUMENTS_MAX];
	int count;
	char options[16]; /* letters */
};

/* A command of click: its words, what it wants, which options it knows. */
struct sonic_command {
	const char *words, *usage, *options;
	int wanted, at_most;
	int (*run)(struct sonic_call *call);
	enum switch_verb verb;
	bool is_new; /* not in 201911 */
};

int sonic_vlan_brief(struct sonic_call *call);
int sonic_vlan_config(struct sonic_call *call);
int sonic_mirror_sessions(struct sonic_call *call);
int sonic_span_add(struct sonic_call *call);
/* switch_cli_sonic_vlan.c */
int sonic_vlan_add(struct sonic_call *call);
int sonic_vlan_del(struct sonic_call *call);
int sonic_member_add(struct sonic_call *call);
int sonic_member_del(struct sonic_call *call);
int sonic_switchport_mode(struct sonic_call *call);
int sonic_interface_up(struct sonic_call *call);
/* switch_cli_sonic_sflow.c */
int sonic_sflow_state(struct sonic_call *call);
int sonic_sflow_collector(struct sonic_call *call);
int sonic_sflow_polling(struct sonic_call *call);
int sonic_sflow_port(struct sonic_call *call);
int sonic_sflow_show(struct sonic_call *call);
int sonic_sflow_show_ports(struct sonic_call *call);
int sonic_erspan_add(struct sonic_call *call);
int sonic_mirror_remove(struct sonic_call *call);
bool sonic_has_option(const struct sonic_call *call, char letter);
/* What runs. */
struct cli_config *sonic_config_of(const struct sonic_call *call);
/* The usage and why; returns the exit status. */
int sonic_fail(struct sonic_call *call, const char *format, ...) PRINTF_LIKE(2, 3);
int sonic_interfaces_status(struct sonic_call *call);
int sonic_mac(struct sonic_call *call);
int sonic_lldp_table(struct sonic_call *call);
int sonic_lldp_neighbors(struct sonic_call *call);
int sonic_version(struct sonic_call *call);
int sonic_running_all(struct sonic_call *call);
