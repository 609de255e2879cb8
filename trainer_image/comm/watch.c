#include "trainer_image/comm/watch.h"

#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"

#include "trainer_image/comm/beat_wire.h"
#include "trainer_image/comm/transport_private.h"

enum { WATCH_BEAT_US = 500000, WATCH_LAST_BEATS = 3 };
enum { WATCH_LATE_US = 2 * WATCH_BEAT_US }; /* a loaded machine may wake the thread so late */

struct watch_rank {
	struct sockaddr_storage address;
	socklen_t address_size;
	struct beat beat; /* the newest */
	int64_t heard_us;
	uint64_t waited_before_us; /* at the last call of watch_slowest() */
};

struct watch {
	struct transport *transport;
	int socket;
	int ranks;
	uint8_t key[32];
	int64_t silent_us;
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	bool ends;
	struct beat mine;
	int64_t away_us;               /* the longest time that this process was stopped */
	struct problem over;           /* code 0: all is well */
	struct watch_verdict *verdict; /* NULL: nobody reads it */
	struct watch_rank all[COMM_RANKS_MAX];
};

/* --- beats --- */

static void watch_beat(struct watch *watch)
{
	uint8_t bytes[BEAT_SIZE_MAX];
	size_t size;

	pthread_mutex_lock(&watch->lock);
	watch->mine.number++;
	size = beat_encode(&watch->mine, watch->key, bytes);
	pthread_mutex_unlock(&watch->lock);
	for (int rank = 0; rank < watch->ranks; rank++)
		if (rank != watch->mine.rank)
			(void)sendto(watch->socket, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL,
				     (const struct sockaddr *)&watch->all[rank].address,
				     watch->all[rank].address_size);
}

static void watch_verdict(struct watch *watch, bool own, const struct problem *problem)
{
	struct watch_verdict *verdict = watch->verdict;

	if (!verdict || atomic_load(&verdict->at_ms) != 0)
		return;
	verdict->own = own;
	verdict->problem = *problem;
	atomic_store(&verdict->at_ms, clock_monotonic_ms());
}

/* The first cause counts: what others say after it follows from it. */
static void watch_over(struct watch *watch, int code, int rank, const char *does, const char *why)
{
	if (watch->over.code != 0)
		return;
	(void)problem_set(&watch->over, code, "rank %d %s %s", rank, does, why);
	watch_verdict(watch, false, &watch->over);
	transport_stop(watch->transport);
}

static void watch_hear_one(struct watch *watch, const struct beat *beat)
{
	struct watch_rank *rank = &watch->all[beat->rank];

	if (beat->ranks != watch->ranks || beat->rank == watch->mine.rank ||
	    beat->number <= rank->beat.number)
		return;
	rank->beat = *beat;
	rank->heard_us = clock_monotonic_us();
	if (beat->state == BEAT_FAILED)
		watch_over(watch, E_UNAVAILABLE, beat->rank, "ended:", beat->cause);
}

static void watch_hear(struct watch *watch)
{
	uint8_t bytes[BEAT_SIZE_MAX + 1];
	struct beat beat;
	ssize_t size;

	while ((size = recv(watch->socket, bytes, sizeof(bytes), MSG_DONTWAIT)) >= 0) {
		if (beat_decode(bytes, (size_t)size, watch->key, &beat) != 0)
			continue;
		pthread_mutex_lock(&watch->lock);
		watch_hear_one(watch, &beat);
		pthread_mutex_unlock(&watch->lock);
	}
}

/* `paused_us`: how long this thread did not run more than it should. Then all others seem silent. */
static void watch_judge(struct watch *watch, int64_t paused_us)
{
	int64_t now_us = clock_monotonic_us();

	pthread_mutex_lock(&watch->lock);
	if (paused_us > 0 && paused_us + WATCH_LATE_US > watch->away_us)
		watch->away_us = paused_us + WATCH_LATE_US;
	for (int i = 0; i < watch->ranks; i++) {
		struct watch_rank *rank = &watch->all[i];
		char since[32];

		rank->heard_us += paused_us;
		if (i == watch->mine.rank || rank->beat.state == BEAT_ENDED ||
		    now_us - rank->heard_us <= watch->silent_us)
			continue;
		(void)text_format(since, sizeof(since), "%.1f s",
				  (double)(now_us - rank->heard_us) / 1e6);
		watch_over(watch, E_TIMEOUT, i, "is silent since", since);
	}
	pthread_mutex_unlock(&watch->lock);
}

static bool watch_ends(struct watch *watch)
{
	bool ends;

	pthread_mutex_lock(&watch->lock);
	ends = watch->ends;
	pthread_mutex_unlock(&watch->lock);
	return ends;
}

static void *watch_thread(void *context)
{
	struct watch *watch = context;
	int64_t beat_us = clock_monotonic_us();
	int64_t before_us = beat_us;

	while (!watch_ends(watch)) {
		struct pollfd fd = {.fd = watch->socket, .events = POLLIN};
		int64_t now_us = clock_monotonic_us();
		int64_t paused_us = now_us - before_us - WATCH_LATE_US;

		before_us = now_us;
		if (now_us >= beat_us) {
			watch_beat(watch);
			beat_us = now_us + WATCH_BEAT_US;
		}
		watch_hear(watch);
		watch_judge(watch, paused_us > 0 ? paused_us : 0);
		(void)poll(&fd, 1, (int)((beat_us - now_us) / 1000 + 1));
	}
	return NULL;
}

/* --- face --- */

