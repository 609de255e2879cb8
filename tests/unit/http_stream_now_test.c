// links: common_http
/* Pieces of a stream that are written at once: there before the loop turns, and whole and in order whatever the socket takes of them. */
#include "tests/unit/http_fixture.h"

#define PIECE 15000u

struct reader {
	int fd;
	struct text got; /* behind the head of the answer */
};

static void reader_open(struct fixture *f, struct reader *reader, const char *request)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char head[1024];

	assert_true(text_copy(address.sun_path, sizeof(address.sun_path), f->path));
	reader->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(reader->fd >= 0);
	assert_int_equal(connect(reader->fd, (const struct sockaddr *)&address, sizeof(address)),
			 0);
	f->waiting = NULL;
	raw_send(reader->fd, request);
	while (!f->waiting)
		turn(f);
	http_stream_begin(f->waiting, 200, "a/b");
	assert_true(raw_read(f, reader->fd, "\r\n\r\n", head, sizeof(head)));
	assert_int_equal(http_stream_waiting(f->waiting), 0);
}

/* What is there now, without a turn of the loop. */
static size_t reader_take(struct reader *reader)
{
	char bytes[65536];
	size_t taken = 0;
	ssize_t size;

	while ((size = recv(reader->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
		text_add_bytes(&reader->got, bytes, (size_t)size);
		taken += (size_t)size;
	}
	assert_false(reader->got.failed);
	return taken;
}

static void count_drain(void *context)
{
	(*(unsigned *)context)++;
}

static void expect_piece(struct text *expected, const char *piece, bool chunked)
{
	if (chunked)
		text_addf(expected, "%x\r\n", PIECE);
	text_add_bytes(expected, piece, PIECE);
	if (chunked)
		text_add(expected, "\r\n");
}

static void test_pieces(void **state)
{
	static const char *const requests[] = {"GET /later HTTP/1.0\r\n\r\n",
					       "GET /later HTTP/1.1\r\nHost: x\r\n\r\n"};
	struct fixture *f = *state;
	char piece[PIECE];

	for (unsigned chunked = 0; chunked < COUNT_OF(requests); chunked++) {
		struct reader reader = {0};
		struct text expected = {0};
		unsigned drained = 0;
		unsigned count = 0;

		reader_open(f, &reader, requests[chunked]);
		http_stream_on_drain(f->waiting, count_drain, &drained);
		/* Nothing waits: each is with the client at once. */
		do {
			memset(piece, 'a' + (int)(count++ % 26), sizeof(piece));
			expect_piece(&expected, piece, chunked);
			assert_int_equal(http_stream_send_now(f->waiting, piece, PIECE), 0);
			if (count == 1)
				assert_int_equal(reader_take(&reader), expected.size);
		} while (http_stream_waiting(f->waiting) == 0 && count < 1000);
		/* The socket took a part of the last one, or nothing; what comes then stays behind it, also when
		 * the client has made room meanwhile. */
		assert_in_range(count, 3, 999);
		assert_in_range(http_stream_waiting(f->waiting), 1, PIECE + 16);
		assert_int_equal(drained, 0);
		assert_true(reader_take(&reader) > 0);
		memset(piece, '!', sizeof(piece));
		expect_piece(&expected, piece, chunked);
		assert_int_equal(http_stream_send_now(f->waiting, piece, PIECE), 0);
		assert_true(http_stream_waiting(f->waiting) > PIECE);
		while (!drained) {
			turn(f);
			(void)reader_take(&reader);
		}
		(void)reader_take(&reader);
		assert_int_equal(http_stream_waiting(f->waiting), 0);
		assert_int_equal(reader.got.size, expected.size);
		assert_memory_equal(text_get(&reader.got), text_get(&expected), expected.size);
		http_stream_end(f->waiting);
		text_done(&reader.got);
		text_done(&expected);
		close(reader.fd);
		turn_for(f, 20);
	}
}

/* The failure of a write is told by the loop, not from inside of the sender. */
static void test_client_gone_now(void **state)
{
	struct fixture *f = *state;
	struct reader reader = {0};

	reader_open(f, &reader, "GET /later HTTP/1.0\r\n\r\n");
	close(reader.fd);
	assert_int_equal(http_stream_send_now(f->waiting, "x", 1), 0);
	assert_int_equal(f->closed, 0);
	while (f->closed == 0)
		turn(f);
	assert_int_equal(f->closed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pieces, start, stop),
		cmocka_unit_test_setup_teardown(test_client_gone_now, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
