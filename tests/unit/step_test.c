// links: control_deploy bampi_bmc control_image control_inventory common_http common_io
// common_base
/* Every step as a table of cases: what it says and which effects it wishes for. */
#include <sodium.h>

#include "common/base/error.h"
#include "common/base/hex.h"

#include "bampi/control/deploy/steps/steps.h"
#include "tests/unit/deploy_facts.h"
#include "tests/unit/step_run.h"

/* --- netboot --- */

static void netboot_intent_first(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);
	struct outcome o = run(step_netboot, &facts);

	(void)state;
	assert_int_equal(o.verdict, STEP_WAITING);
	assert_int_equal(o.intent, INTENT_PUT);
	assert_int_equal(o.intent_target, INTENT_AGENT);
	assert_string_equal(o.intent_token, FRESH);
	assert_string_equal(o.intent_nonce, FRESH_N);
	assert_string_equal(o.memo.token, FRESH);
	assert_true(o.drop_tasks);
	assert_int_equal(o.bmc_count, 0);

	/* a second round keeps the nonce that a configured OS knows, never the token */
	set_intent(&facts, INTENT_AGENT);
	o = run(step_netboot, &facts);
	assert_string_equal(o.intent_token, FRESH);
	assert_string_equal(o.intent_nonce, NONCE);
}

static void netboot_then_power(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);
	struct outcome o;

	(void)state;
	set_intent(&facts, INTENT_AGENT);
	(void)text_copy(facts.memo.token, sizeof(facts.memo.token), TOKEN);
	facts.node.firmware = BMC_FIRMWARE_UEFI;
	o = run(step_netboot, &facts);
	assert_int_equal(o.verdict, STEP_WAITING);
	assert_int_equal(o.bmc_count, 2);
	assert_int_equal(o.bmc[0].op, BMC_BOOT_SET);
	assert_int_equal(o.bmc[0].boot.device, BMC_BOOT_PXE);
	assert_false(o.bmc[0].boot.persistent);
	assert_int_equal(o.bmc[0].boot.firmware, BMC_FIRMWARE_UEFI);
	assert_int_equal(o.bmc[1].op, BMC_POWER_CYCLE);
	assert_int_equal(o.intent, INTENT_KEEP);

	/* not asked twice while it works */
	facts.bmc.state = BMC_WORK_BUSY;
	assert_int_equal(run(step_netboot, &facts).bmc_count, 0);

	/* confirmed is not enough: the node itself is waited for */
	facts.bmc.state = BMC_WORK_DONE;
	facts.bmc.unverified = true;
	o = run(step_netboot, &facts);
	assert_int_equal(o.verdict, STEP_WAITING);
	assert_int_equal(o.memo.powered_ms, NOW);
	assert_true(o.memo.unverified);
	assert_non_null(strstr(o.note, "unverified"));
	assert_non_null(strstr(o.problem.message, "our servers got no request"));
}

static void netboot_observed(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);

	(void)state;
	set_intent(&facts, INTENT_AGENT);
	(void)text_copy(facts.memo.token, sizeof(facts.memo.token), TOKEN);
	facts.memo.powered_ms = NOW - 1000;
	set_seen(&facts, SEEN_DHCP, 500, TOKEN);
	assert_non_null(
		strstr(run(step_netboot, &facts).problem.message, "never for its boot script"));
	set_seen(&facts, SEEN_SCRIPT, 400,
		 "00000000000000000000000000000000"); /* of an older attempt */
	assert_int_equal(run(step_netboot, &facts).verdict, STEP_WAITING);
	set_seen(&facts, SEEN_SCRIPT, 400, TOKEN);
	assert_int_equal(run(step_netboot, &facts).verdict, STEP_DONE);
}

