// links: sim_switch_cli
#include <string.h>

#include "tests/sim/command_line/switch_cli_parse.h"
#include "tests/support/cmocka.h"

static void run(struct cli_call *call)
{
	(void)call;
}

static const struct cli_command rows[] = {
	{1, "show vlan [brief]", run, 1, SWITCH_VERBS},
	{1, "show version", run, 2, SWITCH_VERBS},
	{1, "show interfaces <port> switchport", run, 3, SWITCH_VERBS},
	{1, "show interfaces status|trunk", run, 4, SWITCH_VERBS},
	{2, "vlan <vids>", run, 5, SWITCH_CREATE},
	{2, "no vlan <vids>", run, 6, SWITCH_DELETE},
	{2, "interface <port>", run, 7, SWITCH_VERBS},
	{2, "interface range <ports>", run, 8, SWITCH_VERBS},
	{2, "interface vlan <vid>", run, 9, SWITCH_VERBS},
	{2, "description <text>", run, 10, SWITCH_NAME},
	{2, "exit", run, 11, SWITCH_VERBS},
	{2, "exit-all", run, 12, SWITCH_VERBS},
	{2, "number <number>", run, 13, SWITCH_VERBS},
};
static const struct cli_port_naming naming = {"TenGigabitEthernet",
					      "Te",
					      "1/0/",
					      1,
					      1,
					      "Te%s",
					      "TenGigabitEthernet%s",
					      "port-channel",
					      "Po",
					      "Po%s",
					      "port-channel%s"};
static const struct cli_grammar grammar = {rows, COUNT_OF(rows), &naming, 48, 1, 4093};

static void lines_are_read(void **state)
{
	static const struct {
		uint32_t modes;
		const char *line;
		enum cli_parse_result result;
		unsigned argument; /* of the row */
		size_t at;
	} cases[] = {
		{1, "", CLI_EMPTY, 0, 0},
		{1, "   ", CLI_EMPTY, 0, 0},
		{1, "show vlan", CLI_PARSED, 1, 9},
		{1, "show vlan brief", CLI_PARSED, 1, 15},
		{1, "SH VL BR", CLI_PARSED, 1, 8},
		{1, "sh v", CLI_AMBIGUOUS, 0, 3},
		{1, "sh ver", CLI_PARSED, 2, 6},
		{1, "show", CLI_INCOMPLETE, 0, 4},
		{1, "show vlan brief x", CLI_TOO_MANY, 0, 16},
		{1, "show vlan x", CLI_INVALID, 0, 10},
		{1, "  show bogus", CLI_INVALID, 0, 7},
		{1, "sh int te1/0/48 sw", CLI_PARSED, 3, 18},
		{1, "sh int TenGigabitEthernet 1/0/7 switchport", CLI_PARSED, 3, 42},
		{1, "sh int te1/0/49 sw", CLI_INVALID, 0, 7},
		{1, "sh int st", CLI_PARSED, 4, 9},
		{1, "sh int t", CLI_PARSED, 4, 8},
		{1, "vlan 7", CLI_INVALID, 0, 0}, /* another mode's */
		{2, "vlan 7", CLI_PARSED, 5, 6},
		{2, "vlan 7,9-11", CLI_PARSED, 5, 11},
		{2, "vlan 4094", CLI_RANGE, 0, 5},
		{2, "vlan 0", CLI_RANGE, 0, 5},
		{2, "vlan 9-7", CLI_RANGE, 0, 5},
		{2, "vlan x", CLI_INVALID, 0, 5},
		{2, "vlan", CLI_INCOMPLETE, 0, 4},
		{2, "no vlan 7", CLI_PARSED, 6, 9},
		{2, "interface vlan 7", CLI_PARSED, 9, 16},
		{2, "interface vlan 7-8", CLI_INVALID, 0, 15},
		{2, "int range te1/0/1 - 4 , te1/0/9", CLI_PARSED, 8, 31},
		{2, "int range te1/0/4-1/0/1", CLI_INVALID, 0, 10},
		{2, "description a b  c", CLI_PARSED, 10, 18},
		{2, "exit", CLI_PARSED, 11, 4}, /* a whole word is not ambiguous */
		{2, "exi", CLI_AMBIGUOUS, 0, 0},
		{2, "number 99999999999999999999", CLI_PARSED, 13, 27},
		{2, "number -1", CLI_INVALID, 0, 7},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct cli_parsed parsed = {0};

		cli_parse(&grammar, cases[i].modes, cases[i].line, &parsed);
		if (parsed.result != cases[i].result || parsed.at != cases[i].at)
			fail_msg("%s: result %d at %zu", cases[i].line, (int)parsed.result,
				 parsed.at);
		if (cases[i].argument != 0)
			assert_int_equal(parsed.command->argument, cases[i].argument);
	}
}

