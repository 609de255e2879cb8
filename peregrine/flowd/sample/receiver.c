#include "peregrine/flowd/sample/receiver.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "peregrine/flowd/sample/ipfix_reader.h"
#include "peregrine/flowd/sample/receiver_socket.h"
#include "peregrine/flowd/sample/sample_reader.h"
#include "peregrine/flowd/sample/thin_policy.h"

enum {
	BATCH = 32,
	THREAD_LIMIT = 64,
	/* A thread that takes each datagram as it comes is woken for each: that costs as much as
	 * all the rest of receiving. What comes within this time waits in the socket for one call:
	 * 230 KiB of its buffer at 100,000 datagrams a second. */
	GATHER_US = 1000,
	NICE = -5,
};

/* One directory, held by every receiver that reads it. */
struct held_directory {
	struct agent_directory *directory;
	atomic_uint holders;
};

struct receiver {
	struct receivers *all;
	unsigned number;
	int fd, wake;
	struct loop_watch *watch;
	pthread_t thread;
	bool running;
	atomic_bool stop;

	/* The thread's. */
	struct sample_reader reader;
	struct source_book *book;
	struct ipfix_book *exporters; /* RECEIVE_FLOWS */
	struct thin_state thin;
	uint64_t samples_told, drops_told; /* up to the last harvest */
	uint32_t drops_seen;               /* as the kernel told them */
	struct held_directory *held;
	uint8_t *buffers; /* BATCH x RECEIVE_SIZE */

	/* Handed to and fro: whoever takes a pointer owns what it shows. */
	struct harvest harvests[2];
	_Atomic(struct harvest *) spare, full;
	_Atomic(struct held_directory *) next;
};

struct receivers {
	struct loop *loop;
	struct receiver_options options;
	uint16_t port;
	int buffer;
	unsigned count;
	struct receiver receivers[];
};

static void receiver_let_go(struct held_directory *held)
{
	if (!held || atomic_fetch_sub(&held->holders, 1) != 1)
		return;
	agent_directory_free(held->directory);
	free(held);
}

static struct held_directory *receiver_hold(struct agent_directory *directory, unsigned holders)
{
	struct held_directory *held = malloc(sizeof(*held));

	if (!held)
		return NULL;
	held->directory = directory;
	atomic_init(&held->holders, holders);
	return held;
}

/* --- the thread --- */