static void netboot_already_there(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);

	(void)state;
	set_agent(&facts);
	assert_int_equal(run(step_netboot, &facts).verdict, STEP_DONE);
	/* an agent of another deployment, or one long silent, is none */
	facts.intent.deployment_id = 6;
	assert_int_equal(run(step_netboot, &facts).verdict, STEP_WAITING);
	set_agent(&facts);
	facts.seen[SEEN_AGENT].at_ms = NOW - 61000;
	assert_int_equal(run(step_netboot, &facts).verdict, STEP_WAITING);
}

static void bmc_away_and_wrong_password(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);
	struct outcome o;

	(void)state;
	set_intent(&facts, INTENT_AGENT);
	(void)text_copy(facts.memo.token, sizeof(facts.memo.token), TOKEN);
	facts.bmc.state = BMC_WORK_FAILED;
	(void)problem_set(&facts.bmc.problem, E_TIMEOUT, "no answer");
	o = run(step_netboot, &facts);
	assert_int_equal(o.verdict, STEP_WAITING); /* asked again with the next look */
	assert_int_equal(o.bmc_count, 0);
	facts.deployment.step_started_ms = NOW - 31000;
	assert_int_equal(run(step_netboot, &facts).verdict, STEP_FAILED);
	facts.deployment.step_started_ms = NOW - STEP_AGE;
	(void)problem_set(&facts.bmc.problem, E_AUTHENTICATION, "wrong password");
	o = run(step_netboot, &facts);
	assert_int_equal(o.verdict, STEP_FAILED);
	assert_string_equal(o.problem.message, "wrong password");
	assert_true(o.permanent);
}

static void agent_calls(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);

	(void)state;
	set_intent(&facts, INTENT_AGENT);
	set_seen(&facts, SEEN_KERNEL, 1000, TOKEN);
	assert_non_null(
		strstr(run(step_agent, &facts).problem.message, "the kernel, not the ramdisk"));
	set_seen(&facts, SEEN_AGENT, 10, TOKEN);
	assert_int_equal(run(step_agent, &facts).verdict, STEP_DONE);
}

/* --- tasks --- */

static void task_cases(void **state)
{
	static const struct {
		const char *what;
		enum task_state task;
		bool of_this_attempt, of_this_boot;
		enum verdict verdict;
		bool posted;
	} cases[] = {
		{"dropped", TASK_DROPPED, true, true, STEP_WAITING, true},
		{"queued", TASK_QUEUED, true, true, STEP_WAITING, false},
		{"taken", TASK_TAKEN, true, true, STEP_WAITING, false},
		{"done", TASK_DONE, true, true, STEP_DONE, false},
		{"done by an earlier attempt", TASK_DONE, false, true, STEP_DONE, false},
		{"failed", TASK_FAILED, true, true, STEP_FAILED, false},
		{"failed in an earlier attempt", TASK_FAILED, false, true, STEP_WAITING, true},
		{"queued for an earlier boot", TASK_QUEUED, true, false, STEP_WAITING, true},
		{"taken in an earlier boot", TASK_TAKEN, true, false, STEP_WAITING, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct facts facts = test_facts(PLAN_INSTALL);
		struct outcome o;

		set_agent(&facts);
		set_task(&facts, "configure_os", TASK_CONFIGURE_OS, cases[i].task, NULL);
		if (!cases[i].of_this_attempt)
			facts.task.created_ms = NOW - STEP_AGE - 1;
		if (!cases[i].of_this_boot)
			facts.task.token[0] = 'x';
		if (cases[i].task == TASK_FAILED)
			(void)problem_set(&facts.task.problem, E_PROTOCOL, "mount failed");
		o = run(step_configure_os, &facts);
		if (o.verdict != cases[i].verdict || (o.post != TASK_NONE) != cases[i].posted)
			fail_msg("%s: verdict %d, posted %d", cases[i].what, (int)o.verdict,
				 (int)o.post);
		outcome_done(&o);
	}
}

static void task_needs_an_agent(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);
	struct outcome o;

	(void)state;
	set_intent(&facts, INTENT_AGENT);
	o = run(step_configure_os, &facts);
	assert_int_equal(o.verdict, STEP_FAILED);
	assert_true(o.untouched);
	outcome_done(&o);
}

