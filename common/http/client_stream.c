/* Bytes of a call: straight from the socket, or through TLS. */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/http/client_private.h"

/* -EAGAIN: the socket has to be ready first. */
static int client_stream_error(struct http_call *call, int result)
{
	int system_error = errno;

	switch (SSL_get_error(call->session, result)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE: return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN: return 0; /* the other end has said that this is all */
	case SSL_ERROR_SYSCALL: return system_error ? -system_error : -ECONNRESET;
	default: break;
	}
	/* Cut in the middle is no word of the other end. */
	if (ERR_GET_REASON(ERR_peek_last_error()) != SSL_R_UNEXPECTED_EOF_WHILE_READING)
		tls_why(call->session, call->why, sizeof(call->why));
	ERR_clear_error();
	return -ECONNRESET;
}

int http_call_handshake(struct http_call *call)
{
	int result;
	int rc;

	ERR_clear_error();
	errno = 0;
	result = SSL_do_handshake(call->session);
	if (result == 1)
		return 0;
	rc = client_stream_error(call, result);
	return rc ? rc : -ECONNRESET;
}

ssize_t http_call_recv(struct http_call *call, void *room, size_t size)
{
	size_t got = 0;
	int result;

	if (!call->session) {
		ssize_t count = recv(call->fd, room, size, 0);

		if (count < 0)
			return errno == EINTR ? -EAGAIN : -errno;
		return count;
	}
	ERR_clear_error();
	errno = 0;
	result = SSL_read_ex(call->session, room, size, &got);
	return result == 1 ? (ssize_t)got : client_stream_error(call, result);
}

ssize_t http_call_send(struct http_call *call, const void *data, size_t size)
{
	size_t written = 0;
	int result;
	int rc;

	if (!call->session) {
		ssize_t count = send(call->fd, data, size, MSG_NOSIGNAL);

		if (count < 0)
			return errno == EINTR ? -EAGAIN : -errno;
		return count;
	}
	ERR_clear_error();
	errno = 0;
	result = SSL_write_ex(call->session, data, size, &written);
	if (result == 1)
		return (ssize_t)written;
	rc = client_stream_error(call, result);
	return rc ? rc : -EPIPE;
}

int http_call_events(const struct http_call *call)
{
	bool writes = call->sent < call->output.size;

	if (call->state == CALL_CONNECT)
		return LOOP_READ | LOOP_WRITE;
	if (call->session && call->state == CALL_HANDSHAKE)
		writes = SSL_want_write(call->session);
	else if (call->session && SSL_want_write(call->session))
		writes = true;
	return writes ? LOOP_READ | LOOP_WRITE : LOOP_READ;
}

void http_stream_close(int fd, struct ssl_st *session)
{
	if (session) {
		(void)SSL_shutdown(session); /* one way: nobody waits for the answer */
		SSL_free(session);
		ERR_clear_error();
	}
	if (fd >= 0)
		close(fd);
}
