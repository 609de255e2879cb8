/* A TCP connection between each two ranks, told apart by hello_wire.h. */
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "trainer_image/comm/hello_wire.h"
#include "trainer_image/comm/transport_private.h"

enum { TCP_SLEEP_US = 20000, TCP_GREET_US = 2000000, TCP_RETRY_MS = 50 };

struct tcp_transport {
	struct transport transport;
	int fds[COMM_RANKS_MAX]; /* -1 = none */
};

/* --- greeting --- */

/* One that is being made: both ends greet, and both prove. */
struct tcp_greeting {
	int fd;
	int64_t until_us;
	struct hello mine, theirs;
};

static int tcp_wait(int fd, short events, int64_t until_us)
{
	struct pollfd poll_fd = {.fd = fd, .events = events};
	int64_t left_us = until_us - clock_monotonic_us();
	int count = left_us > 0 ? poll(&poll_fd, 1, (int)(left_us / 1000 + 1)) : 0;

	if (count < 0)
		return errno == EINTR ? 0 : -errno;
	return count > 0 ? 0 : E_TIMEOUT;
}

static int tcp_send_all(const struct tcp_greeting *is, const uint8_t *data, size_t size)
{
	while (size > 0) {
		ssize_t sent = send(is->fd, data, size, MSG_NOSIGNAL);
		int rc = 0;

		if (sent < 0)
			rc = errno == EAGAIN ? tcp_wait(is->fd, POLLOUT, is->until_us) : -errno;
		if (rc != 0)
			return rc;
		data += sent > 0 ? sent : 0;
		size -= sent > 0 ? (size_t)sent : 0;
	}
	return 0;
}

static int tcp_receive_all(const struct tcp_greeting *is, uint8_t *data, size_t size)
{
	while (size > 0) {
		ssize_t got = recv(is->fd, data, size, 0);
		int rc = 0;

		if (got == 0)
			return -ECONNRESET;
		if (got < 0)
			rc = errno == EAGAIN ? tcp_wait(is->fd, POLLIN, is->until_us) : -errno;
		if (rc != 0)
			return rc;
		data += got > 0 ? got : 0;
		size -= got > 0 ? (size_t)got : 0;
	}
	return 0;
}

static int tcp_greet(struct tcp_greeting *is, const struct transport_job *job)
{
	uint8_t bytes[HELLO_SIZE];
	uint8_t proof[HELLO_PROOF_SIZE];
	int rc;

	randombytes_buf(is->mine.nonce, sizeof(is->mine.nonce));
	hello_encode(&is->mine, bytes);
	rc = tcp_send_all(is, bytes, sizeof(bytes));
	if (rc == 0)
		rc = tcp_receive_all(is, bytes, sizeof(bytes));
	if (rc == 0)
		rc = hello_decode(bytes, sizeof(bytes), &is->theirs);
	if (rc == 0 && is->theirs.ranks != job->ranks)
		rc = E_INVALID;
	if (rc != 0)
		return rc;
	hello_prove(&is->mine, &is->theirs, job->key, proof);
	rc = tcp_send_all(is, proof, sizeof(proof));
	if (rc == 0)
		rc = tcp_receive_all(is, proof, sizeof(proof));
	return rc != 0 ? rc : hello_check(&is->mine, &is->theirs, job->key, proof);
}

static int tcp_prepare(int fd)
{
	const int on = 1;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return 0;
}

static struct tcp_greeting tcp_greeting(const struct transport *transport, int fd, int64_t until_us)
{
	struct tcp_greeting is = {
		.fd = fd,
		.until_us = clock_monotonic_us() + TCP_GREET_US,
		.mine = {.rank = (uint16_t)transport->rank, .ranks = (uint16_t)transport->ranks}};

	if (is.until_us > until_us)
		is.until_us = until_us;
	return is;
}

/* --- to ranks below --- */

static int tcp_connect_one(const struct addrinfo *info, int64_t until_us, int *ret)
{
	int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int error = 0;
	socklen_t size = sizeof(error);
	int rc = fd < 0 ? -errno : tcp_prepare(fd);

	if (rc == 0 && connect(fd, info->ai_addr, info->ai_addrlen) < 0)
		rc = errno == EINPROGRESS ? tcp_wait(fd, POLLOUT, until_us) : -errno;
	if (rc == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error != 0)
		rc = -error;
	if (rc != 0) {
		closep(&fd);
		return rc;
	}
	*ret = fd;
	return 0;
}