static void task_stalls(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);
	struct outcome o;

	(void)state;
	set_agent(&facts);
	set_task(&facts, "configure_os", TASK_CONFIGURE_OS, TASK_TAKEN, NULL);
	facts.seen[SEEN_AGENT].at_ms = facts.task.updated_ms = facts.task.created_ms = NOW - 120000;
	o = run(step_configure_os, &facts);
	assert_int_equal(o.verdict, STEP_FAILED);
	assert_int_equal(o.problem.code, E_TIMEOUT);
	facts.progress_ms = NOW - 1000; /* it works */
	o = run(step_configure_os, &facts);
	assert_int_equal(o.verdict, STEP_WAITING);
}

static void node_restarts_during_a_task(void **state)
{
	struct facts facts = test_facts(PLAN_RELEASE);
	struct outcome o;

	(void)state;
	set_agent(&facts);
	set_seen(&facts, SEEN_SCRIPT, 500, TOKEN);
	set_task(&facts, "scrub", TASK_ERASE, TASK_TAKEN, NULL);
	o = run(step_scrub, &facts);
	assert_int_equal(o.verdict, STEP_FAILED); /* what destroys is never begun twice by itself */
	assert_false(o.untouched);
	set_task(&facts, "configure_os", TASK_CONFIGURE_OS, TASK_TAKEN, NULL);
	o = run(step_configure_os, &facts);
	assert_int_equal(o.verdict, STEP_WAITING);
	assert_int_equal(o.post, TASK_CONFIGURE_OS);
	assert_true(o.drop_tasks);
	outcome_done(&o);
}

static void configure_os_params(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);
	json_t *params = json("{\"hostname\":\"web1\",\"ssh_keys\":[\"k\"],\"disk\":\"auto\"}");
	json_t *results = json("{\"write_image\":{\"disk\":\"nvme0n1\"}}");
	struct outcome o;

	(void)state;
	set_agent(&facts);
	facts.deployment.params = params;
	facts.results = results;
	facts.image.root_partition = 2;
	o = run(step_configure_os, &facts);
	assert_string_equal(text_of(o.post_params, "hostname"), "web1");
	assert_string_equal(text_of(o.post_params, "callback"),
			    "http://10.2.0.1:8080/callback/" NONCE);
	assert_string_equal(text_of(o.post_params, "disk"), "nvme0n1");
	assert_int_equal(json_integer_value(json_object_get(o.post_params, "root_partition")), 2);
	assert_int_equal(json_array_size(json_object_get(o.post_params, "ssh_keys")), 1);
	outcome_done(&o);
	facts.boot_url[0] = '\0';
	assert_int_equal(run(step_configure_os, &facts).verdict, STEP_FAILED);
	json_decref(params);
	json_decref(results);
}

