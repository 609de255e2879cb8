// links: trainer_comm
/* Heartbeats: a rank that is stopped, killed or fails ends the job on all others, by its name. */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.h"

#include "tests/support/cmocka.h"
#include "trainer_image/comm/beat_wire.h"
#include "trainer_image/comm/collective.h"
#include "trainer_image/comm/watch.h"

enum { RANKS = 3, SILENT_MS = 4000, STEPS = 100000 };

enum trouble { TROUBLE_NONE, TROUBLE_STOPPED, TROUBLE_KILLED, TROUBLE_FAILS, TROUBLE_SLOW };

struct report {
	int rc;
	struct problem problem;
	struct watch_slowest slowest;
};

struct lab {
	struct transport_address addresses[RANKS];
	int sockets[RANKS];
	struct transport_job job;
	struct shared_memory *memory;
	struct report *reports; /* of each rank, shared */
	enum trouble trouble;
};

static void lab_begin(struct lab *lab, enum trouble trouble)
{
	*lab = (struct lab){.job = {.addresses = lab->addresses,
				    .ranks = RANKS,
				    .key = "a key of thirty-two bytes......."},
			    .trouble = trouble};
	for (int rank = 0; rank < RANKS; rank++) {
		struct sockaddr_in at = {.sin_family = AF_INET,
					 .sin_addr = {htonl(INADDR_LOOPBACK)}};
		socklen_t size = sizeof(at);

		lab->sockets[rank] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		assert_int_equal(bind(lab->sockets[rank], (struct sockaddr *)&at, size), 0);
		assert_int_equal(getsockname(lab->sockets[rank], (struct sockaddr *)&at, &size), 0);
		(void)snprintf(lab->addresses[rank].host, sizeof(lab->addresses[rank].host),
			       "127.0.0.1");
		(void)snprintf(lab->addresses[rank].port, sizeof(lab->addresses[rank].port), "%d",
			       ntohs(at.sin_port));
	}
	assert_int_equal(shared_memory_new(RANKS, 4096, &lab->memory), 0);
	lab->reports = mmap(NULL, sizeof(*lab->reports) * RANKS, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(lab->reports != MAP_FAILED);
}

static void lab_end(struct lab *lab)
{
	for (int rank = 0; rank < RANKS; rank++)
		(void)close(lab->sockets[rank]);
	shared_memory_free(lab->memory);
	(void)munmap(lab->reports, sizeof(*lab->reports) * RANKS);
}

/* What goes wrong with rank 2 in step 3. */
static int meet_trouble(enum trouble trouble, struct watch *watch, int step)
{
	if (trouble == TROUBLE_SLOW)
		(void)usleep(20000);
	if (step != 3)
		return 0;
	if (trouble == TROUBLE_STOPPED)
		(void)raise(SIGSTOP);
	if (trouble == TROUBLE_KILLED)
		(void)raise(SIGKILL);
	if (trouble == TROUBLE_FAILS) {
		watch_fail(watch, &(struct problem){.message = "no space is left on the disk"});
		return -ENOSPC;
	}
	return 0;
}

static void train(struct lab *lab, struct transport *transport, struct watch *watch,
		  struct report *report)
{
	struct collective_group group = collective_all(transport);
	int last = lab->trouble == TROUBLE_NONE || lab->trouble == TROUBLE_SLOW ? 60 : STEPS;
	float numbers[100];
	uint8_t workspace[8192];

	for (int step = 1; step <= last && report->rc == 0; step++) {
		const struct collective_sum sum = {
			.numbers = numbers, .count = COUNT_OF(numbers), .workspace = workspace};

		memset(numbers, 0, sizeof(numbers));
		if (transport->rank == 2)
			report->rc = meet_trouble(lab->trouble, watch, step);
		if (report->rc == 0)
			report->rc = collective_sum(transport, &group, &sum);
		watch_step(watch, (uint64_t)step, (uint64_t)transport->waited_us);
	}
	/* The others' last numbers come with their next beat. */
	for (int i = 0; lab->trouble == TROUBLE_SLOW && transport->rank == 0 && i < 100 &&
			report->slowest.rank < 0;
	     i++) {
		(void)usleep(50000);
		report->slowest = watch_slowest(watch);
	}
}

static bool run_rank(struct lab *lab, int rank)
{
	struct report *report = &lab->reports[rank];
	struct transport *transport;
	struct watch *watch;

	if (transport_shared_new(lab->memory, rank, &transport) != 0)
		return false;
	transport->patience_ms = 60000; /* the watch is what ends it */
	report->slowest.rank = -1;
	if (watch_new(&lab->job, transport, dup(lab->sockets[rank]), SILENT_MS, &watch,
		      &report->problem) != 0)
		return false;
	train(lab, transport, watch, report);
	/* What was told is heard a little later. */
	for (int i = 0; report->rc == -ECANCELED && watch_fine(watch, &report->problem) && i < 100;
	     i++)
		(void)usleep(10000);
	watch_free(watch);
	transport_free(transport);
	return true;
}

static void run_ranks(struct lab *lab)
{
	pid_t pids[RANKS];

	for (int rank = 0; rank < RANKS; rank++) {
		pids[rank] = fork();
		assert_true(pids[rank] >= 0);
		if (pids[rank] == 0)
			_exit(run_rank(lab, rank) ? 0 : 1);
	}
	for (int rank = 0; rank < RANKS; rank++) {
		int status;

		if (rank == 2 && lab->trouble == TROUBLE_STOPPED)
			(void)kill(pids[rank], SIGKILL); /* the others have ended */
		assert_int_equal(waitpid(pids[rank], &status, 0), pids[rank]);
		if (rank < 2 || lab->trouble == TROUBLE_NONE || lab->trouble == TROUBLE_SLOW)
			assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
}

static void check_named(enum trouble trouble, const char *words)
{
	struct lab lab;

	lab_begin(&lab, trouble);
	run_ranks(&lab);
	for (int rank = 0; rank < 2; rank++) {
		assert_int_equal(lab.reports[rank].rc, -ECANCELED);
		if (!strstr(lab.reports[rank].problem.message, words))
			fail_msg("rank %d: \"%s\", not \"%s\"", rank,
				 lab.reports[rank].problem.message, words);
	}
	lab_end(&lab);
}

static void test_stopped(void **state)
{
	(void)state;
	check_named(TROUBLE_STOPPED, "rank 2 is silent since ");
}

static void test_killed(void **state)
{
	(void)state;
	check_named(TROUBLE_KILLED, "rank 2 is silent since ");
}

static void test_fails(void **state)
{
	(void)state;
	check_named(TROUBLE_FAILS, "rank 2 ended: no space is left on the disk");
}

/* Ranks end at different times: that is no trouble. */
static void test_none(void **state)
{
	struct lab lab;

	(void)state;
	lab_begin(&lab, TROUBLE_NONE);
	run_ranks(&lab);
	for (int rank = 0; rank < RANKS; rank++)
		assert_int_equal(lab.reports[rank].rc, 0);
	lab_end(&lab);
}

static void test_slow(void **state)
{
	struct lab lab;

	(void)state;
	lab_begin(&lab, TROUBLE_SLOW);
	run_ranks(&lab);
	assert_int_equal(lab.reports[0].slowest.rank, 2);
	assert_true(lab.reports[0].slowest.skew_us > 100000);
	lab_end(&lab);
}

static void test_beat(void **state)
{
	const uint8_t key[BEAT_KEY_SIZE] = {7};
	struct beat beat = {.rank = 2,
			    .ranks = 4,
			    .number = 9,
			    .step = 1000,
			    .waited_us = 77,
			    .state = BEAT_FAILED,
			    .cause = "a\nb"};
	uint8_t bytes[BEAT_SIZE_MAX + 1];
	struct beat read;
	size_t size = beat_encode(&beat, key, bytes);

	(void)state;
	assert_int_equal(beat_decode(bytes, size, key, &read), 0);
	assert_string_equal(read.cause, "a b");
	assert_true(read.number == 9 && read.step == 1000 && read.waited_us == 77 &&
		    read.state == BEAT_FAILED);
	for (size_t i = 0; i < size; i++) {
		bytes[i] ^= 1;
		assert_int_equal(beat_decode(bytes, size, key, &read), E_AUTHENTICATION);
		bytes[i] ^= 1;
		assert_true(beat_decode(bytes, i, key, &read) != 0);
	}
	beat.rank = 4;
	size = beat_encode(&beat, key, bytes);
	assert_int_equal(beat_decode(bytes, size, key, &read), E_MALFORMED);
	memset(beat.cause, 'x', sizeof(beat.cause)); /* not ended: cut */
	beat.rank = 3;
	size = beat_encode(&beat, key, bytes);
	assert_int_equal(beat_decode(bytes, size, key, &read), 0);
	assert_int_equal(strlen(read.cause), BEAT_CAUSE_SIZE - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beat),    cmocka_unit_test(test_none),
		cmocka_unit_test(test_stopped), cmocka_unit_test(test_killed),
		cmocka_unit_test(test_fails),   cmocka_unit_test(test_slow),
	};

	return cmocka_run_group_tests_name("trainer_watch", tests, NULL, NULL);
}
