// links: bampi_bmc common_io common_base
// alone: replaces pthread_mutex_unlock()
/* Serial consoles: what the ring keeps and shows, and real SOL bytes both ways through an ipmi_sim.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <ipmiconsole.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "bampi/bmc/console.h"
#include "bampi/bmc/console_policy.h"
#include "bampi/bmc/console_ring.h"
#include "tests/support/bmc_lab.h"

/* --- ring and tail --- */

static void ring_keeps_the_latest(void **state)
{
	struct console_ring *ring = calloc(1, sizeof(*ring));
	char *copy = malloc(CONSOLE_RING_SIZE + 10);
	char *big = malloc(3 * (size_t)CONSOLE_RING_SIZE);
	uint64_t position;

	(void)state;
	assert_non_null(ring);
	assert_non_null(copy);
	assert_non_null(big);
	assert_int_equal(console_ring_copy(ring, 0, copy, 10, &position), 0);
	console_ring_add(ring, "hello", 5);
	assert_int_equal(console_ring_copy(ring, 1, copy, 3, &position), 3);
	assert_memory_equal(copy, "ell", 3);
	assert_int_equal(position, 1);
	for (size_t i = 0; i < 3 * (size_t)CONSOLE_RING_SIZE; i++)
		big[i] = (char)(i % 251);
	console_ring_add(ring, big, 3 * (size_t)CONSOLE_RING_SIZE);
	console_ring_add(ring, big, 1000);
	assert_int_equal(ring->total, 5 + 3 * CONSOLE_RING_SIZE + 1000);
	assert_int_equal(console_ring_copy(ring, 0, copy, CONSOLE_RING_SIZE + 10, &position),
			 CONSOLE_RING_SIZE);
	assert_int_equal(position, ring->total - CONSOLE_RING_SIZE);
	assert_memory_equal(copy, big + 2 * (size_t)CONSOLE_RING_SIZE + 1000,
			    CONSOLE_RING_SIZE - 1000);
	assert_memory_equal(copy + CONSOLE_RING_SIZE - 1000, big, 1000);
	assert_int_equal(console_ring_copy(ring, ring->total + 7, copy, 10, &position), 0);
	free(big);
	free(copy);
	console_ring_done(ring);
	free(ring);
}

/* A console that says little costs little, and nothing is lost while it grows. */
static void ring_grows_as_it_is_filled(void **state)
{
	struct console_ring ring = {0};
	char *copy = malloc(CONSOLE_RING_SIZE);
	uint64_t position;
	uint64_t oldest;
	size_t size;

	(void)state;
	assert_non_null(copy);
	assert_int_equal(ring.room, 0);
	for (unsigned i = 0; ring.total < 2 * (uint64_t)CONSOLE_RING_SIZE; i++) {
		char piece[7];

		for (size_t j = 0; j < sizeof(piece); j++)
			piece[j] = (char)((ring.total + j) % 251);
		console_ring_add(&ring, piece, 1 + i % sizeof(piece));
		assert_true(ring.room >= ring.total || ring.room == CONSOLE_RING_SIZE);
		assert_true(ring.room <= 256 || ring.room < 2 * ring.total);
		if (i % 1009 != 0)
			continue;
		size = console_ring_copy(&ring, 0, copy, CONSOLE_RING_SIZE, &position);
		oldest = ring.total > CONSOLE_RING_SIZE ? ring.total - CONSOLE_RING_SIZE : 0;
		assert_int_equal(position, oldest);
		assert_int_equal(size, ring.total - oldest);
		for (size_t j = 0; j < size; j++)
			assert_int_equal(copy[j], (char)((position + j) % 251));
	}
	console_ring_done(&ring);
	assert_int_equal(ring.room, 0);
	free(copy);
}

