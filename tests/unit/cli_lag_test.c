// links: peregrine_switch
/* Aggregates as switches print them, and the lines that make and unmake them. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "peregrine/switch/cli/cli_lag_policy.h"
#include "tests/support/cmocka.h"

/* Members are "PORT:VLAN", the VLAN what it is in before. */
static struct switch_lag lag_of(bool make, const char *name, const char *const members[])
{
	struct switch_lag lag = {.make = make, .vlan = 3001};

	(void)text_copy(lag.name, sizeof(lag.name), name);
	for (; members[lag.member_count]; lag.member_count++) {
		const char *colon = strrchr(members[lag.member_count], ':');

		(void)text_format(lag.members[lag.member_count], 64, "%.*s",
				  (int)(colon - members[lag.member_count]),
				  members[lag.member_count]);
		lag.member_vlans[lag.member_count] = (uint16_t)strtoul(colon + 1, NULL, 10);
	}
	return lag;
}

static struct cli_config *config_of(const struct cli_dialect *dialect, const char *text)
{
	struct cli_config *config = NULL;

	assert_int_equal(cli_config_new(dialect, &config), 0);
	assert_int_equal(cli_config_read(config, text), 0);
	return config;
}

static int plan(const struct cli_dialect *dialect, const char *text, const struct switch_lag *lag,
		bool begun, struct text *ret)
{
	struct cli_config *config = config_of(dialect, text);
	struct cli_plan lines = {0};
	struct problem problem = {0};
	int rc = cli_lag_plan(cli_lag_of(dialect), config, lag, begun, &lines, &problem);

	assert_int_equal(rc != 0, problem_is_set(&problem));
	if (rc)
		text_addf(ret, "%s: %s", problem.message, problem.detail);
	for (size_t i = 0; i < lines.count && !rc; i++)
		text_addf(ret, "%s%s\n", lines.lines[i].optional ? "?" : "", lines.lines[i].text);
	cli_plan_done(&lines);
	cli_config_free(config);
	return rc;
}

#define IOS_PARKED                                                                          \
	"vlan 3001-3003\n!\ninterface GigabitEthernet1/0/1\n switchport access vlan 3001\n" \
	" switchport mode access\n!\ninterface GigabitEthernet1/0/2\n"                      \
	" switchport access vlan 3002\n switchport mode access\n!\n"
#define IOS_BUNDLED(VLAN)                                                                \
	"vlan 3001-3003\n!\ninterface Port-channel1\n switchport access vlan " VLAN "\n" \
	" switchport mode access\n!\ninterface GigabitEthernet1/0/1\n"                   \
	" switchport access vlan " VLAN "\n switchport mode access\n"                    \
	" channel-group 1 mode active\n!\ninterface GigabitEthernet1/0/2\n"              \
	" switchport access vlan " VLAN "\n switchport mode access\n"                    \
	" channel-group 1 mode active\n!\n"
#define IOS_MAKE                                                                   \
	"interface Port-channel1\nswitchport\nswitchport mode access\n"            \
	"switchport access vlan 3001\n?no port-channel standalone-disable\nexit\n" \
	"interface Gi1/0/1\nswitchport mode access\nswitchport access vlan 3001\n" \
	"channel-group 1 mode active\nexit\n"
#define IOS_MAKE_SECOND                                                            \
	"interface Gi1/0/2\nswitchport mode access\nswitchport access vlan 3001\n" \
	"channel-group 1 mode active\nexit\n"
#define OS9_PARKED                                                                              \
	"!\ninterface TenGigabitEthernet 0/1\n no ip address\n portmode hybrid\n switchport\n"  \
	" no shutdown\n!\ninterface TenGigabitEthernet 0/2\n no ip address\n portmode hybrid\n" \
	" switchport\n no shutdown\n!\ninterface Vlan 3001\n!untagged TenGigabitEthernet 0/1\n" \
	"!\ninterface Vlan 3002\n no ip address\n untagged TenGigabitEthernet 0/2\n!\n"
#define OS9_BUNDLED                                                                    \
	"!\ninterface TenGigabitEthernet 0/1\n no ip address\n!\n"                     \
	" port-channel-protocol LACP\n  port-channel 1 mode active\n no shutdown\n"    \
	"!\ninterface TenGigabitEthernet 0/2\n no ip address\n !\n"                    \
	" port-channel-protocol LACP\n  port-channel 1 mode active\n no shutdown\n"    \
	"!\ninterface Port-channel 1\n no ip address\n portmode hybrid\n switchport\n" \
	" no shutdown\n!\ninterface Vlan 3001\n no ip address\n untagged Port-channel 1\n!\n"

