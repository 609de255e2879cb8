// links: common_net common_base
/* Option 82 of each family, from bytes as manuals and captures show them, to (switch, port); rules,
 * their mistakes, and what is proposed for a sample. */
#include <string.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/macros.h"
#include "common/net/circuit_rule.h"

#include "tests/support/cmocka.h"

#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1
#define SAMPLE(circuit, remote)               \
	{                                     \
		BYTES(circuit), BYTES(remote) \
	}

static const struct {
	const char *family;
	struct circuit_sample sample;
	const char *switch_name; /* what the rule says when the family does not name one */
	const char *expect_switch, *expect_port;
} family_cases[] = {
	{"cisco", SAMPLE("\0\4\0\x0a\1\x0e", "\0\6\0\x1b\x0d\x11\x22\x33"), "sw2", "sw2", "14"},
	{"cisco-mac", SAMPLE("\0\4\0\x0a\1\x0e", "\0\6\0\x1b\x0d\x11\x22\x33"), "",
	 "00:1b:0d:11:22:33", "1/14"},
	{"cisco-base3", SAMPLE("\0\4\0\2\1\3", ""), "sw2", "sw2", "1"}, /* Fa0/1 of a 3560 */
	{"cisco-text", SAMPLE("\1\7Gi1/0/5", ""), "sw2", "sw2", "Gi1/0/5"},
	{"cisco-names", SAMPLE("\1\7Gi1/0/5", "\1\5leaf7"), "", "leaf7", "Gi1/0/5"},
	{"dlink", SAMPLE("\0\4\0\x0a\0\x0e", "\0\6\0\x1b\x0d\x11\x22\x33"), "", "00:1b:0d:11:22:33",
	 "14"},
	{"dlink-stack", SAMPLE("\0\4\0\x0a\2\x0e", "\0\6\0\x1b\x0d\x11\x22\x33"), "sw2", "sw2",
	 "2/14"},
	{"dlink-vendor2", SAMPLE("p02", ""), "sw2", "sw2", "2"},
	{"dlink-vendor4", SAMPLE("DGS-3120-0/14-100", ""), "", "DGS-3120", "14"},
	{"dlink-vendor5", SAMPLE("room 4 eth 0/0/14:100", ""), "", "room 4", "14"},
	{"dlink-vendor6", SAMPLE("Ethernet1/0/14:100.0 sw2/0/0/1/0/0", ""), "", "sw2", "14"},
	{"comware", SAMPLE("\0\4\0\x64\0\x0e", "\0\6\0\x0f\xe2\1\2\3"), "", "00:0f:e2:01:02:03",
	 "14"},
	{"comware-plain", SAMPLE("\0\x64\0\x0e", ""), "sw2", "sw2", "14"},
	{"comware-verbose", SAMPLE("leaf2eth1/0/0/14\0\x64", ""), "", "leaf2", "1/0/0/14"},
	{"comware-verbose-text", SAMPLE("leaf2 eth 1/0/0/14:100", ""), "", "leaf2", "1/0/0/14"},
	{"dcn", SAMPLE("Vlan2+Ethernet1/1", ""), "sw2", "sw2", "Ethernet1/1"},
	{"dcn-hex", SAMPLE("\0\2\1\0\0\x0e", ""), "sw2", "sw2", "14"},
	{"sonic", SAMPLE("str-s6000-acs-12:fortyGigE0/52", "\x4c\x76\x25\xf4\xb7\0"), "",
	 "str-s6000-acs-12", "fortyGigE0/52"},
	{"arista", SAMPLE("sw1zone1", ""), "sw1", "sw1", "sw1zone1"},
	{"arista-snooping", SAMPLE("\x0a\x0fleaf1:Ethernet7", ""), "", "leaf1", "Ethernet7"},
	{"interface", SAMPLE("swp14", ""), "sw2", "sw2", "swp14"},
	{"moxa", SAMPLE("\1\0\x0f\3", ""), "sw2", "sw2", "3"},
};