static void tail_is_what_a_person_saw(void **state)
{
	static const struct {
		const char *bytes;
		unsigned lines;
		const char *want;
	} cases[] = {
		{"", 5, ""},
		{"one\ntwo\nthree", 2, "two\nthree\n"},
		{"one\r\ntwo\r\r\n\r\n\r\n", 5, "one\ntwo\n"},
		{"10%\r20%\r100% done\r\n", 5, "100% done\n"},
		{"abc\b\bX\n", 5, "aX\n"},
		{"\x1b[31;1mred\x1b[0m plain\n", 5, "red plain\n"},
		{"\x1b]0;title\awindow\n", 5, "window\n"},
		{"\x1b]0;title\x1b\\window\n", 5, "window\n"},
		{"\x1b(Bascii\x1b"
		 "7\n",
		 5, "ascii\n"},
		{"cut \x1b[31\nnext\n", 5, "cut\nnext\n"},
		{"\xc3\xa4\x01\x02z\tq   \n", 5, "??z q\n"},
		{"one\n", 0, ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct text text = {0};

		console_tail_text(cases[i].bytes, strlen(cases[i].bytes), cases[i].lines, &text);
		assert_string_equal(text_get(&text), cases[i].want);
		text_done(&text);
	}
}

static void retries_know_why(void **state)
{
	struct problem problem = {0};

	(void)state;
	assert_int_equal(console_retry_ms(IPMICONSOLE_ERR_SESSION_TIMEOUT, 1, "n1", &problem),
			 1000);
	assert_int_equal(problem.code, E_TIMEOUT);
	assert_int_equal(console_retry_ms(IPMICONSOLE_ERR_SESSION_TIMEOUT, 4, "n1", &problem),
			 8000);
	assert_int_equal(console_retry_ms(IPMICONSOLE_ERR_SESSION_TIMEOUT, 4000000, "n1", &problem),
			 60000);
	assert_int_equal(console_retry_ms(IPMICONSOLE_ERR_PASSWORD_INVALID, 1, "n1", &problem),
			 15 * 60 * 1000);
	assert_int_equal(problem.code, E_AUTHENTICATION);
	assert_int_equal(console_retry_ms(IPMICONSOLE_ERR_SOL_STOLEN, 1, "n1", &problem), 60000);
	assert_int_equal(problem.code, E_CONFLICT);
	assert_int_equal(console_retry_ms(IPMICONSOLE_ERR_INTERNAL_ERROR, 2, "n1", &problem), 2000);
	assert_int_equal(problem.code, E_PROTOCOL);
}

/* --- real SOL --- */

struct lab {
	struct bmc_lab sim;
	struct console_hub *hub;
	int listener, serial; /* the node's end of the serial line */
};

static int start(void **state)
{
	struct lab *lab = calloc(1, sizeof(*lab));

	assert_non_null(lab);
	lab_start(&lab->sim);
	assert_int_equal(console_hub_new(lab->sim.loop, &lab->hub), 0);
	lab->listener = -1;
	lab->serial = -1;
	*state = lab;
	return 0;
}

static int stop(void **state)
{
	struct lab *lab = *state;

	console_hub_free(lab->hub);
	if (lab->serial >= 0)
		(void)close(lab->serial);
	if (lab->listener >= 0)
		(void)close(lab->listener);
	lab_stop(&lab->sim);
	free(lab);
	return 0;
}

static void serial_listen(struct lab *lab)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9003)};
	int one = 1;

	assert_int_equal(inet_pton(AF_INET, lab->sim.address, &address.sin_addr), 1);
	lab->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(lab->listener >= 0);
	assert_int_equal(setsockopt(lab->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	assert_int_equal(bind(lab->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(lab->listener, 4), 0);
}

/* Turns the loop until `done` or the time is over. */
static bool turn_until(struct lab *lab, bool (*done)(struct lab *), int64_t within_ms)
{
	int64_t end_ms = clock_monotonic_ms() + within_ms;

	while (clock_monotonic_ms() < end_ms) {
		loop_run_once(lab->sim.loop);
		if (done(lab))
			return true;
		(void)usleep(2000);
	}
	return false;
}

static enum console_state state_of(const struct lab *lab)
{
	struct console_status status = {0};

	(void)console_status(lab->hub, LAB_BMC, &status);
	return status.state;
}

static bool is_connected(struct lab *lab)
{
	if (lab->serial < 0)
		lab->serial = accept4(lab->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	return lab->serial >= 0 && state_of(lab) == CONSOLE_CONNECTED;
}

static bool is_waiting(struct lab *lab)
{
	return state_of(lab) == CONSOLE_WAITING;
}

static bool tail_has_login(struct lab *lab)
{
	struct text text = {0};
	bool has;

	console_tail(lab->hub, LAB_BMC, 3, &text);
	has = strstr(text_get(&text), "n1 login:") != NULL;
	text_done(&text);
	return has;
}

static bool node_read_key(struct lab *lab)
{
	char bytes[64];
	ssize_t size = read(lab->serial, bytes, sizeof(bytes));

	return size > 0 && memchr(bytes, 'k', (size_t)size) != NULL;
}

static bool payload_is_free(struct lab *lab)
{
	char got[256];

	lab_ipmitool(&lab->sim, "raw 6 0x4a 1", got);
	return strstr(got, " 01 00 00") != NULL;
}

struct pieces {
	size_t bytes;
	bool ended;
};
static void take_piece(void *context, const char *bytes, size_t size, uint64_t position)
{
	struct pieces *pieces = context;

	(void)bytes;
	assert_int_equal(position, pieces->bytes);
	pieces->bytes += size;
	pieces->ended |= size == 0;
}

static void bytes_go_both_ways(void **state)
{
	struct lab *lab = *state;
	struct bmc_endpoint bmc = lab_endpoint(&lab->sim);
	struct console_status status;
	struct problem problem = {0};
	struct pieces pieces = {0};
	uint64_t ticket;
	size_t taken = 0;

	assert_int_equal(console_subscribe(lab->hub, LAB_BMC, take_piece, &pieces, &ticket),
			 E_NOT_FOUND);
	serial_listen(lab);
	assert_int_equal(console_watch(lab->hub, &bmc, &problem), 0);
	assert_int_equal(console_subscribe(lab->hub, LAB_BMC, take_piece, &pieces, &ticket), 0);
	assert_true(turn_until(lab, is_connected, 60000));
	assert_int_equal(write(lab->serial, "Debian 12\r\nn1 login:", 20), 20);
	assert_true(turn_until(lab, tail_has_login, 60000));
	assert_int_equal(console_write(lab->hub, LAB_BMC, "k", 1, &taken), 0);
	assert_int_equal(taken, 1);
	assert_true(turn_until(lab, node_read_key, 60000));
	assert_true(console_status(lab->hub, LAB_BMC, &status));
	assert_true(status.total >= 20 && status.last_byte_us > 0 && pieces.bytes == status.total);
	/* Get Payload Activation Status: one instance, in use. */
	assert_ipmitool(&lab->sim, "raw 6 0x4a 1", " 01 01 00");
	console_unsubscribe(lab->hub, ticket);
	console_unsubscribe(lab->hub, ticket);

	/* Nobody watches: the session ends, what it said stays. */
	console_unwatch(lab->hub, LAB_BMC);
	assert_int_equal(state_of(lab), CONSOLE_OFF);
	assert_true(tail_has_login(lab));
	assert_int_equal(console_write(lab->hub, LAB_BMC, "k", 1, &taken), E_UNAVAILABLE);
	assert_true(turn_until(lab, payload_is_free, 60000));

	assert_int_equal(console_subscribe(lab->hub, LAB_BMC, take_piece, &pieces, &ticket), 0);
	console_forget(lab->hub, LAB_BMC);
	assert_true(pieces.ended);
	assert_false(console_status(lab->hub, LAB_BMC, &status));
}

/* Our thread stands still after each step inside the library, so that the engine's threads are
 * always faster: what they end before ipmiconsole_engine_submit has returned is not to be lost. */
static _Thread_local bool is_slow;

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int (*unlock)(pthread_mutex_t *) = NULL;
	int rc;

	*(void **)&unlock = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	rc = unlock(mutex);
	if (is_slow)
		(void)usleep(50000);
	return rc;
}

static void refused_before_we_look(void **state)
{
	struct lab *lab = *state;
	struct bmc_endpoint bmc = lab_endpoint(&lab->sim);
	struct problem problem = {0};

	(void)text_copy(bmc.password, sizeof(bmc.password), "wrong");
	is_slow = true;
	assert_int_equal(console_watch(lab->hub, &bmc, &problem), 0);
	is_slow = false;
	assert_true(turn_until(lab, is_waiting, 60000));
	console_forget(lab->hub, LAB_BMC); /* the rest is LeakSanitizer's */
}

static void wrong_password_waits_long(void **state)
{
	struct lab *lab = *state;
	struct bmc_endpoint bmc = lab_endpoint(&lab->sim);
	struct problem problem = {0};
	struct console_status status;

	(void)text_copy(bmc.password, sizeof(bmc.password), "wrong");
	assert_int_equal(console_watch(lab->hub, &bmc, &problem), 0);
	assert_true(turn_until(lab, is_waiting, 60000));
	assert_true(console_status(lab->hub, LAB_BMC, &status));
	assert_int_equal(status.problem.code, E_AUTHENTICATION);
	assert_true(status.retry_at_us - clock_wall_us() > 600 * 1000000LL);
	console_forget(lab->hub, LAB_BMC);

	(void)text_copy(bmc.driver, sizeof(bmc.driver), "sim");
	assert_int_equal(console_watch(lab->hub, &bmc, &problem), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring_keeps_the_latest),
		cmocka_unit_test(ring_grows_as_it_is_filled),
		cmocka_unit_test(tail_is_what_a_person_saw),
		cmocka_unit_test(retries_know_why),
		cmocka_unit_test(bytes_go_both_ways),
		cmocka_unit_test(refused_before_we_look),
		cmocka_unit_test(wrong_password_waits_long),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