static void packages_are_put_while_they_are_granted(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);
	json_t *packages = json(
		"[{\"name\":\"tools\",\"version\":\"1.0\",\"kind\":\"bundle\",\"digest\":\"ab\","
		"\"size_bytes\":5,\"allowed\":true},{\"name\":\"cuda\",\"version\":\"12.4\","
		"\"kind\":\"deb\",\"digest\":\"cd\",\"size_bytes\":7,\"allowed\":true}]");
	json_t *results = json("{\"write_image\":{\"disk\":\"nvme0n1\"}}");
	json_t *result = json("{\"packages\":2,\"bytes\":12}");
	struct outcome o;

	(void)state;
	set_agent(&facts);
	assert_int_equal(run(step_put_packages, &facts).verdict, STEP_DONE); /* there are none */
	facts.packages = packages;
	facts.results = results;
	facts.image.root_partition = 2;
	o = run(step_put_packages, &facts);
	assert_int_equal(o.verdict, STEP_WAITING);
	assert_int_equal(o.post, TASK_PUT_PACKAGES);
	assert_string_equal(text_of(o.post_params, "disk"), "nvme0n1");
	assert_int_equal(json_integer_value(json_object_get(o.post_params, "root_partition")), 2);
	assert_string_equal(
		text_of(json_array_get(json_object_get(o.post_params, "packages"), 1), "url"),
		"/boot/image/cd");
	outcome_done(&o);
	set_task(&facts, "put_packages", TASK_PUT_PACKAGES, TASK_DONE, result);
	o = run(step_put_packages, &facts);
	assert_int_equal(o.verdict, STEP_DONE);
	assert_string_equal(o.note, "packages for the first boot: tools:1.0, cuda:12.4 (12 bytes)");
	outcome_done(&o);
	/* taken back meanwhile: whatever the agent did, and nothing but a person changes that */
	(void)json_object_set_new(json_array_get(packages, 1), "allowed", json_false());
	(void)text_copy(facts.tenant, sizeof(facts.tenant), "acme");
	o = run(step_put_packages, &facts);
	assert_int_equal(o.verdict, STEP_FAILED);
	assert_true(o.permanent);
	assert_int_equal(o.post, TASK_NONE);
	assert_int_equal(o.problem.code, E_DENIED);
	assert_string_equal(o.problem.message, "package cuda:12.4 may no longer be used by acme");
	outcome_done(&o);
	json_decref(packages);
	json_decref(results);
	json_decref(result);
}

static void inventory_is_checked(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);
	json_t *good = json(
		"{\"disks\":[{\"name\":\"nvme0n1\",\"serial\":\"A\",\"model\":\"m\",\"kind\":\"nvme\",\"size_bytes\":5},"
		"{\"name\":\"sr0\",\"serial\":\"\",\"size_bytes\":1,\"removable\":true}],"
		"\"nics\":[{\"name\":\"eth0\",\"mac\":\"52:54:00:00:00:01\"}],\"serial\":\"X1\",\"firmware\":\"uefi\"}");
	json_t *bad = json(
		"{\"disks\":[{\"name\":\"a\",\"serial\":\"A\",\"size_bytes\":-1}],\"nics\":[]}");
	struct outcome o;

	(void)state;
	set_agent(&facts);
	(void)text_copy(facts.node.serial, sizeof(facts.node.serial), "X2");
	(void)text_copy(facts.node.boot_mac, sizeof(facts.node.boot_mac), "52:54:00:00:00:02");
	set_task(&facts, "inventory", TASK_INVENTORY, TASK_DONE, good);
	o = run(step_inventory, &facts);
	assert_int_equal(o.verdict, STEP_DONE);
	assert_int_equal(json_array_size(o.drives), 1); /* the DVD drive is not the node's */
	assert_string_equal(text_of(json_array_get(o.drives, 0), "verdict"), "unknown");
	assert_non_null(strstr(o.note, "serial is X1, declared is X2"));
	assert_non_null(strstr(o.note, "52:54:00:00:00:02"));
	assert_non_null(strstr(o.note, "firmware is uefi"));
	outcome_done(&o);
	/* A node that is to start signed images only, and whose firmware would start anything. */
	facts.node.secure_boot = SECURE_BOOT_SIGNED;
	o = run(step_inventory, &facts);
	assert_non_null(strstr(o.note, "secure_boot is off, declared is on"));
	outcome_done(&o);
	json_object_set_new(good, "secure_boot", json_string("on"));
	o = run(step_inventory, &facts);
	assert_null(strstr(o.note, "secure_boot"));
	outcome_done(&o);
	set_task(&facts, "inventory", TASK_INVENTORY, TASK_DONE, bad);
	o = run(step_inventory, &facts);
	assert_int_equal(o.verdict, STEP_FAILED);
	assert_true(o.permanent);
	json_decref(good);
	json_decref(bad);
}

