/* Asks BMCs for their power by bampid's own queue and driver, for measurements.
 *
 *   bmc_poll --hosts FILE [--rounds N] [--keep SECONDS] --user U --password P
 *       one address a line; prints "ADDRESS on|off" for each answer. keep 0: a session per poll
 *   bmc_poll --rack COUNT [--dead-every K] [--seconds S]
 *       COUNT light BMCs of its own, each asked once a second; prints how long the living took
 *
 * Exit 0 when every living BMC answered each time. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/io/loop.h"

#include "bampi/bmc/bmc_queue.h"
#include "tests/support/bmc_rack.h"

struct poll {
	struct loop *loop;
	struct bmc_queue *queue;
	unsigned count, left, rounds, seconds;
	unsigned answered, failed;
	bool quiet; /* measures instead of printing */
	struct one {
		struct poll *poll;
		int64_t id;
		char address[64];
		struct loop_timer *timer;
		int64_t asked_us;
		bool dead;
		unsigned left;
	} * ones;
	uint32_t *took_us;
	size_t took_count, took_room;
};

static void bmc_poll_ask(void *context);

static int64_t now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void bmc_poll_on_answer(void *context, int rc, const struct bmc_result *result,
			       const struct problem *problem)
{
	struct one *one = context;
	struct poll *poll = one->poll;

	if (rc == 0)
		poll->answered++;
	else if (!one->dead)
		poll->failed++;
	if (rc == 0 && !poll->quiet)
		(void)printf("%s %s\n", one->address, result->power.on ? "on" : "off");
	if (rc && !one->dead)
		(void)fprintf(stderr, "%s: %s (%s)\n", one->address, problem->message,
			      problem->detail);
	if (poll->quiet && !one->dead && poll->took_count < poll->took_room)
		poll->took_us[poll->took_count++] = (uint32_t)(now_us() - one->asked_us);
	one->left--;
	if (one->left == 0 && !one->dead && --poll->left == 0)
		loop_stop(poll->loop);
	else if (one->left > 0 && !poll->quiet)
		bmc_poll_ask(one);
}

static void bmc_poll_ask(void *context)
{
	const struct bmc_request request = {.op = BMC_POWER_STATUS};
	struct one *one = context;
	const struct bmc_ask wanted = {
		.bmc_id = one->id, .request = &request, .priority = CALL_POLL};

	one->asked_us = now_us();
	if (bmc_queue_submit(one->poll->queue, &wanted, bmc_poll_on_answer, one, NULL) != 0)
		abort();
	if (one->timer && one->left > 1)
		loop_timer_arm(one->timer, 1000);
}

static void bmc_poll_add(struct poll *poll, const struct bmc_endpoint *endpoint, bool dead)
{
	struct one *one = &poll->ones[poll->count++];
	struct bmc_endpoint named = *endpoint;
	struct problem problem = {0};

	*one = (struct one){.poll = poll, .id = poll->count, .dead = dead, .left = poll->rounds};
	named.id = poll->count;
	(void)text_format(named.node, sizeof(named.node), "n%u", poll->count);
	(void)text_copy(one->address, sizeof(one->address), endpoint->address);
	if (bmc_queue_put(poll->queue, &named, &problem) != 0) {
		(void)fprintf(stderr, "%s\n", problem.message);
		exit(1); /* NOLINT(concurrency-mt-unsafe): before any thread matters */
	}
	poll->left += !dead;
}

