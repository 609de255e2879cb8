// links: trainer_comm
/* Ranks that reach each other by TCP: the same sums as elsewhere, and only ranks of the job. */
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.h"

#include "tests/support/cmocka.h"
#include "trainer_image/comm/collective.h"
#include "trainer_image/comm/hello_wire.h"

enum { RANKS = 3, NUMBERS = 200000, WAIT_MS = 20000 };

struct lab {
	struct transport_address addresses[RANKS];
	int listeners[RANKS];
	struct transport_job job;
};

static void lab_begin(struct lab *lab)
{
	*lab = (struct lab){.job = {.addresses = lab->addresses,
				    .ranks = RANKS,
				    .key = "a key of thirty-two bytes......."}};
	for (int rank = 0; rank < RANKS; rank++) {
		struct sockaddr_in at = {.sin_family = AF_INET,
					 .sin_addr = {htonl(INADDR_LOOPBACK)}};
		socklen_t size = sizeof(at);

		lab->listeners[rank] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_true(lab->listeners[rank] >= 0);
		assert_int_equal(bind(lab->listeners[rank], (struct sockaddr *)&at, size), 0);
		assert_int_equal(listen(lab->listeners[rank], 16), 0);
		assert_int_equal(getsockname(lab->listeners[rank], (struct sockaddr *)&at, &size),
				 0);
		(void)snprintf(lab->addresses[rank].host, sizeof(lab->addresses[rank].host),
			       "127.0.0.1");
		(void)snprintf(lab->addresses[rank].port, sizeof(lab->addresses[rank].port), "%d",
			       ntohs(at.sin_port));
	}
}

static void lab_end(struct lab *lab)
{
	for (int rank = 0; rank < RANKS; rank++)
		(void)close(lab->listeners[rank]);
}

/* True when all went as wanted. */
typedef bool (*rank_fn)(struct lab *lab, int rank);

static bool join(struct lab *lab, int rank, struct transport **ret)
{
	struct problem problem = {0};
	int rc = transport_tcp_new(&lab->job, rank, lab->listeners[rank], WAIT_MS, ret, &problem);

	if (rc != 0)
		fprintf(stderr, "rank %d: %s\n", rank, problem.message);
	return rc == 0;
}

static pid_t begin_rank(struct lab *lab, int rank, rank_fn fn)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fn(lab, rank) ? 0 : 1);
	return pid;
}