static int tcp_connect(const struct transport_address *address, int64_t until_us, int *ret)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *infos = NULL;
	int rc = getaddrinfo(address->host, address->port, &hints, &infos) == 0 ? -ECONNREFUSED
										: E_NOT_FOUND;

	for (const struct addrinfo *info = infos; info && rc != 0; info = info->ai_next)
		rc = tcp_connect_one(info, until_us, ret);
	if (infos)
		freeaddrinfo(infos);
	return rc;
}

static int tcp_go(const struct tcp_greeting *is)
{
	const uint8_t go = HELLO_GO;

	return tcp_send_all(is, &go, sizeof(go));
}

/* A rank that has not begun to listen yet is asked again; one with another key is not. */
static int tcp_join_below(struct tcp_transport *tcp, const struct transport_job *job, int rank,
			  int64_t until_us)
{
	for (;;) {
		struct tcp_greeting is;
		int fd = -1;
		int rc = tcp_connect(&job->addresses[rank], until_us, &fd);

		if (rc == 0) {
			is = tcp_greeting(&tcp->transport, fd, until_us);
			rc = tcp_greet(&is, job);
			if (rc == 0 && is.theirs.rank != rank)
				rc = E_CONFLICT; /* the address is another rank's */
			if (rc == 0)
				rc = tcp_go(&is);
			if (rc == 0) {
				tcp->fds[rank] = fd;
				return 0;
			}
			closep(&fd);
		}
		if (rc == E_AUTHENTICATION || rc == E_CONFLICT || rc == E_UNSUPPORTED)
			return rc;
		if (clock_monotonic_us() >= until_us)
			return E_TIMEOUT;
		(void)poll(NULL, 0, TCP_RETRY_MS);
	}
}

/* --- from ranks above --- */

/* The caller's patience began with its call, before ours: one that goes in its last moment is still heard. */
static int tcp_stays(struct tcp_greeting *is)
{
	uint8_t go = 0;
	int rc;

	is->until_us += TCP_GREET_US;
	rc = tcp_receive_all(is, &go, sizeof(go));
	return rc == 0 && go != HELLO_GO ? E_MALFORMED : rc;
}

static int tcp_join_above(struct tcp_transport *tcp, const struct transport_job *job, int listener,
			  int64_t until_us)
{
	int fd;
	int rc = tcp_wait(listener, POLLIN, until_us);

	if (rc != 0)
		return rc;
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return 0; /* it went away again */
	struct tcp_greeting is = tcp_greeting(&tcp->transport, fd, until_us);

	rc = tcp_prepare(fd);
	if (rc == 0)
		rc = tcp_greet(&is, job);
	/* Strangers, and ranks that are there already, are turned away. */
	if (rc != 0 || is.theirs.rank <= tcp->transport.rank || tcp->fds[is.theirs.rank] >= 0 ||
	    tcp_stays(&is) != 0) {
		closep(&fd);
		return 0;
	}
	tcp->fds[is.theirs.rank] = fd;
	return 0;
}

static int tcp_missing(const struct tcp_transport *tcp)
{
	for (int rank = tcp->transport.rank + 1; rank < tcp->transport.ranks; rank++)
		if (tcp->fds[rank] < 0)
			return rank;
	return -1;
}

static int tcp_join_problem(const struct transport_job *job, int rank, int rc,
			    struct problem *problem)
{
	problem_set(problem, rc, "rank %d at %s:%s: %s", rank, job->addresses[rank].host,
		    job->addresses[rank].port,
		    rc == E_TIMEOUT ? "it is not there" : error_text(rc));
	problem_hint(problem, rc == E_AUTHENTICATION
				      ? "give all ranks the same key file"
				      : "look whether it runs, and at the addresses of the job");
	return rc;
}

static int tcp_join(struct tcp_transport *tcp, const struct transport_job *job, int listener,
		    int64_t wait_ms, struct problem *problem)
{
	int64_t until_us = clock_monotonic_us() + wait_ms * 1000;

	for (int rank = 0; rank < tcp->transport.rank; rank++) {
		int rc = tcp_join_below(tcp, job, rank, until_us);

		if (rc != 0)
			return tcp_join_problem(job, rank, rc, problem);
	}
	for (int missing; (missing = tcp_missing(tcp)) >= 0;) {
		int rc = tcp_join_above(tcp, job, listener, until_us);

		if (rc != 0)
			return tcp_join_problem(job, missing, rc, problem);
	}
	return 0;
}

/* --- exchange --- */

/* One side of an exchange. */
struct tcp_side {
	int rank;
	int fd;
	uint8_t *in;
	const uint8_t *out;
	size_t done, size;
};

static bool tcp_open(const struct tcp_side *side)
{
	return side->done < side->size;
}