static int watch_find(struct watch *watch, const struct transport_job *job, struct problem *problem)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};

	for (int rank = 0; rank < job->ranks; rank++) {
		struct addrinfo *info = NULL;

		if (getaddrinfo(job->addresses[rank].host, job->addresses[rank].port, &hints,
				&info) != 0)
			return problem_set(problem, E_NOT_FOUND,
					   "rank %d: %s is no address that is known here", rank,
					   job->addresses[rank].host);
		memcpy(&watch->all[rank].address, info->ai_addr, info->ai_addrlen);
		watch->all[rank].address_size = info->ai_addrlen;
		watch->all[rank].heard_us = clock_monotonic_us();
		freeaddrinfo(info);
	}
	return 0;
}

static void watch_release(struct watch *watch)
{
	pthread_mutex_destroy(&watch->lock);
	closep(&watch->socket);
	free(watch);
}

int watch_new(const struct transport_job *job, struct transport *transport, int socket,
	      int64_t silent_ms, struct watch **ret, struct problem *problem)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	int rc;

	if (!watch) {
		closep(&socket);
		return problem_set(problem, -ENOMEM, "no memory to watch over ranks");
	}
	watch->transport = transport;
	watch->socket = socket;
	watch->ranks = job->ranks;
	watch->silent_us = (silent_ms > 0 ? silent_ms : WATCH_SILENT_MS) * 1000;
	memcpy(watch->key, job->key, sizeof(watch->key));
	watch->mine =
		(struct beat){.rank = (uint16_t)transport->rank, .ranks = (uint16_t)job->ranks};
	pthread_mutex_init(&watch->lock, NULL);
	rc = watch_find(watch, job, problem);
	if (rc == 0 && pthread_create(&watch->thread, NULL, watch_thread, watch) != 0)
		rc = problem_set(problem, -EAGAIN, "no thread to watch over ranks");
	if (rc != 0) {
		watch_release(watch);
		return rc;
	}
	*ret = watch;
	return 0;
}

void watch_free(struct watch *watch)
{
	if (!watch)
		return;
	pthread_mutex_lock(&watch->lock);
	watch->ends = true;
	if (watch->mine.state == BEAT_RUNS)
		watch->mine.state = BEAT_ENDED;
	pthread_mutex_unlock(&watch->lock);
	pthread_join(watch->thread, NULL);
	for (int i = 0; i < WATCH_LAST_BEATS; i++) /* a datagram may be lost */
		watch_beat(watch);
	watch_release(watch);
}

void watch_step(struct watch *watch, uint64_t step, uint64_t waited_us)
{
	pthread_mutex_lock(&watch->lock);
	watch->mine.step = step;
	watch->mine.waited_us = waited_us;
	pthread_mutex_unlock(&watch->lock);
}

void watch_fail(struct watch *watch, const struct problem *cause)
{
	bool is_first;

	pthread_mutex_lock(&watch->lock);
	is_first = watch->mine.state == BEAT_RUNS;
	if (is_first) {
		watch->mine.state = BEAT_FAILED;
		(void)text_format(watch->mine.cause, sizeof(watch->mine.cause), "%s%s%s",
				  cause->message, cause->detail[0] ? "; " : "", cause->detail);
		watch_verdict(watch, true, cause);
	}
	pthread_mutex_unlock(&watch->lock);
	if (!is_first)
		return;
	watch_beat(watch);
	transport_stop(watch->transport);
}

void watch_show(struct watch *watch, struct watch_verdict *verdict)
{
	pthread_mutex_lock(&watch->lock);
	watch->verdict = verdict;
	if (watch->over.code != 0)
		watch_verdict(watch, false, &watch->over);
	pthread_mutex_unlock(&watch->lock);
}

bool watch_fine(struct watch *watch, struct problem *problem)
{
	bool fine;

	pthread_mutex_lock(&watch->lock);
	fine = watch->over.code == 0;
	if (!fine)
		*problem = watch->over;
	pthread_mutex_unlock(&watch->lock);
	return fine;
}

bool watch_was_away(struct watch *watch, int rank, struct problem *problem)
{
	pthread_mutex_lock(&watch->lock);
	bool away = rank >= 0 && rank < watch->ranks && watch->all[rank].beat.state == BEAT_ENDED &&
		    watch->away_us > watch->silent_us;

	if (away)
		(void)problem_set(problem, E_UNAVAILABLE,
				  "rank %d was stopped for %.1f s: rank %d ended without it",
				  watch->mine.rank, (double)watch->away_us / 1e6, rank);
	pthread_mutex_unlock(&watch->lock);
	return away;
}

struct watch_slowest watch_slowest(struct watch *watch)
{
	struct watch_slowest found = {.rank = -1};
	int64_t all_us = 0;
	int64_t least_us = 0;

	pthread_mutex_lock(&watch->lock);
	watch->all[watch->mine.rank].beat = watch->mine;
	for (int i = 0; i < watch->ranks; i++) {
		struct watch_rank *rank = &watch->all[i];
		int64_t waited_us = (int64_t)(rank->beat.waited_us - rank->waited_before_us);

		rank->waited_before_us = rank->beat.waited_us;
		all_us += waited_us;
		if (found.rank < 0 || waited_us < least_us) {
			found.rank = i;
			least_us = waited_us;
		}
	}
	pthread_mutex_unlock(&watch->lock);
	if (watch->ranks > 1)
		found.skew_us = (all_us - least_us) / (watch->ranks - 1) - least_us;
	if (found.skew_us <= 0)
		found.rank = -1;
	return found;
}
