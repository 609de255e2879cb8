/* Readers for the sse bench: many event streams of portald at once, on a Unix socket.
 *
 * usage: sse_load SOCKET CONNINFO [key=value...]
 *   streams=N   readers (1000)
 *   rate=N      events a second, each a transaction of its own (20)
 *   seconds=S   how long (10)
 *   behind=N    then all leave, so many events are written, and all come back at once (10000)
 * Prints readers=, events=, p50_ms=, p99_ms=, worst_ms= (from before the event's statement is sent, so its commit is in it, until a reader has
 * it), lost=, doubled=, back_seconds= (until the last reader has all), back_lost=, back_doubled=. Exit status 0 when all was read. */
// links: common_db
#include <errno.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LINE_HEAD  64
#define READ_SIZE  ((size_t)256 << 10)
#define PATIENCE_S 60

enum { STREAMS, RATE, SECONDS, BEHIND, OPTIONS };

static struct {
	const char *name;
	long value;
} options[OPTIONS] = {{"streams", 1000}, {"rate", 20}, {"seconds", 10}, {"behind", 10000}};

struct reader {
	int fd;
	bool open;            /* its position was told */
	char head[LINE_HEAD]; /* of the line under way */
	size_t size;
	char id[LINE_HEAD]; /* the last one that was told */
	int64_t last;       /* the event that it has read */
};

/* An event came to a reader. */
struct arrival {
	int64_t id, at_ns;
};

struct load {
	const char *socket;
	PGconn *db;
	int epoll;
	struct reader *readers;
	char *buffer;
	int64_t first;    /* the first event that counts */
	int64_t *sent_ns; /* by event */
	struct arrival *arrivals;
	size_t arrived;
	long lost, doubled, open;
	int64_t until; /* the last event */
	long done;     /* readers that have it */
	atomic_bool written;
};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static size_t events_max(void)
{
	return (size_t)(options[RATE].value * options[SECONDS].value);
}

static size_t arrivals_max(void)
{
	return events_max() * (size_t)options[STREAMS].value;
}

static void sse_load_fail(const char *what)
{
	fprintf(stderr, "sse_load: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* --- reading --- */

static void sse_load_event(struct load *load, struct reader *reader)
{
	const char *number = strchr(reader->id, '-');
	int64_t id = number ? strtoll(number + 1, NULL, 10) : 0;

	if (id < load->first || (load->arrivals && load->arrived == arrivals_max()))
		return;
	if (id <= reader->last)
		load->doubled++;
	else if (id > reader->last + 1)
		load->lost += id - reader->last - 1;
	reader->last = id;
	if (id == load->until)
		load->done++;
	if (load->arrivals)
		load->arrivals[load->arrived++] = (struct arrival){.id = id, .at_ns = now_ns()};
}

static void sse_load_line(struct load *load, struct reader *reader)
{
	reader->head[reader->size < LINE_HEAD ? reader->size : LINE_HEAD - 1] = '\0';
	if (strncmp(reader->head, "id: ", 4) == 0) {
		memcpy(reader->id, reader->head + 4, LINE_HEAD - 4);
		if (!reader->open)
			load->open++;
		reader->open = true;
	} else if (strncmp(reader->head, "data: ", 6) == 0) {
		sse_load_event(load, reader);
	}
	reader->size = 0;
}

static void sse_load_take(struct load *load, struct reader *reader, const char *data, size_t size)
{
	const char *end = data + size;

	while (data < end) {
		const char *line = memchr(data, '\n', (size_t)(end - data));
		size_t part = (size_t)((line ? line : end) - data);
		size_t room = LINE_HEAD - 1 - reader->size;

		if (reader->size < LINE_HEAD - 1) {
			memcpy(reader->head + reader->size, data, part < room ? part : room);
			reader->size += part < room ? part : room;
		}
		if (!line)
			return;
		sse_load_line(load, reader);
		data = line + 1;
	}
}

static void reader_join(struct load *load, struct reader *reader)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char request[256];
	int size =
		snprintf(request, sizeof(request), "GET /api/v1/events/stream%s%s HTTP/1.0\r\n\r\n",
			 reader->id[0] ? "?last_event_id=" : "", reader->id);

	if (strlen(load->socket) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		sse_load_fail("socket");
	}
	memcpy(address.sun_path, load->socket, strlen(load->socket));
	reader->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	reader->open = false;
	reader->size = 0;
	if (reader->fd < 0 ||
	    connect(reader->fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		sse_load_fail("connect");
	if (write(reader->fd, request, (size_t)size) != size)
		sse_load_fail("write");
	if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, reader->fd,
		      &(struct epoll_event){.events = EPOLLIN, .data.ptr = reader}) != 0)
		sse_load_fail("epoll");
}

/* Reads what is there; waits a little for it. */
static void read_some(struct load *load)
{
	struct epoll_event events[256];
	int count = epoll_wait(load->epoll, events, 256, 100);

	for (int i = 0; i < count; i++) {
		struct reader *reader = events[i].data.ptr;
		ssize_t size = read(reader->fd, load->buffer, READ_SIZE);

		if (size > 0) {
			sse_load_take(load, reader, load->buffer, (size_t)size);
		} else if (size == 0 || errno != EAGAIN) {
			fprintf(stderr, "sse_load: a stream ended: %.300s\n", load->buffer);
			exit(1);
		}
	}
}

static double read_until(struct load *load, const long *reached, long wanted)
{
	int64_t begun = now_ns();

	while (*reached < wanted && now_ns() - begun < PATIENCE_S * INT64_C(1000000000))
		read_some(load);
	return (double)(now_ns() - begun) / 1e9;
}

/* --- writing --- */

static int64_t sse_load_ask(PGconn *db, const char *sql)
{
	PGresult *result = PQexec(db, sql);
	int64_t number;

	if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1) {
		fprintf(stderr, "sse_load: %s", PQerrorMessage(db));
		exit(1);
	}
	number = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	PQclear(result);
	return number;
}

