// links: control_deploy bampi_bmc control_image control_inventory common_http common_io
// common_base
/* The erase and its proof, judged against the drives of the last inventory (security notes, S18).
 */
#include "bampi/control/deploy/steps/steps.h"
#include "tests/unit/step_run.h"

/* A and B have 100 bytes each in the last inventory. */
#define SCRUBBED(serial, size, verdict) \
	"{\"serial\":\"" serial "\",\"size_bytes\":" #size ",\"verdict\":\"" verdict "\"}"

static const struct {
	const char *what, *drives, *params;
	enum verdict verdict;
	const char *names, *detail, *note;
	size_t rows;
} scrubbed_cases[] = {
	{"all erased", SCRUBBED("A", 100, "erased") "," SCRUBBED("B", 100, "erased"), "{}",
	 STEP_DONE, NULL, NULL, NULL, 2},
	{"one failed", SCRUBBED("A", 100, "erased") "," SCRUBBED("B", 100, "failed"), "{}",
	 STEP_FAILED, "drive B", "failed", NULL, 2},
	{"one skipped", SCRUBBED("A", 100, "skipped") "," SCRUBBED("B", 100, "erased"), "{}",
	 STEP_FAILED, "drive A", "skipped", NULL, 2},
	{"one not told", SCRUBBED("A", 100, "erased"), "{}", STEP_FAILED, "drive B",
	 "does not see it", NULL, 1},
	{"none told", "", "{}", STEP_FAILED, "drive A", "does not see it", NULL, 0},
	{"one is smaller", SCRUBBED("A", 60, "erased") "," SCRUBBED("B", 100, "erased"), "{}",
	 STEP_FAILED, "drive A", "60 bytes, the last inventory knows 100", NULL, 2},
	{"one is smaller and named as lost",
	 SCRUBBED("A", 60, "erased") "," SCRUBBED("B", 100, "erased"), "{\"lost_drives\":[\"A\"]}",
	 STEP_FAILED, "drive A", "60 bytes", NULL, 2},
	{"one is larger", SCRUBBED("A", 160, "erased") "," SCRUBBED("B", 100, "erased"), "{}",
	 STEP_DONE, NULL, NULL, NULL, 2},
	{"one lost, said so", SCRUBBED("A", 100, "erased"), "{\"lost_drives\":[\"B\"]}", STEP_DONE,
	 NULL, NULL, NULL, 1},
	{"one lost, but there", SCRUBBED("A", 100, "erased") "," SCRUBBED("B", 100, "failed"),
	 "{\"lost_drives\":[\"B\"]}", STEP_FAILED, "drive B", NULL, NULL, 2},
	/* as a row it would count as the node's own at the next release */
	{"a stick was skipped",
	 SCRUBBED("A", 100, "erased") "," SCRUBBED("B", 100, "erased") "," SCRUBBED("U", 9,
										    "skipped"),
	 "{}", STEP_DONE, NULL, NULL, NULL, 2},
	{"a new drive",
	 SCRUBBED("A", 100, "erased") "," SCRUBBED("B", 100, "erased") "," SCRUBBED("N", 9,
										    "erased"),
	 "{}", STEP_DONE, NULL, NULL, "the last inventory does not know these drives: N (erased)",
	 3},
	{"an unknown verdict",
	 SCRUBBED("A", 100, "erased") "," SCRUBBED("B", 100, "erased") "," SCRUBBED("U", 9, "fine"),
	 "{}", STEP_FAILED, "drive U", "failed",
	 "the last inventory does not know these drives: U (failed)", 3},
	{"namespaces are one drive",
	 SCRUBBED("A", 40, "erased") "," SCRUBBED("B", 100, "erased") "," SCRUBBED("A", 60,
										   "erased"),
	 "{}", STEP_DONE, NULL, NULL, NULL, 2},
	{"a namespace failed",
	 SCRUBBED("A", 100, "erased") "," SCRUBBED("B", 100, "erased") "," SCRUBBED("A", 60,
										    "failed"),
	 "{}", STEP_FAILED, "drive A", "failed", NULL, 2},
};

static void scrub_is_strict(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(scrubbed_cases); i++) {
		struct facts facts = test_facts(PLAN_RELEASE);
		json_t *known = json("[{\"serial\":\"A\",\"size_bytes\":100},"
				     "{\"serial\":\"B\",\"size_bytes\":100}]");
		json_t *params = json(scrubbed_cases[i].params);
		char text[512];
		json_t *result;
		struct outcome o;

		assert_true(text_format(text, sizeof(text), "{\"drives\":[%s]}",
					scrubbed_cases[i].drives));
		result = json(text);
		set_agent(&facts);
		facts.drives = known;
		facts.deployment.params = params;
		set_task(&facts, "scrub", TASK_ERASE, TASK_DONE, result);
		o = run(step_scrub, &facts);
		if (o.verdict != scrubbed_cases[i].verdict)
			fail_msg("%s: verdict %d", scrubbed_cases[i].what, (int)o.verdict);
		if (scrubbed_cases[i].names) {
			assert_non_null(strstr(o.problem.message, scrubbed_cases[i].names));
			assert_non_null(strstr(o.problem.hint, "--lost-drive"));
		}
		if (scrubbed_cases[i].detail)
			assert_non_null(strstr(o.problem.detail, scrubbed_cases[i].detail));
		assert_string_equal(o.note, scrubbed_cases[i].note ? scrubbed_cases[i].note : "");
		assert_int_equal(json_array_size(o.drives), scrubbed_cases[i].rows);
		outcome_done(&o);
		/* what was judged in an earlier attempt is erased anew */
		facts.task.created_ms = NOW - STEP_AGE - 1;
		o = run(step_scrub, &facts);
		assert_int_equal(o.post, TASK_ERASE);
		outcome_done(&o);
		json_decref(known);
		json_decref(params);
		json_decref(result);
	}
}

