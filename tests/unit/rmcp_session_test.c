// links: bampi_bmc common_base lib::openssl lib::sodium
/* The session machine against a BMC written from the specification: every refusal, loss, repetition
 * and forgery, with time as a number. */
#include <errno.h>
#include <string.h>

#include "tests/support/rmcp_bench.h"

/* --- the good way --- */

static void every_suite_opens_asks_and_closes(void **state)
{
	static const uint8_t suites[] = {0, 3, 17};
	struct lab *lab = *state;

	for (size_t i = 0; i < COUNT_OF(suites); i++) {
		struct rmcp_io io;

		lab_init(lab, suites[i]);
		lab->bmc.power_on = true;
		assert_answered(lab, &status);
		assert_int_equal(lab->outcome.answer.data[2], 1);
		assert_int_equal(lab->bmc.last_open_privilege, RMCP_PRIVILEGE_OPERATOR);
		/* A look needs no privilege to be asked for; a command does, once. */
		assert_int_equal(lab->bmc.privileges, 0);
		assert_answered(lab, &power_on);
		assert_answered(lab, &power_on);
		assert_answered(lab, &status);
		assert_int_equal(lab->bmc.privileges, 1);
		assert_int_equal(lab->bmc.controls, 2);
		assert_int_equal(lab->bmc.opens, 1);
		assert_int_equal(lab->session.resent, 0);
		io = io_of(lab);
		rmcp_session_end(&lab->session, &io);
		settle(lab);
		assert_int_equal(lab->session.state, RMCP_CLOSED);
		assert_int_equal(lab->bmc.closes, 1);
		assert_int_equal(rmcp_session_due_ms(&lab->session), INT64_MAX);
	}
}

static void unknown_suites_are_said(void **state)
{
	struct bmc_endpoint endpoint = {.node = "n1", .cipher_suite = 4}; /* RC4 */
	struct rmcp_session session;
	struct problem problem = {0};

	(void)state;
	assert_int_equal(rmcp_session_init(&session, &endpoint, 3, 0, &problem), E_UNSUPPORTED);
	assert_non_null(strstr(problem.hint, "cipher suite"));
	endpoint.cipher_suite = 99;
	assert_int_equal(rmcp_session_init(&session, &endpoint, 3, 0, &problem), E_UNSUPPORTED);
}

static void idle_session_is_kept_and_then_closed(void **state)
{
	struct lab *lab = *state;

	assert_answered(lab, &status);
	pass(lab, 100000);
	assert_int_equal(lab->session.state, RMCP_ACTIVE);
	assert_int_equal(lab->bmc.commands, 3); /* ours, and two to keep it */
	pass(lab, 60000);
	assert_int_equal(lab->session.state, RMCP_CLOSED);
	assert_int_equal(lab->bmc.closes, 1);
	assert_answered(lab, &status);
	assert_int_equal(lab->bmc.opens, 2);

	/* Not kept at all. */
	lab->session.keep_ms = 0;
	assert_answered(lab, &status);
	step(lab, lab->now_ms + 1000);
	assert_int_equal(lab->session.state, RMCP_CLOSED);
	assert_int_equal(lab->bmc.closes, 2);
}

/* --- refusals --- */

static void every_status_has_its_error(void **state)
{
	static const struct {
		uint8_t status;
		int code;
		bool stale; /* another set-up is tried */
	} cases[] = {
		{0x01, -EBUSY, false},           {0x02, -EBUSY, true},
		{0x03, E_UNSUPPORTED, false},    {0x04, E_UNSUPPORTED, false},
		{0x05, E_UNSUPPORTED, false},    {0x06, E_UNSUPPORTED, false},
		{0x07, E_UNSUPPORTED, false},    {0x08, -EBUSY, true},
		{0x09, E_AUTHENTICATION, false}, {0x0a, E_AUTHENTICATION, false},
		{0x0b, -EBUSY, false},           {0x0c, E_AUTHENTICATION, false},
		{0x0d, E_AUTHENTICATION, false}, {0x0e, E_AUTHENTICATION, false},
		{0x0f, E_AUTHENTICATION, false}, {0x10, E_UNSUPPORTED, false},
		{0x11, E_UNSUPPORTED, false},    {0x12, E_UNSUPPORTED, false},
		{0x13, E_UNSUPPORTED, false},    {0xff, E_UNSUPPORTED, false},
	};
	struct lab *lab = *state;

	for (size_t i = 0; i < COUNT_OF(cases) * 6; i++) {
		uint8_t value = cases[i / 6].status;

		lab_init(lab, 3);
		lab->bmc.short_refusals = i % 2;
		*(uint8_t *[]){&lab->bmc.open_status, &lab->bmc.rakp2_status,
			       &lab->bmc.rakp4_status}[i / 2 % 3] = value;
		begin(lab, &status);
		(void)finish(lab);
		if (lab->outcome.problem.code != cases[i / 6].code)
			fail_msg("status %02x: %d", value, lab->outcome.problem.code);
		assert_failed(lab, cases[i / 6].code);
		assert_int_equal(lab->bmc.opens, cases[i / 6].stale ? RMCP_SETUPS_MAX : 1);
		assert_int_equal(lab->session.state, RMCP_CLOSED);
		/* It was a passing fault: the next one gets through. */
		lab->bmc.open_status = lab->bmc.rakp2_status = lab->bmc.rakp4_status = 0;
		assert_answered(lab, &status);
	}
}

