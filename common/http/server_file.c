/* Files of answers. Without TLS the kernel sends them (sendfile); by TLS they are read piece by piece,
 * for what the socket takes. Never mapped: a file that somebody makes shorter would end the process
 * with SIGBUS. */
#include <errno.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/http/server_private.h"

LEAKS_LEFT_TO_SANITIZER

/* At once: eight records of TLS, for libevent writes 15000 bytes in one. */
#define SERVER_FILE_PIECE 120000

static struct evbuffer *server_file_output(const struct http_connection *connection)
{
	return bufferevent_get_output(connection->bev);
}

static void server_file_piece_free(struct http_piece *piece)
{
	if (piece->fd >= 0)
		close(piece->fd);
	if (piece->bytes)
		evbuffer_free(piece->bytes);
	free(piece);
}

static void server_file_drop_first(struct http_connection *connection)
{
	struct http_piece *piece = connection->pieces;

	connection->pieces = piece->next;
	server_file_piece_free(piece);
}

static struct http_piece *server_file_append(struct http_connection *connection)
{
	struct http_piece **at = &connection->pieces;
	struct http_piece *piece = calloc(1, sizeof(*piece));

	if (!piece)
		return NULL;
	piece->fd = -1;
	while (*at)
		at = &(*at)->next;
	*at = piece;
	return piece;
}

/* Straight into the connection's own buffer: only there libevent uses sendfile(2). */
static void server_file_send(struct http_connection *connection, int fd, uint64_t first,
			     uint64_t length)
{
	struct evbuffer_file_segment *segment = evbuffer_file_segment_new(
		fd, (ev_off_t)first, (ev_off_t)length, EVBUF_FS_CLOSE_ON_FREE);

	if (!segment) {
		close(fd);
		http_connection_abort(connection);
		return;
	}
	if (evbuffer_add_file_segment(server_file_output(connection), segment, 0,
				      (ev_off_t)length) != 0)
		http_connection_abort(connection);
	evbuffer_file_segment_free(segment); /* the buffer holds it now */
}

void http_file_add(struct http_connection *connection, int fd, uint64_t first, uint64_t length)
{
	struct http_piece *piece;

	if (!connection->session) {
		server_file_send(connection, fd, first, length);
		return;
	}
	piece = server_file_append(connection);
	if (!piece) {
		close(fd);
		http_connection_abort(connection);
		return;
	}
	piece->fd = fd;
	piece->first = first;
	piece->length = length;
	connection->piece_bytes += length;
	if (evbuffer_get_length(server_file_output(connection)) == 0)
		(void)http_file_feed(connection);
}

int http_bytes_add(struct http_connection *connection, const void *data, size_t size)
{
	struct http_piece *piece;

	if (!connection->pieces)
		return evbuffer_add(server_file_output(connection), data, size);
	piece = server_file_append(connection);
	if (!piece)
		return -1;
	piece->bytes = evbuffer_new();
	piece->length = size;
	connection->piece_bytes += size;
	return piece->bytes ? evbuffer_add(piece->bytes, data, size) : -1;
}

/* False: the file is shorter than it was, cannot be read, or memory ran out. */
static bool server_file_read(struct http_connection *connection, struct http_piece *piece)
{
	struct evbuffer *output = server_file_output(connection);
	size_t wanted =
		piece->length < SERVER_FILE_PIECE ? (size_t)piece->length : SERVER_FILE_PIECE;
	struct evbuffer_iovec room;
	ssize_t got;

	if (evbuffer_reserve_space(output, (ev_ssize_t)wanted, &room, 1) != 1)
		return false;
	got = pread(piece->fd, room.iov_base, wanted, (off_t)piece->first);
	if (got <= 0)
		return false;
	room.iov_len = (size_t)got;
	piece->first += (uint64_t)got;
	piece->length -= (uint64_t)got;
	connection->piece_bytes -= (uint64_t)got;
	return evbuffer_commit_space(output, &room, 1) == 0;
}

static bool server_file_move(struct http_connection *connection, struct http_piece *piece)
{
	connection->piece_bytes -= piece->length;
	piece->length = 0;
	return evbuffer_add_buffer(server_file_output(connection), piece->bytes) == 0;
}

bool http_file_feed(struct http_connection *connection)
{
	struct http_piece *piece = connection->pieces;

	if (!piece || connection->abort)
		return false;
	if (!(piece->bytes ? server_file_move(connection, piece)
			   : server_file_read(connection, piece))) {
		http_connection_abort(connection);
		return true;
	}
	if (piece->length == 0)
		server_file_drop_first(connection);
	return true;
}

void http_file_forget(struct http_connection *connection)
{
	while (connection->pieces)
		server_file_drop_first(connection);
}