static int tcp_push(struct transport *transport, struct tcp_side *side)
{
	int64_t now_us = clock_monotonic_us();
	size_t size = tcp_open(side) ? pace_allows(&transport->paces[side->rank], now_us,
						   side->size - side->done)
				     : 0;
	ssize_t sent = size > 0 ? send(side->fd, side->out + side->done, size, MSG_NOSIGNAL) : 0;

	if (sent < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -ECONNRESET;
	pace_sent(&transport->paces[side->rank], now_us, (size_t)sent);
	transport->sent[side->rank] += (uint64_t)sent;
	side->done += (size_t)sent;
	return sent > 0 ? 1 : 0;
}

static int tcp_pull(struct tcp_side *side)
{
	ssize_t got;

	if (!tcp_open(side))
		return 0;
	got = recv(side->fd, side->in + side->done, side->size - side->done, 0);
	if (got == 0)
		return -ECONNRESET;
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -ECONNRESET;
	side->done += (size_t)got;
	return 1;
}

static void tcp_sleep(const struct transport *transport, const struct tcp_side *out,
		      const struct tcp_side *in)
{
	int64_t wait_us = tcp_open(out)
				  ? pace_wait_us(&transport->paces[out->rank], clock_monotonic_us())
				  : 0;
	int64_t us = wait_us > 0 && wait_us < TCP_SLEEP_US ? wait_us : TCP_SLEEP_US;
	const struct timespec time = {0, us * 1000};
	struct pollfd fds[2] = {
		{.fd = tcp_open(in) ? in->fd : -1, .events = POLLIN},
		{.fd = tcp_open(out) && wait_us == 0 ? out->fd : -1, .events = POLLOUT}};

	(void)ppoll(fds, 2, &time, NULL);
}

static int tcp_exchange(struct transport *transport, const struct transport_exchange *is)
{
	struct tcp_transport *tcp = CONTAINER_OF(transport, struct tcp_transport, transport);
	struct tcp_side out = {
		.rank = is->to, .fd = tcp->fds[is->to], .out = is->out, .size = is->out_size};
	struct tcp_side in = {
		.rank = is->from, .fd = tcp->fds[is->from], .in = is->in, .size = is->in_size};
	struct transport_still still;

	transport_still_moved(&still);
	while (tcp_open(&out) || tcp_open(&in)) {
		int pushed = tcp_push(transport, &out);
		int pulled = pushed < 0 ? 0 : tcp_pull(&in);
		int rc;

		if (pushed < 0 || pulled < 0) {
			transport->blamed = pushed < 0 ? is->to : is->from;
			return -ECONNRESET;
		}
		if (pushed + pulled > 0) {
			transport_still_moved(&still);
			continue;
		}
		int64_t begun_us = clock_monotonic_us();

		rc = transport_patience(transport, is, transport_still_us(&still));
		if (rc != 0)
			return rc;
		tcp_sleep(transport, &out, &in);
		transport->waited_us += clock_monotonic_us() - begun_us;
	}
	return 0;
}

static void tcp_free(struct transport *transport)
{
	struct tcp_transport *tcp = CONTAINER_OF(transport, struct tcp_transport, transport);

	for (int rank = 0; rank < transport->ranks; rank++)
		closep(&tcp->fds[rank]);
	free(tcp);
}

int transport_tcp_new(const struct transport_job *job, int rank, int listener, int64_t wait_ms,
		      struct transport **ret, struct problem *problem)
{
	static const struct transport_kind kind = {
		.name = "tcp", .exchange = tcp_exchange, .free = tcp_free};
	struct tcp_transport *tcp;
	int rc;

	if (job->ranks < 1 || job->ranks > COMM_RANKS_MAX || rank < 0 || rank >= job->ranks)
		return problem_set(problem, -EINVAL, "rank %d of %d: a job has 1 to %d ranks", rank,
				   job->ranks, COMM_RANKS_MAX);
	tcp = calloc(1, sizeof(*tcp));
	if (!tcp)
		return problem_set(problem, -ENOMEM, "no memory for the connections of a job");
	tcp->transport = (struct transport){.kind = &kind,
					    .place = place_host(),
					    .rank = rank,
					    .ranks = job->ranks,
					    .patience_ms = 10000};
	for (int i = 0; i < COMM_RANKS_MAX; i++)
		tcp->fds[i] = -1;
	rc = tcp_join(tcp, job, listener, wait_ms, problem);
	if (rc != 0) {
		tcp_free(&tcp->transport);
		return rc;
	}
	*ret = &tcp->transport;
	return 0;
}