static void families(void **state)
{
	bool tested[64] = {false};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(family_cases); i++) {
		const struct circuit_family *family = circuit_family_find(family_cases[i].family);
		const struct circuit_rule_text text = {.family = family_cases[i].family,
						       .switch_name = family_cases[i].switch_name};
		struct circuit_place place = {0};
		struct circuit_rule rule;
		const char *why = "";

		assert_non_null(family);
		tested[family - circuit_families] = true;
		assert_int_equal(circuit_rule_compile(&text, &rule, &why), 0);
		(void)circuit_rule_apply(&rule, &family_cases[i].sample, &place);
		print_message("%s: %s %s\n", family->name, place.switch_name, place.port);
		assert_string_equal(place.switch_name, family_cases[i].expect_switch);
		assert_string_equal(place.port, family_cases[i].expect_port);
	}
	for (size_t i = 0; i < circuit_family_count; i++)
		assert_true(tested[i]); /* no family without bytes of its own */
}

static const struct {
	const char *template;
	struct circuit_sample sample;
	const char *port; /* NULL = no match */
} match_cases[] = {
	{"{#1}{length}{switch}:{port}", SAMPLE("\x0a\7leaf1:7", ""), "7"},
	{"{#1}{length}{switch}:{port}", SAMPLE("\x0a\10leaf1:7", ""), NULL}, /* longer than it is */
	{"\\x00\\x04{vlan:2}{module:1}{port:1}", SAMPLE("\0\4\0\x0a\1", ""), NULL},
	{"\\x00\\x04{vlan:2}{module:1}{port:1}", SAMPLE("\0\4\0\x0a\1\x0e\0", ""), NULL},
	{"{switch}{port}", SAMPLE("swp14", ""), "14"},
	{"{switch}{port}", SAMPLE("eth1/14", ""), "14"}, /* grows until the rest fits */
	{"{*}/{port}", SAMPLE("a/b/14", ""), "14"},
	{"{*}{port}", SAMPLE("", ""), NULL},
	{"{port}", SAMPLE("1234567890", ""), NULL}, /* too large for anything */
	{"{port:4}", SAMPLE("\0\0\1\0", ""), "256"},
	{"{ }{port}{ }", SAMPLE("  14 ", ""), "14"},
	{"\\{{port}\\}\\\\", SAMPLE("{14}\\", ""), "14"},
	{"{switch}:{port}", SAMPLE("a\"b:1", ""), NULL}, /* nothing that needs quoting passes */
	{"{switch}:{port}", SAMPLE("a\nb:1", ""), NULL},
	{"{mac:text} {port}", SAMPLE("001b.0d11.2233 4", ""), "4"},
	{"{mac:text} {port}", SAMPLE("00-1B-0D-11-22-33 4", ""), "4"},
	{"{mac:text} {port}", SAMPLE("00-1B-0D-11-22-3 4", ""), NULL},
	{"{text}-{switch}-{port}", SAMPLE("a-b-c-5", ""), "5"},
	{"", SAMPLE("", ""), NULL}, /* matches, but holds no port */
};

static void matches(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(match_cases); i++) {
		struct circuit_template template;
		struct circuit_fields fields = {0};
		char port[CIRCUIT_TEXT_SIZE] = "";
		const char *why;

		assert_int_equal(circuit_template_parse(match_cases[i].template, &template, &why),
				 0);
		(void)circuit_match(&template, match_cases[i].sample.circuit,
				    match_cases[i].sample.circuit_size, &fields);
		if (circuit_format("{port}", &fields, 0, port, sizeof(port)))
			port[0] = '\0';
		assert_string_equal(port, match_cases[i].port ? match_cases[i].port : "");
	}
}

static void long_text(void **state)
{
	struct circuit_template template;
	struct circuit_fields fields = {0};
	uint8_t bytes[CIRCUIT_BYTES_MAX + 1];
	const char *why;

	(void)state;
	memset(bytes, 'a', sizeof(bytes));
	assert_int_equal(circuit_template_parse("{switch}", &template, &why), 0);
	assert_true(circuit_match(&template, bytes, CIRCUIT_TEXT_SIZE - 1, &fields));
	assert_int_equal(strlen(fields.texts[CIRCUIT_SWITCH]), CIRCUIT_TEXT_SIZE - 1);
	assert_false(circuit_match(&template, bytes, CIRCUIT_TEXT_SIZE, &fields));
	assert_int_equal(circuit_template_parse("{*}", &template, &why), 0);
	assert_true(circuit_match(&template, bytes, CIRCUIT_BYTES_MAX, &fields));
	assert_false(circuit_match(&template, bytes, sizeof(bytes), &fields));
	assert_true(circuit_match(&template, NULL, 0, &fields));
}

