// links: peregrine_switch
/* Mirror sessions as switches print them, and the lines that make them what they shall be. */
#include <string.h>

#include "common/base/error.h"

#include "peregrine/switch/cli/cli_mirror_policy.h"
#include "tests/support/cmocka.h"

static void plan(const struct cli_dialect *dialect, const char *text, const char *target,
		 const struct switch_tunnel *tunnel, const char *const ports[], struct text *ret,
		 int *ret_rc)
{
	const struct cli_mirror *row = tunnel ? cli_erspan_of(dialect) : cli_mirror_of(dialect);
	static struct cli_mirrors there;
	static struct cli_mirror_plan lines;
	struct switch_mirror mirrors[8] = {0};
	struct cli_mirror_want want = {.mirrors = mirrors, .target = target, .tunnel = tunnel};
	struct problem problem = {0};

	assert_non_null(row);
	for (; ports[want.count]; want.count++) {
		(void)text_copy(mirrors[want.count].port, 64, ports[want.count]);
		(void)text_copy(mirrors[want.count].target, 64, target);
	}
	assert_int_equal(cli_mirrors_read(row, text, &there), 0);
	*ret_rc = cli_mirror_plan_make(row, &there, &want, &lines, &problem);
	assert_int_equal(*ret_rc != 0, problem_is_set(&problem));
	for (size_t i = 0; i < lines.count; i++)
		text_addf(ret, "%s\n", lines.lines[i].text);
}