#define EVENT                                                                                            \
	"'node.state', 'node', 'gpu-0001', null::bigint, 'node gpu-0001 goes from reserved to active', " \
	"'{\"event\": \"installed\", \"from\": \"reserved\", \"to\": \"active\"}'"

static int64_t write_event(PGconn *db)
{
	return sse_load_ask(db, "select haas.event_add('bench', " EVENT ")");
}

static void *write_all(void *context)
{
	struct load *load = context;
	int64_t begun = now_ns();
	long count = (long)events_max();

	for (long i = 0; i < count; i++) {
		int64_t due = begun + i * INT64_C(1000000000) / options[RATE].value;
		struct timespec at = {.tv_sec = due / 1000000000, .tv_nsec = due % 1000000000};
		int64_t sent;
		int64_t id;

		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		sent = now_ns();
		id = write_event(load->db);
		if (id - load->first != i) {
			fprintf(stderr, "sse_load: somebody else writes events too\n");
			exit(1);
		}
		load->sent_ns[i] = sent;
	}
	atomic_store(&load->written, true);
	return NULL;
}

/* --- the two parts --- */

static int by_size(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;

	return (left > right) - (left < right);
}

static void tell_latency(const struct load *load)
{
	size_t count = load->arrived;
	double *took = calloc(count + 1, sizeof(*took));

	if (!took || count == 0)
		sse_load_fail("no event came");
	for (size_t i = 0; i < count; i++) {
		const struct arrival *arrival = &load->arrivals[i];

		took[i] = (double)(arrival->at_ns - load->sent_ns[arrival->id - load->first]) / 1e6;
	}
	qsort(took, count, sizeof(*took), by_size);
	printf("readers=%ld events=%zu arrivals=%zu p50_ms=%.1f p99_ms=%.1f worst_ms=%.1f lost=%ld doubled=%ld\n",
	       options[STREAMS].value, events_max(), count, took[count / 2], took[count * 99 / 100],
	       took[count - 1], load->lost, load->doubled);
	free(took);
}

