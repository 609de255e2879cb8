#include "trainer_image/train/launch.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"

#include "trainer_image/train/sum_environment.h"

enum {
	LAUNCH_RING = 1 << 20,      /* bytes between two ranks */
	LAUNCH_MEET_MS = 60000,     /* until all ranks are there */
	LAUNCH_PATIENCE_MS = 30000, /* of a call; the watch ends it before */
	LAUNCH_END_MS = 7000,       /* all have so long when one has ended badly or failed */
	LAUNCH_SILENT_MS = 3000,    /* when one was found silent, for a while already */
	LAUNCH_LAST_MS = 2000, /* when one has ended by what it heard; and to die of a signal */
	LAUNCH_LOOK_MS = 10,
	LAUNCH_KEY_LEAST = 32,
	LAUNCH_KEY_MOST = 4096,
};

/* How a rank ended, and before that what its watch says; in memory that all share. */
struct launch_report {
	int rc;
	bool heard; /* it ended by what it heard of others */
	struct problem problem;
	struct watch_verdict verdict;
};

struct launch {
	const struct launch_options *options;
	struct transport_address addresses[COMM_RANKS_MAX];
	struct transport_job job;
	int listeners[COMM_RANKS_MAX]; /* TCP; -1 = none */
	int sockets[COMM_RANKS_MAX];   /* UDP, for the watch */
	struct shared_memory *memory;  /* NULL: TCP */
	struct launch_report *reports;
	int first, last;
	pid_t pids[COMM_RANKS_MAX]; /* 0 = not running */
	int statuses[COMM_RANKS_MAX];
	int64_t deadline_ms; /* who runs then is killed; 0 = none */
	int64_t given_up_ms; /* who was killed and has not ended then is left to itself; 0 = none was killed */
	bool told; /* the ranks to stop */
	bool killed[COMM_RANKS_MAX];
};

/* --- sockets --- */

