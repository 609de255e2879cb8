// links: bampi_storage
/* The storage's side of its networks: what is made, taken away, listened on, and what is nobody's
 * business here. */
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"

#include "bampi/storage/network_policy.h"
#include "tests/support/cmocka.h"

static const struct storage_network networks[] = {
	{.id = 1, .vlan = 1301, .address = "100.96.0.1", .length = 28, .portal = "100.96.0.1:3260"},
	{.id = 2,
	 .vlan = 1302,
	 .address = "100.96.0.17",
	 .length = 28,
	 .portal = "100.96.0.17:3260"},
};

#define OF_ONE                                            \
	{                                                 \
		"haas1301", "100.96.0.1", 28, true, false \
	}
#define OF_TWO                                             \
	{                                                  \
		"haas1302", "100.96.0.17", 28, true, false \
	}

static const struct {
	const char *what;
	size_t count; /* of networks */
	struct network_interface interfaces[5];
	struct storage_portal portals[4];
	const char *steps;
	const char *up; /* of each network */
} cases[] = {
	{"nothing is there", 2, {{"eth0", "", 0, true, true}}, {{""}}, "up 1301, up 1302", "--"},
	{"interfaces are there",
	 2,
	 {{"haas1301", "", 0, true, false}, OF_ONE, {"haas1302", "", 0, true, false}, OF_TWO},
	 {{""}},
	 "listen 100.96.0.1:3260, listen 100.96.0.17:3260",
	 "--"},
	{"all is there",
	 2,
	 {OF_ONE, OF_TWO},
	 {{"100.96.0.1:3260"}, {"100.96.0.17:3260"}},
	 "",
	 "++"},
	{"one is wanted no more: its portal first",
	 1,
	 {OF_ONE, OF_TWO},
	 {{"100.96.0.1:3260"}, {"100.96.0.17:3260"}},
	 "deaf 100.96.0.17:3260, down 1302",
	 "+"},
	{"none is wanted: what is not ours stays",
	 0,
	 {{"eth0", "10.4.0.2", 24, true, false}, OF_TWO, {"haas", "", 0, true, false}},
	 {{"10.4.0.2:3260"}, {"0.0.0.0:3260"}, {"[fd00::1]:3260"}, {"100.96.0.17:3260"}},
	 "deaf 100.96.0.17:3260, down 1302",
	 ""},
	{"an interface went away by itself: its portal is of nobody",
	 0,
	 {{"eth0", "10.4.0.2", 24, true, false}},
	 {{"100.96.0.17:3260"}},
	 "deaf 100.96.0.17:3260",
	 ""},
	{"the address of another",
	 1,
	 {{"haas1301", "100.96.0.33", 28, true, false}},
	 {{""}},
	 "up 1301",
	 "-"},
	{"one address too many",
	 1,
	 {OF_ONE, {"haas1301", "10.1.0.1", 24, true, false}},
	 {{"100.96.0.1:3260"}},
	 "up 1301",
	 "-"},
	{"another length",
	 1,
	 {{"haas1301", "100.96.0.1", 24, true, false}},
	 {{""}},
	 "up 1301",
	 "-"},
	{"down", 1, {{"haas1301", "100.96.0.1", 28, false, false}}, {{""}}, "up 1301", "-"},
	{"it would join networks",
	 1,
	 {{"haas1301", "100.96.0.1", 28, true, true}},
	 {{"100.96.0.1:3260"}},
	 "up 1301",
	 "-"},
	{"several addresses of one that goes: once",
	 0,
	 {OF_TWO, {"haas1302", "10.1.0.1", 24, true, false}},
	 {{""}},
	 "down 1302",
	 ""},
};

static void say(const struct network_step *step, struct text *ret)
{
	static const char *const words[] = {"up", "down", "listen", "deaf"};

	text_addf(ret, "%s%s ", ret->size ? ", " : "", words[step->deed]);
	if (step->deed == NETWORK_UP || step->deed == NETWORK_DOWN)
		text_addf(ret, "%d", step->vlan);
	else
		text_add(ret, step->portal ? step->portal->text : step->network->portal);
}

static void decisions(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct network_sight sight = {.interfaces = cases[i].interfaces,
					      .portals = cases[i].portals};
		struct network_step steps[16];
		struct text text = {0};
		size_t count;

		while (sight.interface_count < COUNT_OF(cases[i].interfaces) &&
		       cases[i].interfaces[sight.interface_count].name[0])
			sight.interface_count++;
		while (sight.portal_count < COUNT_OF(cases[i].portals) &&
		       cases[i].portals[sight.portal_count].text[0])
			sight.portal_count++;
		count = network_decide(networks, cases[i].count, &sight, steps, COUNT_OF(steps));
		for (size_t j = 0; j < count; j++)
			say(&steps[j], &text);
		if (strcmp(text_get(&text), cases[i].steps) != 0)
			fail_msg("%s: '%s'", cases[i].what, text_get(&text));
		for (size_t j = 0; j < cases[i].count; j++) {
			const char *why = "";
			bool up = network_is_up(&networks[j], &sight, &why);

			if (up != (cases[i].up[j] == '+') || up != (why == NULL))
				fail_msg("%s: network %zu: %s", cases[i].what, j, why ? why : "up");
		}
		assert_true(network_decide(networks, cases[i].count, &sight, steps, 1) <= 1);
		text_done(&text);
	}
}

static void names(void **state)
{
	static const struct {
		const char *name;
		int vlan;
	} rows[] = {{"haas1301", 1301}, {"haas4094", 4094}, {"haas4095", 0},
		    {"haas", 0},        {"haas0", 0},       {"haas12x", 0},
		    {"haas-1", 0},      {"eth0", 0},        {"haas99999999999", 0}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(network_interface_vlan(rows[i].name), rows[i].vlan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(decisions), cmocka_unit_test(names)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
