// links: control_deploy bampi_bmc control_image control_inventory common_http common_io
// common_base
/* The steps about switches, case by case. */
#include "common/base/error.h"
#include "common/base/macros.h"

#include "bampi/control/deploy/steps/steps.h"
#include "tests/unit/deploy_facts.h"

#define WRONG_CABLE                                                         \
	{                                                                   \
		.code = E_CONFLICT, .message = "eth0 was found at leaf2:p4" \
	}
#define DEAD_SWITCH                                                    \
	{                                                              \
		.code = E_CONFLICT, .message = "leaf1 does not answer" \
	}

/* clang-format off */
static const struct {
	const char *what;
	step_run_fn run;
	bool asked; /* in this attempt */
	struct network_facts network;
	enum verdict verdict;
	enum place place;    /* asked for by this look */
	const char *message; /* part of; NULL = any */
} rows[] = {
	{"no switch of ours", step_isolate, false, {.managed = false}, STEP_DONE, PLACE_NONE, NULL},
	{"asks first, even where it is already", step_isolate, false, {.managed = true, .place = PLACE_PROVISIONING, .ports = 1}, STEP_WAITING, PLACE_PROVISIONING, NULL},
	{"asks for the tenant's", step_attach, false, {.managed = true, .place = PLACE_PROVISIONING, .ports = 1}, STEP_WAITING, PLACE_TENANT, NULL},
	{"asks for none", step_park, false, {.managed = true, .place = PLACE_TENANT, .ports = 1}, STEP_WAITING, PLACE_PARKING, NULL},
	{"waits for the switch", step_isolate, true, {.managed = true, .place = PLACE_PROVISIONING, .ports = 2, .open = 1}, STEP_WAITING, PLACE_NONE, "1 of 2 ports of node n4 are not yet in the provisioning network"},
	{"says what the switch says", step_isolate, true, {.managed = true, .place = PLACE_PROVISIONING, .ports = 2, .open = 1, .problem = DEAD_SWITCH}, STEP_WAITING, PLACE_NONE, "leaf1 does not answer"},
	{"is there", step_isolate, true, {.managed = true, .place = PLACE_PROVISIONING, .ports = 2}, STEP_DONE, PLACE_NONE, NULL},
	{"somebody else asked for another place", step_isolate, true, {.managed = true, .place = PLACE_TENANT, .ports = 2}, STEP_WAITING, PLACE_NONE, NULL},
	{"was refused", step_isolate, true, {.managed = true, .place = PLACE_PARKING, .ports = 1, .refused = WRONG_CABLE}, STEP_FAILED, PLACE_NONE, "eth0 was found at leaf2:p4"},
	{"was refused before, asks again", step_isolate, false, {.managed = true, .place = PLACE_PARKING, .ports = 1, .refused = WRONG_CABLE}, STEP_WAITING, PLACE_PROVISIONING, NULL},
	{"a node on no switch of ours is installed all the same", step_isolate, true, {.managed = true, .place = PLACE_PROVISIONING}, STEP_DONE, PLACE_NONE, NULL},
	{"but not given to a tenant who wants networks", step_attach, true, {.managed = true, .place = PLACE_TENANT, .networks = 1}, STEP_FAILED, PLACE_NONE, "the ports of node n4 are not known"},
	{"and to one who wants none, it is", step_attach, true, {.managed = true, .place = PLACE_TENANT}, STEP_DONE, PLACE_NONE, NULL},
	{"off every network", step_park, true, {.managed = true, .place = PLACE_PARKING, .ports = 3}, STEP_DONE, PLACE_NONE, NULL},
};
/* clang-format on */

static void each_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct facts facts = test_facts(PLAN_INSTALL);
		struct outcome outcome = {0};

		facts.network = rows[i].network;
		facts.memo.fired = rows[i].asked;
		rows[i].run(&facts, NOW, &outcome);
		if (outcome.verdict != rows[i].verdict || outcome.place != rows[i].place)
			fail_msg("%s: verdict %d, place %d", rows[i].what, outcome.verdict,
				 outcome.place);
		if (rows[i].message && !strstr(outcome.problem.message, rows[i].message))
			fail_msg("%s: \"%s\"", rows[i].what, outcome.problem.message);
		if (outcome.verdict == STEP_FAILED)
			assert_true(problem_is_set(&outcome.problem));
		assert_true(outcome.place == PLACE_NONE || outcome.memo.fired);
		outcome_done(&outcome);
	}
}

