/* Families whose command line is in the manner of Cisco's: a mode for configuration, a mode per
 * interface, "switchport". After the vendors' command references. */
#include "common/base/macros.h"

#include "peregrine/switch/cli/cli_dialect.h"

const struct cli_dialect *const cli_dialects[] = {
	&cli_dialect_ios,     &cli_dialect_nxos,  &cli_dialect_procurve, &cli_dialect_aoscx,
	&cli_dialect_comware, &cli_dialect_dnos,  &cli_dialect_os9,      &cli_dialect_os10,
	&cli_dialect_ecs,     &cli_dialect_sonic,
};

const size_t cli_dialect_count = COUNT_OF(cli_dialects);

/* The section of a port that all of these share. */
#define RULES_SWITCHPORT                                                                         \
	{SECTION_NONE, "!", FACT_END}, {SECTION_NONE, "exit", FACT_END},                         \
		{SECTION_PORT, "description %t", FACT_ALIAS},                                    \
		{SECTION_PORT, "shutdown", FACT_SHUT},                                           \
		{SECTION_PORT, "no switchport", FACT_ROUTED},                                    \
		{SECTION_PORT, "switchport", FACT_BRIDGED},                                      \
		{SECTION_PORT, "channel-group %n %*", FACT_LAG},                                 \
		{SECTION_PORT, "switchport mode access", FACT_MODE_ACCESS},                      \
		{SECTION_PORT, "switchport mode trunk", FACT_MODE_TRUNK},                        \
		{SECTION_PORT, "switchport mode %*", FACT_MODE_OTHER},                           \
		{SECTION_PORT, "switchport access vlan %n", FACT_ACCESS},                        \
		{SECTION_PORT, "switchport trunk native vlan %n", FACT_NATIVE},                  \
		{SECTION_PORT, "switchport trunk allowed vlan add %l", FACT_ALLOWED_ADD},        \
		{SECTION_PORT, "switchport trunk allowed vlan remove %l", FACT_ALLOWED_DROP},    \
		{SECTION_PORT, "switchport trunk allowed vlan none", FACT_ALLOWED_NONE},         \
		{SECTION_PORT, "switchport trunk allowed vlan all", FACT_ALLOWED_ALL},           \
		{SECTION_PORT, "switchport trunk allowed vlan %l", FACT_ALLOWED},                \
		{SECTION_NONE, "interface %p", FACT_PORT}, {SECTION_NONE, "vlan %l", FACT_VLAN}, \
	{                                                                                        \
		SECTION_VLAN, "name %t", FACT_VLAN_NAME                                          \
	}

/* While it is no trunk what belongs to trunks has no effect, and the other way round: so the
 * membership is put right first and the mode comes last. A trunk whose native VLAN is not in its
 * list drops untagged frames: VLAN 1 is never in it. */
#define STEPS_LIST                                               \
	.text = "switchport trunk allowed vlan {list}",          \
	.add = "switchport trunk allowed vlan add {list}",       \
	.remove = "switchport trunk allowed vlan remove {list}", \
	.empty = "switchport trunk allowed vlan none", .when = WHEN_TRUNK, .list = LIST_ALLOWED
#define STEPS_NATIVE                                                                           \
	{.text = "switchport trunk native vlan {native}", .when = WHEN_TRUNK | WHEN_NATIVE},   \
	{                                                                                      \
		.text = "no switchport trunk native vlan", .when = WHEN_TRUNK | WHEN_NO_NATIVE \
	}
#define STEPS_ACCESS                                                      \
	{.text = "switchport access vlan {native}", .when = WHEN_ACCESS}, \
	{                                                                 \
		.text = "switchport mode access", .when = WHEN_ACCESS     \
	}

#define PERCENT_ERRORS                                                                        \
	"^%", "^error", "invalid input", "incomplete command", "ambiguous command",           \
		"command rejected", "invalid command", "unrecognized command", "not allowed", \
		"failed", "does not exist", "syntax error"
#define CLI_DIALECT_TABLE_BUSY_WORDS                                                    \
	"locked by another", "configuration database locked", "try later", "is locked", \
		"could not acquire", "another session"
#define CLI_DIALECT_TABLE_DENIED_WORDS \
	"authorization failed", "permission denied", "access denied", "not authorized"