static void values_are_kept(void **state)
{
	struct cli_parsed parsed = {0};

	(void)state;
	cli_parse(&grammar, 2, "vlan 10-12,20", &parsed);
	assert_int_equal(vlan_set_count(&parsed.values[0].vids), 4);
	assert_int_equal(parsed.values[0].number, 10);
	assert_string_equal(parsed.values[0].text, "10-12,20");
	cli_parse(&grammar, 2, "int r te1/0/1-1/0/3,Te 1/0/7", &parsed);
	for (unsigned port = 1; port <= 48; port++)
		assert_int_equal(cli_ports_has(&parsed.values[0].ports, port),
				 port <= 3 || port == 7);
	cli_parse(&grammar, 2, "description \"a b\"", &parsed);
	assert_string_equal(parsed.values[0].text, "a b");
}

static void names_of_ports_round_trip(void **state)
{
	static const struct {
		struct cli_port_naming naming;
		const char *first, *seventh;
	} families[] = {
		{{"TenGigabitEthernet", "Te", "1/0/", 1, 1, "Te%s", "%s", NULL, NULL, NULL, NULL},
		 "Te1/0/1",
		 "Te1/0/7"},
		{{"ethernet", "eth", "1/1/", 1, 1, "Eth %s", "%s", NULL, NULL, NULL, NULL},
		 "Eth 1/1/1",
		 "Eth 1/1/7"},
		{{"", "", "", 1, 1, "%s", "%s", NULL, NULL, NULL, NULL}, "1", "7"},
		{{"Ethernet", "", "", 0, 4, "Ethernet%s", "%s", NULL, NULL, NULL, NULL},
		 "Ethernet0",
		 "Ethernet24"},
		{{"Ten-GigabitEthernet", "XGE", "1/0/", 1, 1, "Ten-GigabitEthernet%s", "%s", NULL,
		  NULL, NULL, NULL},
		 "Ten-GigabitEthernet1/0/1",
		 "Ten-GigabitEthernet1/0/7"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(families); i++) {
		const struct cli_port_naming *names = &families[i].naming;
		char name[CLI_NAME_SIZE];

		assert_string_equal(cli_port_print(names, 1, false, name), families[i].first);
		assert_string_equal(cli_port_print(names, 7, false, name), families[i].seventh);
		for (unsigned port = 1; port <= 48; port++) {
			size_t used = 0;

			(void)cli_port_print(names, port, false, name);
			assert_int_equal(cli_port_parse(names, 48, name, &used), port);
			assert_int_equal(used, strlen(name));
			assert_int_equal(cli_port_parse(names, port - 1, name, &used), 0);
		}
	}
}

static void count_word(void *context, const char *word)
{
	(void)word;
	++*(unsigned *)context;
}

static void help_lists_what_may_follow(void **state)
{
	static const struct {
		uint32_t modes;
		const char *line;
		unsigned words;
	} cases[] = {{1, "", 4},  {1, "show ", 4},      {1, "show v", 2}, {1, "show vlan ", 1},
		     {2, "i", 3}, {2, "interface ", 3}, {1, "bogus ", 0}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		unsigned words = 0;

		cli_parse_help(&grammar, cases[i].modes, cases[i].line, count_word, &words);
		if (words != cases[i].words)
			fail_msg("\"%s\": %u", cases[i].line, words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_read),
		cmocka_unit_test(values_are_kept),
		cmocka_unit_test(names_of_ports_round_trip),
		cmocka_unit_test(help_lists_what_may_follow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
