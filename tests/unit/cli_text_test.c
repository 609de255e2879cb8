// links: peregrine_switch
/* Command lines of switches: what they print is read, and what is sent is what the family's
 * reference asks for. The samples are those of tests/fuzz/corpus/cli_text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/cli/cli_config_wire.h"
#include "peregrine/switch/cli/cli_plan_policy.h"
#include "peregrine/switch/cli/cli_port.h"
#include "peregrine/switch/cli/cli_wire.h"
#include "tests/support/cli_sample.h"
#include "tests/support/cmocka.h"

static struct cli_config *config_of(const char *name)
{
	const struct cli_dialect *dialect;
	struct cli_config *config;
	char *text = sample(name, &dialect);

	assert_int_equal(cli_config_new(dialect, &config), 0);
	assert_int_equal(cli_config_read(config, text), 0);
	free(text);
	return config;
}

/* --- rows of the dialects --- */

/* A family without patterns would take each refusal for success. */
static void test_dialects_are_whole(void **state)
{
	(void)state;
	assert_int_equal(cli_dialect_count, 10);
	for (size_t i = 0; i < cli_dialect_count; i++) {
		const struct cli_dialect *dialect = cli_dialects[i];
		size_t errors = 0;

		while (errors < CLI_PATTERN_LIMIT && dialect->errors[errors])
			assert_true(strlen(dialect->errors[errors++]) >= 2);
		assert_in_range(errors, 5, CLI_PATTERN_LIMIT);
		assert_non_null(dialect->busy[0]);
		assert_non_null(dialect->denied[0]);
		assert_non_null(dialect->vlan_create[0].text);
		assert_non_null(dialect->vlan_delete[0].text);
		assert_non_null(dialect->port[0].text);
		assert_non_null(dialect->save);
		assert_non_null(dialect->show_config);
		assert_non_null(dialect->rules[0].line);
		assert_true(!dialect->config_enter == !dialect->config_leave);
		for (size_t j = 0; j < CLI_STEP_LIMIT; j++) {
			const struct cli_step *step = &dialect->port[j];

			/* A list that only grows must have what takes out of it. */
			assert_true(!step->add == !step->remove);
			assert_true(!(step->flags & STEP_PER_VLAN) || step->list != LIST_NONE);
		}
	}
}

static void test_every_list_is_taken_out_of(void **state)
{
	(void)state;
	for (size_t i = 0; i < cli_dialect_count; i++) {
		unsigned lists = 0;
		const unsigned grows = 1U << LIST_ADD_ALLOWED | 1U << LIST_ADD_TAGGED;

		for (size_t j = 0; j < CLI_STEP_LIMIT && cli_dialects[i]->port[j].text; j++)
			lists |= 1U << cli_dialects[i]->port[j].list;
		if (lists & grows & 1U << LIST_ADD_ALLOWED)
			assert_true(lists & 1U << LIST_DROP_ALLOWED);
		if (lists & grows & 1U << LIST_ADD_TAGGED)
			assert_true((lists & 1U << LIST_DROP_TAGGED) &&
				    (lists & 1U << LIST_DROP_UNTAGGED));
		assert_true(lists & (grows | 1U << LIST_ALLOWED));
	}
}

/* --- terminal --- */

