/* The socket of peregrine-captured: packets, piece by piece, and the last lines of a capture under
 * way. Only portald is answered: it has asked the database who may. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/base/text.h"
#include "common/http/local_server.h"

#include "peregrine/captured/captured_private.h"

enum { PIECE = 1 << 20 };

static int64_t captured_serve_number_of(const char *text)
{
	char *end = NULL;
	long long number = text && *text ? strtoll(text, &end, 10) : 0;

	return !text || !*text || *end || number < 0 ? 0 : number;
}

static void captured_serve_refuse(struct http_request *request, int code, const char *message)
{
	struct problem problem = {0};

	(void)problem_set(&problem, code, "%s", message);
	http_answer_problem(request, http_status_of(code), &problem);
}

/* --- packets --- */

/* Bytes from `offset` on of the files in a row, the oldest first: one pcapng file. */
static ssize_t read_piece(const char *folder, unsigned first, int64_t offset, char *ret)
{
	size_t got = 0;

	for (unsigned i = 0; i < CAPTURED_FILES && got < PIECE; i++) {
		CLEANUP(closep) int fd = -1;
		char path[4200];
		struct stat stat;
		ssize_t part;

		(void)text_format(path, sizeof(path), "%s/%u.pcapng", folder,
				  (first + i) % CAPTURED_FILES);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0 || fstat(fd, &stat) != 0)
			return -1;
		if (offset >= stat.st_size) {
			offset -= stat.st_size;
			continue;
		}
		part = pread(fd, ret + got, PIECE - got, offset);
		if (part < 0)
			return -1;
		got += (size_t)part;
		offset = 0;
	}
	return (ssize_t)got;
}

static void get_file(void *context, struct http_request *request)
{
	const struct captured *captured = context;
	CLEANUP(freep) char *piece = malloc(PIECE);
	char folder[4096];
	int64_t id = captured_serve_number_of(http_request_param(request, "capture"));
	int64_t first = captured_serve_number_of(http_request_query(request, "first"));
	ssize_t got = -1;

	if (piece && captured_folder(captured, id, folder, sizeof(folder)))
		got = read_piece(folder, (unsigned)(first % CAPTURED_FILES),
				 captured_serve_number_of(http_request_query(request, "offset")),
				 piece);
	if (got < 0)
		captured_serve_refuse(request, E_UNAVAILABLE, "the packets cannot be read");
	else
		http_answer(request, 200, "application/octet-stream", piece, (size_t)got);
}

/* --- live --- */

/* {"next": N, "lines": [...]}: those after the N-th of its life, as far as they are still here. */
static void get_live(void *context, struct http_request *request)
{
	const struct captured *captured = context;
	const struct taken *one = captured_find(
		captured, captured_serve_number_of(http_request_param(request, "capture")));
	CLEANUP(text_done) struct text body = {0};
	uint64_t after = (uint64_t)captured_serve_number_of(http_request_query(request, "after"));
	uint64_t first;

	if (!one) {
		captured_serve_refuse(request, E_NOT_FOUND, "the capture is not running");
		return;
	}
	first = one->line_count > LIVE_LINES ? one->line_count - LIVE_LINES : 0;
	json_begin_object(&body, NULL);
	json_put_int(&body, "next", (int64_t)one->line_count);
	json_begin_array(&body, "lines");
	for (uint64_t i = after > first ? after : first; i < one->line_count; i++)
		json_put_string(&body, NULL, one->lines[i % LIVE_LINES]);
	json_end_array(&body);
	json_end_object(&body);
	http_answer_json(request, 200, &body);
}

static void captured_serve_get_health(void *context, struct http_request *request)
{
	const struct captured *captured = context;

	local_server_answer_health(request,
				   db_connected(captured->db) || db_stands_by(captured->db));
}

static const struct http_route captured_serve_routes[] = {
	{HTTP_GET, "/captures/{capture}/file", get_file},
	{HTTP_GET, "/captures/{capture}/live", get_live},
	{HTTP_GET, "/healthz", captured_serve_get_health},
};

int captured_serve(struct captured *captured, struct problem *problem)
{
	const struct http_server_options options = {.routes = captured_serve_routes,
						    .route_count = COUNT_OF(captured_serve_routes),
						    .context = captured,
						    .caller = captured->conf->socket_caller};

	return local_server_new(captured->loop, &options, captured->conf->socket_path,
				&captured->server, problem);
}
