/* Load for the login and the api bench: HTTP/1.1 requests over kept connections to a Unix socket, or argon2id alone.
 *
 * usage: login_load SOCKET REQUESTS [key=value...]     REQUESTS: a file of whole requests, a NUL after each; they are sent in turn
 *   connections=N   kept connections, one request under way on each (8)
 *   rate=N          requests a second over all; 0 = as fast as answers come (0)
 *   seconds=S       how long (3)
 * Prints requests=, failed= (no 2xx), bytes= (of bodies), seconds=, p50_ms=, p99_ms=.
 *
 * usage: login_load argon2id [threads=N] [seconds=S]
 * Verifies one hash of libsodium's interactive limits again and again, as portald does. Prints requests=, seconds=.
 * Exit status 0 when a request was answered with 2xx, or a hash was verified. */
// links: common_base
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 256
#define HEAD_MAX        16384
#define PIECE_MAX       262144
#define ANSWERS_MAX     4000000
#define THREADS_MAX     16
#define PASSWORD        "a password of a person"

struct option {
	const char *name;
	long value;
};

enum { CONNECTIONS, RATE, SECONDS, THREADS, OPTIONS };

struct connection {
	int64_t began_ns; /* 0: no request under way */
	size_t used;
	bool in_body;
	size_t left; /* of the body */
	char head[HEAD_MAX];
};

struct load {
	char *file;
	const char **requests;
	size_t request_count, next;
	struct connection *connections;
	struct pollfd *polls;
	float *took_ms;
	size_t answered, failed, sent, bytes;
	char piece[PIECE_MAX];
};

static struct option options[OPTIONS] = {
	[CONNECTIONS] = {"connections", 8},
	[RATE] = {"rate", 0},
	[SECONDS] = {"seconds", 3},
	[THREADS] = {"threads", 1},
};

static void login_load_die(const char *what)
{
	fprintf(stderr, "login_load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void options_read(int count, char **words)
{
	for (int i = 0; i < count; i++) {
		size_t length = strcspn(words[i], "=");
		bool known = false;

		for (size_t j = 0; j < OPTIONS; j++) {
			if (strlen(options[j].name) != length || words[i][length] != '=' ||
			    strncmp(options[j].name, words[i], length) != 0)
				continue;
			options[j].value = strtol(words[i] + length + 1, NULL, 10);
			known = true;
		}
		if (!known) {
			fprintf(stderr, "login_load: unknown option %s\n", words[i]);
			exit(2);
		}
	}
}

/* --- requests --- */

static void requests_read(struct load *load, const char *path)
{
	FILE *file = fopen(path, "rb");
	long size = 0;
	size_t at = 0;

	if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) <= 0)
		login_load_die(path);
	rewind(file);
	load->file = malloc((size_t)size + 1);
	load->requests = calloc((size_t)size, sizeof(*load->requests));
	if (!load->file || !load->requests ||
	    fread(load->file, 1, (size_t)size, file) != (size_t)size)
		login_load_die(path);
	load->file[size] = '\0';
	while (at < (size_t)size) {
		load->requests[load->request_count++] = load->file + at;
		at += strlen(load->file + at) + 1;
	}
	if (fclose(file) != 0)
		login_load_die(path);
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (snprintf(address.sun_path, sizeof(address.sun_path), "%s", path) >=
	    (int)sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		login_load_die(path);
	}
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		login_load_die(path);
	return fd;
}

static void request_send(struct load *load, size_t i)
{
	const char *request = load->requests[load->next++ % load->request_count];
	size_t size = strlen(request);

	if (send(load->polls[i].fd, request, size, MSG_NOSIGNAL) != (ssize_t)size)
		login_load_die("send");
	load->connections[i].began_ns = now_ns();
	load->connections[i].used = 0;
	load->connections[i].in_body = false;
	load->sent++;
}

/* The head says how long the body is. False: it is not here yet. */
static bool head_receive(struct load *load, size_t i)
{
	struct connection *connection = &load->connections[i];
	ssize_t got = recv(load->polls[i].fd, connection->head + connection->used,
			   HEAD_MAX - 1 - connection->used, 0);
	const char *end;
	const char *length;
	size_t body = 0;

	if (got <= 0)
		login_load_die("the server hung up");
	connection->used += (size_t)got;
	connection->head[connection->used] = '\0';
	end = memmem(connection->head, connection->used, "\r\n\r\n", 4);
	if (!end)
		return false;
	length = strcasestr(connection->head, "\r\nContent-Length:");
	if (length && length < end)
		body = strtoul(length + 17, NULL, 10);
	load->bytes += body;
	connection->left = body - (connection->used - (size_t)(end + 4 - connection->head));
	connection->in_body = true;
	return true;
}

static bool body_receive(struct load *load, size_t i)
{
	struct connection *connection = &load->connections[i];
	ssize_t got;

	if (connection->left == 0)
		return true;
	got = recv(load->polls[i].fd, load->piece,
		   connection->left < PIECE_MAX ? connection->left : PIECE_MAX, MSG_DONTWAIT);
	if (got < 0 && errno == EAGAIN)
		return false;
	if (got <= 0)
		login_load_die("the server hung up");
	connection->left -= (size_t)got;
	return connection->left == 0;
}

