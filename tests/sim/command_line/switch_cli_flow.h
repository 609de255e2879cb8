/* Flexible NetFlow of emulated command lines; each is one `run` of struct cli_command. */
#pragma once

#include "tests/sim/command_line/switch_cli.h"

#define FL CLI_IN(CLI_FLOW_MODE)

/* `argument`: what it is; of a line also whether there may be several that begin alike. */
enum cli_flow_kind { CLI_FLOW_RECORD, CLI_FLOW_EXPORTER, CLI_FLOW_MONITOR, CLI_FLOW_SAMPLER };
enum { CLI_FLOW_MANY = 8 };

void cli_flow_enter(struct cli_call *call);
void cli_flow_drop(struct cli_call *call);
void cli_flow_line(struct cli_call *call);
void cli_flow_port(struct cli_call *call); /* `argument`: is it looked at? */
/* The part of a running configuration. */
void cli_flow_write(const struct cli_config *config, struct text *out);
