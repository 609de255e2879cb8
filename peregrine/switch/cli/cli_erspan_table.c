/* How the command lines set up a session whose copies the switch sends itself: rows as those of
 * cli_mirror_table.c. Cisco's carry an ERSPAN header (type II, or III where told so), Dell's and
 * SONiC's GRE of type 0x88be without one (type I). */
#include "common/base/macros.h"

#include "peregrine/switch/cli/cli_mirror_table.h"

static const struct cli_mirror cli_erspan_table_rows[] = {
	/* "Catalyst 9300/9500, Network Management Configuration Guide: Configuring ERSPAN". It
	 * needs "ip routing" and a licence; the switch says so. */
	{.dialect = &cli_dialect_ios,
	 .first = 1,
	 .last = 4,
	 .open = "monitor session {session} type erspan-source\ndestination\nerspan-id {id}\nip "
		 "address {target}\norigin ip address {from}\nexit\nno shutdown\nexit",
	 .add = "monitor session {session} type erspan-source\nsource interface {port} both\nexit",
	 .drop = "monitor session {session} type erspan-source\nno source interface {port}\nexit",
	 .close = "no monitor session {session}",
	 .rules = {{"monitor session %n type erspan-source", MIRROR_OPEN},
		   {"monitor session %n %*", MIRROR_ODD},
		   {"source interface %a", MIRROR_FROM},
		   {"destination", MIRROR_FINE},
		   {"erspan-id %i", MIRROR_FINE},
		   {"origin ip address %f", MIRROR_FINE},
		   {"ip address %b", MIRROR_TO},
		   {"header-type %x", MIRROR_FINE}}},
	/* "Nexus 9000 System Management Configuration Guide: Configuring ERSPAN": one address for
	 * all sessions of the switch, which stays; not by the management VRF. */
	{.dialect = &cli_dialect_nxos,
	 .first = 1,
	 .last = 4,
	 .open = "monitor erspan origin ip-address {from} global\nmonitor session {session} type "
		 "erspan-source\nerspan-id {id}\nvrf default\ndestination ip {target}\nno "
		 "shut\nexit",
	 .add = "monitor session {session} type erspan-source\nsource interface {port} both\nexit",
	 .drop = "monitor session {session} type erspan-source\nno source interface {port} "
		 "both\nexit",
	 .close = "no monitor session {session}",
	 .rules = {{"monitor session %n type erspan-source", MIRROR_OPEN},
		   {"monitor session %n %*", MIRROR_ODD},
		   {"monitor erspan origin ip-address %f global", MIRROR_FINE},
		   {"source interface %a", MIRROR_FROM},
		   {"erspan-id %i", MIRROR_FINE},
		   {"vrf default", MIRROR_FINE},
		   {"header-type %x", MIRROR_FINE},
		   {"destination ip %b", MIRROR_TO}}},
	/* "Dell Configuration Guide ... 9.x: Encapsulated Remote Port Monitoring". */
	{.dialect = &cli_dialect_os9,
	 .first = 1,
	 .last = 4,
	 .open = "monitor session {session} type erpm\nerpm source-ip {from} dest-ip {target}\nno "
		 "disable\nexit",
	 .add = "monitor session {session} type erpm\nsource {port} direction both\nexit",
	 .drop = "monitor session {session} type erpm\nno source {port} direction both\nexit",
	 .close = "no monitor session {session}",
	 .rules = {{"monitor session %n type erpm", MIRROR_OPEN},
		   {"monitor session %n %*", MIRROR_ODD},
		   {"source %a direction both", MIRROR_FROM},
		   {"erpm source-ip %f dest-ip %b gre-protocol %x", MIRROR_TO},
		   {"erpm source-ip %f dest-ip %b", MIRROR_TO},
		   {"no disable", MIRROR_FINE},
		   {"no flow-based enable", MIRROR_FINE}}},
	/* "Dell SmartFabric OS10 User Guide: Encapsulated remote port monitoring". */
	{.dialect = &cli_dialect_os10,
	 .first = 1,
	 .last = 4,
	 .open = "monitor session {session} type erpm-source\nsource-ip {from} destination-ip "
		 "{target}\nno shut\nexit",
	 .add = "monitor session {session} type erpm-source\nsource interface {port} both\nexit",
	 .drop = "monitor session {session} type erpm-source\nno source interface {port}\nexit",
	 .close = "no monitor session {session}",
	 .rules = {{"monitor session %n type erpm-source", MIRROR_OPEN},
		   {"monitor session %n %*", MIRROR_ODD},
		   {"source interface %a", MIRROR_FROM},
		   {"source-ip %f destination-ip %b gre-protocol %x", MIRROR_TO},
		   {"source-ip %f destination-ip %b", MIRROR_TO}}},
	/* "SONiC Command Reference: Mirroring"; DSCP, TTL, GRE's type and queue are said before the
	 * ports. Of one that is not active the port by which it leaves is left blank. */
	{.dialect = &cli_dialect_sonic,
	 .show = "show mirror_session",
	 .open = "sudo config mirror_session erspan add haas-capture {from} {target} 0 64 0x88be 0 "
		 "{ports} both",
	 .close = "sudo config mirror_session remove haas-capture",
	 .rules = {{"haas-capture active %f %b %x %x %x %x %x %a both", MIRROR_BOTH},
		   {"haas-capture %x %f %b %x %x %x %x %a both", MIRROR_BOTH}}},
};

const struct cli_mirror *cli_erspan_of(const struct cli_dialect *dialect)
{
	for (size_t i = 0; i < COUNT_OF(cli_erspan_table_rows); i++) {
		if (cli_erspan_table_rows[i].dialect == dialect)
			return &cli_erspan_table_rows[i];
	}
	return NULL;
}