static int bmc_poll_compare(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a;
	uint32_t right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

static double at_ms(const struct poll *poll, double part)
{
	size_t index = (size_t)((double)poll->took_count * part);

	return poll->took_count ? poll->took_us[index] / 1000.0 : 0;
}

static void run_hosts(struct poll *poll, const char *path, struct bmc_endpoint *endpoint)
{
	FILE *file = fopen(path, "re");
	char line[64];

	if (!file) {
		perror(path);
		exit(1); /* NOLINT(concurrency-mt-unsafe) */
	}
	poll->ones = calloc(1 << 16, sizeof(*poll->ones));
	if (!poll->ones)
		abort();
	while (poll->count < 1 << 16 && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\r\n")] = '\0';
		(void)text_copy(endpoint->address, sizeof(endpoint->address), line);
		if (line[0])
			bmc_poll_add(poll, endpoint, false);
	}
	(void)fclose(file);
	for (unsigned i = 0; i < poll->count; i++)
		bmc_poll_ask(&poll->ones[i]);
	loop_run(poll->loop);
}

/* Each BMC has its own second, so that the load is even. */
static void run_rack(struct poll *poll, struct bmc_rack *rack, struct bmc_endpoint *endpoint)
{
	poll->quiet = true;
	poll->rounds = poll->seconds;
	poll->ones = calloc(rack->count, sizeof(*poll->ones));
	poll->took_room = (size_t)rack->count * poll->rounds;
	poll->took_us = calloc(poll->took_room, sizeof(*poll->took_us));
	if (!poll->ones || !poll->took_us || !rack_start(rack))
		exit(1); /* NOLINT(concurrency-mt-unsafe) */
	endpoint->port = rack->port;
	for (unsigned i = 0; i < rack->count; i++) {
		rack_address(i, endpoint->address);
		bmc_poll_add(poll, endpoint, rack_is_dead(rack, i));
		if (loop_timer_new(poll->loop, bmc_poll_ask, &poll->ones[i],
				   &poll->ones[i].timer) != 0)
			abort();
		loop_timer_arm(poll->ones[i].timer, (int64_t)i * 1000 / rack->count);
	}
	loop_run(poll->loop);
	qsort(poll->took_us, poll->took_count, sizeof(*poll->took_us), bmc_poll_compare);
	(void)printf("bmcs=%u dead=%u polls=%u failed=%u p50_ms=%.2f p99_ms=%.2f max_ms=%.2f\n",
		     rack->count,
		     rack->count -
			     (unsigned)(poll->took_room ? poll->took_count / poll->rounds : 0),
		     poll->answered, poll->failed, at_ms(poll, 0.5), at_ms(poll, 0.99),
		     at_ms(poll, 0.99999));
	for (unsigned i = 0; i < rack->count; i++)
		loop_timer_free(poll->ones[i].timer);
	rack_stop(rack);
}

int main(int argc, char *argv[])
{
	static const struct option words[] = {
		{"hosts", required_argument, NULL, 'h'},
		{"rounds", required_argument, NULL, 'r'},
		{"keep", required_argument, NULL, 'k'},
		{"user", required_argument, NULL, 'u'},
		{"password", required_argument, NULL, 'p'},
		{"rack", required_argument, NULL, 'n'},
		{"dead-every", required_argument, NULL, 'd'},
		{"seconds", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	struct poll poll = {.rounds = 1, .seconds = 5};
	struct bmc_rack rack = {0};
	struct bmc_queue_options options = {.workers = 1, .session_keep_ms = 150000};
	struct bmc_endpoint endpoint = {
		.driver = "ipmi", .username = "test", .password = "test", .cipher_suite = 3};
	const char *hosts = NULL;
	int word;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no thread yet */
	while ((word = getopt_long(argc, argv, "", words, NULL)) != -1) {
		switch (word) {
		case 'h': hosts = optarg; break;
		case 'r': poll.rounds = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'k': options.session_keep_ms = strtol(optarg, NULL, 10) * 1000; break;
		case 'u':
			(void)text_copy(endpoint.username, sizeof(endpoint.username), optarg);
			break;
		case 'p':
			(void)text_copy(endpoint.password, sizeof(endpoint.password), optarg);
			break;
		case 'n': rack.count = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'd': rack.dead_every = (unsigned)strtoul(optarg, NULL, 10); break;
		case 's': poll.seconds = (unsigned)strtoul(optarg, NULL, 10); break;
		default: return 2;
		}
	}
	if (!hosts == !rack.count || poll.rounds == 0 || poll.seconds == 0) {
		(void)fprintf(stderr, "usage: bmc_poll --hosts FILE ... | --rack COUNT ...\n");
		return 2;
	}
	if (loop_new(&poll.loop) != 0 || bmc_queue_new(poll.loop, &options, &poll.queue) != 0)
		return 1;
	if (hosts)
		run_hosts(&poll, hosts, &endpoint);
	else
		run_rack(&poll, &rack, &endpoint);
	for (unsigned i = 0; i < poll.count; i++)
		poll.ones[i].dead = true; /* nobody listens to the last goodbyes */
	bmc_queue_free(poll.queue);
	loop_free(poll.loop);
	free(poll.ones);
	free(poll.took_us);
	return poll.failed ? 1 : 0;
}