/* A node that leaves its deployment leaves its networks too; nobody waits for that. */
static void the_end_parks(void **state)
{
	static const struct {
		step_run_fn run;
		enum node_state node;
	} ends[] = {
		{step_free, NODE_SCRUBBING},
		{step_abandon, NODE_RESERVED},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		for (int managed = 0; managed < 2; managed++) {
			struct facts facts = test_facts(PLAN_RELEASE);
			struct outcome outcome = {0};

			facts.node.state = ends[i].node;
			facts.network.managed = managed;
			ends[i].run(&facts, NOW, &outcome);
			assert_int_equal(outcome.place, managed ? PLACE_PARKING : PLACE_NONE);
			outcome_done(&outcome);
		}
	}
}

/* Where no network leads to us, the nonce on the console is the proof; without a console there is
 * none, and that is said. */
static void the_console_is_a_witness(void **state)
{
	static const struct {
		bool managed, disk, nonce, blind;
		bool up, noted;
	} cases[] = {
		{true, true, true, false, true, false},   {true, true, false, false, false, false},
		{true, false, true, false, false, false}, {false, true, true, false, false, false},
		{false, true, false, true, false, false}, {true, true, false, true, true, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct facts facts = test_facts(PLAN_INSTALL);
		struct outcome outcome = {0};

		set_intent(&facts, cases[i].disk ? INTENT_DISK : INTENT_AGENT);
		facts.network.managed = cases[i].managed;
		facts.nonce_seen = cases[i].nonce;
		facts.console_blind = cases[i].blind;
		step_verify(&facts, NOW, &outcome);
		assert_int_equal(outcome.event,
				 cases[i].up ? NODE_EVENT_ACTIVATE : NODE_EVENT_NONE);
		assert_int_equal(outcome.note[0] != '\0', cases[i].noted);
		outcome_done(&outcome);
	}
}

/* The OS is told the numbers of tagged networks, and waits for them; without switches of ours there
 * are none. */
static void numbers_of_tagged_networks(void **state)
{
	static const struct {
		struct network_facts network;
		enum verdict verdict;
		const char *addresses; /* that the agent is told; NULL = nothing yet */
	} cases[] = {
		{{.managed = true}, STEP_WAITING, NULL},
		{{.managed = true, .vlan_count = 1, .vlans = {{.network = 8, .vlan = 101}}},
		 STEP_WAITING,
		 NULL},
		{{.managed = true, .vlan_count = 1, .vlans = {{.network = 9, .vlan = 102}}},
		 STEP_WAITING,
		 "[{\"mac\": \"a\", \"address\": \"10.1.0.1/24\"}, {\"bond\": \"b\", \"address\": "
		 "\"none\", \"vlan\": 102}]"},
		{{.managed = false},
		 STEP_WAITING,
		 "[{\"mac\": \"a\", \"address\": \"10.1.0.1/24\"}]"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct facts facts = test_facts(PLAN_INSTALL);
		struct outcome outcome = {0};
		char *told;

		set_agent(&facts);
		facts.network = cases[i].network;
		json_t *params = json_pack("{s:[{s:s,s:s},{s:s,s:i,s:s}]}", "addresses", "mac", "a",
					   "address", "10.1.0.1/24", "bond", "b", "network", 9,
					   "address", "none");

		facts.deployment.params = params;
		step_configure_os(&facts, NOW, &outcome);
		assert_int_equal(outcome.verdict, cases[i].verdict);
		assert_int_equal(outcome.post_params != NULL, cases[i].addresses != NULL);
		if (cases[i].addresses) {
			told = json_dumps(json_object_get(outcome.post_params, "addresses"), 0);
			assert_string_equal(told, cases[i].addresses);
			free(told);
		} else {
			assert_non_null(strstr(outcome.problem.message, "has no VLAN yet"));
		}
		json_decref(params);
		outcome_done(&outcome);
	}
}

/* Volumes: told with secrets that are sealed for this agent; a storage that is heard of is waited
 * for, one that is silent is not; whoever works already is left alone. */
static void volumes_are_told(void **state)
{
	static const struct {
		const char *what, *volumes;
		enum task_state task;
		enum verdict verdict;
		const char *told; /* NULL = nothing is posted */
		bool noted;
	} cases[] = {
		{"all sealed",
		 "[{\"volume\":\"a\",\"storage\":\"s1\",\"heard\":true,\"target\":\"t\",\"portal\":\"p\",\"user\":\"u\",\"sealed\":\"00\"}]",
		 TASK_STATE_COUNT, STEP_WAITING,
		 "{\"initiator\": \"i\", \"volumes\": [{\"target\": \"t\", \"portal\": \"p\", \"user\": \"u\", "
		 "\"sealed\": \"00\"}]}",
		 false},
		{"one is not",
		 "[{\"volume\":\"a\",\"storage\":\"s1\",\"heard\":true,\"sealed\":null}]",
		 TASK_STATE_COUNT, STEP_WAITING, NULL, false},
		{"and never will be",
		 "[{\"volume\":\"a\",\"storage\":\"s1\",\"heard\":false,\"sealed\":null}]",
		 TASK_STATE_COUNT, STEP_WAITING, "{\"initiator\": \"i\", \"volumes\": []}", true},
		{"the agent works",
		 "[{\"volume\":\"a\",\"storage\":\"s1\",\"heard\":true,\"sealed\":null}]",
		 TASK_TAKEN, STEP_WAITING, NULL, false},
		{"the agent is done",
		 "[{\"volume\":\"a\",\"storage\":\"s1\",\"heard\":true,\"sealed\":null}]",
		 TASK_DONE, STEP_DONE, NULL, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct facts facts = test_facts(PLAN_INSTALL);
		struct outcome outcome = {0};
		json_t *list = json_loads(cases[i].volumes, 0, NULL);
		json_t *volumes = json_pack("{s:s,s:o}", "initiator", "i", "volumes", list);

		set_agent(&facts);
		if (cases[i].task != TASK_STATE_COUNT)
			set_task(&facts, "configure_os", TASK_CONFIGURE_OS, cases[i].task, NULL);
		facts.volumes = volumes;
		step_configure_os(&facts, NOW, &outcome);
		if (outcome.verdict != cases[i].verdict ||
		    (outcome.post != TASK_NONE) != (cases[i].told != NULL) ||
		    (outcome.note[0] != '\0') != cases[i].noted)
			fail_msg("%s: verdict %d, posted %d, '%s'", cases[i].what,
				 (int)outcome.verdict, (int)outcome.post, outcome.note);
		if (cases[i].told) {
			char *told = json_dumps(json_object_get(outcome.post_params, "iscsi"), 0);

			assert_string_equal(told, cases[i].told);
			free(told);
		}
		json_decref(volumes);
		outcome_done(&outcome);
	}
}

/* What the installed OS said of its packages becomes one event; a broken one holds up nothing. */
static void verify_packages(void **state)
{
	static const struct {
		uint32_t failed;
		bool ended, blind;
		int64_t called_ms; /* before now */
		const char *note;  /* NULL: it is waited for */
	} said[] = {
		{0, false, false, 1000, NULL},
		{0, true, false, 1000, "the OS installed its packages"},
		{2, false, false, 1000, NULL}, /* there may be more */
		{2, true, false, 1000,
		 "the OS could not install cuda:12.4, and tries again at each boot: haasctl node console n4"},
		{3, true, false, 1000,
		 "the OS could not install tools:1.0, cuda:12.4, and tries again at each boot: haasctl node console n4"},
		{0, false, false, 15000,
		 "its console did not say whether the OS installed its packages"},
		{0, false, true, 1000, ""},
	};
	json_t *packages =
		json_loads("[{\"name\":\"tools\",\"version\":\"1.0\",\"kind\":\"bundle\"},"
			   "{\"name\":\"cuda\",\"version\":\"12.4\",\"kind\":\"deb\"}]",
			   0, NULL);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(said); i++) {
		struct facts facts = test_facts(PLAN_INSTALL);
		struct outcome o = {0};

		set_intent(&facts, INTENT_DISK);
		set_seen(&facts, SEEN_CALLBACK, said[i].called_ms, TOKEN);
		facts.packages = packages;
		facts.packages_failed = said[i].failed;
		facts.packages_ended = said[i].ended;
		facts.console_blind = said[i].blind;
		step_verify(&facts, NOW, &o);
		assert_int_equal(o.event, said[i].note ? NODE_EVENT_ACTIVATE : NODE_EVENT_NONE);
		assert_string_equal(o.note, said[i].note ? said[i].note : "");
	}
	json_decref(packages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_case),
		cmocka_unit_test(the_end_parks),
		cmocka_unit_test(numbers_of_tagged_networks),
		cmocka_unit_test(the_console_is_a_witness),
		cmocka_unit_test(volumes_are_told),
		cmocka_unit_test(verify_packages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