static void test_clean(void **state)
{
	static const struct {
		const char *from, *to;
	} rows[] = {
		{"plain\r\ntext\r\n", "plain\ntext\n"},
		{"\033[24;1HHP# \033[24;5Hshow\033Enext", "HP# show\nnext"},
		{"ab\b\bcd", "cd"},
		{"--More--\r        \rrest", "rest"},
		{"--More--\b\b\b\b\b\b\b\b        \b\b\b\b\b\b\b\brest", "rest"},
		{"a\033", "a"},
		{"a\033[12", "a"},
		{"bell\a nul", "bell nul"},
		{"\r\r\nx", "\nx"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct text text = {0};

		cli_text_clean(rows[i].from, strlen(rows[i].from), &text);
		assert_string_equal(text_get(&text), rows[i].to);
		text_done(&text);
	}
}

static void test_prompts(void **state)
{
	static const struct {
		enum cli_prompt kind;
		const char *line, *base, *mode; /* base NULL: no prompt */
		bool privileged;
	} rows[] = {
		{PROMPT_PAREN, "leaf1>", "leaf1", "", false},
		{PROMPT_PAREN, "leaf1#", "leaf1", "", true},
		{PROMPT_PAREN, "leaf1(config)#", "leaf1", "config", true},
		{PROMPT_PAREN, "leaf1(config-if)# ", "leaf1", "config-if", true},
		{PROMPT_PAREN, "Dell(conf-if-te-0/1)#", "Dell", "conf-if-te-0/1", true},
		{PROMPT_PAREN, "HP-2920-48G(vlan-10)# ", "HP-2920-48G", "vlan-10", true},
		{PROMPT_PAREN, "interface x (old) #", NULL, NULL, false},
		{PROMPT_PAREN, "#", NULL, NULL, false},
		{PROMPT_PAREN, "leaf1", NULL, NULL, false},
		{PROMPT_ANGLE, "<HPE>", "HPE", "", true},
		{PROMPT_ANGLE, "[HPE-GigabitEthernet1/0/1]", "HPE-GigabitEthernet1/0/1",
		 "HPE-GigabitEthernet1/0/1", true},
		{PROMPT_ANGLE, "[~HPE]", "HPE", "HPE", true},
		{PROMPT_ANGLE, "HPE>", NULL, NULL, false},
		{PROMPT_SHELL, "admin@sonic:~$ ", "admin@sonic", "", true},
		{PROMPT_SHELL, "root@sonic:/home/admin# ", "root@sonic", "", true},
		{PROMPT_SHELL, "costs 5$", NULL, NULL, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct cli_prompt_seen seen;
		bool found = cli_prompt_parse(rows[i].line, rows[i].kind, &seen);

		assert_int_equal(found, rows[i].base != NULL);
		if (!found)
			continue;
		assert_string_equal(seen.base, rows[i].base);
		assert_string_equal(seen.mode, rows[i].mode);
		assert_int_equal(seen.privileged, rows[i].privileged);
	}
	assert_true(cli_prompt_same("HPE", "HPE-GigabitEthernet1/0/1"));
	assert_true(cli_prompt_same("a-very-long-name-of-a-leaf", "a-very-long-name-of"));
	assert_false(cli_prompt_same("leaf1", "spine1"));
}

static void test_judge(void **state)
{
	static const struct {
		const struct cli_dialect *dialect;
		const char *output;
		enum cli_verdict verdict;
	} rows[] = {
		{&cli_dialect_ios, "", CLI_FINE},
		{&cli_dialect_ios, "             ^\n% Invalid input detected at '^' marker.\n",
		 CLI_REFUSED},
		{&cli_dialect_ios, "% Incomplete command.\n", CLI_REFUSED},
		{&cli_dialect_ios, "Command rejected: Bad VLAN list\n", CLI_REFUSED},
		{&cli_dialect_ios, "% Access VLAN does not exist. Creating vlan 110\n", CLI_FINE},
		{&cli_dialect_ios, "*Mar  1 00:02:01.115: %LINK-3-UPDOWN: Interface failed\n",
		 CLI_FINE},
		{&cli_dialect_ios, "% Authorization failed.\n", CLI_DENIED},
		{&cli_dialect_ios, "Command authorization failed.\n", CLI_DENIED},
		{&cli_dialect_nxos, "ERROR: VLAN 3968 is reserved\n", CLI_REFUSED},
		{&cli_dialect_nxos, "% Permission denied for the role\n", CLI_DENIED},
		{&cli_dialect_dnos,
		 "Configuration Database locked by another application - try later.\n", CLI_BUSY},
		{&cli_dialect_dnos, "VLAN was not created by user.\n", CLI_REFUSED},
		{&cli_dialect_procurve, "Invalid input: vlann\n", CLI_REFUSED},
		{&cli_dialect_aoscx, "% Command incomplete.\n", CLI_REFUSED},
		{&cli_dialect_comware,
		 "                    ^\n % Unrecognized command found at '^' position.\n",
		 CLI_REFUSED},
		{&cli_dialect_os9, "% Error: Port is not in Layer-2 mode Te 0/1.\n", CLI_REFUSED},
		{&cli_dialect_os10, "% Error: Illegal parameter.\n", CLI_REFUSED},
		{&cli_dialect_ecs, "Invalid input detected at '^' marker.\n", CLI_REFUSED},
		{&cli_dialect_sonic, "Error: Vlan110 already exists\n", CLI_REFUSED},
		{&cli_dialect_sonic, "Usage: config vlan add [OPTIONS] <vid>\n", CLI_REFUSED},
		{&cli_dialect_sonic, "Root privileges are needed for this operation\n", CLI_DENIED},
	};
	char line[160];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		enum cli_verdict verdict =
			cli_answer_judge(rows[i].dialect, rows[i].output, line, sizeof(line));

		if (verdict != rows[i].verdict)
			fail_msg("%s: \"%s\" judged %u", rows[i].dialect->name, rows[i].output,
				 verdict);
	}
}

/* S28: a number of 33 bits is no VLAN, and not the one of its low 32. */
static void test_numbers_are_whole(void **state)
{
	static const char text[] = "interface GigabitEthernet1/0/1\n switchport mode access\n"
				   " switchport access vlan 4294967406\n!\n";
	struct cli_config *config;
	struct port_vlans vlans;

	(void)state;
	assert_int_equal(cli_config_new(&cli_dialect_ios, &config), 0);
	assert_int_equal(cli_config_read(config, text), 0);
	assert_int_equal(config->odd, 1);
	assert_true(cli_port_vlans(config, cli_config_port(config, "Gi1/0/1"), &vlans));
	assert_int_equal(vlans.native, 1);
	cli_config_free(config);
}

/* --- names of ports --- */

static void test_port_names(void **state)
{
	static const struct {
		const struct cli_dialect *dialect;
		const char *from, *to;
	} rows[] = {
		{&cli_dialect_ios, "Gi1/0/1", "GigabitEthernet1/0/1"},
		{&cli_dialect_ios, "gigabitethernet 1/0/1", "GigabitEthernet1/0/1"},
		{&cli_dialect_ios, "Te1/1/1", "TenGigabitEthernet1/1/1"},
		{&cli_dialect_ios, "Po1", "Port-channel1"},
		{&cli_dialect_nxos, "Eth1/1", "Ethernet1/1"},
		{&cli_dialect_comware, "XGE1/0/49", "Ten-GigabitEthernet1/0/49"},
		{&cli_dialect_comware, "BAGG1", "Bridge-Aggregation1"},
		{&cli_dialect_os9, "Te 0/1", "TenGigabitEthernet 0/1"},
		{&cli_dialect_os9, "TenGigabitEthernet0/1", "TenGigabitEthernet 0/1"},
		{&cli_dialect_os10, "Eth 1/1/1", "ethernet1/1/1"},
		{&cli_dialect_os10, "ethernet1/1/3:1", "ethernet1/1/3:1"},
		{&cli_dialect_ecs, "Eth 1/ 5", "ethernet 1/ 5"},
		{&cli_dialect_ecs, "Ethernet 1/5", "ethernet 1/5"},
		{&cli_dialect_aoscx, "1/1/1", "1/1/1"},
		{&cli_dialect_procurve, "Trk1", "Trk1"},
		{&cli_dialect_sonic, "Ethernet0", "Ethernet0"},
	};
	char name[64];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		cli_port_name(rows[i].dialect, rows[i].from, name, sizeof(name));
		assert_string_equal(name, rows[i].to);
	}
	assert_true(cli_port_same(&cli_dialect_ios, "Gi1/0/1", "GigabitEthernet1/0/1"));
	assert_false(cli_port_same(&cli_dialect_ios, "Gi1/0/1", "Gi1/0/11"));
	assert_false(cli_port_name_ok("Gi1/0/1\nno vlan 1"));
	assert_false(cli_port_name_ok("Gi1/0/1; reboot"));
	assert_false(cli_port_name_ok(""));
	assert_false(cli_port_name_ok("-x"));
}