const struct cli_dialect cli_dialect_ios = {
	.name = "cisco-ios",
	.prompt = PROMPT_PAREN,
	.pager_off = {"terminal length 0", "terminal width 511"},
	.enable = "enable",
	.config_enter = "configure terminal",
	.config_leave = "end",
	.errors = {PERCENT_ERRORS, "bad vlan", "bad mask", "no such"},
	.benign = {"% access vlan does not exist. creating", "%warning", "% warning",
		   "enter configuration commands"},
	.busy = {CLI_DIALECT_TABLE_BUSY_WORDS},
	.denied = {CLI_DIALECT_TABLE_DENIED_WORDS},
	.vlan_create = {{.text = "vlan {vlan}"},
			{.text = "name {name}", .when = WHEN_NAMED},
			/* What was typed takes effect when the mode is left. */
			{.text = "exit"}},
	.vlan_delete = {{.text = "no vlan {vlan}"}},
	.port = {{.text = "interface {port}", .flags = STEP_CONTEXT},
		 STEPS_ACCESS,
		 /* Only where ISL was still known; there the mode cannot be set without. */
		 {.text = "switchport trunk encapsulation dot1q",
		  .when = WHEN_TRUNK,
		  .flags = STEP_OPTIONAL},
		 {STEPS_LIST},
		 STEPS_NATIVE,
		 {.text = "switchport mode trunk", .when = WHEN_TRUNK},
		 {.text = "exit"}},
	.replies = {{"[confirm]", ""}, {"destination filename", ""}, {"[yes/no]", "yes"}},
	.save = "write memory",
	.saved = "[OK]",
	.show_config = "show running-config",
	/* A VTP server does not write its VLANs into the configuration. */
	.show_vlans = "show vlan brief",
	.model = MODEL_SWITCHPORT,
	.default_mode = FACT_MODE_OTHER, /* dynamic: whoever is at the other end decides */
	.trunk_default_all = true,
	.rules = {RULES_SWITCHPORT,
		  {SECTION_PORT, "switchport protected", FACT_APART},
		  {SECTION_NONE, "%n %q active %*", FACT_VLAN_NAMED},
		  {SECTION_NONE, "%n %q suspended %*", FACT_VLAN_NAMED},
		  {SECTION_NONE, "%n %q act/lshut %*", FACT_VLAN_NAMED},
		  {SECTION_NONE, "%n %q act/unsup %*", FACT_VLAN_NAMED}},
	/* Catalyst 9000, from 16.9 on; of a stack the first. */
	.locate = {.on = "hw-module beacon slot 1 on", .off = "hw-module beacon slot 1 off"},
	.sampling = &cli_sampling_ios,
	.show_ports = "show interfaces status",
	.show_fdb = "show mac address-table",
	.lldp = {"show lldp neighbors detail", "Local Intf", "Chassis id", "Port id",
		 "Port Description", "System Name"},
	.lldp_total = "Total entries displayed",
	.port_kinds = {{"GigabitEthernet", "Gi"},
		       {"TenGigabitEthernet", "Te"},
		       {"TwentyFiveGigE", "Twe"},
		       {"TwoGigabitEthernet", "Tw"},
		       {"FortyGigabitEthernet", "Fo"},
		       {"HundredGigE", "Hu"},
		       {"FastEthernet", "Fa"},
		       {"FiveGigabitEthernet", "Fi"},
		       {"Ethernet", "Et"},
		       {"Port-channel", "Po"}},
};

const struct cli_dialect cli_dialect_nxos = {
	.name = "cisco-nxos",
	.prompt = PROMPT_PAREN,
	.pager_off = {"terminal length 0", "terminal width 511"},
	.config_enter = "configure terminal",
	.config_leave = "end",
	.errors = {PERCENT_ERRORS, "error:", "cannot "},
	.benign = {"%warning", "% warning", "warning:", "enter configuration commands"},
	.busy = {CLI_DIALECT_TABLE_BUSY_WORDS},
	.denied = {CLI_DIALECT_TABLE_DENIED_WORDS},
	.vlan_create = {{.text = "vlan {vlan}"},
			{.text = "name {name}", .when = WHEN_NAMED},
			{.text = "exit"}},
	.vlan_delete = {{.text = "no vlan {vlan}"}},
	.port = {{.text = "interface {port}", .flags = STEP_CONTEXT},
		 STEPS_ACCESS,
		 {STEPS_LIST},
		 STEPS_NATIVE,
		 {.text = "switchport mode trunk", .when = WHEN_TRUNK},
		 {.text = "exit"}},
	.replies = {{"(y/n)", "y"}},
	.save = "copy running-config startup-config",
	.saved = "copy complete",
	.show_config = "show running-config",
	.model = MODEL_SWITCHPORT,
	.default_mode = FACT_MODE_ACCESS,
	.trunk_default_all = true,
	.rules = {RULES_SWITCHPORT},
	.locate = {.on = "locator-led chassis", .off = "no locator-led chassis"},
	.sampling = &cli_sampling_nxos,
	.show_ports = "show interface status",
	.show_fdb = "show mac address-table",
	.lldp = {"show lldp neighbors detail", "Local Port id", "Chassis id", "Port id",
		 "Port Description", "System Name"},
	.lldp_total = "Total entries displayed",
	.port_kinds = {{"Ethernet", "Eth"}, {"port-channel", "Po"}},
};