static void wrong_password_is_noticed_here(void **state)
{
	struct lab *lab = *state;

	(void)text_copy(lab->bmc.password, sizeof(lab->bmc.password), "other");
	begin(lab, &status);
	assert_int_equal(finish(lab), 0);
	assert_failed(lab, E_AUTHENTICATION);
	assert_int_equal(lab->bmc.opens, 1);
	/* The BMC is told, so that the session it has begun does not take up a place. */
	assert_int_equal(lab->bmc.aborts, 1);
	assert_false(lab->bmc.sessions[0].used);
}

static void operator_is_enough(void **state)
{
	struct lab *lab = *state;

	lab->bmc.privilege = RMCP_PRIVILEGE_OPERATOR;
	assert_answered(lab, &power_on);
	lab_init(lab, 3);
	lab->bmc.privilege = RMCP_PRIVILEGE_USER;
	begin(lab, &power_on);
	(void)finish(lab);
	assert_failed(lab, E_AUTHENTICATION);
	assert_non_null(strstr(lab->outcome.problem.hint, "operator"));
}

static size_t deny_looking(struct rmcp_bmc *bmc, uint8_t netfn, const uint8_t *data, size_t size,
			   uint8_t *ret)
{
	(void)size;
	ret[0] = 0xd4;
	return netfn == 0 && data[0] == 1 && bmc->sessions[0].privilege < 3 ? 1 : 0;
}

/* A BMC that wants more than the specification does for a look. */
static void denied_look_asks_for_more(void **state)
{
	struct lab *lab = *state;

	lab->bmc.command = deny_looking;
	assert_answered(lab, &status);
	assert_int_equal(lab->bmc.privileges, 1);
}

static void all_sessions_taken(void **state)
{
	struct lab *lab = *state;

	lab->bmc.slots = 1;
	lab->bmc.sessions[0].used = true;
	begin(lab, &status);
	(void)finish(lab);
	assert_failed(lab, -EBUSY);
	lab->bmc.sessions[0].used = false;
	assert_answered(lab, &status);
}

/* --- loss --- */

static unsigned lost_answer;

static void lose_one(struct lab *lab, struct packet *packet)
{
	if (lab->answers == lost_answer)
		packet->size = 0;
}

/* Each packet of a set-up, a raised privilege and a command is lost once. */
static void any_one_answer_may_be_lost(void **state)
{
	struct lab *lab = *state;

	for (int odd = 0; odd < 2; odd++) {
		for (lost_answer = 1; lost_answer <= 5; lost_answer++) {
			lab_init(lab, 3);
			lab->answer = lose_one;
			lab->bmc.new_random_each_time = odd;
			assert_answered(lab, &power_on);
			assert_true(lab->bmc.power_on);
			assert_true(lab->session.resent >= 1);
			assert_true(lab->now_ms - 1000000 <= 6000);
		}
	}
}

static void lose_three_of_four(struct lab *lab, struct packet *packet)
{
	if (lab->answers % 4)
		packet->size = 0;
}

static void most_answers_may_be_lost(void **state)
{
	struct lab *lab = *state;

	lab->answer = lose_three_of_four;
	lab->session.again_ms = 100;
	assert_answered(lab, &status);
}

static void dead_one_is_given_up(void **state)
{
	struct lab *lab = *state;

	lab->deaf = true;
	begin(lab, &status);
	assert_int_equal(finish(lab), RMCP_TIMEOUT_MS);
	assert_failed(lab, E_TIMEOUT);
	assert_int_equal(lab->session.sent, 4); /* at 0, 1, 3, 7 s */
	assert_non_null(strstr(lab->outcome.problem.hint, "rmcpping"));
	assert_int_equal(rmcp_session_due_ms(&lab->session), INT64_MAX);
}