static void mistakes(void **state)
{
	static const char *const templates[] = {"{",
						"}",
						"{}",
						"{port",
						"{port:0}",
						"{port:5}",
						"{port:}x{port}",
						"{nothing}",
						"{switch:2}",
						"\\x1",
						"\\q",
						"{mac:hex}",
						"{port}{port:1}",
						"{#0}",
						"{#}",
						"caf\xc3\xa9",
						"a\tb",
						"{length:1}"};
	static const char *const formats[] = {"{", "{nothing}", "{port:1}", "a\"b", "{port", "a\\"};
	char much[CIRCUIT_ELEMENTS_MAX + 2];
	struct circuit_template template;
	const char *why = NULL;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(templates); i++) {
		print_message("%s\n", templates[i]);
		assert_int_equal(circuit_template_parse(templates[i], &template, &why),
				 E_MALFORMED);
		assert_non_null(why);
	}
	for (size_t i = 0; i < COUNT_OF(formats); i++)
		assert_false(circuit_format_valid(formats[i]));
	memset(much, 'a', sizeof(much));
	much[sizeof(much) - 1] = '\0';
	assert_int_equal(circuit_template_parse(much, &template, &why), E_LIMIT);
	much[CIRCUIT_ELEMENTS_MAX] = '\0';
	assert_int_equal(circuit_template_parse(much, &template, &why), 0);
}

static const struct {
	struct circuit_rule_text text;
	int rc;
} rule_cases[] = {
	{{.family = "cisco", .switch_name = "sw2"}, 0},
	{{.family = "cisco"}, E_MALFORMED}, /* whose port? */
	{{.family = "none", .switch_name = "sw2"}, E_NOT_FOUND},
	{{.switch_name = "sw2", .port = "{port}"}, E_MALFORMED}, /* of what? */
	{{.circuit = "{port}", .switch_name = "sw2", .port = "{port}"}, 0},
	{{.circuit = "{port}", .switch_name = "sw2", .port = "-"}, 0},
	{{.circuit = "{vlan}", .switch_name = "sw2"}, E_MALFORMED},
	{{.family = "sonic", .remote = "{mac"}, E_MALFORMED},
};

static void rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rule_cases); i++) {
		struct circuit_rule rule;
		const char *why = "";

		assert_int_equal(circuit_rule_compile(&rule_cases[i].text, &rule, &why),
				 rule_cases[i].rc);
		assert_true(rule_cases[i].rc == 0 || *why);
	}
}

static void rule_remote(void **state)
{
	const struct circuit_rule_text pinned = {.family = "cisco",
						 .remote =
							 "\\x00\\x06\\x00\\x1b\\x0d\\x11\\x22\\x33",
						 .switch_name = "sw2",
						 .port_offset = -1};
	const struct circuit_sample here = SAMPLE("\0\4\0\x0a\1\x0e", "\0\6\0\x1b\x0d\x11\x22\x33");
	const struct circuit_sample there =
		SAMPLE("\0\4\0\x0a\1\x0e", "\0\6\0\x1b\x0d\x11\x22\x34");
	const struct circuit_sample first = SAMPLE("\0\4\0\x0a\1\0", "\0\6\0\x1b\x0d\x11\x22\x33");
	struct circuit_place place = {0};
	struct circuit_rule rule;
	const char *why;
	uint32_t number = 0;

	(void)state;
	assert_int_equal(circuit_rule_compile(&pinned, &rule, &why), 0);
	assert_true(circuit_rule_apply(&rule, &here, &place));
	assert_string_equal(place.port, "13");
	assert_false(circuit_rule_apply(&rule, &there, &place));
	assert_false(circuit_rule_apply(&rule, &first, &place)); /* port -1 */
	assert_true(circuit_port_number("Ethernet1/{port}", "Ethernet1/14", &number));
	assert_int_equal(number, 14);
	assert_false(circuit_port_number("Ethernet1/{port}", "Ethernet2/14", &number));
	assert_false(circuit_port_number("Ethernet1/14", "Ethernet1/14", &number));
}