static void add_name(void *context, const char *name)
{
	text_addf(context, "[%s]", name);
}

static void test_port_lists(void **state)
{
	static const struct {
		const struct cli_dialect *dialect;
		const char *from, *to; /* to NULL: makes no sense */
	} rows[] = {
		{&cli_dialect_procurve, "1-3,A1-A2,Trk1", "[1][2][3][A1][A2][Trk1]"},
		{&cli_dialect_procurve, "1/1-1/3", "[1/1][1/2][1/3]"},
		{&cli_dialect_os9, "TenGigabitEthernet 0/0-1,5",
		 "[TenGigabitEthernet 0/0][TenGigabitEthernet 0/1][TenGigabitEthernet 0/5]"},
		{&cli_dialect_procurve, "4-1", NULL},
		{&cli_dialect_procurve, "1-99999999", NULL},
		{&cli_dialect_procurve, "A1-B2", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct text text = {0};
		bool fine = cli_port_list_each(rows[i].dialect, rows[i].from, add_name, &text);

		assert_int_equal(fine, rows[i].to != NULL);
		if (fine)
			assert_string_equal(text_get(&text), rows[i].to);
		text_done(&text);
	}
}

/* --- configurations --- */

static void test_configs(void **state)
{
	static const struct {
		const char *sample, *port;
		const char *is; /* "access 110", "trunk NATIVE TAGGED"; NULL: no port of a bridge */
	} rows[] = {
		{"ios_config", "Gi1/0/1", "access 110"},
		/* Dynamic: nobody knows what it will be. */
		{"ios_config", "Gi1/0/2", "trunk 1 2-4094"},
		{"ios_config", "Gi1/0/3", "trunk 110 120,130-132,200"},
		{"ios_config", "Gi1/0/4", "trunk 0 120"},
		{"ios_config", "Gi1/0/5", NULL},
		{"nxos_config", "Eth1/1", "access 110"},
		{"nxos_config", "Eth1/2", "trunk 0 110,120-122"},
		{"nxos_config", "Eth1/3", NULL},
		{"nxos_config", "Eth1/4", "access 1"},
		{"procurve_config", "1", "access 110"},
		{"procurve_config", "3", "trunk 120 110"},
		{"procurve_config", "4", "trunk 0 120"},
		{"procurve_config", "A2", "access 1"},
		{"procurve_config", "Trk1", "trunk 0 110,120"},
		{"aoscx_config", "1/1/1", "access 110"},
		{"aoscx_config", "1/1/2", "trunk 0 110,120"},
		{"aoscx_config", "1/1/3", "trunk 120 110"},
		{"aoscx_config", "1/1/4", NULL},
		{"comware_config", "GE1/0/1", "access 110"},
		{"comware_config", "GE1/0/2", "trunk 110 120-122"},
		{"comware_config", "GE1/0/3", NULL},
		{"comware_config", "GE1/0/4", "trunk 0 120"},
		{"dnos_config", "Gi1/0/1", "access 110"},
		{"dnos_config", "Gi1/0/2", "trunk 110 120"},
		{"os9_config", "Te 0/0", "trunk 110 120"},
		{"os9_config", "Te 0/1", "trunk 1 120"},
		{"os9_config", "Te 0/2", NULL},
		{"os9_config", "Fo 0/48", "trunk 0 110,120"},
		{"os10_config", "ethernet1/1/1", "access 110"},
		{"os10_config", "ethernet1/1/2", "trunk 110 120"},
		{"os10_config", "ethernet1/1/3:1", NULL},
		{"ecs_config", "ethernet 1/1", "access 110"},
		{"ecs_config", "ethernet 1/2", "trunk 1 110,120"},
		/* Untagged out of 110, in to 1: not an access port of either. */
		{"ecs_config", "ethernet 1/3", "trunk 1 110"},
		{"sonic_config", "Ethernet0", "access 110"},
		{"sonic_config", "Ethernet4", "trunk 0 110,120"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct cli_config *config = config_of(rows[i].sample);
		const struct cli_port *port = cli_config_port(config, rows[i].port);
		struct port_vlans vlans = {0};
		struct text text = {0}, tagged = {0};

		if (!port)
			fail_msg("%s has no %s", rows[i].sample, rows[i].port);
		if (!cli_port_vlans(config, port, &vlans))
			text_add(&text, "-");
		else if (!vlans.trunk)
			text_addf(&text, "access %u", vlans.native);
		else {
			vlan_set_text(&vlans.tagged, &tagged);
			text_addf(&text, "trunk %u %s", vlans.native, text_get(&tagged));
		}
		if (strcmp(text_get(&text), rows[i].is ? rows[i].is : "-") != 0)
			fail_msg("%s %s: %s", rows[i].sample, rows[i].port, text_get(&text));
		text_done(&text);
		text_done(&tagged);
		cli_config_free(config);
	}
}

static void test_vlans(void **state)
{
	static const struct {
		const char *sample, *vlans, *name; /* of VLAN 110 */
	} rows[] = {
		{"ios_vlans", "1,110,120,130,1002", "tenant-a"},
		{"nxos_config", "1,110,120-122", "tenant-a"},
		{"procurve_config", "1,110,120", "tenant-a"},
		{"aoscx_config", "1,110,120", ""},
		{"comware_config", "1,110,120-122", "tenant-a"},
		{"dnos_config", "110,120", "tenant-a"},
		{"os9_config", "1,110,120", "tenant-a"},
		{"os10_config", "1,110,120", "tenant-a"},
		{"ecs_config", "1,110,120", "tenant-a"},
		{"sonic_config", "110,120,130", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct cli_config *config = config_of(rows[i].sample);
		struct text text = {0};

		vlan_set_text(&config->vlans, &text);
		assert_string_equal(text_get(&text), rows[i].vlans);
		assert_string_equal(config->names[110].name, rows[i].name);
		assert_int_equal(config->odd, 0);
		text_done(&text);
		cli_config_free(config);
	}
}

/* --- plans --- */

static struct vlan_set set_of(const char *text)
{
	struct vlan_set set;

	assert_int_equal(vlan_set_parse(text, &set), 0);
	return set;
}

/* "access 110" or "trunk NATIVE TAGGED". */
static struct port_vlans vlans_of(const char *text)
{
	struct port_vlans vlans = {.trunk = strncmp(text, "trunk", 5) == 0};
	char *end;

	vlans.native = (uint16_t)strtoul(text + (vlans.trunk ? 6 : 7), &end, 10);
	if (vlans.trunk)
		vlans.tagged = set_of(end + (*end == ' '));
	return vlans;
}

static void plan_text(const struct cli_plan *plan, struct text *ret)
{
	for (size_t i = 0; i < plan->count; i++)
		text_addf(ret, "%s%s%s", i ? " / " : "", plan->lines[i].optional ? "?" : "",
			  plan->lines[i].text);
}

static void test_port_plans(void **state)
{
	static const struct {
		const char *sample, *port, *after, *lines;
	} rows[] = {
		{"ios_config", "Gi1/0/3", "access 120",
		 "interface GigabitEthernet1/0/3 / switchport access vlan 120 / "
		 "switchport mode access / exit"},
		{"ios_config", "Gi1/0/1", "trunk 110 120,130-131",
		 "interface GigabitEthernet1/0/1 / ?switchport trunk encapsulation dot1q / "
		 "switchport trunk allowed vlan 110,120,130-131 / "
		 "switchport trunk native vlan 110 / switchport mode trunk / exit"},
		{"nxos_config", "Ethernet1/1", "trunk 0 120",
		 "interface Ethernet1/1 / switchport trunk allowed vlan 120 / "
		 "no switchport trunk native vlan / switchport mode trunk / exit"},
		{"nxos_config", "Ethernet1/1", "trunk 0 ",
		 "interface Ethernet1/1 / switchport trunk allowed vlan none / "
		 "no switchport trunk native vlan / switchport mode trunk / exit"},
		{"procurve_config", "3", "access 130",
		 "vlan 130 / untagged 3 / exit / vlan 110 / no tagged 3 / exit"},
		{"procurve_config", "1", "trunk 0 120",
		 "vlan 120 / tagged 1 / exit / vlan 110 / no untagged 1 / exit"},
		{"aoscx_config", "1/1/2", "trunk 120 110",
		 "interface 1/1/2 / no routing / vlan trunk native 120 / exit"},
		{"aoscx_config", "1/1/2", "trunk 0 130",
		 "interface 1/1/2 / no routing / no vlan trunk allowed 110,120 / "
		 "vlan trunk allowed 130 / vlan trunk native 1 / exit"},
		{"aoscx_config", "1/1/2", "access 130",
		 "interface 1/1/2 / no routing / vlan access 130 / exit"},
		{"comware_config", "GE1/0/2", "trunk 0 120-121,200",
		 "interface GigabitEthernet1/0/2 / port link-type trunk / "
		 "undo port trunk permit vlan 110 122 / undo port trunk pvid / "
		 "port trunk permit vlan 200 / quit"},
		{"comware_config", "GE1/0/1", "trunk 120 130-132",
		 "interface GigabitEthernet1/0/1 / port link-type trunk / "
		 "undo port trunk permit vlan 1 / port trunk pvid vlan 120 / "
		 "port trunk permit vlan 120 130 to 132 / quit"},
		{"comware_config", "GE1/0/2", "access 120",
		 "interface GigabitEthernet1/0/2 / port link-type access / "
		 "port access vlan 120 / quit"},
		{"dnos_config", "Gi1/0/1", "trunk 120 110",
		 "interface Gi1/0/1 / switchport trunk allowed vlan 110,120 / "
		 "switchport trunk native vlan 120 / switchport mode trunk / exit"},
		{"os9_config", "Te 0/0", "access 130",
		 "interface vlan 120 / no tagged TenGigabitEthernet 0/0 / exit / "
		 "interface vlan 110 / no untagged TenGigabitEthernet 0/0 / exit / "
		 "interface vlan 130 / untagged TenGigabitEthernet 0/0 / exit"},
		{"os10_config", "ethernet1/1/2", "access 130",
		 "interface ethernet1/1/2 / no switchport trunk allowed vlan 120 / "
		 "switchport access vlan 130 / switchport mode access / exit"},
		{"os10_config", "ethernet1/1/1", "trunk 120 130",
		 "interface ethernet1/1/1 / switchport mode trunk / "
		 "switchport access vlan 120 / switchport trunk allowed vlan 130 / exit"},
		{"ecs_config", "ethernet 1/1", "access 120",
		 "interface ethernet 1/1 / switchport mode hybrid / "
		 "switchport allowed vlan add 120 untagged / switchport native vlan 120 / "
		 "switchport allowed vlan remove 110 / switchport mode access / exit"},
		{"sonic_config", "Ethernet4", "access 120",
		 "sudo config vlan member del 110 Ethernet4 / "
		 "sudo config vlan member del 120 Ethernet4 / "
		 "sudo config vlan member add -u 120 Ethernet4"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct cli_config *config = config_of(rows[i].sample);
		struct switch_edit edit = {.kind = EDIT_PORT, .after = vlans_of(rows[i].after)};
		struct cli_plan plan = {0};
		struct problem problem = {0};
		struct text text = {0};

		text_copy(edit.port, sizeof(edit.port), rows[i].port);
		assert_int_equal(cli_plan_edit(config, &edit, &plan, &problem), 0);
		plan_text(&plan, &text);
		if (strcmp(text_get(&text), rows[i].lines) != 0)
			fail_msg("%s %s %s:\n  %s\n  %s", rows[i].sample, rows[i].port,
				 rows[i].after, text_get(&text), rows[i].lines);
		text_done(&text);
		cli_plan_done(&plan);
		cli_config_free(config);
	}
}

static void test_vlan_plans(void **state)
{
	static const struct {
		const char *sample;
		enum switch_edit_kind kind;
		unsigned vlan;
		const char *name, *lines;
	} rows[] = {
		{"ios_vlans", EDIT_VLAN_CREATE, 200, "acme", "vlan 200 / name acme / exit"},
		{"ios_vlans", EDIT_VLAN_CREATE, 200, "", "vlan 200 / exit"},
		{"ios_vlans", EDIT_VLAN_CREATE, 110, "tenant-a", ""},
		{"ios_vlans", EDIT_VLAN_DELETE, 110, "", "no vlan 110"},
		{"ios_vlans", EDIT_VLAN_DELETE, 200, "", ""},
		{"procurve_config", EDIT_VLAN_CREATE, 200, "a b\"\nreload",
		 "vlan 200 / name \"a_b__reload\" / exit"},
		{"os9_config", EDIT_VLAN_CREATE, 200, "7up",
		 "interface vlan 200 / description v7up / no shutdown / exit"},
		{"ecs_config", EDIT_VLAN_CREATE, 200, "acme",
		 "vlan database / vlan 200 name acme media ethernet / exit"},
		{"sonic_config", EDIT_VLAN_CREATE, 110, "acme", ""},
		{"comware_config", EDIT_VLAN_DELETE, 120, "", "undo vlan 120"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct cli_config *config = config_of(rows[i].sample);
		struct switch_edit edit = {.kind = rows[i].kind, .vlan = (uint16_t)rows[i].vlan};
		struct cli_plan plan = {0};
		struct problem problem = {0};
		struct text text = {0};

		text_copy(edit.vlan_name, sizeof(edit.vlan_name), rows[i].name);
		assert_int_equal(cli_plan_edit(config, &edit, &plan, &problem), 0);
		plan_text(&plan, &text);
		assert_string_equal(text_get(&text), rows[i].lines);
		text_done(&text);
		cli_plan_done(&plan);
		cli_config_free(config);
	}
}

/* A list too long for a line is reached by taking out and putting in. */
static void test_long_lists(void **state)
{
	struct cli_config *config = config_of("ios_config");
	struct switch_edit edit = {.kind = EDIT_PORT, .port = "Gi1/0/3", .after = {.trunk = true}};
	struct cli_plan plan = {0};
	struct problem problem = {0};
	struct vlan_set list = set_of("110,120,130-132,200"), piece;

	(void)state;
	for (unsigned v = 201; v < 600; v += 2)
		vlan_set_add(&edit.after.tagged, v);
	assert_int_equal(cli_plan_edit(config, &edit, &plan, &problem), 0);
	for (size_t i = 0; i < plan.count; i++) {
		const char *text = plan.lines[i].text;

		assert_in_range(strlen(text), 1, 250);
		if (strncmp(text, "switchport trunk allowed vlan remove ", 37) == 0) {
			assert_int_equal(vlan_set_parse(text + 37, &piece), 0);
			list = vlan_set_minus(&list, &piece);
		} else if (strncmp(text, "switchport trunk allowed vlan add ", 34) == 0) {
			assert_int_equal(vlan_set_parse(text + 34, &piece), 0);
			list = vlan_set_union(&list, &piece);
		} else {
			assert_int_not_equal(strncmp(text, "switchport trunk allowed", 24), 0);
		}
	}
	assert_true(vlan_set_equal(&list, &edit.after.tagged));
	cli_plan_done(&plan);
	cli_config_free(config);
}

static void test_plans_refused(void **state)
{
	static const struct {
		const char *sample, *port, *after;
		int rc;
	} rows[] = {
		{"os10_config", "ethernet1/1/1", "trunk 0 120", E_UNSUPPORTED},
		{"ecs_config", "ethernet 1/1", "trunk 0 120", E_UNSUPPORTED},
		{"aoscx_config", "1/1/1", "trunk 0 ", E_UNSUPPORTED},
		{"ios_config", "Gi1/0/1\nreload", "access 110", E_INVALID},
		{"ios_config", "Gi1/0/1", "access 0", E_INVALID},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct cli_config *config = config_of(rows[i].sample);
		struct switch_edit edit = {.kind = EDIT_PORT, .after = vlans_of(rows[i].after)};
		struct cli_plan plan = {0};
		struct problem problem = {0};

		text_copy(edit.port, sizeof(edit.port), rows[i].port);
		assert_int_equal(cli_plan_edit(config, &edit, &plan, &problem), rows[i].rc);
		assert_true(problem_is_set(&problem));
		assert_int_equal(plan.count, 0);
		cli_plan_done(&plan);
		cli_config_free(config);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_are_whole),
		cmocka_unit_test(test_dialects_are_whole),
		cmocka_unit_test(test_every_list_is_taken_out_of),
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_prompts),
		cmocka_unit_test(test_judge),
		cmocka_unit_test(test_port_names),
		cmocka_unit_test(test_port_lists),
		cmocka_unit_test(test_configs),
		cmocka_unit_test(test_vlans),
		cmocka_unit_test(test_port_plans),
		cmocka_unit_test(test_vlan_plans),
		cmocka_unit_test(test_long_lists),
		cmocka_unit_test(test_plans_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