static const struct {
	const char *name;
	const struct cli_dialect *dialect;
	const char *text, *target;
	const char *ports[4];
	const char *lines;
	int rc;
} plans[] = {
	{"none, none", &cli_dialect_ios, "hostname x\n", "Gi1/0/24", {NULL}, "", 0},
	{"a first one takes a number from the top",
	 &cli_dialect_ios,
	 "hostname x\n",
	 "Gi1/0/24",
	 {"Gi1/0/1"},
	 "monitor session 4 destination interface Gi1/0/24\n"
	 "monitor session 4 source interface Gi1/0/1 both\n",
	 0},
	{"a range, and a short name",
	 &cli_dialect_ios,
	 "monitor session 2 source interface Gi1/0/1 - 3 , Gi1/0/7\n"
	 "monitor session 2 destination interface Gi1/0/24\n",
	 "GigabitEthernet1/0/24",
	 {"GigabitEthernet1/0/2", "Gi1/0/9"},
	 "no monitor session 2 source interface GigabitEthernet1/0/1 both\n"
	 "no monitor session 2 source interface GigabitEthernet1/0/3 both\n"
	 "no monitor session 2 source interface GigabitEthernet1/0/7 both\n"
	 "monitor session 2 source interface Gi1/0/9 both\n",
	 0},
	{"as it is",
	 &cli_dialect_ios,
	 "monitor session 2 source interface Gi1/0/1\n"
	 "monitor session 2 destination interface Gi1/0/24\n",
	 "Gi1/0/24",
	 {"Gi1/0/1"},
	 "",
	 0},
	{"somebody else's stays, and keeps its number",
	 &cli_dialect_ios,
	 "monitor session 4 source vlan 10\n"
	 "monitor session 4 destination interface Gi1/0/23\n"
	 "monitor session 3 source interface Gi1/0/1\n"
	 "monitor session 3 destination interface Gi1/0/24\n",
	 "Gi1/0/24",
	 {NULL},
	 "no monitor session 3\n",
	 0},
	{"all are taken",
	 &cli_dialect_ios,
	 "monitor session 1 source vlan 10\nmonitor session 2 source vlan 11\n"
	 "monitor session 3 source remote vlan 12\nmonitor session 4 filter vlan 3\n",
	 "Gi1/0/24",
	 {"Gi1/0/1"},
	 "",
	 E_CONFLICT},
	{"half a session of ours is gone on with",
	 &cli_dialect_os10,
	 "!\nmonitor session 4\n no shut\n!\nmonitor session 3 type erspan-source\n",
	 "ethernet1/1/24",
	 {"ethernet1/1/1"},
	 "monitor session 4\ndestination interface ethernet1/1/24\nno shut\nexit\n"
	 "monitor session 4\nsource interface ethernet1/1/1 both\nexit\n",
	 0},
	{"half a session of others is not",
	 &cli_dialect_nxos,
	 "monitor session 4\n  source vlan 10 both\nmonitor session 3\n  description x\n",
	 "Ethernet1/24",
	 {"Ethernet1/1"},
	 "interface Ethernet1/24\nswitchport monitor\nexit\nmonitor session 2\n"
	 "destination interface Ethernet1/24\nno shut\nexit\n"
	 "monitor session 2\nsource interface Ethernet1/1 both\nno shut\nexit\n",
	 0},
	{"the mirror port is an ordinary one again",
	 &cli_dialect_nxos,
	 "interface Ethernet1/24\n  switchport monitor\nmonitor session 4\n"
	 "  source interface Ethernet1/1 both\n  destination interface Ethernet1/24\n  no shut\n",
	 "Ethernet1/24",
	 {NULL},
	 "no monitor session 4\ninterface Ethernet1/24\nno switchport monitor\nexit\n",
	 0},
	{"procurve, in the ports' sections",
	 &cli_dialect_procurve,
	 "interface 1\n   monitor all both mirror 4\n   exit\ninterface 2\n"
	 "   name \"x\"\n   exit\nmirror 4 port 8\n",
	 "8",
	 {"1", "2"},
	 "interface 2 monitor all both mirror 4\n",
	 0},
	{"comware, in the ports' sections",
	 &cli_dialect_comware,
	 "#\nmirroring-group 1 local\n#\ninterface Ten-GigabitEthernet1/0/1\n"
	 " mirroring-group 1 mirroring-port both\n#\ninterface XGE1/0/24\n"
	 " mirroring-group 1 monitor-port\n",
	 "XGE1/0/24",
	 {"XGE1/0/2"},
	 "undo mirroring-group 1 mirroring-port Ten-GigabitEthernet1/0/1 both\n"
	 "mirroring-group 1 mirroring-port XGE1/0/2 both\n",
	 0},
	{"comware, at the top",
	 &cli_dialect_comware,
	 "mirroring-group 1 local\nmirroring-group 1 mirroring-port "
	 "Ten-GigabitEthernet1/0/1 both\n"
	 "mirroring-group 1 monitor-port Ten-GigabitEthernet1/0/24\n",
	 "XGE1/0/24",
	 {"XGE1/0/1"},
	 "",
	 0},
	{"ecs: the destination is the session",
	 &cli_dialect_ecs,
	 "interface ethernet 1/24\n port monitor ethernet 1/5 both\n!\n",
	 "ethernet 1/24",
	 {NULL},
	 "interface ethernet 1/24\nno port monitor ethernet 1/5\nexit\n",
	 0},
	{"sonic: all at once",
	 &cli_dialect_sonic,
	 "SPAN Sessions\nName          Status    DST Port    SRC Port\n"
	 "haas-capture  active    Ethernet24  Ethernet0,Ethernet4  both\n",
	 "Ethernet24",
	 {"Ethernet4", "Ethernet8", "Ethernet4"},
	 "sudo config mirror_session remove haas-capture\n"
	 "sudo config mirror_session span add haas-capture Ethernet24 "
	 "Ethernet4,Ethernet8 both\n",
	 0},
	{"a name that would end the line",
	 &cli_dialect_ios,
	 "",
	 "Gi1/0/24",
	 {"Gi1/0/1\nreload"},
	 "",
	 E_INVALID},
	{"the point is not known any more",
	 &cli_dialect_ios,
	 "monitor session 4 destination interface Gi1/0/24\n",
	 "",
	 {NULL},
	 "",
	 0},
};

static void lines_of_a_plan(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(plans); i++) {
		CLEANUP(text_done) struct text lines = {0};
		int rc = 0;

		plan(plans[i].dialect, plans[i].text, plans[i].target, NULL, plans[i].ports, &lines,
		     &rc);
		if (rc != plans[i].rc || strcmp(text_get(&lines), plans[i].lines) != 0)
			fail_msg("%s: rc %d\n%s", plans[i].name, rc, text_get(&lines));
	}
}