static const struct {
	struct circuit_sample sample;
	const char *port;
	const char *family; /* the first proposal; NULL = none */
	int offset;
	bool names_switch;
} proposal_cases[] = {
	{SAMPLE("\0\4\0\x0a\1\x0e", "\0\6\0\x1b\x0d\x11\x22\x33"), "14", "cisco", 0, false},
	{SAMPLE("\0\4\0\x0a\1\x10", "\0\6\0\x1b\x0d\x11\x22\x33"), "14", "cisco-base3", 0, false},
	{SAMPLE("\0\4\0\x0a\1\x0d", "\0\6\0\x1b\x0d\x11\x22\x33"), "14", "cisco", 1, false},
	{SAMPLE("\0\4\0\x0a\1\x0e", "\0\6\0\x1b\x0d\x11\x22\x33"), "1/14", "cisco-mac", 0, false},
	{SAMPLE("sw2:etp14", ""), "etp14", "sonic", 0, true},
	{SAMPLE("leaf9:etp14", ""), "etp14", NULL, 0, false}, /* it says another name */
	{SAMPLE("swp14", ""), "swp14", "arista", 0, false},
	{SAMPLE("\1\0\x0f\3", ""), "3", "moxa", 0, false},
	{SAMPLE("leaf:Gig0/52", ""), "Gig0/50", NULL, 0, false}, /* a name has no offset */
	{SAMPLE("\xff\xff\xff", ""), "3", NULL, 0, false},
	{SAMPLE("", ""), "3", NULL, 0, false},
	{SAMPLE("\0\4\0\x0a\1\x0e", ""), "200", NULL, 0, false}, /* no switch counts so */
};

static void proposals(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(proposal_cases); i++) {
		struct circuit_proposal found[4];
		size_t count = circuit_propose(&proposal_cases[i].sample, "sw2",
					       proposal_cases[i].port, found, COUNT_OF(found));

		print_message("%zu: %zu %s\n", i, count, count ? found[0].family->name : "");
		assert_int_equal(count > 0, proposal_cases[i].family != NULL);
		if (count == 0)
			continue;
		assert_string_equal(found[0].family->name, proposal_cases[i].family);
		assert_int_equal(found[0].port_offset, proposal_cases[i].offset);
		assert_int_equal(found[0].names_switch, proposal_cases[i].names_switch);
	}
}

static void exact(void **state)
{
	static const uint8_t bytes[] = {0, 6, '{', 'a', '\\', 0xff, '"'};
	CLEANUP(text_done) struct text text = {0};
	struct circuit_template template;
	struct circuit_fields fields = {0};
	char shown[2 * sizeof(bytes) + 1];
	const char *why;

	(void)state;
	assert_int_equal(circuit_template_of(bytes, sizeof(bytes), &text), 0);
	assert_string_equal(text_get(&text), "\\x00\\x06\\x7ba\\x5c\\xff\\x22");
	assert_int_equal(circuit_template_parse(text_get(&text), &template, &why), 0);
	assert_true(circuit_match(&template, bytes, sizeof(bytes), &fields));
	assert_false(circuit_match(&template, bytes, sizeof(bytes) - 1, &fields));
	assert_string_equal(circuit_bytes_text(bytes, sizeof(bytes), shown), "00067b615cff22");
	assert_string_equal(circuit_bytes_text("swp14", 5, shown), "swp14");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(families),  cmocka_unit_test(matches),
		cmocka_unit_test(long_text), cmocka_unit_test(mistakes),
		cmocka_unit_test(rules),     cmocka_unit_test(rule_remote),
		cmocka_unit_test(proposals), cmocka_unit_test(exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
