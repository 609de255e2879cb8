// links: peregrine_control
/* What answers to logins mean for the secrets of a switch, and which new secrets are enough. */
#include <errno.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/control/rotation_policy.h"
#include "tests/support/cmocka.h"

enum {
	TAKEN = SWITCH_PROOF_TAKEN,
	REFUSED = SWITCH_PROOF_REFUSED,
	MUTE = SWITCH_PROOF_MUTE,
	SILENT = SWITCH_PROOF_SILENT
};

static const struct {
	const char *name;
	enum rotation_proof begins;
	int ends[3];
	size_t asked; /* logins until there is a step */
	const char *step;
} rows[] = {
	{"new secrets are taken", ROTATION_NEW, {TAKEN}, 1, "proven"},
	{"new secrets are refused", ROTATION_NEW, {REFUSED}, 1, "fail"},
	{"a new community gets no answer", ROTATION_NEW, {MUTE}, 1, "later"},
	{"the switch is away", ROTATION_NEW, {SILENT}, 1, "later"},
	{"something else was refused", ROTATION_PRESENT, {TAKEN}, 1, "later"},
	{"it was away for a moment", ROTATION_PRESENT, {SILENT}, 1, "again"},
	{"the new account is gone", ROTATION_PRESENT, {REFUSED, TAKEN}, 2, "back"},
	{"both accounts are refused", ROTATION_PRESENT, {REFUSED, REFUSED}, 2, "later"},
	{"both, the old one by silence", ROTATION_PRESENT, {REFUSED, MUTE}, 2, "later"},
	{"it went away between both", ROTATION_PRESENT, {REFUSED, SILENT}, 2, "later"},
	{"the new community is gone", ROTATION_PRESENT, {MUTE, TAKEN, MUTE}, 3, "back"},
	{"the new community is gone, the user too",
	 ROTATION_PRESENT,
	 {MUTE, TAKEN, REFUSED},
	 3,
	 "back"},
	{"it was starting", ROTATION_PRESENT, {MUTE, TAKEN, TAKEN}, 3, "later"},
	{"it came and went", ROTATION_PRESENT, {MUTE, TAKEN, SILENT}, 3, "again"},
	{"it answers no community", ROTATION_PRESENT, {MUTE, MUTE}, 2, "again"},
	{"no community, then away", ROTATION_PRESENT, {MUTE, SILENT}, 2, "again"},
	{"no community, the old user is refused", ROTATION_PRESENT, {MUTE, REFUSED}, 2, "later"},
};

static void good_new_secrets_stay(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct rotation_verdict verdict = {.next = rows[i].begins};

		for (size_t k = 0; k < rows[i].asked; k++) {
			if (verdict.step)
				fail_msg("%s: a step after %zu logins", rows[i].name, k);
			verdict = rotation_judge(verdict.next,
						 (enum switch_proof_end)rows[i].ends[k]);
		}
		if (!verdict.step || strcmp(verdict.step, rows[i].step) != 0 || !verdict.text)
			fail_msg("%s: %s", rows[i].name, verdict.step ? verdict.step : "goes on");
	}
}

/* Whatever the answers are, it ends, and goes back only from present secrets that failed last. */
static void it_always_ends(void **state)
{
	(void)state;
	for (int begins = ROTATION_NEW; begins <= ROTATION_PRESENT; begins++) {
		for (int all = 0; all < 64; all++) {
			struct rotation_verdict verdict = {.next = (enum rotation_proof)begins};
			int end = TAKEN;
			enum rotation_proof proof = ROTATION_NEW;

			for (int k = 0; k < 3 && !verdict.step; k++) {
				end = all >> 2 * k & 3;
				proof = verdict.next;
				verdict = rotation_judge(proof, (enum switch_proof_end)end);
			}
			assert_non_null(verdict.step);
			if (strcmp(verdict.step, "back") == 0)
				assert_true(proof == ROTATION_FORMER ? end == TAKEN : end != TAKEN);
		}
	}
}

static const struct switch_driver answering = {.name = "cli"};
static const struct switch_driver mute = {.name = "snmp", .refuses_mutely = true};

static void silence_may_be_a_refusal_by_snmp_alone(void **state)
{
	(void)state;
	assert_int_equal(switch_proof_end_of(0, &mute), TAKEN);
	assert_int_equal(switch_proof_end_of(E_AUTHENTICATION, &answering), REFUSED);
	assert_int_equal(switch_proof_end_of(E_DENIED, NULL), REFUSED);
	assert_int_equal(switch_proof_end_of(-EINVAL, &mute), REFUSED);
	assert_int_equal(switch_proof_end_of(E_TIMEOUT, &answering), SILENT);
	assert_int_equal(switch_proof_end_of(E_TIMEOUT, NULL), SILENT);
	assert_int_equal(switch_proof_end_of(E_TIMEOUT, &mute), MUTE);
	assert_int_equal(switch_proof_end_of(E_UNAVAILABLE, &mute), SILENT);
	assert_true(switch_driver_find("snmp")->refuses_mutely);
}

static struct switch_endpoint endpoint(const char *read, const char *write, const char *user,
				       const char *password, const char *enable)
{
	struct switch_endpoint ret = {.name = "leaf1", .family = "cisco-ios"};

	(void)text_copy(ret.snmp_community, sizeof(ret.snmp_community), read);
	(void)text_copy(ret.snmp_write_community, sizeof(ret.snmp_write_community), write);
	(void)text_copy(ret.ssh_user, sizeof(ret.ssh_user), user);
	(void)text_copy(ret.ssh_password, sizeof(ret.ssh_password), password);
	(void)text_copy(ret.ssh_enable, sizeof(ret.ssh_enable), enable);
	return ret;
}

static void no_secret_is_dropped(void **state)
{
	const struct switch_endpoint now = endpoint("ro", "rw", "haas", "p1", "e1");
	const struct {
		const char *lacks; /* NULL: they are enough */
		struct switch_endpoint next;
	} cases[] = {
		{NULL, endpoint("ro2", "rw2", "haas2", "p2", "e2")},
		{"SNMP", endpoint("", "rw2", "haas2", "p2", "e2")},
		{"writing by SNMP", endpoint("ro2", "", "haas2", "p2", "e2")},
		{"its command line", endpoint("ro2", "rw2", "haas2", "", "e2")},
		{"the privileged mode", endpoint("ro2", "rw2", "haas2", "p2", "")},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct problem problem = {0};
		int rc = switch_proof_covers(&now, &cases[i].next, &problem);

		if (rc != (cases[i].lacks ? E_DENIED : 0) ||
		    (cases[i].lacks && !strstr(problem.message, cases[i].lacks)))
			fail_msg("case %zu: %d %s", i, rc, problem.message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_new_secrets_stay),
		cmocka_unit_test(it_always_ends),
		cmocka_unit_test(silence_may_be_a_refusal_by_snmp_alone),
		cmocka_unit_test(no_secret_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