/* What is sent, to 10.9.0.2. */
static const struct {
	const char *name;
	const struct cli_dialect *dialect;
	const char *text, *from;
	uint16_t id;
	const char *ports[4];
	const char *lines;
	int rc;
} sent[] = {
	{"ios: among sessions of others and addresses of the switch",
	 &cli_dialect_ios,
	 "interface Vlan1\n ip address 10.9.0.2 255.255.255.0\n"
	 "monitor session 4 source interface Gi1/0/7\n"
	 "monitor session 3 type erspan-source\n source interface Gi1/0/8\n destination\n"
	 "  erspan-id 1\n  ip address 10.9.0.9\n  origin ip address 10.9.0.1\n",
	 "10.9.0.1",
	 0,
	 {"Gi1/0/1"},
	 "monitor session 2 type erspan-source\ndestination\nerspan-id 1\nip address 10.9.0.2\n"
	 "origin ip address 10.9.0.1\nexit\nno shutdown\nexit\n"
	 "monitor session 2 type erspan-source\nsource interface Gi1/0/1 both\nexit\n",
	 0},
	{"ios: as it is, type III",
	 &cli_dialect_ios,
	 "monitor session 4 type erspan-source\n header-type 3\n source interface Gi1/0/1 - 2\n "
	 "destination\n  erspan-id 77\n  ip address 10.9.0.2\n  origin ip address 10.9.0.1\n",
	 "10.9.0.1",
	 77,
	 {"Gi1/0/1", "Gi1/0/2"},
	 "",
	 0},
	{"ios: another number is another session",
	 &cli_dialect_ios,
	 "monitor session 4 type erspan-source\n source interface Gi1/0/1\n destination\n"
	 "  erspan-id 76\n  ip address 10.9.0.2\n  origin ip address 10.9.0.1\n",
	 "10.9.0.1",
	 77,
	 {"Gi1/0/1"},
	 "no monitor session 4\n"
	 "monitor session 3 type erspan-source\ndestination\nerspan-id 77\nip address 10.9.0.2\n"
	 "origin ip address 10.9.0.1\nexit\nno shutdown\nexit\n"
	 "monitor session 3 type erspan-source\nsource interface Gi1/0/1 both\nexit\n",
	 0},
	{"ios: what is sent by a VRF is somebody else's",
	 &cli_dialect_ios,
	 "monitor session 4 type erspan-source\n source interface Gi1/0/1\n destination\n"
	 "  ip address 10.9.0.2\n  vrf red\n",
	 "10.9.0.1",
	 0,
	 {NULL},
	 "",
	 0},
	{"nxos: ended, whatever its number",
	 &cli_dialect_nxos,
	 "monitor erspan origin ip-address 10.9.0.1 global\nmonitor session 2\n  source interface "
	 "Ethernet1/3 both\nmonitor session 4 type erspan-source\n  erspan-id 5\n  vrf default\n"
	 "  destination ip 10.9.0.2\n  source interface Ethernet1/1 both\n  no shut\n",
	 "",
	 0,
	 {NULL},
	 "no monitor session 4\n",
	 0},
	{"nxos: one port more",
	 &cli_dialect_nxos,
	 "monitor erspan origin ip-address 10.9.0.1 global\nmonitor session 4 type erspan-source\n"
	 "  erspan-id 1\n  vrf default\n  destination ip 10.9.0.2\n  source interface Ethernet1/1 "
	 "both\n  no shut\n",
	 "10.9.0.1",
	 0,
	 {"Ethernet1/1", "Ethernet1/2"},
	 "monitor session 4 type erspan-source\nsource interface Ethernet1/2 both\nexit\n",
	 0},
	{"nxos: the switch's address for all that it sends is somebody's",
	 &cli_dialect_nxos,
	 "monitor erspan origin ip-address 10.9.0.7 global\n",
	 "10.9.0.1",
	 0,
	 {"Ethernet1/1"},
	 "",
	 E_CONFLICT},
	{"os9: it has no number",
	 &cli_dialect_os9,
	 "!\nmonitor session 4 type erpm\n source TenGigabitEthernet 0/1 direction both\n erpm "
	 "source-ip 10.9.0.1 dest-ip 10.9.0.2 gre-protocol 35006\n no disable\n",
	 "10.9.0.1",
	 0,
	 {"TenGigabitEthernet 0/2"},
	 "monitor session 4 type erpm\nno source TenGigabitEthernet 0/1 direction both\nexit\n"
	 "monitor session 4 type erpm\nsource TenGigabitEthernet 0/2 direction both\nexit\n",
	 0},
	{"os9: and is asked for none",
	 &cli_dialect_os9,
	 "hostname x\n",
	 "10.9.0.1",
	 5,
	 {"TenGigabitEthernet 0/2"},
	 "",
	 E_INVALID},
	{"os10: it came from another address",
	 &cli_dialect_os10,
	 "!\nmonitor session 4 type erpm-source\n source-ip 10.9.0.3 destination-ip 10.9.0.2\n"
	 " source interface ethernet1/1/1 both\n no shut\n",
	 "10.9.0.1",
	 0,
	 {"ethernet1/1/1"},
	 "no monitor session 4\nmonitor session 3 type erpm-source\nsource-ip 10.9.0.1 "
	 "destination-ip 10.9.0.2\nno shut\nexit\n"
	 "monitor session 3 type erpm-source\nsource interface ethernet1/1/1 both\nexit\n",
	 0},
	{"sonic: with and without the port by which it leaves",
	 &cli_dialect_sonic,
	 "ERSPAN Sessions\nName          Status    SRC IP    DST IP    GRE     DSCP    TTL  Queue "
	 "   Policer    Monitor Port    SRC Port    Direction\n"
	 "haas-capture  active  10.9.0.1  10.9.0.2  0x88be  0  64  0  Ethernet28  "
	 "Ethernet0,Ethernet4  both\nother  inactive  10.9.0.1  10.9.0.2  0x88be  0  64  0  "
	 "Ethernet0  both\n",
	 "10.9.0.1",
	 0,
	 {"Ethernet0", "Ethernet4"},
	 "",
	 0},
	{"sonic: inactive",
	 &cli_dialect_sonic,
	 "haas-capture  inactive  10.9.0.1  10.9.0.2  0x88be  0  64  0  Ethernet0  both\n",
	 "10.9.0.1",
	 0,
	 {"Ethernet4"},
	 "sudo config mirror_session remove haas-capture\n"
	 "sudo config mirror_session erspan add haas-capture 10.9.0.1 10.9.0.2 0 64 0x88be 0 "
	 "Ethernet4 both\n",
	 0},
	{"no address",
	 &cli_dialect_sonic,
	 "\n",
	 "10.9.0.1; reboot",
	 0,
	 {"Ethernet0"},
	 "",
	 E_INVALID},
};