/* Security notes, S16: a BMC tells what a tenant wrote into it. */
static void inventory_checks_the_bmc(void **state)
{
	static const struct {
		const char *bmc;
		const char *problem, *note;
	} cases[] = {
		{"null", NULL, NULL},
		{"{\"address\":\"10.9.0.3\",\"mac\":\"52:54:00:bb:00:03\"}", NULL, NULL},
		{"{\"address\":null,\"mac\":null}", NULL, NULL},
		{"7", "bmc is not an object", NULL},
		{"{\"mac\":7}", "mac of the BMC is not a text", NULL},
		{"{\"mac\":\"%\"}", "% of the BMC is not a MAC", NULL},
		{"{\"address\":\"::1\"}", "::1 of the BMC is not an IPv4 address", NULL},
		{"{\"mac\":\"52:54:00:00:00:01\"}", NULL,
		 "the BMC tells the MAC of a NIC, 52:54:00:00:00:01"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct facts facts = test_facts(PLAN_INSPECT);
		char text[256];
		json_t *result;
		struct outcome o;

		assert_true(text_format(
			text, sizeof(text),
			"{\"disks\":[],\"nics\":[{\"name\":\"eth0\",\"mac\":\"52:54:00:00:00:01\"}],"
			"\"bmc\":%s}",
			cases[i].bmc));
		result = json(text);
		set_agent(&facts);
		set_task(&facts, "inventory", TASK_INVENTORY, TASK_DONE, result);
		o = run(step_inventory, &facts);
		assert_int_equal(o.verdict, cases[i].problem ? STEP_FAILED : STEP_DONE);
		if (cases[i].problem)
			assert_non_null(strstr(o.problem.message, cases[i].problem));
		if (cases[i].note)
			assert_non_null(strstr(o.note, cases[i].note));
		else
			assert_string_equal(o.note, "");
		outcome_done(&o);
		json_decref(result);
	}
}

/* Security notes, S18: what a tenant hides stays known, so that its erase is missed. */
static void inventory_forgets_nothing_of_a_tenant(void **state)
{
	static const struct {
		enum plan plan;
		bool dirty;
		const char *results;
		bool complete;
	} cases[] = {
		{PLAN_INSPECT, false, "{}", true},
		{PLAN_INSPECT, true, "{}", false},
		{PLAN_REINSTALL, true, "{}", false},
		{PLAN_INSTALL, true, "{}", true}, /* dirty since it was reserved, a moment ago */
		{PLAN_INSTALL, true, "{\"write_image\":{\"disk\":\"sda\"}}", false},
	};
	json_t *good = json("{\"disks\":[{\"name\":\"sda\",\"serial\":\"A\",\"size_bytes\":5}],"
			    "\"nics\":[]}");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct facts facts = test_facts(cases[i].plan);
		json_t *results = json(cases[i].results);
		struct outcome o;

		set_agent(&facts);
		facts.node.dirty = cases[i].dirty;
		facts.results = results;
		set_task(&facts, "inventory", TASK_INVENTORY, TASK_DONE, good);
		o = run(step_inventory, &facts);
		assert_int_equal(o.verdict, STEP_DONE);
		assert_int_equal(o.drives_complete, cases[i].complete);
		outcome_done(&o);
		json_decref(results);
	}
	json_decref(good);
}

static void image_must_be_signed(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);
	uint8_t secret[crypto_sign_SECRETKEYBYTES];
	uint8_t signature[crypto_sign_BYTES];
	struct image_trust trust = {.count = 1};
	char hex[2 * sizeof(signature) + 1];
	const char *manifest = "{\"name\":\"demo\"}\n";
	struct outcome o;

	(void)state;
	assert_true(sodium_init() >= 0);
	(void)crypto_sign_keypair(trust.keys[0], secret);
	(void)crypto_sign_detached(signature, NULL, (const unsigned char *)manifest,
				   strlen(manifest), secret);
	hex_encode(signature, sizeof(signature), hex);
	set_agent(&facts);
	facts.trust = &trust;
	facts.image = (struct image_facts){
		.present = true, .manifest = manifest, .signature = hex, .stored_digest = "ab"};
	o = run(step_write_image, &facts);
	assert_int_equal(o.post, TASK_WRITE_IMAGE);
	assert_string_equal(text_of(o.post_params, "manifest"), manifest);
	assert_string_equal(text_of(o.post_params, "url"), "/boot/image/ab");
	assert_string_equal(text_of(o.post_params, "disk"), "auto");
	outcome_done(&o);
	facts.image.manifest = "{\"name\":\"evil\"}\n";
	o = run(step_write_image, &facts);
	assert_int_equal(o.verdict, STEP_FAILED);
	assert_int_equal(o.problem.code, E_DIGEST);
	assert_true(o.permanent);
	facts.image.present = false;
	assert_int_equal(run(step_write_image, &facts).problem.code, E_NOT_FOUND);
}

