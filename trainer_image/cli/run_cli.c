/* trainer run JOB: trains as a job's file says, by one process or many. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"

#include "trainer_image/cli/run_progress.h"
#include "trainer_image/cli/trainer_table.h"
#include "trainer_image/train/launch.h"
#include "trainer_image/train/train.h"

enum { RUN_INTERVAL_S = 10, RUN_INTERVAL_MOST_S = 86400 };

/* Set by SIGINT and SIGTERM: a handler has no other way to say it. */
static atomic_bool run_cli_stop;

struct run_cli {
	struct job job;
	bool json;
	int64_t interval_ms;
};

static void run_cli_signal(int number)
{
	(void)number;
	atomic_store(&run_cli_stop, true);
}

/* A second signal of the kind ends it as usual. */
static void run_cli_listen(void)
{
	struct sigaction action = {.sa_handler = run_cli_signal,
				   .sa_flags = (int)(SA_RESTART | SA_RESETHAND)};

	(void)sigaction(SIGINT, &action, NULL);
	action.sa_flags = SA_RESTART;
	(void)sigaction(SIGTERM, &action, NULL);
}

static int run_cli_verdict(const struct run_cli *run, const struct train_result *result)
{
	if (result->stopped)
		return EXIT_INTERRUPTED;
	if (run->job.target <= 0 || !result->evaluated || result->last.accuracy >= run->job.target)
		return EXIT_OK;
	fprintf(stderr, "trainer: %.2f %% are right, %.2f %% were to be\n",
		100 * result->last.accuracy, 100 * run->job.target);
	return EXIT_PARTIAL;
}

/* One rank; the first tells. */
static int run_cli_rank(void *context, struct team *team, struct problem *problem)
{
	static const struct train_hooks quiet;
	struct run_cli *run = context;
	struct run_progress progress;
	struct train_result result;
	bool tells = !team || team->rank == 0;

	run_progress_init(&progress, run->json, run->interval_ms);
	const struct train_options options = {.job = &run->job,
					      .team = team,
					      .hooks = tells ? &progress.hooks : &quiet,
					      .stop = &run_cli_stop};
	int rc = train_run(&options, &result, problem);

	run_progress_clear(&progress);
	if (rc < 0)
		return rc;
	if (!tells)
		return 0;
	run_progress_end(&progress, &result);
	return run_cli_verdict(run, &result);
}

static int run_cli_refuse(const char *text)
{
	fprintf(stderr, "trainer: %s\n", text);
	return EXIT_USAGE;
}

static int run_cli_ranks(const struct command_input *input, const struct job *job,
			 struct launch_options *ret)
{
	bool apart = job->ranks.addresses && job->ranks.addresses[0];
	const char *text = command_option(input, "--rank");
	uint64_t first = 0;
	uint64_t last = 0;

	ret->first = -1;
	if (!text && apart)
		return run_cli_refuse(
			"ranks.addresses are given: --rank says which of them run here");
	if (!text)
		return 0;
	if (!apart)
		return run_cli_refuse("--rank is for jobs with ranks.addresses");
	if (!trainer_range(input, "--rank", (uint64_t)job->ranks.count - 1, &first, &last))
		return EXIT_USAGE;
	ret->first = (int)first;
	ret->last = (int)last;
	if (first > 0)
		fprintf(stderr, "rank %s of %" PRId64 " here; rank 0 tells how it goes\n", text,
			job->ranks.count);
	return 0;
}

static int run_cli_status(const struct problem *problem)
{
	if (problem->code == E_UNAVAILABLE || problem->code == E_TIMEOUT)
		return EXIT_UNREACHABLE;
	return EXIT_FAILED;
}

static bool run_cli_json(const struct command_input *input)
{
	const char *output = command_option(input, "--output");

	return command_option(input, "--json") || (output && strncmp(output, "json", 4) == 0);
}

static int run_cli_run(void *context, const struct command_input *input)
{
	struct run_cli run = {.json = run_cli_json(input)};
	struct launch_options options = {.run = run_cli_rank, .stop = &run_cli_stop};
	struct problem problem = {0};
	uint64_t interval = 0;
	int rc;

	(void)context;
	if (command_option(input, "--print-config")) {
		job_print(stdout);
		return EXIT_OK;
	}
	if (input->word_count != 1)
		return run_cli_refuse("which job? trainer run JOB; --print-config writes a sample");
	if (!trainer_number(input, "--interval", 0, RUN_INTERVAL_MOST_S, RUN_INTERVAL_S, &interval))
		return EXIT_USAGE;
	run.interval_ms = (int64_t)interval * 1000;
	rc = job_load(input->words[0], &run.job, &problem);
	if (rc != 0) {
		int status = trainer_tell(&problem);

		return status == EXIT_FAILED ? EXIT_USAGE : status;
	}
	rc = run_cli_ranks(input, &run.job, &options);
	options.job = &run.job;
	options.context = &run;
	if (rc == 0) {
		run_cli_listen();
		rc = launch_run(&options, &problem);
	}
	if (rc < 0) {
		rc = trainer_tell(&problem);
		rc = rc == EXIT_FAILED ? run_cli_status(&problem) : rc;
	}
	job_done(&run.job);
	return rc;
}

static const struct option_row run_cli_options[] = {
	{"--json", 0, OPTION_FLAG, NULL, "an object a line: begin, step, evaluation, saved, end"},
	{"--interval", 0, OPTION_VALUE, "SECONDS", "between two lines; default 10"},
	{"--rank", 0, OPTION_VALUE, "N",
	 "with ranks.addresses: the ranks of this machine, 4 or 4-7"},
	{"--print-config", 0, OPTION_FLAG, NULL, "write a job's file with every key"},
};

static const struct command run_cli_commands[] = {
	{"run", "", "[JOB]",
	 "train as the file JOB says; goes on from the newest checkpoint when given again",
	 run_cli_options, COUNT_OF(run_cli_options), 0, 1, run_cli_run, "run job.conf --json",
	 NULL},
};

const struct command_group run_group = {run_cli_commands, COUNT_OF(run_cli_commands)};