static void lines_of_what_is_sent(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(sent); i++) {
		CLEANUP(text_done) struct text lines = {0};
		struct switch_tunnel tunnel = {.to = "10.9.0.2", .id = sent[i].id};
		int rc = 0;

		(void)text_copy(tunnel.from, sizeof(tunnel.from), sent[i].from);
		plan(sent[i].dialect, sent[i].text, tunnel.to, &tunnel, sent[i].ports, &lines, &rc);
		if (rc != sent[i].rc || strcmp(text_get(&lines), sent[i].lines) != 0)
			fail_msg("%s: rc %d\n%s", sent[i].name, rc, text_get(&lines));
	}
}

/* What its rows make can be read back by its rules, in some order: each family has both. */
static void rows_are_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < cli_dialect_count; i++) {
		const struct cli_mirror *row = cli_mirror_of(cli_dialects[i]);

		assert_non_null(row);
		assert_true(row->rules[0].fact != MIRROR_NONE);
		assert_true(row->close || row->drop);
		assert_true(row->open || row->add);
		assert_true(row->last >= row->first);
		row = cli_erspan_of(cli_dialects[i]);
		assert_true(!row || (row->open && row->close && strstr(row->open, "{from}") &&
				     strstr(row->open, "{target}")));
	}
}

static void too_many(void **state)
{
	CLEANUP(text_done) struct text text = {0};
	static struct cli_mirrors there;

	(void)state;
	for (int i = 0; i < CLI_MIRRORS_MAX + 1; i++)
		text_addf(&text, "monitor session %d destination interface Gi1/0/%d\n", i + 1, i);
	assert_int_equal(cli_mirrors_read(cli_mirror_of(&cli_dialect_ios), text_get(&text), &there),
			 E_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_a_plan),
		cmocka_unit_test(lines_of_what_is_sent),
		cmocka_unit_test(rows_are_whole),
		cmocka_unit_test(too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