static int launch_bind(int kind, const struct addrinfo *to)
{
	int yes = 1;
	int fd = socket(to->ai_family, kind | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	/* A job that is started again finds its port. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, to->ai_addr, to->ai_addrlen) == 0 &&
	    (kind == SOCK_DGRAM || listen(fd, COMM_RANKS_MAX) == 0))
		return fd;
	int rc = -errno;

	(void)close(fd);
	return rc;
}

/* TCP and UDP at the address of a rank, port "0": any that is free for both. */
static int launch_open(struct launch *launch, int rank, struct problem *problem)
{
	struct transport_address *address = &launch->addresses[rank];
	const struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	struct sockaddr_storage at = {0};
	socklen_t size = sizeof(at);
	int rc = 0;

	if (getaddrinfo(address->host, address->port, &hints, &found) != 0)
		return problem_set(problem, E_NOT_FOUND, "rank %d: no address %s:%s", rank,
				   address->host, address->port);
	launch->listeners[rank] = launch_bind(SOCK_STREAM, found);
	if (launch->listeners[rank] < 0) {
		rc = launch->listeners[rank];
	} else if (getsockname(launch->listeners[rank], (struct sockaddr *)&at, &size) != 0) {
		rc = -errno;
	} else {
		struct addrinfo same = *found;

		same.ai_addr = (struct sockaddr *)&at;
		same.ai_addrlen = size;
		launch->sockets[rank] = launch_bind(SOCK_DGRAM, &same);
		rc = launch->sockets[rank] < 0 ? launch->sockets[rank] : 0;
		(void)getnameinfo(same.ai_addr, size, NULL, 0, address->port, sizeof(address->port),
				  NI_NUMERICSERV);
	}
	freeaddrinfo(found);
	return rc == 0 ? 0
		       : problem_set(problem, rc, "rank %d: %s:%s: %s", rank, address->host,
				     address->port, error_text(rc));
}

/* "host:port", "[::1]:port". */
static int launch_address(const char *text, struct transport_address *ret, struct problem *problem)
{
	const char *colon = strrchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;
	bool bracketed = length > 2 && text[0] == '[' && text[length - 1] == ']';

	if (bracketed) {
		text++;
		length -= 2;
	}
	if (length == 0 || length >= sizeof(ret->host) ||
	    !text_copy(ret->port, sizeof(ret->port), colon + 1) || !ret->port[0]) {
		(void)problem_set(problem, E_INVALID, "ranks.addresses: %s is no host:port", text);
		problem_hint(problem, "10.0.0.1:7000, [fd00::1]:7000");
		return E_INVALID;
	}
	memcpy(ret->host, text, length);
	ret->host[length] = '\0';
	return 0;
}

static int launch_key(struct launch *launch, struct problem *problem)
{
	const char *path = launch->options->job->ranks.key;
	CLEANUP(freep) char *data = NULL;
	size_t size = 0;

	if (sodium_init() < 0)
		return problem_set(problem, E_UNAVAILABLE, "no random numbers");
	if (!path[0]) {
		randombytes_buf(launch->job.key, sizeof(launch->job.key));
		return 0;
	}
	int rc = file_read(path, LAUNCH_KEY_MOST, &data, &size);

	if (rc != 0)
		return problem_set(problem, rc, "ranks.key: cannot read %s: %s", path,
				   error_text(rc));
	if (size < LAUNCH_KEY_LEAST) {
		(void)problem_set(problem, E_INVALID, "ranks.key: %s has %zu bytes, %d are wanted",
				  path, size, LAUNCH_KEY_LEAST);
		problem_hint(problem, "head -c 32 /dev/urandom >%s", path);
		return E_INVALID;
	}
	(void)crypto_generichash(launch->job.key, sizeof(launch->job.key), (uint8_t *)data, size,
				 NULL, 0);
	sodium_memzero(data, size);
	return 0;
}

static int launch_sockets(struct launch *launch, struct problem *problem)
{
	char *const *said = launch->options->job->ranks.addresses;
	int rc = launch_key(launch, problem);

	for (int rank = 0; rank < launch->job.ranks && rc == 0; rank++) {
		struct transport_address *address = &launch->addresses[rank];

		if (said && said[0]) {
			rc = launch_address(said[rank], address, problem);
		} else {
			(void)text_copy(address->host, sizeof(address->host), "127.0.0.1");
			(void)text_copy(address->port, sizeof(address->port), "0");
		}
		if (rc == 0 && rank >= launch->first && rank <= launch->last)
			rc = launch_open(launch, rank, problem);
	}
	return rc;
}

/* --- a rank --- */

static int launch_meet(struct launch *launch, struct team *team, struct problem *problem)
{
	int rank = team->rank;
	int rc = launch->memory ? transport_shared_new(launch->memory, rank, &team->transport)
				: transport_tcp_new(&launch->job, rank, launch->listeners[rank],
						    LAUNCH_MEET_MS, &team->transport, problem);

	if (rc != 0)
		return launch->memory ? problem_set(problem, rc, "rank %d: shared memory: %s", rank,
						    error_text(rc))
				      : rc;
	team->transport->patience_ms = LAUNCH_PATIENCE_MS;
	rc = watch_new(&launch->job, team->transport, launch->sockets[rank], 0, &team->watch,
		       problem);
	if (rc == 0)
		watch_show(team->watch, &launch->reports[rank].verdict);
	return rc;
}

static void launch_rank(struct launch *launch, int rank)
{
	struct launch_report *report = &launch->reports[rank];
	struct team team = {.rank = rank, .ranks = launch->job.ranks};

	report->rc = launch_meet(launch, &team, &report->problem);
	if (report->rc == 0)
		report->rc =
			launch->options->run(launch->options->context, &team, &report->problem);
	report->heard = team.heard;
	if (report->rc < 0)
		team_fail(&team, &report->problem);
	watch_free(team.watch);
	transport_free(team.transport);
}

static void launch_environment(const struct launch *launch, int rank)
{
	const struct job *job = launch->options->job;

	if (job->device == JOB_CUDA)
		sum_environment(job_machine_ranks(job, rank) < launch->job.ranks
					? launch->addresses[rank].host
					: NULL);
}

static int launch_fork(struct launch *launch, struct problem *problem)
{
	pid_t parent = getpid();

	(void)fflush(stdout);
	for (int rank = launch->first; rank <= launch->last; rank++) {
		pid_t pid = fork();

		if (pid < 0)
			return problem_set(problem, -errno, "cannot start rank %d: %s", rank,
					   error_text(-errno));
		if (pid == 0) {
			/* A job is killed as a whole: what is left would save over the next. */
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(1);
			launch_environment(launch, rank);
			launch_rank(launch, rank);
			(void)fflush(stdout);
			_exit(launch->reports[rank].rc == 0 ? 0 : 1);
		}
		launch->pids[rank] = pid;
	}
	return 0;
}

/* --- their end --- */

static void launch_deadline(struct launch *launch, int64_t deadline_ms)
{
	if (launch->deadline_ms == 0 || deadline_ms < launch->deadline_ms)
		launch->deadline_ms = deadline_ms;
}

static void launch_collect(struct launch *launch, int rank, int status)
{
	int64_t now_ms = clock_monotonic_ms();

	launch->pids[rank] = 0;
	launch->statuses[rank] = status;
	if (status != 0)
		launch_deadline(launch, now_ms + (launch->reports[rank].heard ? LAUNCH_LAST_MS
									      : LAUNCH_END_MS));
}

/* The thread that trains may be stuck in a call of a driver, where nobody can tell it that the job is over. Its watch is not. */
static void launch_heed(struct launch *launch, int rank)
{
	const struct watch_verdict *verdict = &launch->reports[rank].verdict;
	int64_t at_ms = atomic_load(&verdict->at_ms);

	if (at_ms > 0)
		launch_deadline(launch, at_ms + (!verdict->own && verdict->problem.code == E_TIMEOUT
							 ? LAUNCH_SILENT_MS
							 : LAUNCH_END_MS));
}

static void launch_signal(struct launch *launch, int number)
{
	for (int rank = launch->first; rank <= launch->last; rank++)
		if (launch->pids[rank] > 0)
			(void)kill(launch->pids[rank], number);
}

static int launch_running(struct launch *launch)
{
	int running = 0;

	for (int rank = launch->first; rank <= launch->last; rank++) {
		int status = 0;

		if (launch->pids[rank] <= 0)
			continue;
		if (waitpid(launch->pids[rank], &status, WNOHANG) == launch->pids[rank])
			launch_collect(launch, rank, status);
		else
			running++;
		launch_heed(launch, rank);
	}
	return running;
}

static void launch_kill(struct launch *launch)
{
	int64_t now_ms = clock_monotonic_ms();

	if (launch->given_up_ms > 0 || launch->deadline_ms == 0 || now_ms <= launch->deadline_ms)
		return;
	for (int rank = launch->first; rank <= launch->last; rank++)
		launch->killed[rank] = launch->pids[rank] > 0;
	launch_signal(launch, SIGKILL);
	launch->given_up_ms = now_ms + LAUNCH_LAST_MS;
}

static void launch_wait(struct launch *launch)
{
	const struct timespec pause = {.tv_nsec = LAUNCH_LOOK_MS * 1000000L};

	/* A process in a driver's hands may not even end by SIGKILL. */
	while (launch_running(launch) > 0 &&
	       (launch->given_up_ms == 0 || clock_monotonic_ms() < launch->given_up_ms)) {
		const atomic_bool *stop = launch->options->stop;

		if (stop && atomic_load(stop) && !launch->told) {
			launch_signal(launch, SIGTERM);
			launch->told = true;
		}
		launch_kill(launch);
		(void)nanosleep(&pause, NULL);
	}
}

/* What ended a rank, as far as it or its watch could say it; 0: neither did. */
static int launch_end(const struct launch *launch, int rank, bool *ret_own, struct problem *ret)
{
	const struct launch_report *report = &launch->reports[rank];

	if (report->rc < 0) {
		*ret_own = !report->heard;
		*ret = report->problem;
		return report->rc;
	}
	if (atomic_load(&report->verdict.at_ms) == 0 ||
	    !(report->verdict.own || launch->killed[rank]))
		return 0;
	*ret_own = report->verdict.own;
	*ret = report->verdict.problem;
	if (!*ret_own)
		ret->code = E_UNAVAILABLE;
	return ret->code;
}

static bool launch_is_dead(const struct launch *launch, int rank)
{
	int status = launch->statuses[rank];

	/* A library may end the process, which then has said nothing. */
	return !launch->killed[rank] && status != 0 &&
	       (WIFSIGNALED(status) || launch->reports[rank].rc == 0);
}

static int launch_death(int rank, int status, struct problem *problem)
{
	int number = WTERMSIG(status);
	const char *name = sigdescr_np(number);

	if (!WIFSIGNALED(status))
		return problem_set(problem, E_UNAVAILABLE,
				   "rank %d ended with status %d and without a word", rank,
				   WEXITSTATUS(status));

	return problem_set(problem, E_UNAVAILABLE, "rank %d was killed by signal %d (%s)", rank,
			   number, name ? name : "of real time");
}

/* A rank's own failure comes before a death, a death before what others saw; of several failures the first. */
static int launch_outcome(struct launch *launch, struct problem *problem)
{
	int64_t own_ms = INT64_MAX;
	int rc = 0;     /* by failures */
	int seen = 0;   /* by what others saw */
	int status = 0; /* an exit status */
	int dead = -1;
	struct problem seen_is = {0};

	for (int rank = launch->last; rank >= launch->first; rank--) {
		int64_t at_ms = atomic_load(&launch->reports[rank].verdict.at_ms);
		struct problem is;
		bool own = false;
		int ended = launch_end(launch, rank, &own, &is);

		if (launch->reports[rank].rc > 0)
			status = launch->reports[rank].rc;
		if (ended < 0 && own) {
			if (at_ms > own_ms)
				continue;
			own_ms = at_ms;
			rc = ended;
			*problem = is;
		} else if (launch_is_dead(launch, rank)) {
			dead = rank;
		} else if (ended < 0) {
			seen = ended;
			seen_is = is;
		}
	}
	if (rc == 0 && dead >= 0)
		rc = launch_death(dead, launch->statuses[dead], problem);
	if (rc == 0 && seen < 0) {
		rc = seen;
		*problem = seen_is;
	}
	return rc < 0 ? rc : status;
}

static void launch_close(struct launch *launch)
{
	for (int rank = 0; rank < launch->job.ranks; rank++) {
		closep(&launch->listeners[rank]);
		closep(&launch->sockets[rank]);
	}
	shared_memory_free(launch->memory);
	if (launch->reports)
		(void)munmap(launch->reports, sizeof(*launch->reports) * COMM_RANKS_MAX);
}

static int launch_prepare(struct launch *launch, struct problem *problem)
{
	int rc = launch_sockets(launch, problem);

	if (rc != 0)
		return rc;
	if (launch->options->job->ranks.transport == JOB_SHARED)
		rc = shared_memory_new(launch->job.ranks, LAUNCH_RING, &launch->memory);
	if (rc != 0)
		return problem_set(problem, rc, "shared memory: %s", error_text(rc));
	launch->reports = mmap(NULL, sizeof(*launch->reports) * COMM_RANKS_MAX,
			       PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (launch->reports == MAP_FAILED) {
		launch->reports = NULL;
		(void)problem_set(problem, -ENOMEM, "shared memory: %s", error_text(-ENOMEM));
		return -ENOMEM;
	}
	return 0;
}

static int launch_ranks(struct launch *launch, struct problem *problem)
{
	int rc = launch_fork(launch, problem);

	if (rc != 0)
		launch_signal(launch, SIGKILL);
	launch_wait(launch);
	return rc == 0 ? launch_outcome(launch, problem) : rc;
}

int launch_run(const struct launch_options *options, struct problem *problem)
{
	int ranks = (int)options->job->ranks.count;
	struct launch launch = {
		.options = options,
		.job = {.addresses = launch.addresses, .ranks = ranks},
		.first = options->first < 0 ? 0 : options->first,
		.last = options->first < 0 ? ranks - 1 : options->last,
	};
	int rc;

	if (ranks == 1)
		return options->run(options->context, NULL, problem);
	for (int rank = 0; rank < ranks; rank++)
		launch.listeners[rank] = launch.sockets[rank] = -1;
	rc = launch_prepare(&launch, problem);
	if (rc == 0)
		rc = launch_ranks(&launch, problem);
	launch_close(&launch);
	return rc;
}