static const struct {
	const char *what;
	const struct cli_dialect *dialect;
	const char *text;
	bool make, begun;
	const char *name;
	const char *members[4];
	const char *lines; /* or the problem */
	int rc;
} plans[] = {
	{.what = "ios: made, each member in the aggregate's VLAN before",
	 .dialect = &cli_dialect_ios,
	 .text = IOS_PARKED,
	 .make = true,
	 .name = "Po1",
	 .members = {"Gi1/0/1:3001", "Gi1/0/2:3002"},
	 .lines = IOS_MAKE IOS_MAKE_SECOND},
	{.what = "ios: made already",
	 .dialect = &cli_dialect_ios,
	 .text = IOS_BUNDLED("3003"),
	 .make = true,
	 .name = "Po1",
	 .members = {"Gi1/0/1:3001", "Gi1/0/2:3002"},
	 .lines = ""},
	{.what = "ios: somebody's aggregate of that name",
	 .dialect = &cli_dialect_ios,
	 .text = IOS_PARKED "interface Port-channel1\n switchport mode access\n!\n",
	 .make = true,
	 .name = "Po1",
	 .members = {"Gi1/0/1:3001", "Gi1/0/2:3002"},
	 .lines = "there is another aggregate of that name: Po1",
	 .rc = E_CONFLICT},
	{.what = "ios: ... with a member of its own",
	 .dialect = &cli_dialect_ios,
	 .text = IOS_BUNDLED("3001"),
	 .make = true,
	 .name = "Po1",
	 .members = {"Gi1/0/1:3001", "Gi1/0/3:3002"},
	 .lines = "there is another aggregate of that name: Po1",
	 .rc = E_CONFLICT},
	{.what = "ios: a member is in use",
	 .dialect = &cli_dialect_ios,
	 .text = IOS_PARKED,
	 .make = true,
	 .name = "Po2",
	 .members = {"Gi1/0/1:3001", "Gi1/0/2:3003"},
	 .lines = "a port of the aggregate is not off every network: Gi1/0/2",
	 .rc = E_CONFLICT},
	{.what = "ios: a member is in another aggregate",
	 .dialect = &cli_dialect_ios,
	 .text = IOS_BUNDLED("3001"),
	 .make = true,
	 .name = "Po2",
	 .members = {"Gi1/0/1:3001", "Gi1/0/3:3002"},
	 .lines = "a port of the aggregate is in another one: Gi1/0/1",
	 .rc = E_CONFLICT},
	{.what = "ios: no such VLAN",
	 .dialect = &cli_dialect_ios,
	 .text = "vlan 3002\n!\ninterface GigabitEthernet1/0/1\n switchport access vlan 3002\n",
	 .make = true,
	 .name = "Po1",
	 .members = {"Gi1/0/1:3002"},
	 .lines = "the VLAN of the aggregate is not on the switch: Po1",
	 .rc = E_CONFLICT},
	{.what = "ios: left without a member in our VLAN, gone on with",
	 .dialect = &cli_dialect_ios,
	 .text = IOS_PARKED "interface Port-channel1\n switchport mode access\n"
			    " switchport access vlan 3001\n!\n",
	 .make = true,
	 .name = "Po1",
	 .members = {"Gi1/0/1:3001", "Gi1/0/2:3002"},
	 .lines = IOS_MAKE IOS_MAKE_SECOND},
	{.what = "ios: half made by us, gone on with",
	 .dialect = &cli_dialect_ios,
	 .text = IOS_PARKED "interface Port-channel1\n switchport mode access\n"
			    " switchport access vlan 3001\n!\n",
	 .make = true,
	 .begun = true,
	 .name = "Po1",
	 .members = {"Gi1/0/1:3001", "Gi1/0/2:3002"},
	 .lines = IOS_MAKE IOS_MAKE_SECOND},
	{.what = "ios: unmade",
	 .dialect = &cli_dialect_ios,
	 .text = IOS_BUNDLED("3001"),
	 .name = "Po1",
	 .members = {"Gi1/0/1:0", "Gi1/0/2:0"},
	 .lines = "interface Gi1/0/1\nno channel-group\nswitchport mode access\n"
		  "switchport access vlan 3001\nexit\ninterface Gi1/0/2\nno channel-group\n"
		  "switchport mode access\nswitchport access vlan 3001\nexit\n"
		  "no interface Port-channel1\n"},
	{.what = "ios: unmade already",
	 .dialect = &cli_dialect_ios,
	 .text = IOS_PARKED,
	 .name = "Po1",
	 .members = {"Gi1/0/1:0", "Gi1/0/2:0"},
	 .lines = ""},
	{.what = "ios: not while it carries a network",
	 .dialect = &cli_dialect_ios,
	 .text = IOS_BUNDLED("3003"),
	 .name = "Po1",
	 .members = {"Gi1/0/1:0", "Gi1/0/2:0"},
	 .lines = "the aggregate is not off every network: Po1",
	 .rc = E_CONFLICT},
	{.what = "ios: somebody put a port into it",
	 .dialect = &cli_dialect_ios,
	 .text = IOS_BUNDLED("3001"),
	 .name = "Po1",
	 .members = {"Gi1/0/1:0"},
	 .lines = "the aggregate has other members: GigabitEthernet1/0/2",
	 .rc = E_CONFLICT},
	{.what = "ios: half unmade, gone on with",
	 .dialect = &cli_dialect_ios,
	 .text = IOS_PARKED "interface Port-channel1\n switchport mode access\n!\n",
	 .begun = true,
	 .name = "Po1",
	 .members = {"Gi1/0/1:0", "Gi1/0/2:0"},
	 .lines = "interface Gi1/0/2\nno channel-group\nswitchport mode access\n"
		  "switchport access vlan 3001\nexit\nno interface Port-channel1\n"},
	{.what = "no name of an aggregate",
	 .dialect = &cli_dialect_ios,
	 .text = IOS_PARKED,
	 .make = true,
	 .name = "Po49",
	 .members = {"Gi1/0/1:3001"},
	 .lines = "no aggregate of this family is called Po49: ",
	 .rc = E_INVALID},
	{.what = "nxos: LACP is a feature",
	 .dialect = &cli_dialect_nxos,
	 .text = "vlan 1,3001\ninterface Ethernet1/1\n  switchport access vlan 3001\n",
	 .make = true,
	 .name = "port-channel4096",
	 .members = {"Ethernet1/1:3001"},
	 .lines = "feature lacp\ninterface port-channel4096\nswitchport\nswitchport mode access\n"
		  "switchport access vlan 3001\nshutdown\n?no lacp suspend-individual\n"
		  "no shutdown\nexit\ninterface Ethernet1/1\nswitchport mode access\n"
		  "switchport access vlan 3001\nno switchport trunk allowed vlan\n"
		  "no switchport trunk native vlan\nchannel-group 4096 mode active\nexit\n"},
	{.what = "os10: a member has no VLANs of its own",
	 .dialect = &cli_dialect_os10,
	 .text = "interface vlan3001\n no shutdown\n!\ninterface ethernet1/1/1\n no shutdown\n"
		 " switchport access vlan 3001\n!\n",
	 .make = true,
	 .name = "port-channel7",
	 .members = {"ethernet1/1/1:3001"},
	 .lines = "interface port-channel7\nswitchport mode access\nswitchport access vlan 3001\n"
		  "?lacp fallback enable\nno shutdown\nexit\ninterface ethernet1/1/1\n"
		  "no switchport\nchannel-group 7 mode active\nexit\n"},
	{.what = "os9: VLANs know the aggregate",
	 .dialect = &cli_dialect_os9,
	 .text = OS9_PARKED,
	 .make = true,
	 .name = "Port-channel 1",
	 .members = {"TenGigabitEthernet 0/2:3002"},
	 .lines = "?lacp ungroup member-independent port-channel\ninterface port-channel 1\n"
		  "portmode hybrid\nswitchport\nno shutdown\nexit\ninterface vlan 3001\n"
		  "untagged port-channel 1\nexit\ninterface vlan 3002\n"
		  "no untagged TenGigabitEthernet 0/2\nexit\ninterface TenGigabitEthernet 0/2\n"
		  "no switchport\n?no portmode hybrid\nport-channel-protocol lacp\n"
		  "port-channel 1 mode active\nexit\nexit\n"},
	{.what = "os9: members behind an inner '!'",
	 .dialect = &cli_dialect_os9,
	 .text = OS9_BUNDLED,
	 .name = "Port-channel 1",
	 .members = {"TenGigabitEthernet 0/2:0"},
	 .lines = "the aggregate has other members: TenGigabitEthernet 0/1",
	 .rc = E_CONFLICT},
	{.what = "aoscx",
	 .dialect = &cli_dialect_aoscx,
	 .text = "vlan 1,3001\ninterface 1/1/1\n    no shutdown\n    no routing\n"
		 "    vlan access 3001\n",
	 .make = true,
	 .name = "lag2",
	 .members = {"1/1/1:3001"},
	 .lines = "interface lag 2\nno routing\nvlan access 3001\nlacp mode active\n"
		  "?lacp fallback\nno shutdown\nexit\ninterface 1/1/1\nlag 2\nexit\n"},
	{.what = "aoscx: unmade",
	 .dialect = &cli_dialect_aoscx,
	 .text = "vlan 1,3001\ninterface lag 2\n    no shutdown\n    no routing\n"
		 "    vlan access 3001\n    lacp mode active\ninterface 1/1/1\n    no shutdown\n"
		 "    lag 2\n",
	 .name = "lag2",
	 .members = {"1/1/1:0"},
	 .lines = "interface 1/1/1\nno lag 2\nno routing\nvlan access 3001\nexit\n"
		  "no interface lag 2\n"},
	{.what = "comware",
	 .dialect = &cli_dialect_comware,
	 .text = "#\nvlan 3001\n#\ninterface Ten-GigabitEthernet1/0/1\n port link-mode bridge\n"
		 " port access vlan 3001\n#\n",
	 .make = true,
	 .name = "Bridge-Aggregation3",
	 .members = {"Ten-GigabitEthernet1/0/1:3001"},
	 .lines = "interface Bridge-Aggregation3\nlink-aggregation mode dynamic\n"
		  "?lacp edge-port\nport link-type access\nport access vlan 3001\nquit\n"
		  "interface Ten-GigabitEthernet1/0/1\nport link-type access\n"
		  "port access vlan 3001\nport link-aggregation group 3\nquit\n"},
};