static void receiver_source_of(const struct sockaddr_storage *from, uint8_t ret[16])
{
	memset(ret, 0, 16);
	if (from->ss_family == AF_INET) {
		ret[10] = ret[11] = 0xff;
		memcpy(ret + 12, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
	} else if (from->ss_family == AF_INET6) {
		memcpy(ret, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
	}
}

/* The kernel counts to 2^32. */
static void count_kernel_drops(struct receiver *receiver, struct receive_counts *counts)
{
	uint32_t info[SK_MEMINFO_VARS] = {0};
	socklen_t size = sizeof(info);

	if (getsockopt(receiver->fd, SOL_SOCKET, SO_MEMINFO, info, &size) || size < sizeof(info))
		return;
	counts->kernel_drops += info[SK_MEMINFO_DROPS] - receiver->drops_seen;
	receiver->drops_seen = info[SK_MEMINFO_DROPS];
}

/* How many of the next harvest's samples are used; records of exporters are no samples. */
static void choose_thin(struct receiver *receiver, const struct receive_counts *counts)
{
	if (receiver->exporters)
		return;
	const struct thin_facts facts = {
		.samples = counts->samples - receiver->samples_told,
		.kernel_drops = counts->kernel_drops - receiver->drops_told,
		.samples_max = receiver->all->options.samples_max,
	};

	receiver->thin = thin_next(&receiver->thin, &facts);
	receiver->reader.thin = receiver->thin.factor;
	receiver->samples_told = counts->samples;
	receiver->drops_told = counts->kernel_drops;
}

/* Hands the harvest over when the main loop has returned the other one. */
static void hand_over(struct receiver *receiver, bool last)
{
	struct harvest *harvest = receiver->reader.harvest;
	struct harvest *next = atomic_exchange(&receiver->spare, NULL);
	struct held_directory *directory;
	uint64_t one = 1;

	if (!next && !last) {
		harvest->counts.late_harvests++;
		return;
	}
	sample_reader_flush(&receiver->reader);
	harvest->until_us = clock_wall_us();
	count_kernel_drops(receiver, &harvest->counts);
	harvest->sources = source_book_harvest(receiver->book, &harvest->source_count);
	if (next) {
		next->counts = harvest->counts;
		next->from_us = harvest->until_us;
		choose_thin(receiver, &harvest->counts);
		next->thin = receiver->reader.thin;
		receiver->reader.harvest = next;
	}
	atomic_store(&receiver->full, harvest);
	(void)!write(receiver->wake, &one, sizeof(one));

	directory = atomic_exchange(&receiver->next, NULL);
	if (directory) {
		receiver_let_go(receiver->held);
		receiver->held = directory;
		receiver->reader.directory = directory->directory;
	}
}

/* Where the datagram comes from. False: it is longer than the room that it had, and is counted. */
static bool receiver_is_whole(struct receiver *receiver, const struct msghdr *head,
			      uint8_t ret_source[16])
{
	if (head->msg_flags & MSG_TRUNC) {
		receiver->reader.harvest->counts.oversized++;
		return false;
	}
	receiver_source_of(head->msg_name, ret_source);
	return true;
}

static void take_samples(struct receiver *receiver, const struct mmsghdr messages[], int count)
{
	struct sample_reader *reader = &receiver->reader;
	struct opened_datagram opened[BATCH];
	uint8_t source[16];
	int known = 0;

	for (int i = 0; i < count; i++) {
		const struct msghdr *head = &messages[i].msg_hdr;

		if (receiver_is_whole(receiver, head, source))
			known += sample_reader_open(reader, head->msg_iov->iov_base,
						    messages[i].msg_len, source, &opened[known]);
	}
	for (int i = 0; i < known; i++)
		sample_reader_approach(reader, &opened[i]);
	for (int i = 0; i < known; i++)
		sample_reader_read(reader, &opened[i]);
}

static void receiver_take_records(struct receiver *receiver, const struct mmsghdr messages[],
				  int count)
{
	uint8_t source[16];

	for (int i = 0; i < count; i++) {
		const struct msghdr *head = &messages[i].msg_hdr;

		if (receiver_is_whole(receiver, head, source))
			ipfix_reader_take(&receiver->reader, receiver->exporters,
					  head->msg_iov->iov_base, messages[i].msg_len, source);
	}
}

static void receiver_gather(void)
{
	const struct timespec pause = {.tv_nsec = GATHER_US * 1000L};

	(void)nanosleep(&pause, NULL);
}

static void *receiver_receive(void *context)
{
	struct receiver *receiver = context;
	struct sockaddr_storage from[BATCH];
	struct iovec places[BATCH];
	struct mmsghdr messages[BATCH] = {0};
	int64_t due_ms = clock_monotonic_ms() + receiver->all->options.harvest_ms;

	/* What waits for the loop comes late, what waits here is lost: on a CPU that both want the
	 * receiver goes first. Where that is not allowed (LimitNICE=) they are equals. */
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	for (size_t i = 0; i < BATCH; i++) {
		places[i] = (struct iovec){receiver->buffers + i * RECEIVE_SIZE, RECEIVE_SIZE};
		messages[i].msg_hdr = (struct msghdr){
			.msg_name = &from[i], .msg_iov = &places[i], .msg_iovlen = 1};
	}
	while (!atomic_load_explicit(&receiver->stop, memory_order_relaxed)) {
		int count;
		int64_t now_ms;

		for (size_t i = 0; i < BATCH; i++)
			messages[i].msg_hdr.msg_namelen = sizeof(from[i]);
		count = recvmmsg(receiver->fd, messages, BATCH, MSG_WAITFORONE, NULL);
		if (receiver->exporters)
			receiver_take_records(receiver, messages, count);
		else
			take_samples(receiver, messages, count);
		if (count > 0 && count < BATCH)
			receiver_gather();
		now_ms = clock_monotonic_ms();
		if (now_ms >= due_ms) {
			hand_over(receiver, false);
			sample_reader_renew(&receiver->reader);
			due_ms += receiver->all->options.harvest_ms;
			if (due_ms <= now_ms) /* the machine slept */
				due_ms = now_ms + receiver->all->options.harvest_ms;
		}
	}
	return NULL;
}

/* --- the loop's side --- */

static void receiver_tell(struct receiver *receiver)
{
	struct harvest *harvest = atomic_exchange(&receiver->full, NULL);

	if (harvest)
		receiver->all->options.fn(receiver->all->options.context, receiver->number,
					  harvest);
}

static void on_wake(void *context, int events)
{
	struct receiver *receiver = context;
	uint64_t count;

	(void)events;
	(void)!read(receiver->wake, &count, sizeof(count));
	receiver_tell(receiver);
}

void receiver_return(struct receivers *receivers, unsigned receiver, struct harvest *harvest)
{
	flow_table_clear(&harvest->flows);
	harvest->sources = NULL;
	harvest->source_count = harvest->counter_count = harvest->discard_count = 0;
	harvest->vlan_count = harvest->loud_count = 0;
	atomic_store(&receivers->receivers[receiver].spare, harvest);
}

int receivers_use(struct receivers *receivers, struct agent_directory *directory)
{
	struct held_directory *held = receiver_hold(directory, receivers->count);

	if (!held) {
		agent_directory_free(directory);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < receivers->count; i++)
		receiver_let_go(atomic_exchange(&receivers->receivers[i].next, held));
	return 0;
}

static int harvest_init(struct harvest *harvest, const struct receiver_options *options)
{
	harvest->counters = calloc(HARVEST_COUNTERS, sizeof(*harvest->counters));
	harvest->discards = calloc(HARVEST_DISCARDS, sizeof(*harvest->discards));
	harvest->vlans = calloc(HARVEST_VLANS, sizeof(*harvest->vlans));
	if (!harvest->counters || !harvest->discards || !harvest->vlans)
		return -ENOMEM;
	return flow_table_init(&harvest->flows, options->table_bits, options->hash_seed);
}

static void harvest_done(struct harvest *harvest)
{
	free(harvest->counters);
	free(harvest->discards);
	free(harvest->vlans);
	if (harvest->flows.entries)
		flow_table_done(&harvest->flows);
}

static int receiver_init(struct receiver *receiver, const struct receiver_options *options,
			 struct held_directory *held)
{
	int rc = source_book_new(options->source_limit, &receiver->book);

	if (!rc && options->kind == RECEIVE_FLOWS)
		rc = ipfix_book_new(&receiver->exporters);
	if (rc)
		return rc;
	receiver->buffers = malloc((size_t)BATCH * RECEIVE_SIZE);
	if (!receiver->buffers)
		return -ENOMEM;
	rc = harvest_init(&receiver->harvests[0], options);
	if (!rc)
		rc = harvest_init(&receiver->harvests[1], options);
	if (rc)
		return rc;
	for (size_t i = 0; i < COUNT_OF(receiver->harvests); i++)
		receiver->harvests[i].of_samples = !receiver->exporters;
	receiver->harvests[0].from_us = clock_wall_us();
	atomic_init(&receiver->spare, &receiver->harvests[1]);
	receiver->held = held;
	receiver->reader = (struct sample_reader){.harvest = &receiver->harvests[0],
						  .book = receiver->book,
						  .directory = held->directory};
	if (options->agent_max) {
		receiver->reader.heard_max = options->agent_max;
		receiver->reader.heard = calloc(AGENT_LIMIT + 1, sizeof(*receiver->reader.heard));
		if (!receiver->reader.heard)
			return -ENOMEM;
	}
	receiver->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (receiver->wake < 0)
		return -errno;
	return loop_watch_new(receiver->all->loop, receiver->wake, LOOP_READ, on_wake, receiver,
			      &receiver->watch);
}

/* Signals are the main thread's. */
static int start_thread(struct receiver *receiver)
{
	sigset_t all;
	sigset_t before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&receiver->thread, NULL, receiver_receive, receiver);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	receiver->running = rc == 0;
	return -rc;
}

int receivers_start(struct loop *loop, const struct receiver_options *options,
		    struct agent_directory *directory, struct receivers **ret,
		    struct problem *problem)
{
	unsigned count = options->threads;
	struct receivers *all;
	struct held_directory *held;
	int rc = 0;

	if (count < 1 || count > THREAD_LIMIT) {
		agent_directory_free(directory);
		return problem_set(problem, -EINVAL, "%u receivers are not between 1 and %d", count,
				   THREAD_LIMIT);
	}
	all = calloc(1, sizeof(*all) + count * sizeof(all->receivers[0]));
	held = receiver_hold(directory, count);
	if (!all || !held) {
		agent_directory_free(directory);
		free(all);
		free(held);
		return -ENOMEM;
	}
	*all = (struct receivers){
		.loop = loop, .options = *options, .port = options->port, .count = count};
	for (unsigned i = 0; i < count; i++)
		all->receivers[i] =
			(struct receiver){.all = all, .number = i, .fd = -1, .wake = -1};
	for (unsigned i = 0; i < count && !rc; i++) {
		struct receiver *receiver = &all->receivers[i];

		rc = receiver_socket_open(options, all->port, &receiver->fd, problem);
		if (!rc) {
			all->port = receiver_socket_port(receiver->fd);
			rc = receiver_init(receiver, options, held);
		}
	}
	all->buffer = receiver_socket_buffer(all->receivers[0].fd);
	if (!rc && count > 1)
		rc = receiver_socket_spread(all->receivers[0].fd, count);
	for (unsigned i = 0; i < count && !rc; i++)
		rc = start_thread(&all->receivers[i]);
	if (rc) {
		if (!problem->message[0])
			(void)problem_set(problem, rc, "could not start receiving: %s",
					  error_text(rc));
		/* Those that never came to hold it. */
		for (unsigned i = 0; i < count; i++)
			if (!all->receivers[i].held)
				receiver_let_go(held);
		receivers_stop(all);
		return rc;
	}
	*ret = all;
	return 0;
}

void receivers_stop(struct receivers *receivers)
{
	if (!receivers)
		return;
	for (unsigned i = 0; i < receivers->count; i++)
		atomic_store(&receivers->receivers[i].stop, true);
	for (unsigned i = 0; i < receivers->count; i++) {
		struct receiver *receiver = &receivers->receivers[i];

		if (receiver->running) {
			(void)pthread_join(receiver->thread, NULL);
			receiver_tell(receiver);
			hand_over(receiver, true);
			receiver_tell(receiver);
		}
		loop_watch_free(receiver->watch);
		if (receiver->wake >= 0)
			close(receiver->wake);
		if (receiver->fd >= 0)
			close(receiver->fd);
		receiver_let_go(atomic_load(&receiver->next));
		receiver_let_go(receiver->held);
		source_book_free(receiver->book);
		ipfix_book_free(receiver->exporters);
		free(receiver->buffers);
		free(receiver->reader.heard);
		harvest_done(&receiver->harvests[0]);
		harvest_done(&receiver->harvests[1]);
	}
	free(receivers);
}

unsigned receivers_behind(const struct receivers *receivers)
{
	unsigned behind = 0;

	for (unsigned i = 0; i < receivers->count; i++)
		behind += atomic_load(&receivers->receivers[i].next) != NULL;
	return behind;
}

uint16_t receivers_port(const struct receivers *receivers)
{
	return receivers->port;
}

int receivers_buffer(const struct receivers *receivers)
{
	return receivers->buffer;
}