static void local_boot_order(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);
	struct outcome o;

	(void)state;
	set_agent(&facts);
	o = run(step_local_boot, &facts);
	assert_int_equal(o.intent, INTENT_PUT);
	assert_int_equal(o.intent_target, INTENT_DISK);
	assert_string_equal(o.intent_nonce, NONCE);
	assert_int_equal(o.bmc_count, 0); /* the intent is committed before the power is touched */
	facts.intent.target = INTENT_DISK;
	o = run(step_local_boot, &facts);
	assert_int_equal(o.bmc_count, 2);
	assert_int_equal(o.bmc[0].boot.device, BMC_BOOT_DISK);
	assert_true(o.bmc[0].boot.persistent);
	assert_int_equal(o.bmc[1].op, BMC_POWER_RESET);
	/* a reset that did not bring the OS up, or was refused */
	facts.deployment.attempt = 2;
	o = run(step_local_boot, &facts);
	assert_int_equal(o.bmc[1].op, BMC_POWER_CYCLE);
	facts.bmc.state = BMC_WORK_DONE;
	assert_int_equal(run(step_local_boot, &facts).verdict, STEP_DONE);
	facts.intent = (struct intent_facts){0};
	assert_true(run(step_local_boot, &facts).permanent);
}

static void verify_callback(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);
	struct outcome o;

	(void)state;
	set_intent(&facts, INTENT_DISK);
	assert_int_equal(run(step_verify, &facts).verdict, STEP_WAITING);
	set_seen(&facts, SEEN_CALLBACK, 100, "00000000000000000000000000000000");
	assert_int_equal(run(step_verify, &facts).event, NODE_EVENT_NONE);
	set_seen(&facts, SEEN_CALLBACK, 100, TOKEN);
	o = run(step_verify, &facts);
	assert_int_equal(o.event, NODE_EVENT_ACTIVATE);
	assert_true(o.memo.fired);
	facts.memo = o.memo;
	assert_int_equal(run(step_verify, &facts).verdict,
			 STEP_FAILED); /* refused: somebody held the node */
	facts.node.state = NODE_ACTIVE;
	assert_int_equal(run(step_verify, &facts).verdict, STEP_DONE);
}

/* --- release --- */

static void free_is_certified(void **state)
{
	struct facts facts = test_facts(PLAN_RELEASE);
	struct outcome o;

	(void)state;
	facts.node.state = NODE_SCRUBBING;
	o = run(step_free, &facts);
	assert_int_equal(o.event, NODE_EVENT_SCRUBBED);
	assert_true(o.certify);
	assert_int_equal(o.intent, INTENT_REMOVE);
	facts.certified = true; /* the transition was refused before, the certificate stands */
	assert_false(run(step_free, &facts).certify);
	facts.memo.fired = true;
	facts.node.state = NODE_HELD;
	assert_int_equal(run(step_free, &facts).verdict, STEP_FAILED);
	facts.node.state = NODE_FREE;
	facts.node.dirty = false;
	assert_int_equal(run(step_free, &facts).verdict, STEP_DONE);
}

/* --- power off, cancel --- */