static void lines_of_aggregates(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(plans); i++) {
		const struct switch_lag lag =
			lag_of(plans[i].make, plans[i].name, plans[i].members);
		struct text lines = {0};
		int rc = plan(plans[i].dialect, plans[i].text, &lag, plans[i].begun, &lines);

		if (rc != plans[i].rc || strcmp(text_get(&lines), plans[i].lines) != 0)
			fail_msg("%s: %d\n%s\nnot %d\n%s", plans[i].what, rc, text_get(&lines),
				 plans[i].rc, plans[i].lines);
		text_done(&lines);
	}
}

static void what_is_seen(void **state)
{
	static const char *const both[] = {"Gi1/0/1:0", "Gi1/0/2:0", NULL};
	static const struct {
		const char *text;
		bool made, unmade;
	} rows[] = {
		{IOS_BUNDLED("3001"), true, false},
		{IOS_BUNDLED("3002"), false, false},                    /* its VLAN is another */
		{IOS_PARKED, false, false},                             /* a member's is */
		{IOS_BUNDLED("3001") "interface GigabitEthernet1/0/3\n" /* a stranger */
				     " channel-group 1 mode on\n!\n",
		 false, false},
		{"vlan 3001\n!\ninterface GigabitEthernet1/0/1\n switchport access vlan 3001\n"
		 " switchport mode access\n!\ninterface GigabitEthernet1/0/2\n"
		 " switchport access vlan 3001\n switchport mode access\n!\n",
		 false, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct cli_lag *row = cli_lag_of(&cli_dialect_ios);
		struct cli_config *config = config_of(&cli_dialect_ios, rows[i].text);
		const struct switch_lag make = lag_of(true, "Po1", both);
		const struct switch_lag unmake = lag_of(false, "Po1", both);

		assert_int_equal(cli_lag_holds(row, config, &make), rows[i].made);
		assert_int_equal(cli_lag_holds(row, config, &unmake), rows[i].unmade);
		cli_config_free(config);
	}
}

/* Each family has a row, or says why it has none; a name is the one that its configuration has. */
static void all_families(void **state)
{
	(void)state;
	for (size_t i = 0; i < cli_dialect_count; i++) {
		const struct cli_lag *row = cli_lag_of(cli_dialects[i]);
		char name[64];

		assert_non_null(cli_lag_why_not(cli_dialects[i]));
		if (!row) {
			assert_null(strstr(cli_lag_why_not(cli_dialects[i]),
					   "commands for an aggregate are not known"));
			continue;
		}
		assert_false(cli_lag_name(row, 0, name));
		assert_false(cli_lag_name(row, row->last + 1U, name));
		assert_true(cli_lag_name(row, 1, name));
		assert_true(row->open && row->join && row->leave && row->close);
		assert_non_null(strstr(row->leave, "{port}"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_aggregates),
		cmocka_unit_test(what_is_seen),
		cmocka_unit_test(all_families),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