const struct cli_dialect cli_dialect_dnos = {
	.name = "dell-n",
	.prompt = PROMPT_PAREN,
	.pager_off = {"terminal length 0"},
	.enable = "enable",
	.config_enter = "configure",
	.config_leave = "end",
	.errors = {PERCENT_ERRORS, "vlan was not created by user", "not in layer-2 mode",
		   "could not"},
	.benign = {"warning:", "%warning"},
	.busy = {CLI_DIALECT_TABLE_BUSY_WORDS},
	.denied = {CLI_DIALECT_TABLE_DENIED_WORDS},
	.vlan_create = {{.text = "vlan {vlan}"},
			{.text = "name {name}", .when = WHEN_NAMED},
			{.text = "exit"}},
	.vlan_delete = {{.text = "no vlan {vlan}"}},
	.port = {{.text = "interface {port}", .flags = STEP_CONTEXT},
		 STEPS_ACCESS,
		 {STEPS_LIST},
		 STEPS_NATIVE,
		 {.text = "switchport mode trunk", .when = WHEN_TRUNK},
		 {.text = "exit"}},
	.replies = {{"(y/n)", "y"}},
	.save = "copy running-config startup-config",
	.saved = "saved",
	.show_config = "show running-config",
	.model = MODEL_SWITCHPORT,
	.default_mode = FACT_MODE_ACCESS,
	.trunk_default_all = true,
	.rules = {RULES_SWITCHPORT, {SECTION_PORT, "switchport protected %n", FACT_APART}},
	.locate = {.on = "locate switch 1 time {seconds}",
		   .off = "locate switch 1 time 1",
		   .ends_itself = true,
		   .low_s = 1,
		   .high_s = 3600},
	.show_ports = "show interfaces status",
	.show_fdb = "show mac address-table",
	.lldp = {"show lldp remote-device detail all", "Local Interface", "Chassis ID", "Port ID",
		 "Port Description", "System Name"},
	.port_kinds = {{"Gi", "Gi"},
		       {"Te", "Te"},
		       {"Fo", "Fo"},
		       {"Tw", "Tw"},
		       {"Po", "Po"},
		       {"gigabitethernet", "gig"},
		       {"tengigabitethernet", "ten"}},
};

const struct cli_dialect cli_dialect_os10 = {
	.name = "dell-os10",
	.prompt = PROMPT_PAREN,
	.pager_off = {"terminal length 0"},
	.config_enter = "configure terminal",
	.config_leave = "end",
	.errors = {PERCENT_ERRORS, "error:", "illegal", "unrecognized"},
	.benign = {"%warning", "% warning", "warning:"},
	.busy = {CLI_DIALECT_TABLE_BUSY_WORDS},
	.denied = {CLI_DIALECT_TABLE_DENIED_WORDS},
	.vlan_create = {{.text = "interface vlan {vlan}"},
			{.text = "description {name}", .when = WHEN_NAMED},
			{.text = "exit"}},
	.vlan_delete = {{.text = "no interface vlan {vlan}"}},
	/* Lists only grow: what is not wanted is taken out by name. The native VLAN of a trunk is
	 * set as its access VLAN. */
	.port = {{.text = "interface {port}", .flags = STEP_CONTEXT},
		 {.text = "no switchport trunk allowed vlan {list}",
		  .when = WHEN_WAS_TRUNK,
		  .list = LIST_DROP_ALLOWED},
		 {.text = "switchport access vlan {native}", .when = WHEN_ACCESS},
		 {.text = "switchport mode access", .when = WHEN_ACCESS},
		 {.text = "switchport mode trunk", .when = WHEN_TRUNK},
		 {.text = "switchport access vlan {native}", .when = WHEN_TRUNK},
		 {.text = "switchport trunk allowed vlan {list}",
		  .when = WHEN_TRUNK,
		  .list = LIST_ADD_ALLOWED},
		 {.text = "exit"}},
	.native_required = true,
	.replies = {{"[confirm yes/no]", "yes"}, {"(yes/no)", "yes"}},
	.save = "write memory",
	.show_config = "show running-configuration",
	.model = MODEL_SWITCHPORT,
	.default_mode = FACT_MODE_ACCESS,
	.trunk_default_none = true,
	.native_apart = true,
	.access_is_native = true,
	.name_begins_with_letter = true,
	.rules = {{SECTION_NONE, "interface %v", FACT_VLAN},
		  {SECTION_VLAN, "description %t", FACT_VLAN_NAME},
		  RULES_SWITCHPORT},
	.locate = {.on = "location-led interface {port} on",
		   .off = "location-led interface {port} off",
		   .of_port = true},
	.sampling = &cli_sampling_os10,
	.show_ports = "show interface status",
	.show_fdb = "show mac address-table",
	.lldp = {"show lldp neighbors detail", "Local Port ID", "Remote Chassis ID",
		 "Remote Port ID", "Remote Port Description", "Remote System Name"},
	.port_kinds = {{"ethernet", "eth"}, {"port-channel", "po"}},
	.table_space = true,
};

