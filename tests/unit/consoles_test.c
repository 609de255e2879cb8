// links: bampi_control
/* user 8: a console that goes mute when its node is reset, while the session stays up. Against an
 * ipmi_sim whose serial port says nothing. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "bampi/bmc/console_policy.h"
#include "bampi/control/consoles.h"
#include "tests/support/bmc_lab.h"

#define START_AGE_MS 25000 /* so long ago the node was started, as the step says */

struct lab {
	struct bmc_lab sim;
	struct consoles *consoles;
	int listener, serial; /* the node's end of the serial line */
};

static int start(void **state)
{
	static const struct consoles_options options = {.folder = ""};
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9003)};
	struct lab *lab = calloc(1, sizeof(*lab));
	int one = 1;

	assert_non_null(lab);
	lab_start(&lab->sim);
	assert_int_equal(consoles_new(lab->sim.loop, &options, &lab->consoles), 0);
	assert_int_equal(inet_pton(AF_INET, lab->sim.address, &address.sin_addr), 1);
	lab->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(lab->listener >= 0);
	assert_int_equal(setsockopt(lab->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	assert_int_equal(bind(lab->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(lab->listener, 4), 0);
	lab->serial = -1;
	*state = lab;
	return 0;
}

static int stop(void **state)
{
	struct lab *lab = *state;

	consoles_free(lab->consoles);
	if (lab->serial >= 0)
		(void)close(lab->serial);
	(void)close(lab->listener);
	lab_stop(&lab->sim);
	free(lab);
	return 0;
}

static void turn(struct lab *lab, int64_t ms)
{
	int64_t end_ms = clock_monotonic_ms() + ms;

	while (clock_monotonic_ms() < end_ms) {
		loop_run_once(lab->sim.loop);
		if (lab->serial < 0)
			lab->serial =
				accept4(lab->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		(void)usleep(2000);
	}
}

static uint64_t reopened(const struct lab *lab)
{
	struct console_hub_stats stats;

	consoles_stats(lab->consoles, &stats);
	return stats.reopened;
}

/* Says `text` on the serial line until the console shows it: its session is up by then. */
static bool hears(struct lab *lab, const char *text)
{
	int64_t end_ms = clock_monotonic_ms() + 60000;
	bool blind;

	while (clock_monotonic_ms() < end_ms) {
		turn(lab, 200);
		if (lab->serial >= 0)
			(void)dprintf(lab->serial, "%s\r\n", text);
		if (consoles_holds(lab->consoles, LAB_BMC, text, &blind))
			return true;
	}
	return false;
}

static void mute_is_opened_anew(void **state)
{
	struct lab *lab = *state;
	struct bmc_endpoint bmc = lab_endpoint(&lab->sim);
	unsigned times = 9;
	int64_t mute_ms;

	consoles_endpoint(lab->consoles, LAB_BMC, &bmc);
	consoles_active(lab->consoles, LAB_BMC, true);
	assert_true(hears(lab, "before the reset"));

	/* No step listens: a quiet console is nobody's trouble. */
	assert_int_equal(consoles_listen(lab->consoles, LAB_BMC, -1, &times), 0);
	turn(lab, 2500);
	assert_int_equal(reopened(lab), 0);

	/* A step listens since a start a moment ago: not mute yet. */
	assert_true(consoles_listen(lab->consoles, LAB_BMC, 0, &times) < 1000);
	turn(lab, 2500);
	assert_int_equal(reopened(lab), 0);

	/* Heard since the start: it is quiet since then, not since the start. */
	mute_ms = consoles_listen(lab->consoles, LAB_BMC, START_AGE_MS, &times);
	assert_true(mute_ms < START_AGE_MS);
	assert_int_equal(times, 0);
	turn(lab, 2500);
	assert_int_equal(reopened(lab), 0);
}

static void mute_since_the_start(void **state)
{
	struct lab *lab = *state;
	unsigned times = 9;
	int64_t end_ms = clock_monotonic_ms() + 60000;

	/* Nothing for 20 s after it: the session is another one, and what comes is heard there. */
	(void)consoles_listen(lab->consoles, LAB_BMC, 0, &times);
	while (reopened(lab) == 0 && clock_monotonic_ms() < end_ms)
		turn(lab, 500);
	assert_int_equal(reopened(lab), 1);
	assert_true(hears(lab, "haas-callback 5b61"));
	(void)consoles_listen(lab->consoles, LAB_BMC, clock_monotonic_ms() - (end_ms - 60000),
			      &times);
	assert_int_equal(times, 1);
	assert_int_equal(reopened(lab), 1);
	/* Who has nothing to say is asked less and less. */
	assert_int_equal(console_mute_ms(0), 20000);
	assert_int_equal(console_mute_ms(1), 40000);
	assert_int_equal(console_mute_ms(9), 160000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mute_is_opened_anew),
		cmocka_unit_test(mute_since_the_start),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
