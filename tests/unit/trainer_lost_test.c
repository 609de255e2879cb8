// links: trainer_cuda_emulated trainer_train
// alone: the back end "cuda" is the emulated one (tests/support/cuda_emulation)
/* What ends a job whose GPUs sum: each cause is named within ten seconds, by the rank that it is of, and no rank waits for
 * ever. On an emulation of CUDA and NCCL; all jobs run at the same time. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"

#include "tests/support/cmocka.h"
#include "tests/support/cuda_emulation/emulation.h"
#include "tests/support/scratch.h"
#include "trainer_image/record/digits.h"
#include "trainer_image/train/launch.h"
#include "trainer_image/train/sum_environment.h"
#include "trainer_image/train/train.h"

/* A dead rank is named in ten seconds, which a loaded machine stretches. Longer than the watch takes to hear of one, ranks wait. */
enum { SAMPLES = 96, RANKS = 3, LOST_MS = 10000, LOADED_MS = 5000, PATIENCE_MS = 8000 };

static char folder[SCRATCH_SIZE];

/* What happens to rank 1 behind its second step. */
enum trouble {
	TROUBLE_NONE,
	TROUBLE_BREAKS,
	TROUBLE_DIES, /* breaks, and its clean-up ends the process */
	TROUBLE_FROZEN,
	TROUBLE_KILLED,
	TROUBLE_STUCK
};

struct lost_case {
	const char *name;
	enum trouble trouble;
	const char *fault;                   /* of NCCL's emulation; NULL = none */
	bool is_apart;                       /* rank 1 sums by the host */
	int devices;                         /* of rank 1 */
	int code;                            /* wanted */
	const char *message, *detail, *hint; /* NULL = any */
	int more_ms;                         /* than a dead rank takes */
};

static const struct lost_case cases[] = {
	{.name = "its GPU breaks",
	 .trouble = TROUBLE_BREAKS,
	 .devices = RANKS,
	 .code = -EIO,
	 .message = "GPU 1 (emulated GPU)"},
	{.name = "its GPU breaks, and it dies of that",
	 .trouble = TROUBLE_DIES,
	 .devices = RANKS,
	 .code = -EIO,
	 .message = "GPU 1 (emulated GPU)"},
	{.name = "it is frozen",
	 .trouble = TROUBLE_FROZEN,
	 .devices = RANKS,
	 .code = E_UNAVAILABLE,
	 .message = "rank 1 is silent"},
	{.name = "it is killed",
	 .trouble = TROUBLE_KILLED,
	 .devices = RANKS,
	 .code = E_UNAVAILABLE,
	 .message = "rank 1 was killed by signal 9"},
	{.name = "its thread is stuck, and NCCL fails in another",
	 .trouble = TROUBLE_STUCK,
	 .fault = "0 6 3 no more of it",
	 .devices = RANKS,
	 .code = -ECONNRESET,
	 .message = "NCCL: to sum gradients failed",
	 .detail = "no more of it",
	 .more_ms = 5000},
	{.name = "it is killed while it joins",
	 .fault = "1 0 -9 -",
	 .devices = RANKS,
	 .code = E_UNAVAILABLE,
	 .message = "rank 1 was killed by signal 9"},
	{.name = "it cannot join",
	 .fault = "1 0 2 no space in /dev/shm",
	 .devices = RANKS,
	 .code = -ECONNRESET,
	 .message = "NCCL: to join the ranks failed",
	 .detail = "no space in /dev/shm",
	 .hint = "--shm-size"},
	{.name = "it does not reach the others",
	 .fault = "1 1 1 out of memory",
	 .devices = RANKS,
	 .code = -ECONNRESET,
	 .message = "NCCL: to sum gradients failed",
	 .detail = "out of memory",
	 .hint = "GPU's memory"},
	{.name = "NCCL fails in a step",
	 .fault = "1 9 3 a peer does not answer",
	 .devices = RANKS,
	 .code = -ECONNRESET,
	 .message = "NCCL: to sum gradients failed",
	 .detail = "a peer does not answer",
	 .hint = "ranks.sum"},
	{.name = "its bytes stand still",
	 .fault = "1 9 -1 -",
	 .devices = RANKS,
	 .code = -ETIMEDOUT,
	 .message = "nothing moves since",
	 .hint = "NCCL_P2P_DISABLE",
	 .more_ms = PATIENCE_MS},
	{.name = "it has no GPU",
	 .code = E_UNAVAILABLE,
	 .message = "no GPU can be used on this machine",
	 .hint = "nvidia-smi"},
	{.name = "it sums another way",
	 .is_apart = true,
	 .devices = RANKS,
	 .code = E_CONFLICT,
	 .message = "rank 1 sums over the host, and rank 0 by NCCL",
	 .hint = "ranks.sum"},
};

static const char model[] = "model small\ninput image 28 28 1\nlabel digit 10\nflatten\n"
			    "linear out=10 bias=1\ncross_entropy\n";

static int start(void **state)
{
	const struct digits_ask digits = {.count = SAMPLES, .seed = 1, .page_size = 16384};
	struct problem problem = {0};
	char path[128];

	(void)state;
	scratch_make(folder, "lost");
	assert_true(text_format(path, sizeof(path), "%s/small.model", folder));
	assert_int_equal(file_write_atomic(path, model, strlen(model), 0600), 0);
	assert_true(text_format(path, sizeof(path), "%s/train.rec", folder));
	assert_int_equal(digits_write(path, &digits, &problem), 0);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	scratch_remove(folder);
	return 0;
}