static void deadline_comes_before_patience(void **state)
{
	struct lab *lab = *state;
	struct rmcp_io io = io_of(lab);

	lab->deaf = true;
	rmcp_session_ask(&lab->session, &io, &status, lab->now_ms + 700);
	assert_int_equal(finish(lab), 700);
	assert_failed(lab, E_TIMEOUT);
}

/* The BMC has started anew: it knows nothing of the session, and is silent about it. */
static void lost_session_is_opened_anew(void **state)
{
	struct lab *lab = *state;

	assert_answered(lab, &status);
	memset(lab->bmc.sessions, 0, sizeof(lab->bmc.sessions));
	begin(lab, &status);
	assert_true(finish(lab) <= 3000);
	assert_int_equal(lab->outcome.event, RMCP_ANSWERED);
	assert_int_equal(lab->session.lost, 1);
	assert_int_equal(lab->bmc.opens, 2);

	/* The same when it is only kept: nobody is disturbed. */
	memset(lab->bmc.sessions, 0, sizeof(lab->bmc.sessions));
	lab->outcomes = 0;
	pass(lab, 60000);
	assert_int_equal(lab->outcomes, 0);
	assert_int_equal(lab->session.state, RMCP_CLOSED);
	assert_int_equal(lab->session.lost, 2);
}

/* What must not be sent twice is sent only through a session that lives. */
static void once_means_once(void **state)
{
	struct lab *lab = *state;

	assert_answered(lab, &power_on);
	pass(lab, 10000);
	assert_answered(lab, &reset); /* after a question whether it lives */
	assert_int_equal(lab->bmc.controls, 2);

	pass(lab, 10000);
	memset(lab->bmc.sessions, 0, sizeof(lab->bmc.sessions));
	assert_answered(lab, &reset);
	assert_int_equal(lab->bmc.controls, 3);

	lost_answer = lab->answers + 1;
	lab->answer = lose_one;
	begin(lab, &reset);
	assert_true(finish(lab) <= RMCP_TIMEOUT_MS);
	assert_failed(lab, E_TIMEOUT);
	assert_int_equal(lab->bmc.controls, 4); /* executed, and not again */
}

/* --- what does not belong --- */

static struct packet kept[32];
static size_t kept_count;

static void keep_and_double(struct lab *lab, struct packet *packet)
{
	if (kept_count < COUNT_OF(kept))
		kept[kept_count++] = *packet;
	hear(lab, packet);
}

static void everything_comes_twice_and_again_later(void **state)
{
	struct lab *lab = *state;

	kept_count = 0;
	lab->answer = keep_and_double;
	assert_answered(lab, &power_on);
	assert_answered(lab, &status);
	assert_true(lab->session.late >= 6);
	assert_int_equal(lab->bmc.opens, 1);
	lab->answer = NULL;
	/* All of it once more, while the next question is open. */
	lab->deaf = true;
	begin(lab, &status);
	for (size_t i = 0; i < kept_count; i++)
		hear(lab, &kept[i]);
	assert_int_equal(lab->outcomes, 0);
	lab->deaf = false;
	(void)finish(lab);
	assert_int_equal(lab->outcome.event, RMCP_ANSWERED);
	/* And into another session. */
	memset(lab->bmc.sessions, 0, sizeof(lab->bmc.sessions));
	lab->deaf = true;
	begin(lab, &status);
	for (size_t i = 0; i < kept_count; i++)
		hear(lab, &kept[i]);
	assert_int_equal(lab->outcomes, 0);
	lab->deaf = false;
	(void)finish(lab);
	assert_int_equal(lab->outcome.event, RMCP_ANSWERED);
}

static unsigned spoiled_at, spoiled_bit;

static void spoil(struct lab *lab, struct packet *packet)
{
	if (lab->answers == lost_answer && spoiled_at < packet->size)
		packet->bytes[spoiled_at] ^= (uint8_t)(1 << spoiled_bit);
}

