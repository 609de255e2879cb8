// links: bampi_agent control_deploy bampi_bmc control_image control_inventory common_http common_io
// common_base
/* What bampid signs is what the agent believes, and nothing else is: the two ends together. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "bampi/agent/task.h"
#include "bampi/agent/task_guard.h"
#include "bampi/control/deploy/task_sign.h"
#include "tests/support/cmocka.h"
#include "tests/support/scratch.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define MAC   "00:00:00:00:00:00" /* the loopback interface's */

struct ends {
	char folder[SCRATCH_SIZE];
	struct task_key key;
	struct task_guard guard;
	struct agent_env env;
	struct task_statement statement;
};

static void ends_make(struct ends *ends)
{
	struct problem problem = {0};

	*ends = (struct ends){.env = {.root = "", .token = TOKEN}};
	scratch_make(ends->folder, "task-sign");
	assert_int_equal(task_key_load(ends->folder, &ends->key, &problem), 0);
	assert_int_equal(
		hex_decode(ends->key.public_text, ends->guard.keys.keys[0], PUBLIC_KEY_SIZE), 0);
	ends->guard.keys.count = 1;
	digest_text(TOKEN, strlen(TOKEN), ends->guard.boot);
	digest_text("agent", 5, ends->guard.agent);
	ends->statement = (struct task_statement){.task = 5,
						  .deployment = 2,
						  .kind = "erase",
						  .node = "n1",
						  .mac = MAC,
						  .issued_ms = 1000000,
						  .expires_ms = 1060000};
	memcpy(ends->statement.boot, ends->guard.boot, DIGEST_TEXT_SIZE);
	memcpy(ends->statement.agent, ends->guard.agent, DIGEST_TEXT_SIZE);
}

/* Signs and checks; the code of the check. */
static int ends_try(struct ends *ends, int64_t now_ms)
{
	json_t *params = json_pack("{s:s}", "policy", "strict");
	json_t *row = task_sign(&ends->key, &ends->statement, params);
	const json_t *text = json_object_get(row, "params");
	const struct task_message message = {
		.statement = json_string_value(json_object_get(row, "statement")),
		.signature = json_string_value(json_object_get(row, "signature")),
		.params = json_string_value(text),
		.params_size = json_string_length(text),
	};
	struct task_statement read;
	struct problem problem = {0};
	int rc;

	assert_non_null(row);
	rc = task_guard_check(&ends->guard, &ends->env, &message, now_ms, &read, &problem);
	assert_int_equal(rc != 0, problem.message[0] != '\0');
	if (!rc)
		assert_memory_equal(&read, &ends->statement, sizeof(read));
	json_decref(row);
	json_decref(params);
	return rc;
}

static void believed(void **state)
{
	struct ends ends;

	(void)state;
	ends_make(&ends);
	assert_int_equal(ends_try(&ends, 10), 0);
	/* given once more: the agent that was interrupted does it again */
	assert_int_equal(ends_try(&ends, 20), 0);
	/* its result was taken: never again */
	ends.guard.ended = true;
	assert_int_equal(ends_try(&ends, 30), E_DENIED);
	ends.statement.task = 6;
	assert_int_equal(ends_try(&ends, 40), 0);
	ends.statement.task = 4;
	assert_int_equal(ends_try(&ends, 50), E_DENIED);
	scratch_remove(ends.folder);
}

/* The clock is what tasks told: 1000000 at 10. */
static void expires(void **state)
{
	struct ends ends;

	(void)state;
	ends_make(&ends);
	assert_int_equal(ends_try(&ends, 10), 0);
	ends.statement.task = 6;
	assert_int_equal(ends_try(&ends, 60009), 0);
	assert_int_equal(ends_try(&ends, 60010), E_TIMEOUT);
	/* one that was held back tells no earlier time */
	ends.statement.issued_ms = 5;
	assert_int_equal(ends_try(&ends, 60011), E_TIMEOUT);
	ends.statement.expires_ms = 1070000;
	assert_int_equal(ends_try(&ends, 60012), 0);
	/* a refused one is not the newest */
	ends.statement.task = 9;
	ends.statement.expires_ms = 1;
	assert_int_equal(ends_try(&ends, 60013), E_TIMEOUT);
	assert_int_equal(ends.guard.newest, 6);
	scratch_remove(ends.folder);
}

static void others(void **state)
{
	struct ends ends;

	(void)state;
	ends_make(&ends);
	(void)text_copy(ends.statement.mac, sizeof(ends.statement.mac), "02:00:00:00:00:99");
	assert_int_equal(ends_try(&ends, 10), E_DENIED);
	(void)text_copy(ends.statement.mac, sizeof(ends.statement.mac), MAC);
	ends.statement.boot[0] ^= 1;
	assert_int_equal(ends_try(&ends, 10), E_DENIED);
	ends.statement.boot[0] ^= 1;
	ends.statement.agent[0] ^= 1;
	assert_int_equal(ends_try(&ends, 10), E_DENIED);
	ends.statement.agent[0] ^= 1;
	ends.guard.keys.keys[0][0] ^= 1;
	assert_int_equal(ends_try(&ends, 10), E_DENIED);
	ends.guard.keys.keys[0][0] ^= 1;
	assert_int_equal(ends_try(&ends, 10), 0);
	/* an agent without a key of its own believes nobody */
	ends.guard.agent[0] = '\0';
	assert_int_equal(ends_try(&ends, 10), E_DENIED);
	scratch_remove(ends.folder);
}

/* What no line can hold is not signed. */
static void unsignable(void **state)
{
	static const char *const names[] = {"", "n 1", "n1\ntask 9", "n\x7f", "n\xc3\xa4"};
	struct ends ends;

	(void)state;
	ends_make(&ends);
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		(void)text_copy(ends.statement.node, sizeof(ends.statement.node), names[i]);
		assert_null(task_sign(&ends.key, &ends.statement, NULL));
	}
	(void)text_copy(ends.statement.node, sizeof(ends.statement.node), "n1");
	ends.statement.agent[0] = '\0'; /* the agent told no key */
	assert_null(task_sign(&ends.key, &ends.statement, NULL));
	scratch_remove(ends.folder);
}

/* Made once, for its owner alone, with the half that the ramdisk gets beside it. */
static void keys(void **state)
{
	struct task_key again;
	struct problem problem = {0};
	struct ends ends;

	(void)state;
	ends_make(&ends);
	assert_int_equal(shell("test \"$(stat -c %%a %s/bampid-task.key)\" = 600 && "
			       "test \"$(cat %s/bampid-task.pub)\" = %s",
			       ends.folder, ends.folder, ends.key.public_text),
			 0);
	assert_int_equal(shell("echo stale >%s/bampid-task.pub", ends.folder), 0);
	assert_int_equal(task_key_load(ends.folder, &again, &problem), 0);
	assert_memory_equal(&again, &ends.key, sizeof(again));
	assert_int_equal(
		shell("test \"$(cat %s/bampid-task.pub)\" = %s", ends.folder, ends.key.public_text),
		0);
	assert_int_equal(shell("chmod 640 %s/bampid-task.key", ends.folder), 0);
	assert_int_equal(task_key_load(ends.folder, &again, &problem), E_DENIED);
	scratch_remove(ends.folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(believed), cmocka_unit_test(expires),    cmocka_unit_test(others),
		cmocka_unit_test(keys),     cmocka_unit_test(unsignable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