static void answer_receive(struct load *load, size_t i)
{
	struct connection *connection = &load->connections[i];

	if (!connection->in_body && !head_receive(load, i))
		return;
	if (!body_receive(load, i))
		return;
	if (strncmp(connection->head, "HTTP/1.1 2", 10) != 0) {
		if (load->failed++ == 0)
			fprintf(stderr, "login_load: %.*s\n", 400, connection->head);
	} else if (load->answered < ANSWERS_MAX) {
		load->took_ms[load->answered++] = (float)(now_ns() - connection->began_ns) / 1e6F;
	}
	connection->began_ns = 0;
}

/* How many may have been sent by now. */
static size_t load_allowance(int64_t began_ns)
{
	if (options[RATE].value == 0)
		return SIZE_MAX;
	return (size_t)((double)(now_ns() - began_ns) / 1e9 * (double)options[RATE].value) + 1;
}

static void load_run(struct load *load, size_t count)
{
	const int64_t began_ns = now_ns();
	const int64_t end_ns = began_ns + options[SECONDS].value * INT64_C(1000000000);

	while (now_ns() < end_ns) {
		size_t allowed = load_allowance(began_ns);

		for (size_t i = 0; i < count && load->sent < allowed; i++)
			if (load->connections[i].began_ns == 0)
				request_send(load, i);
		if (poll(load->polls, count, options[RATE].value > 0 ? 1 : 100) < 0)
			login_load_die("poll");
		for (size_t i = 0; i < count; i++)
			if (load->polls[i].revents != 0)
				answer_receive(load, i);
	}
}

static int by_size(const void *a, const void *b)
{
	const float x = *(const float *)a;
	const float y = *(const float *)b;

	return (x > y) - (x < y);
}

static int load_main(const char *socket_path, const char *path)
{
	static struct load load;
	size_t count = (size_t)options[CONNECTIONS].value;

	if (count < 1 || count > CONNECTIONS_MAX)
		login_load_die("connections");
	requests_read(&load, path);
	load.connections = calloc(count, sizeof(*load.connections));
	load.polls = calloc(count, sizeof(*load.polls));
	load.took_ms = calloc(ANSWERS_MAX, sizeof(*load.took_ms));
	if (!load.connections || !load.polls || !load.took_ms)
		login_load_die("memory");
	for (size_t i = 0; i < count; i++)
		load.polls[i] = (struct pollfd){.fd = connect_to(socket_path), .events = POLLIN};
	load_run(&load, count);
	qsort(load.took_ms, load.answered, sizeof(*load.took_ms), by_size);
	printf("requests=%zu failed=%zu bytes=%zu seconds=%ld p50_ms=%.2f p99_ms=%.2f\n",
	       load.answered, load.failed, load.bytes, options[SECONDS].value,
	       (double)load.took_ms[load.answered / 2],
	       (double)load.took_ms[load.answered * 99 / 100]);
	return load.answered > 0 ? 0 : 1;
}

/* --- argon2id alone --- */

struct hasher {
	pthread_t thread;
	const char *hash;
	int64_t end_ns;
	long done;
};

static void *hasher_run(void *context)
{
	struct hasher *hasher = context;

	while (now_ns() < hasher->end_ns)
		if (crypto_pwhash_str_verify(hasher->hash, PASSWORD, strlen(PASSWORD)) == 0)
			hasher->done++;
	return NULL;
}

static int hash_main(void)
{
	struct hasher hashers[THREADS_MAX] = {0};
	char hash[crypto_pwhash_STRBYTES];
	long count = options[THREADS].value;
	long done = 0;

	if (count < 1 || count > THREADS_MAX || sodium_init() < 0 ||
	    crypto_pwhash_str(hash, PASSWORD, strlen(PASSWORD), crypto_pwhash_OPSLIMIT_INTERACTIVE,
			      crypto_pwhash_MEMLIMIT_INTERACTIVE) != 0)
		login_load_die("argon2id");
	for (long i = 0; i < count; i++) {
		hashers[i] = (struct hasher){.hash = hash,
					     .end_ns = now_ns() + options[SECONDS].value *
									  INT64_C(1000000000)};
		if (pthread_create(&hashers[i].thread, NULL, hasher_run, &hashers[i]) != 0)
			login_load_die("a thread");
	}
	for (long i = 0; i < count; i++) {
		pthread_join(hashers[i].thread, NULL);
		done += hashers[i].done;
	}
	printf("requests=%ld seconds=%ld\n", done, options[SECONDS].value);
	return done > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc < 2 || (strcmp(argv[1], "argon2id") != 0 && argc < 3)) {
		fprintf(stderr, "usage: login_load SOCKET REQUESTS [key=value...] | argon2id "
				"[key=value...]\n");
		return 2;
	}
	if (strcmp(argv[1], "argon2id") == 0) {
		options_read(argc - 2, argv + 2);
		return hash_main();
	}
	options_read(argc - 3, argv + 3);
	return load_main(argv[1], argv[2]);
}