/* The row of a drive that hides a part of itself is no proof for a certificate. */
static void scrub_marks_a_smaller_drive(void **state)
{
	struct facts facts = test_facts(PLAN_RELEASE);
	json_t *known = json("[{\"serial\":\"A\",\"size_bytes\":100}]");
	json_t *result = json("{\"drives\":[" SCRUBBED("A", 60, "erased") "]}");
	struct outcome o;

	(void)state;
	set_agent(&facts);
	facts.drives = known;
	set_task(&facts, "scrub", TASK_ERASE, TASK_DONE, result);
	o = run(step_scrub, &facts);
	assert_string_equal(text_of(json_array_get(o.drives, 0), "verdict"), "failed");
	assert_string_equal(
		o.problem.hint,
		"restore the drive's full size and run haasctl deployment retry 7. If the drive was "
		"destroyed: haasctl deployment create --plan release --lost-drive A n4");
	outcome_done(&o);
	json_decref(known);
	json_decref(result);
}

static void scrub_without_drives(void **state)
{
	static const struct {
		const char *known, *result;
		enum verdict verdict;
		const char *message;
	} cases[] = {
		{NULL, "{\"drives\":[]}", STEP_FAILED,
		 "the agent of node n4 sees no drive, and the node has no inventory"},
		{"[]", "{\"drives\":[]}", STEP_DONE, ""}, /* a node without drives */
		{"[]", "{\"drives\":7}", STEP_FAILED,
		 "the agent of node n4 did not name the drives that it erased"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct facts facts = test_facts(PLAN_RELEASE);
		json_t *known = cases[i].known ? json(cases[i].known) : NULL;
		json_t *result = json(cases[i].result);
		struct outcome o;

		set_agent(&facts);
		facts.drives = known;
		set_task(&facts, "scrub", TASK_ERASE, TASK_DONE, result);
		o = run(step_scrub, &facts);
		assert_int_equal(o.verdict, cases[i].verdict);
		assert_string_equal(o.problem.message, cases[i].message);
		outcome_done(&o);
		json_decref(known);
		json_decref(result);
	}
}

static void verify_scrubbed_judges(void **state)
{
	struct facts facts = test_facts(PLAN_RELEASE);
	json_t *results = json(
		"{\"erase\":{\"drives\":[{\"serial\":\"A\",\"verdict\":\"erased\",\"method\":\"m\"},{\"serial\":\"U\",\"verdict\":\"skipped\"}]}}");
	json_t *good = json(
		"{\"drives\":[{\"serial\":\"A\",\"samples\":9,\"nonzero\":0,\"verdict\":\"verified\"}]}");
	json_t *bad = json(
		"{\"drives\":[{\"serial\":\"A\",\"samples\":9,\"nonzero\":3,\"verdict\":\"failed\"}]}");
	json_t *none = json("{\"drives\":[]}");
	json_t *known = json("[{\"serial\":\"A\"},{\"serial\":\"B\"}]");
	json_t *lost = json("{\"lost_drives\":[\"B\"]}");
	struct outcome o;

	(void)state;
	set_agent(&facts);
	facts.results = results;
	o = run(step_verify_scrubbed, &facts);
	assert_int_equal(json_array_size(json_object_get(o.post_params, "drives")), 1);
	outcome_done(&o);
	set_task(&facts, "verify_scrubbed", TASK_VERIFY_ERASED, TASK_DONE, good);
	assert_int_equal(run(step_verify_scrubbed, &facts).verdict, STEP_DONE);
	facts.task.result = bad;
	o = run(step_verify_scrubbed, &facts);
	assert_int_equal(o.verdict, STEP_FAILED);
	assert_non_null(strstr(o.problem.detail, "3 of 9"));
	facts.task.result = none;
	assert_int_equal(run(step_verify_scrubbed, &facts).verdict, STEP_FAILED);
	/* the inventory knows a drive of which no proof came */
	facts.task.result = good;
	facts.drives = known;
	o = run(step_verify_scrubbed, &facts);
	assert_int_equal(o.verdict, STEP_FAILED);
	assert_non_null(strstr(o.problem.message, "drive B of node n4"));
	facts.deployment.params = lost;
	assert_int_equal(run(step_verify_scrubbed, &facts).verdict, STEP_DONE);
	json_decref(known);
	json_decref(lost);
	json_decref(results);
	json_decref(good);
	json_decref(bad);
	json_decref(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scrub_is_strict),
		cmocka_unit_test(scrub_marks_a_smaller_drive),
		cmocka_unit_test(scrub_without_drives),
		cmocka_unit_test(verify_scrubbed_judges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