/* One bit of one answer is wrong: at worst it costs time or a refusal, never a wrong answer. */
static void any_one_bit_may_be_wrong(void **state)
{
	struct lab *lab = *state;

	for (lost_answer = 1; lost_answer <= 4; lost_answer++) {
		for (spoiled_at = 0; spoiled_at < 120; spoiled_at++) {
			spoiled_bit = (spoiled_at * 3 + lost_answer) % 8;
			lab_init(lab, 3);
			lab->bmc.power_on = true;
			lab->answer = spoil;
			begin(lab, &status);
			(void)finish(lab);
			if (lab->outcome.event == RMCP_ANSWERED) {
				assert_int_equal(lab->outcome.answer.data[1], 0);
				assert_int_equal(lab->outcome.answer.data[2], 1);
			} else {
				/* Only set-up can be refused; a sealed answer is ignored. */
				assert_true(lost_answer < 4);
			}
		}
	}
}

/* Somebody in between takes the seal off and says that none is needed. */
static void unseal(struct lab *lab, struct packet *packet)
{
	uint8_t plain[] = {6,    0, 0xff, 7,    6, 0, 0,    0,    0, 0, 0, 0, 0, 0, 12,  0,
			   0x81, 4, 0x7b, 0x20, 4, 1, 0x00, 0x00, 0, 0, 0, 0, 0, 0, 0x00};

	if (packet->bytes[5] != 0xc0)
		return;
	memcpy(plain + 6, packet->bytes + 6, 8);
	plain[20] = (uint8_t)(lab->session.request << 2);
	plain[27] = bmc_checksum(plain + 19, 8);
	packet->size = 28;
	memcpy(packet->bytes, plain, 28);
	hear(lab, packet);
	packet->bytes[5] = 0x40; /* claims a seal, but no encryption: FreeIPMI would abort */
	hear(lab, packet);
	packet->bytes[5] = 0x80;
	hear(lab, packet);
	packet->size = 0;
}

static void unsealed_answers_do_not_count(void **state)
{
	struct lab *lab = *state;

	lab->answer = unseal;
	begin(lab, &status);
	(void)finish(lab);
	assert_failed(lab, E_TIMEOUT);
	assert_int_equal(lab->session.forged, 0);
	assert_true(lab->session.late >= 3);
}

static void forgotten_exchange_is_not_heard(void **state)
{
	struct lab *lab = *state;
	struct rmcp_io io = io_of(lab);

	assert_answered(lab, &status);
	rmcp_session_ask(&lab->session, &io, &status, lab->now_ms + 30000);
	rmcp_session_forget(&lab->session);
	lab->outcomes = 0;
	settle(lab);
	assert_int_equal(lab->outcomes, 0);
	assert_answered(lab, &power_on);
	/* During a set-up, too. */
	lab_init(lab, 3);
	io = io_of(lab);
	rmcp_session_ask(&lab->session, &io, &status, lab->now_ms + 30000);
	rmcp_session_forget(&lab->session);
	settle(lab);
	pass(lab, 5000);
	assert_int_equal(lab->outcomes, 0);
	assert_answered(lab, &status);
	assert_int_equal(lab->bmc.opens, 1);
}

static void window_takes_each_number_once(void **state)
{
	struct rmcp_window window = {0};

	(void)state;
	assert_true(rmcp_window_take(&window, 7));
	assert_false(rmcp_window_take(&window, 7));
	assert_true(rmcp_window_take(&window, 9));
	assert_true(rmcp_window_take(&window, 8));
	assert_false(rmcp_window_take(&window, 8));
	assert_true(rmcp_window_take(&window, 100));
	assert_true(rmcp_window_take(&window, 69));
	assert_false(rmcp_window_take(&window, 68)); /* too old */
	assert_false(rmcp_window_take(&window, 69));
	assert_true(rmcp_window_take(&window, UINT32_MAX / 2));
	assert_true(rmcp_window_take(&window, UINT32_MAX - 1));
	assert_true(rmcp_window_take(&window, 1)); /* around */
	assert_false(rmcp_window_take(&window, UINT32_MAX - 1));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(every_suite_opens_asks_and_closes),
		TEST(unknown_suites_are_said),
		TEST(idle_session_is_kept_and_then_closed),
		TEST(every_status_has_its_error),
		TEST(wrong_password_is_noticed_here),
		TEST(operator_is_enough),
		TEST(denied_look_asks_for_more),
		TEST(all_sessions_taken),
		TEST(any_one_answer_may_be_lost),
		TEST(most_answers_may_be_lost),
		TEST(dead_one_is_given_up),
		TEST(deadline_comes_before_patience),
		TEST(lost_session_is_opened_anew),
		TEST(once_means_once),
		TEST(everything_comes_twice_and_again_later),
		TEST(any_one_bit_may_be_wrong),
		TEST(unsealed_answers_do_not_count),
		TEST(forgotten_exchange_is_not_heard),
		TEST(window_takes_each_number_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