static void load(size_t nth, const char *sum, struct job *ret)
{
	struct problem problem = {0};
	char path[128];
	char text[400];

	assert_true(text_format(text, sizeof(text),
				"model = \"small.model\"; batch = 4; threads = 1; epochs = 200;\n"
				"data: { train = \"train.rec\"; threads = 1; };\n"
				"device = \"cuda\"; ranks: { count = %d; sum = \"%s\"; };\n",
				RANKS, sum));
	assert_true(text_format(path, sizeof(path), "%s/job%zu.conf", folder, nth));
	assert_int_equal(file_write_atomic(path, text, strlen(text), 0600), 0);
	if (job_load(path, ret, &problem) != 0)
		fail_msg("%s: %s", problem.message, problem.detail);
}

struct lost {
	const struct lost_case *is;
	_Atomic int64_t
		*trouble_ms; /* clock_monotonic_ms() of the trouble, for all ranks; 0: none yet */
	struct job job, apart;
	uint64_t steps;
};

static void see_step(void *context, const struct train_step *is)
{
	struct lost *lost = context;

	(void)is;
	if (++lost->steps != 2)
		return;
	atomic_store(lost->trouble_ms, clock_monotonic_ms());
	switch (lost->is->trouble) {
	case TROUBLE_NONE: break;
	case TROUBLE_BREAKS:
	case TROUBLE_DIES: emulation_break(0); break;
	case TROUBLE_FROZEN: (void)raise(SIGSTOP); break;
	case TROUBLE_KILLED: (void)raise(SIGKILL); break;
	case TROUBLE_STUCK:
		for (;;) /* a call of a driver that does not come back; its watch lives */
			(void)pause();
	}
}

static int run_rank(void *context, struct team *team, struct problem *problem)
{
	struct lost *lost = context;
	const struct train_hooks hooks = {.context = lost,
					  .step = team->rank == 1 ? see_step : NULL};
	const struct train_options options = {
		.job = team->rank == 1 && lost->is->is_apart ? &lost->apart : &lost->job,
		.team = team,
		.hooks = &hooks};
	struct train_result result = {0};

	team->transport->patience_ms = PATIENCE_MS;
	emulation_set_devices(team->rank == 1 ? lost->is->devices : RANKS);
	int rc = train_run(&options, &result, problem);

	if (team->rank == 1 && lost->is->trouble == TROUBLE_DIES)
		(void)raise(SIGKILL);
	return rc;
}

static bool says(const char *text, const char *wanted)
{
	return !wanted || strstr(text, wanted);
}

/* In a process of its own: how the job ended is told on stderr where it is not what was wanted. */
static int run_case(size_t nth)
{
	struct lost lost = {.is = &cases[nth]};
	const struct lost_case *is = lost.is;
	const struct launch_options options = {
		.job = &lost.job, .first = -1, .run = run_rank, .context = &lost};
	struct problem problem = {0};
	int64_t begun_ms = clock_monotonic_ms();

	lost.trouble_ms = mmap(NULL, sizeof(*lost.trouble_ms), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(lost.trouble_ms != MAP_FAILED);
	if (is->fault)
		(void)setenv("NCCL_EMULATION_FAULT", is->fault, 1);
	load(nth, "nccl", &lost.job);
	load(nth, "host", &lost.apart);
	int rc = launch_run(&options, &problem);
	int64_t trouble_ms = atomic_load(lost.trouble_ms);
	int64_t took_ms = clock_monotonic_ms() - (trouble_ms > 0 ? trouble_ms : begun_ms);

	job_done(&lost.job);
	job_done(&lost.apart);
	if (rc == is->code && says(problem.message, is->message) &&
	    says(problem.detail, is->detail) && says(problem.hint, is->hint) &&
	    took_ms < LOST_MS + LOADED_MS + is->more_ms)
		return 0;
	(void)fprintf(stderr, "%s: %lld ms, %d: %s (%s; %s)\n", is->name, (long long)took_ms, rc,
		      problem.message, problem.detail, problem.hint);
	return 1;
}

static void test_lost(void **state)
{
	pid_t pids[COUNT_OF(cases)];
	bool right = true;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0)
			_exit(run_case(i));
	}
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		right = right && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	assert_true(right);
}

/* What a user has said to NCCL stands, unless jobs would hang by it. */
static void test_environment(void **state)
{
	(void)state;
	assert_int_equal(setenv("NCCL_COMM_BLOCKING", "1", 1), 0);
	assert_int_equal(setenv("NCCL_NVLS_ENABLE", "2", 1), 0);
	sum_environment(NULL);
	assert_null(getenv("NCCL_COMM_BLOCKING"));
	assert_string_equal(getenv("NCCL_NVLS_ENABLE"), "2");
	assert_string_equal(getenv("NCCL_MAX_P2P_NCHANNELS"), "8");
	assert_null(getenv("NCCL_SOCKET_IFNAME"));
	sum_environment("192.0.2.77"); /* of no interface */
	assert_null(getenv("NCCL_SOCKET_IFNAME"));
	sum_environment("127.0.0.1");
	assert_string_equal(getenv("NCCL_SOCKET_IFNAME"), "=lo");
	assert_int_equal(unsetenv("NCCL_SOCKET_IFNAME"), 0);
	sum_environment("::1");
	assert_true(!getenv("NCCL_SOCKET_IFNAME") ||
		    strcmp(getenv("NCCL_SOCKET_IFNAME"), "=lo") == 0);
	assert_int_equal(unsetenv("NCCL_SOCKET_IFNAME"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_lost),
	};

	assert_int_equal(setenv("TRAINER_NCCL", NCCL_EMULATION_FOLDER, 1), 0);
	return cmocka_run_group_tests_name("trainer_lost", tests, start, stop);
}