static void power_off_confirmed(void **state)
{
	struct facts facts = test_facts(PLAN_INSPECT);
	struct outcome o;

	(void)state;
	set_agent(&facts);
	o = run(step_power_off, &facts);
	assert_int_equal(o.intent, INTENT_REMOVE);
	assert_int_equal(o.bmc[0].op, BMC_POWER_OFF);
	facts.bmc.state = BMC_WORK_DONE;
	assert_int_equal(run(step_power_off, &facts).verdict, STEP_DONE);
}

static void cancel_reads_power_again(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);
	struct outcome o;

	(void)state;
	facts.deployment.state = DEPLOYMENT_CANCELLING;
	o = run(step_power_off, &facts);
	assert_true(o.drop_tasks);
	assert_int_equal(o.bmc_count, 1);
	facts.bmc.state = BMC_WORK_DONE;
	o = run(step_power_off, &facts);
	assert_int_equal(o.verdict, STEP_WAITING);
	assert_int_equal(o.until_ms, NOW + 6000);
	facts.memo = o.memo;
	facts.memo.powered_ms = NOW - 6000;
	facts.bmc.state = BMC_WORK_NONE;
	o = run(step_power_off, &facts);
	assert_int_equal(o.bmc_count, 1);
	facts.memo = o.memo;
	facts.bmc.state = BMC_WORK_DONE;
	assert_int_equal(run(step_power_off, &facts).verdict, STEP_DONE);
}

static void abandon_cases(void **state)
{
	static const struct {
		enum node_state node;
		bool trouble;
		enum node_event event;
	} cases[] = {
		{NODE_RESERVED, false, NODE_EVENT_ABANDON},
		{NODE_SCRUBBING, false, NODE_EVENT_ABANDON},
		{NODE_FREE, false, NODE_EVENT_NONE},
		{NODE_DISCOVERED, false, NODE_EVENT_NONE},
		{NODE_ACTIVE, false, NODE_EVENT_NONE},
		{NODE_HELD, false, NODE_EVENT_NONE},
		{NODE_RESERVED, true, NODE_EVENT_HOLD},
		{NODE_SCRUBBING, true, NODE_EVENT_HOLD},
		{NODE_FREE, true, NODE_EVENT_HOLD},
		{NODE_HELD, true, NODE_EVENT_NONE},
		{NODE_BROKEN, true, NODE_EVENT_NONE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct facts facts = test_facts(PLAN_INSTALL);
		struct outcome o;

		facts.node.state = cases[i].node;
		facts.memo.trouble = cases[i].trouble;
		o = run(step_abandon, &facts);
		assert_int_equal(o.event, cases[i].event);
		assert_int_equal(o.verdict, STEP_DONE);
		/* an older bampid fired it in a look of its own */
		facts.memo.fired = true;
		o = run(step_abandon, &facts);
		assert_int_equal(o.event, NODE_EVENT_NONE);
		assert_int_equal(o.verdict, STEP_DONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(netboot_intent_first),
		cmocka_unit_test(netboot_then_power),
		cmocka_unit_test(netboot_observed),
		cmocka_unit_test(netboot_already_there),
		cmocka_unit_test(bmc_away_and_wrong_password),
		cmocka_unit_test(agent_calls),
		cmocka_unit_test(task_cases),
		cmocka_unit_test(task_needs_an_agent),
		cmocka_unit_test(task_stalls),
		cmocka_unit_test(node_restarts_during_a_task),
		cmocka_unit_test(configure_os_params),
		cmocka_unit_test(packages_are_put_while_they_are_granted),
		cmocka_unit_test(inventory_is_checked),
		cmocka_unit_test(inventory_checks_the_bmc),
		cmocka_unit_test(inventory_forgets_nothing_of_a_tenant),
		cmocka_unit_test(image_must_be_signed),
		cmocka_unit_test(local_boot_order),
		cmocka_unit_test(verify_callback),
		cmocka_unit_test(free_is_certified),
		cmocka_unit_test(power_off_confirmed),
		cmocka_unit_test(cancel_reads_power_again),
		cmocka_unit_test(abandon_cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
