#include "bampi/relay/cache/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/net/http_wire.h"

#define STREAM_PIECE ((uint64_t)1 << 20)
#define WAITING      ((size_t)256 << 10) /* less than this on its way: more is added */

LEAKS_LEFT_TO_SANITIZER

struct stream {
	struct http_request *request;
	struct object *object;
	struct object_reader reader;
	uint64_t at, end;
};

static void stream_free(struct stream *stream)
{
	object_counters(stream->object)->streams--;
	object_detach(stream->object, &stream->reader);
	free(stream);
}

/* How far the client may have it now. */
static uint64_t stream_limit_of(const struct stream *stream)
{
	const struct object *object = stream->object;
	uint64_t held = stream->end - 1; /* end > at, so above 0 */

	if (object->state == OBJECT_READY)
		return stream->end;
	return object->have < held ? object->have : held;
}

/* False when the stream is over and freed. */
static bool send_some(struct stream *stream)
{
	uint64_t limit = stream_limit_of(stream);

	while (stream->at < limit && http_stream_waiting(stream->request) < WAITING) {
		uint64_t size =
			limit - stream->at < STREAM_PIECE ? limit - stream->at : STREAM_PIECE;

		if (http_stream_send_file(stream->request, stream->object->fd, stream->at, size)) {
			stream_free(stream);
			return false;
		}
		stream->at += size;
	}
	return true;
}

static void stream_pump(void *context)
{
	struct stream *stream = context;
	const struct object *object = stream->object;

	if (object->state == OBJECT_FAILED) {
		http_stream_abort(stream->request);
		stream_free(stream);
		return;
	}
	if (!send_some(stream))
		return;
	if (stream->at == stream->end) {
		http_stream_end(stream->request);
		stream_free(stream);
	} else if (object->state == OBJECT_FILLING && object->stalled &&
		   stream->at == stream_limit_of(stream)) {
		http_stream_abort(stream->request); /* it may ask again, with its own token */
		stream_free(stream);
	}
}

static void stream_gone(void *context)
{
	stream_free(context);
}

static void answer_outside(struct http_request *request, uint64_t size)
{
	struct problem problem = {0};
	char range[80];

	(void)text_format(range, sizeof(range), "bytes */%" PRIu64, size);
	http_answer_header(request, "Content-Range", range);
	(void)problem_set(&problem, E_INVALID, "the range is outside the file");
	http_answer_problem(request, 416, &problem);
}

void stream_answer(struct object *object, struct http_request *request, const char *content_type)
{
	uint64_t first;
	uint64_t length;
	int status = http_request_part(request, object->size, NULL, &first, &length);
	struct stream *stream;
	char range[80];

	if (object->state == OBJECT_READY) {
		http_answer_file(request, object->path, content_type);
		return;
	}
	http_answer_header(request, "Accept-Ranges", "bytes");
	if (status == 416) {
		answer_outside(request, object->size);
		return;
	}
	if (status == 206) {
		(void)text_format(range, sizeof(range), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
				  first, first + length - 1, object->size);
		http_answer_header(request, "Content-Range", range);
	}
	stream = length > 0 ? calloc(1, sizeof(*stream)) : NULL;
	if (length > 0 && !stream) {
		http_answer(request, 503, NULL, NULL, 0);
		return;
	}
	http_stream_begin_sized(request, status, content_type, length);
	if (!stream) {
		http_stream_end(request);
		return;
	}
	*stream = (struct stream){.request = request,
				  .object = object,
				  .reader = {.fn = stream_pump, .context = stream},
				  .at = first,
				  .end = first + length};
	object_counters(object)->streams++;
	object_attach(object, &stream->reader);
	http_request_on_close(request, stream_gone, stream);
	http_stream_on_drain(request, stream_pump, stream);
	stream_pump(stream);
}