static void end_rank(pid_t pid, bool killed)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(killed ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void run_ranks(struct lab *lab, rank_fn fn)
{
	pid_t pids[RANKS];

	for (int rank = 0; rank < RANKS; rank++)
		pids[rank] = begin_rank(lab, rank, fn);
	for (int rank = 0; rank < RANKS; rank++)
		end_rank(pids[rank], false);
}

/* Sums that are larger than any buffer of the kernel. */
static bool sum_once(struct transport *transport, enum collective_way way, enum codec codec,
		     double least)
{
	struct collective_group group = collective_all(transport);
	struct collective_sum sum = {
		.way = way,
		.codec = codec,
		.numbers = malloc(NUMBERS * sizeof(float)),
		.count = NUMBERS,
		.workspace = malloc(collective_workspace(&group, way, codec, NUMBERS))};
	uint64_t before = transport_sent(transport);
	bool right = sum.numbers && sum.workspace;

	for (size_t i = 0; right && i < NUMBERS; i++)
		sum.numbers[i] = (float)(i % 100) + (float)transport->rank;
	right = right && collective_sum(transport, &group, &sum) == 0;
	for (size_t i = 0; right && i < NUMBERS; i++)
		right = fabs((double)sum.numbers[i] - (double)(i % 100) * RANKS - 3) <= least;
	right = right &&
		transport_sent(transport) - before == collective_bytes(&group, way, codec, NUMBERS);
	free(sum.workspace);
	free(sum.numbers);
	return right;
}

static bool sums_rank(struct lab *lab, int rank)
{
	struct transport *transport;
	bool right = join(lab, rank, &transport);

	if (!right)
		return false;
	right = sum_once(transport, COLLECTIVE_RING, CODEC_NONE, 1e-6) &&
		sum_once(transport, COLLECTIVE_TREE, CODEC_NONE, 1e-6) &&
		sum_once(transport, COLLECTIVE_DIRECT, CODEC_INT8, 4);
	transport_pace(transport, 20e6);
	right = right && sum_once(transport, COLLECTIVE_RING, CODEC_BF16, 3);
	transport_free(transport);
	return right;
}

static void test_sums(void **state)
{
	struct lab lab;

	(void)state;
	lab_begin(&lab);
	run_ranks(&lab, sums_rank);
	lab_end(&lab);
}

/* Who connects, says something else and stays, holds nobody up for good. */
static void test_strangers(void **state)
{
	struct sockaddr_in at;
	socklen_t size = sizeof(at);
	int strangers[4];
	struct lab lab;

	(void)state;
	lab_begin(&lab);
	assert_int_equal(getsockname(lab.listeners[0], (struct sockaddr *)&at, &size), 0);
	for (int i = 0; i < 4; i++) {
		strangers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(strangers[i], (struct sockaddr *)&at, size), 0);
	}
	assert_int_equal(write(strangers[1], "GET / HTTP/1.1\r\nHost: a\r\n\r\n0123456789", 38),
			 38);
	(void)close(strangers[2]);
	struct hello hello = {.rank = 1, .ranks = RANKS};
	uint8_t bytes[HELLO_SIZE + HELLO_PROOF_SIZE] = {0};

	hello_encode(&hello, bytes);
	assert_int_equal(write(strangers[3], bytes, sizeof(bytes)),
			 sizeof(bytes)); /* a rank without the key */
	run_ranks(&lab, sums_rank);
	for (int i = 0; i < 4; i++)
		if (i != 2)
			(void)close(strangers[i]);
	lab_end(&lab);
}

static void greet_bytes(int fd, uint8_t *bytes, size_t size, const uint8_t *out)
{
	assert_int_equal(write(fd, out, size), size);
	assert_int_equal(recv(fd, bytes, size, MSG_WAITALL), size);
}

/* Rank 2 calls, both prove, and it gives up in that moment: its next call is taken. */
static void test_gave_up(void **state)
{
	struct hello mine = {.rank = 2, .ranks = RANKS, .nonce = "sixteen bytes.."};
	uint8_t out[HELLO_PROOF_SIZE];
	uint8_t in[HELLO_PROOF_SIZE];
	struct hello theirs;
	struct sockaddr_in at;
	socklen_t size = sizeof(at);
	pid_t pids[RANKS];
	struct lab lab;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	lab_begin(&lab);
	pids[0] = begin_rank(&lab, 0, sums_rank);
	assert_int_equal(getsockname(lab.listeners[0], (struct sockaddr *)&at, &size), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, size), 0);
	hello_encode(&mine, out);
	greet_bytes(fd, in, HELLO_SIZE, out);
	assert_int_equal(hello_decode(in, HELLO_SIZE, &theirs), 0);
	hello_prove(&mine, &theirs, lab.job.key, out);
	greet_bytes(fd, in, HELLO_PROOF_SIZE, out);
	assert_int_equal(hello_check(&mine, &theirs, lab.job.key, in), 0);
	(void)close(fd);
	for (int rank = 1; rank < RANKS; rank++)
		pids[rank] = begin_rank(&lab, rank, sums_rank);
	for (int rank = 0; rank < RANKS; rank++)
		end_rank(pids[rank], false);
	lab_end(&lab);
}

