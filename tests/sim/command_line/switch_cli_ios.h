/* What the commands of IOS (switch_cli_ios.c) show (switch_cli_ios_show.c). */
#pragma once

#include "tests/sim/command_line/switch_cli_common.h"

void ios_show_version(struct cli_call *call);
void ios_show_vlan(struct cli_call *call);
void ios_show_vlan_id(struct cli_call *call);
void ios_show_switchport(struct cli_call *call);
void ios_show_switchport_port(struct cli_call *call);
void ios_show_trunk(struct cli_call *call);
void ios_show_status(struct cli_call *call);
void ios_show_macs(struct cli_call *call);
void ios_show_lldp(struct cli_call *call);
void ios_show_lldp_detail(struct cli_call *call);