static bool run_latency(struct load *load)
{
	long streams = options[STREAMS].value;
	pthread_t writer;

	for (long i = 0; i < streams; i++)
		reader_join(load, &load->readers[i]);
	if (read_until(load, &load->open, streams) >= PATIENCE_S)
		sse_load_fail("not all streams opened");
	load->first = write_event(load->db) + 1;
	for (long i = 0; i < streams; i++)
		load->readers[i].last = load->first - 1;
	load->until = load->first + (int64_t)events_max() - 1;
	if (pthread_create(&writer, NULL, write_all, load) != 0)
		sse_load_fail("thread");
	(void)read_until(load, &load->done, streams);
	(void)pthread_join(writer, NULL);
	load->lost += (streams - load->done);
	tell_latency(load);
	return load->lost == 0 && load->doubled == 0;
}

static bool run_return(struct load *load)
{
	long streams = options[STREAMS].value;
	char sql[512];
	double seconds;

	for (long i = 0; i < streams; i++)
		(void)close(load->readers[i].fd);
	free(load->arrivals);
	load->arrivals = NULL;
	load->lost = load->doubled = load->open = load->done = 0;
	(void)snprintf(
		sql, sizeof(sql),
		"with w as (insert into haas.event (actor, kind, subject_kind, subject, tenant_id, message, detail) select 'bench', e.* from "
		"(select " EVENT
		"::jsonb) e (kind, subject_kind, subject, tenant_id, message, detail), generate_series(1, %ld) returning id) select max(id) from w",
		options[BEHIND].value);
	load->until = sse_load_ask(load->db, sql);
	int64_t begun = now_ns();

	for (long i = 0; i < streams; i++)
		reader_join(load, &load->readers[i]);
	(void)read_until(load, &load->done, streams);
	seconds = (double)(now_ns() - begun) / 1e9;
	for (long i = 0; i < streams; i++)
		load->lost += load->until - load->readers[i].last;
	printf("back_readers=%ld back_events=%ld back_seconds=%.2f back_lost=%ld back_doubled=%ld\n",
	       streams, options[BEHIND].value, seconds, load->lost, load->doubled);
	return load->lost == 0 && load->doubled == 0;
}

static void read_options(int count, char **words)
{
	for (int i = 0; i < count; i++) {
		const char *value = strchr(words[i], '=');
		bool known = false;

		for (int option = 0; option < OPTIONS; option++) {
			size_t size = strlen(options[option].name);

			if (!value || (size_t)(value - words[i]) != size ||
			    strncmp(words[i], options[option].name, size) != 0)
				continue;
			options[option].value = strtol(value + 1, NULL, 10);
			known = options[option].value > 0;
		}
		if (!known) {
			fprintf(stderr, "sse_load: %s is no option\n", words[i]);
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	struct load load = {.epoll = epoll_create1(EPOLL_CLOEXEC)};
	bool good;

	if (argc < 3) {
		fprintf(stderr, "usage: sse_load SOCKET CONNINFO [key=value...]\n");
		return 2;
	}
	read_options(argc - 3, argv + 3);
	load.socket = argv[1];
	load.db = PQconnectdb(argv[2]);
	if (PQstatus(load.db) != CONNECTION_OK) {
		fprintf(stderr, "sse_load: %s", PQerrorMessage(load.db));
		return 1;
	}
	load.readers = calloc((size_t)options[STREAMS].value, sizeof(*load.readers));
	load.buffer = malloc(READ_SIZE);
	load.sent_ns = calloc(events_max(), sizeof(*load.sent_ns));
	load.arrivals = calloc(arrivals_max(), sizeof(*load.arrivals));
	load.first = INT64_MAX;
	if (load.epoll < 0 || !load.readers || !load.buffer || !load.sent_ns || !load.arrivals)
		sse_load_fail("memory");
	good = run_latency(&load);
	good = run_return(&load) && good;
	PQfinish(load.db);
	free(load.readers);
	free(load.buffer);
	free(load.sent_ns);
	(void)close(load.epoll);
	return good ? 0 : 1;
}
