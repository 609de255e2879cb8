// links: peregrine_alert
#include <stdio.h>
#include <string.h>

#include "common/base/macros.h"

#include "peregrine/flowd/alert/suspect_policy.h"
#include "tests/support/cmocka.h"

#define LIST 8

/* Facts in, "kind name" of the suspects out, most suspect first. */
static void facts_become_suspects(void **state)
{
	static const struct {
		const char *what;
		enum alert_kind kind;
		struct candidate facts[LIST];
		const char *expected[LIST];
	} rows[] = {
		{"nothing is known", ALERT_UTILISATION, {{0}}, {NULL}},
		{"the larger of two tenants",
		 ALERT_UTILISATION,
		 {{FACT_TENANT, "acme", "", "", 0.2, 0.2, 0, 0, 0, 0, false, false},
		  {FACT_TENANT, "globex", "", "", 0.8, 0.8, 0, 0, 0, 0, false, false}},
		 {"tenant globex", "tenant acme", NULL}},
		{"what has come before what was there",
		 ALERT_UTILISATION,
		 {{FACT_TENANT, "acme", "", "", 0.5, 0.5, 0, 0, 0, 0, false, false},
		  {FACT_TENANT, "globex", "", "", 0.4, 0.0, 0, 0, 0, 0, false, false}},
		 {"tenant globex", "tenant acme", NULL}},
		{"nobody remembers what was there: the larger one",
		 ALERT_UTILISATION,
		 {{FACT_TENANT, "acme", "", "", 0.4, UNKNOWN, 0, 0, 0, 0, false, false},
		  {FACT_TENANT, "globex", "", "", 0.5, UNKNOWN, 0, 0, 0, 0, false, false}},
		 {"tenant globex", "tenant acme", NULL}},
		{"one flow that is most of it is named before its tenant",
		 ALERT_UTILISATION,
		 {{FACT_TENANT, "acme", "", "", 0.9, 0.1, 0, 0, 0, 0, false, false},
		  {FACT_PAIR, "n1 - n2", "", "", 0.9, 0.0, 0, 0, 0, 0, false, false},
		  {FACT_FLOW, "a > b", "", "", 0.9, 0.0, 0, 0, 0, 0, false, false}},
		 {"flow a > b", "pair n1 - n2", "tenant acme", NULL}},
		{"who is there but sends nothing comes last",
		 ALERT_UTILISATION,
		 {{FACT_LOCATED, "initech", "blue (VLAN 7)", "", 0, 0, 0, 0, 0, 0, false, false},
		  {FACT_TENANT, "acme", "", "", 0.3, 0.3, 0, 0, 0, 0, false, false}},
		 {"tenant acme", "tenant initech", NULL}},
		{"errors: the far port that counts them before the traffic",
		 ALERT_ERRORS,
		 {{FACT_TENANT, "acme", "", "", 1, 1, 0, 0, 0, 0, false, false},
		  {FACT_COUNTED, "spine1:p1", "", "", 0, 0, 0, 70, 0, 0, false, false}},
		 {"port spine1:p1", "tenant acme", NULL}},
		{"a new change at the port before an old one elsewhere",
		 ALERT_ERRORS,
		 {{FACT_CHANGED, "leaf1:p9", "x", "", 0, 0, 0, 0, 0, 3000, false, false},
		  {FACT_CHANGED, "leaf1:p4", "x", "", 0, 0, 0, 0, 0, 60, true, false}},
		 {"change leaf1:p4", NULL}},
		{"two hints at one node are more than one",
		 ALERT_ERRORS,
		 {{FACT_LOGGED, "n1", "x", "", 0, 0, 0, 0, 0, 60, false, true},
		  {FACT_LOGGED, "n2", "x", "", 0, 0, 0, 0, 0, 60, false, true},
		  {FACT_ILL, "n2", "x", "", 0, 0, 0, 0, 0, 0, false, true}},
		 {"node n2", "node n1", NULL}},
		{"a node and a change of one name are two assets; equal ones by name",
		 ALERT_SILENT,
		 {{FACT_CHANGED, "b", "x", "", 0, 0, 0, 0, 0, 0, true, false},
		  {FACT_CHANGED, "a", "x", "", 0, 0, 0, 0, 0, 0, true, false},
		  {FACT_ILL, "a", "x", "", 0, 0, 0, 0, 0, 0, false, true}},
		 {"change a", "change b", "node a", NULL}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct suspect suspects[SUSPECT_MAX];
		size_t given = 0;
		size_t count;
		size_t n = 0;

		print_message("%s\n", rows[i].what);
		while (given < LIST && rows[i].facts[given].name)
			given++;
		count = suspect_rank(rows[i].kind, rows[i].facts, given, suspects);
		for (; n < count && rows[i].expected[n]; n++) {
			char text[64];

			(void)snprintf(text, sizeof(text), "%s %s", suspects[n].kind,
				       suspects[n].name);
			assert_string_equal(text, rows[i].expected[n]);
			assert_true(suspects[n].score > 0 && suspects[n].score < 1);
		}
		assert_int_equal(n, count);
		assert_null(rows[i].expected[n]);
	}
}

static void reasons_are_told_in_words(void **state)
{
	static const struct candidate facts[] = {
		{FACT_TENANT, "acme", "", "link:a:b/tenant:acme", 0.853, 0.031, 88, 0, 0, 0, false,
		 false},
		{FACT_LOCATED, "acme", "red (VLAN 7)", "", 0, 0, 0, 0, 0, 0, false, false},
		{FACT_COUNTED, "a:b", "", "", 0, 0, 0, 1.25, 30, 0, false, false},
		{FACT_LOGGED, "n1", "DIMM 3 failed", "", 0, 0, 0, 0, 0, 8000, true, true},
		{FACT_LOGGED, "n1", "fan 2", "", 0, 0, 0, 0, 0, -150, true, true},
		{FACT_CHANGED, "a:c", "port", "", 0, 0, 0, 0, 0, 0, false, false},
		{FACT_PAIR, "n1 - n2", "", "", 0.2, UNKNOWN, 21, 0, 0, 0, false, false},
		{FACT_FLOW, "x > y", "", "", 0.05, UNKNOWN, 0, 0, 0, 0, false, false},
	};
	struct suspect suspects[SUSPECT_MAX];
	size_t count = suspect_rank(ALERT_DISCARDS, facts, COUNT_OF(facts), suspects);

	(void)state;
	assert_int_equal(count, 6);
	assert_string_equal(suspects[0].drill, "link:a:b/tenant:acme");
	assert_string_equal(suspects[0].reasons,
			    "85 % of the traffic there, 88 % of the link (mean of 5 s); 3.2 % of "
			    "the link in the 60 s before; is there too: red (VLAN 7)");
	assert_string_equal(suspects[1].reasons, "counted 1.2 errors/s and 30.0 discards/s");
	assert_string_equal(suspects[2].reasons, "its BMC logged 2 h before: DIMM 3 failed; its "
						 "BMC logged 2 min after: fan 2");
	assert_string_equal(suspects[3].reasons, "0 s before: port");
	/* What was there before it began is not told where nobody remembers. */
	assert_string_equal(suspects[4].reasons,
			    "20 % of the traffic there, 21 % of the link (mean of 5 s)");
	assert_string_equal(suspects[5].reasons, "5 % of the traffic there (mean of 5 s)");
}

/* More than there is room for: the largest, and no more. */
static void many_facts(void **state)
{
	static struct candidate facts[400];
	static char names[400][8];
	struct suspect suspects[SUSPECT_MAX];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(facts); i++) {
		(void)snprintf(names[i], sizeof(names[i]), "t%zu", i);
		facts[i] = (struct candidate){.fact = FACT_TENANT,
					      .name = names[i],
					      .text = "",
					      .drill = "",
					      .share = (double)(i % 200) / 200};
	}
	assert_int_equal(suspect_rank(ALERT_SHARE, facts, COUNT_OF(facts), suspects), SUSPECT_MAX);
	assert_string_equal(suspects[0].name, "t199");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(facts_become_suspects),
		cmocka_unit_test(reasons_are_told_in_words),
		cmocka_unit_test(many_facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