static void test_other_key(void **state)
{
	struct problem problem = {0};
	struct transport *transport;
	struct lab lab;

	(void)state;
	lab_begin(&lab);
	pid_t first = begin_rank(&lab, 0, sums_rank);
	struct transport_job other = lab.job;

	other.key[0] ^= 1;
	assert_int_equal(
		transport_tcp_new(&other, 1, lab.listeners[1], WAIT_MS, &transport, &problem),
		E_AUTHENTICATION);
	assert_non_null(strstr(problem.message, "rank 0 at 127.0.0.1"));
	assert_non_null(strstr(problem.hint, "key"));
	(void)kill(first, SIGKILL);
	end_rank(first, true);
	lab_end(&lab);
}

static void test_missing(void **state)
{
	struct problem problem = {0};
	struct transport *transport;
	struct lab lab;

	(void)state;
	lab_begin(&lab);
	assert_int_equal(
		transport_tcp_new(&lab.job, 0, lab.listeners[0], 200, &transport, &problem),
		E_TIMEOUT);
	assert_non_null(strstr(problem.message, "rank 1"));
	assert_int_equal(
		transport_tcp_new(&lab.job, 2, lab.listeners[2], 200, &transport, &problem),
		E_TIMEOUT);
	assert_non_null(strstr(problem.message, "rank 0"));
	assert_int_equal(
		transport_tcp_new(&lab.job, RANKS, lab.listeners[2], 200, &transport, &problem),
		-EINVAL);
	lab_end(&lab);
}

/* The last rank dies in the middle: the others end at once, and name it or the one that ended before them. */
static bool dying_rank(struct lab *lab, int rank)
{
	struct transport *transport;

	if (!join(lab, rank, &transport))
		return false;
	if (rank == 2)
		(void)raise(SIGKILL);
	bool right = !sum_once(transport, COLLECTIVE_RING, CODEC_NONE, 1e-6) &&
		     transport->blamed != rank;

	transport_free(transport);
	return right;
}

static void test_death(void **state)
{
	pid_t pids[RANKS];
	struct lab lab;

	(void)state;
	lab_begin(&lab);
	for (int rank = 0; rank < RANKS; rank++)
		pids[rank] = begin_rank(&lab, rank, dying_rank);
	for (int rank = 0; rank < RANKS; rank++)
		end_rank(pids[rank], rank == 2);
	lab_end(&lab);
}

static void test_hello(void **state)
{
	const struct hello mine = {.rank = 1, .ranks = 4, .nonce = "0123456789abcde"};
	const struct hello theirs = {.rank = 2, .ranks = 4, .nonce = "fedcba987654321"};
	const uint8_t key[HELLO_KEY_SIZE] = {1, 2, 3};
	uint8_t bytes[HELLO_SIZE + 1];
	uint8_t proof[HELLO_PROOF_SIZE];
	struct hello read;

	(void)state;
	hello_encode(&mine, bytes);
	assert_int_equal(hello_decode(bytes, HELLO_SIZE, &read), 0);
	assert_memory_equal(&read, &mine, sizeof(mine));
	assert_int_equal(hello_decode(bytes, HELLO_SIZE + 1, &read), E_MALFORMED);
	assert_int_equal(hello_decode(bytes, HELLO_SIZE - 1, &read), E_MALFORMED);
	bytes[9] = 2;
	assert_int_equal(hello_decode(bytes, HELLO_SIZE, &read), E_UNSUPPORTED);
	bytes[9] = 1;
	bytes[11] = 4;
	assert_int_equal(hello_decode(bytes, HELLO_SIZE, &read), E_INVALID);
	/* Whose proof it is counts: one that is sent back is worth nothing. */
	hello_prove(&mine, &theirs, key, proof);
	assert_int_equal(hello_check(&theirs, &mine, key, proof), 0);
	assert_int_equal(hello_check(&mine, &theirs, key, proof), E_AUTHENTICATION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hello),     cmocka_unit_test(test_sums),
		cmocka_unit_test(test_strangers), cmocka_unit_test(test_gave_up),
		cmocka_unit_test(test_other_key), cmocka_unit_test(test_missing),
		cmocka_unit_test(test_death),
	};

	return cmocka_run_group_tests_name("trainer_tcp", tests, NULL, NULL);
}