const struct cli_dialect cli_dialect_os9 = {
	.name = "dell-os9",
	.prompt = PROMPT_PAREN,
	.pager_off = {"terminal length 0"},
	.enable = "enable",
	.config_enter = "configure",
	.config_leave = "end",
	.errors = {PERCENT_ERRORS, "error:", "cannot "},
	.benign = {"%warning", "% warning", "warning:"},
	.busy = {CLI_DIALECT_TABLE_BUSY_WORDS, "exclusive configuration"},
	.denied = {CLI_DIALECT_TABLE_DENIED_WORDS},
	.vlan_create = {{.text = "interface vlan {vlan}"},
			{.text = "description {name}", .when = WHEN_NAMED},
			{.text = "no shutdown"},
			{.text = "exit"}},
	.vlan_delete = {{.text = "no interface vlan {vlan}"}},
	/* Ports are put into VLANs, not VLANs onto ports. A port that is none of a bridge becomes
	 * one for both kinds of frames; one that is, but not hybrid, cannot while in VLANs. */
	.port = {{.text = "interface {port}\nportmode hybrid\nswitchport\nexit",
		  .when = WHEN_ROUTED,
		  .flags = STEP_CONTEXT},
		 {.text = "interface vlan {vlan}\nno tagged {port}\nexit",
		  .flags = STEP_CONTEXT | STEP_PER_VLAN,
		  .list = LIST_DROP_TAGGED},
		 {.text = "interface vlan {vlan}\nno untagged {port}\nexit",
		  .flags = STEP_CONTEXT | STEP_PER_VLAN,
		  .list = LIST_DROP_UNTAGGED},
		 {.text = "interface vlan {vlan}\nuntagged {port}\nexit",
		  .flags = STEP_CONTEXT | STEP_PER_VLAN,
		  .list = LIST_ADD_UNTAGGED},
		 {.text = "interface vlan {vlan}\ntagged {port}\nexit",
		  .flags = STEP_CONTEXT | STEP_PER_VLAN,
		  .list = LIST_ADD_TAGGED}},
	.replies = {{"[confirm yes/no]", "yes"}, {"(y/n)", "y"}},
	.save = "write memory",
	.saved = "!", /* one for each part written */
	.show_config = "show running-config",
	.native_required = true, /* a hybrid port of no VLAN is untagged in the default one */
	.model = MODEL_MEMBERS,
	.default_mode = FACT_MODE_ACCESS,
	.routed_unless_said = true,
	.name_begins_with_letter = true,
	.rules = {{SECTION_NONE, "interface vlan %l", FACT_VLAN},
		  {SECTION_VLAN, "description %t", FACT_VLAN_NAME},
		  {SECTION_VLAN, "untagged %p", FACT_PORTS_UNTAGGED},
		  {SECTION_VLAN, "!untagged %p", FACT_PORTS_UNTAGGED},
		  {SECTION_VLAN, "tagged %p", FACT_PORTS_TAGGED},
		  /* Behind a "!" inside of the port's section. */
		  {SECTION_NONE, "port-channel %n mode %*", FACT_LAG},
		  RULES_SWITCHPORT},
	.sampling = &cli_sampling_os9,
	.show_ports = "show interfaces status",
	.show_fdb = "show mac-address-table",
	.lldp = {"show lldp neighbors detail", "Local Interface", "Remote Chassis ID",
		 "Remote Port ID", "Remote Port Description", "Remote System Name"},
	.port_kinds = {{"GigabitEthernet", "Gi"},
		       {"TenGigabitEthernet", "Te"},
		       {"twentyFiveGigE", "tf"},
		       {"fortyGigE", "Fo"},
		       {"hundredGigE", "Hu"},
		       {"Port-channel", "Po"}},
	.port_space = true,
};
