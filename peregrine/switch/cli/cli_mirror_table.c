#include "peregrine/switch/cli/cli_mirror_table.h"

#include "common/base/macros.h"

/* Lines at the top, one for each end. */
#define RULES_SESSION                                                       \
	{"monitor session %n source interface %a", MIRROR_FROM},            \
		{"monitor session %n destination interface %b", MIRROR_TO}, \
		{"monitor session %n mode", MIRROR_OPEN},                   \
	{                                                                   \
		"monitor session %n %*", MIRROR_ODD                         \
	}
/* A section with a line for each end. */
#define RULES_SECTION                                                                        \
	{"monitor session %n", MIRROR_OPEN}, {"monitor session %n type local", MIRROR_OPEN}, \
		{"monitor session %n %*", MIRROR_ODD}, {"source interface %a", MIRROR_FROM}, \
	{                                                                                    \
		"destination interface %b", MIRROR_TO                                        \
	}

static const struct cli_mirror cli_mirror_table_rows[] = {
	/* "Catalyst 9300, Network Management Configuration Guide: Configuring SPAN and RSPAN". */
	{.dialect = &cli_dialect_ios,
	 .first = 1,
	 .last = 4,
	 .open = "monitor session {session} destination interface {target}",
	 .add = "monitor session {session} source interface {port} both",
	 .drop = "no monitor session {session} source interface {port} both",
	 .close = "no monitor session {session}",
	 .rules = {RULES_SESSION}},
	/* "Nexus 9000 System Management Configuration Guide: Configuring SPAN"; a session is shut
	 * until it is told, its destination has to be a monitor port. */
	{.dialect = &cli_dialect_nxos,
	 .first = 1,
	 .last = 4,
	 .open = "interface {target}\nswitchport monitor\nexit\nmonitor session "
		 "{session}\ndestination interface {target}\nno shut\nexit",
	 .add = "monitor session {session}\nsource interface {port} both\nno shut\nexit",
	 .drop = "monitor session {session}\nno source interface {port} both\nexit",
	 .close = "no monitor session {session}",
	 .release = "interface {target}\nno switchport monitor\nexit",
	 .rules = {RULES_SECTION}},
	/* "ArubaOS-Switch Management and Configuration Guide: Traffic Mirroring". */
	{.dialect = &cli_dialect_procurve,
	 .first = 1,
	 .last = 4,
	 .open = "mirror {session} port {target}",
	 .add = "interface {port} monitor all both mirror {session}",
	 .drop = "no interface {port} monitor all both mirror {session}",
	 .close = "no mirror {session}",
	 .rules = {{"mirror %n port %b", MIRROR_TO},
		   {"mirror %n %*", MIRROR_ODD},
		   {"interface %a", MIRROR_PORT},
		   {"monitor all both mirror %n", MIRROR_FROM}}},
	/* "AOS-CX Monitoring Guide: Mirroring"; off until it is enabled. */
	{.dialect = &cli_dialect_aoscx,
	 .first = 1,
	 .last = 4,
	 .open = "mirror session {session}\ndestination interface {target}\nenable\nexit",
	 .add = "mirror session {session}\nsource interface {port} both\nexit",
	 .drop = "mirror session {session}\nno source interface {port} both\nexit",
	 .close = "no mirror session {session}",
	 .rules = {{"mirror session %n", MIRROR_OPEN},
		   {"mirror session %n %*", MIRROR_ODD},
		   {"source interface %a", MIRROR_FROM},
		   {"destination interface %b", MIRROR_TO}}},
	/* "HPE 5940 Network Management and Monitoring: Configuring port mirroring"; some versions
	 * show it in the ports' sections, some at the top. */
	{.dialect = &cli_dialect_comware,
	 .first = 1,
	 .last = 4,
	 .open = "mirroring-group {session} local\nmirroring-group {session} monitor-port {target}",
	 .add = "mirroring-group {session} mirroring-port {port} both",
	 .drop = "undo mirroring-group {session} mirroring-port {port} both",
	 .close = "undo mirroring-group {session}",
	 .rules = {{"interface %a", MIRROR_PORT},
		   {"mirroring-group %n local", MIRROR_OPEN},
		   {"mirroring-group %n mirroring-port both", MIRROR_FROM},
		   {"mirroring-group %n mirroring-port %a", MIRROR_FROM},
		   {"mirroring-group %n monitor-port", MIRROR_TO},
		   {"mirroring-group %n monitor-port %b", MIRROR_TO},
		   {"mirroring-group %n %*", MIRROR_ODD}}},
	/* "Dell Networking N-Series CLI Reference: Port Monitor Commands"; off until its mode is
	 * set. */
	{.dialect = &cli_dialect_dnos,
	 .first = 1,
	 .last = 4,
	 .open = "monitor session {session} destination interface {target}\nmonitor session "
		 "{session} mode",
	 .add = "monitor session {session} source interface {port}",
	 .drop = "no monitor session {session} source interface {port}",
	 .close = "no monitor session {session}",
	 .rules = {RULES_SESSION}},
	/* "Dell Command Line Reference Guide, S-Series: Port Monitoring": each port names the
	 * destination. */
	{.dialect = &cli_dialect_os9,
	 .first = 1,
	 .last = 4,
	 .open = "monitor session {session}\nexit",
	 .add = "monitor session {session}\nsource {port} destination {target} direction "
		"both\nexit",
	 .drop = "monitor session {session}\nno source {port} destination {target} direction "
		 "both\nexit",
	 .close = "no monitor session {session}",
	 .rules = {{"monitor session %n", MIRROR_OPEN},
		   {"monitor session %n %*", MIRROR_ODD},
		   {"source %a destination %b direction both", MIRROR_BOTH}}},
	/* "Dell SmartFabric OS10 User Guide: Port monitoring". */
	{.dialect = &cli_dialect_os10,
	 .first = 1,
	 .last = 4,
	 .open = "monitor session {session}\ndestination interface {target}\nno shut\nexit",
	 .add = "monitor session {session}\nsource interface {port} both\nexit",
	 .drop = "monitor session {session}\nno source interface {port}\nexit",
	 .close = "no monitor session {session}",
	 .rules = {RULES_SECTION}},
	/* "Edgecore ECS4100 CLI Reference Guide: Port Mirroring Commands": there is no session, the
	 * destination knows its sources. */
	{.dialect = &cli_dialect_ecs,
	 .add = "interface {target}\nport monitor {port} both\nexit",
	 .drop = "interface {target}\nno port monitor {port}\nexit",
	 .rules = {{"interface %a", MIRROR_PORT}, {"port monitor %a both", MIRROR_BOTH}}},
	/* "SONiC Command Reference: Mirroring"; all at once, under our name. */
	{.dialect = &cli_dialect_sonic,
	 .show = "show mirror_session",
	 .open = "sudo config mirror_session span add haas-capture {target} {ports} both",
	 .close = "sudo config mirror_session remove haas-capture",
	 .rules = {{"haas-capture %x %b %a both", MIRROR_BOTH}}},
};

const struct cli_mirror *cli_mirror_of(const struct cli_dialect *dialect)
{
	for (size_t i = 0; i < COUNT_OF(cli_mirror_table_rows); i++) {
		if (cli_mirror_table_rows[i].dialect == dialect)
			return &cli_mirror_table_rows[i];
	}
	return NULL;
}
