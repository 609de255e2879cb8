/* From the bytes of an answer to what the caller gets. */
#include <errno.h>

#include "common/base/error.h"
#include "common/http/client_private.h"

/* 0, or why the call ends. */
static int give_data(struct http_call *call, const char *data, size_t size)
{
	int rc;

	if (size == 0)
		return 0;
	if (!call->on_data_wanted) {
		if (size > call->options.response_limit - call->body.size)
			return E_LIMIT;
		text_add_bytes(&call->body, data, size);
		return call->body.failed ? -ENOMEM : 0;
	}
	call->deciding = true;
	rc = call->options.on_data(call->options.context, data, size);
	call->deciding = false;
	return rc;
}

/* Body bytes; *ret_done when the body is whole. Bytes after it mean that the connection is not
 * clean: *ret_used < size. */
static int client_answer_take_body(struct http_call *call, const char *data, size_t size,
				   size_t *ret_used, bool *ret_done)
{
	size_t at = 0;
	int rc = 0;

	while (rc == 0 && at < size && call->framing == HTTP_FRAMING_CHUNKED &&
	       call->chunks.state != HTTP_CHUNKS_DONE) {
		const char *piece;
		size_t piece_size;
		size_t used;

		rc = http_chunks_take(&call->chunks, data + at, size - at, &used, &piece,
				      &piece_size);
		at += used;
		if (rc != 0)
			rc = E_PROTOCOL;
		else
			rc = give_data(call, piece, piece_size);
		if (call->cancelled)
			break;
	}
	if (call->framing == HTTP_FRAMING_LENGTH) {
		at = size < call->body_left ? size : (size_t)call->body_left;
		call->body_left -= at;
		rc = give_data(call, data, at);
	} else if (call->framing == HTTP_FRAMING_CLOSE) {
		at = size;
		rc = give_data(call, data, size);
	}
	*ret_used = at;
	*ret_done =
		call->framing == HTTP_FRAMING_NONE ||
		(call->framing == HTTP_FRAMING_LENGTH && call->body_left == 0) ||
		(call->framing == HTTP_FRAMING_CHUNKED && call->chunks.state == HTTP_CHUNKS_DONE);
	return rc;
}

/* Moves head bytes over until it is whole; *ret_used of `data`. 0 also while more is needed (state
 * stays CALL_HEAD). */
static int client_answer_take_head(struct http_call *call, const char *data, size_t size,
				   size_t *ret_used)
{
	size_t before = call->head_bytes.size;
	size_t head_size;
	int rc;

	if (size > HTTP_HEAD_LIMIT)
		size = HTTP_HEAD_LIMIT;
	text_add_bytes(&call->head_bytes, data, size);
	if (call->head_bytes.failed)
		return -ENOMEM;
	head_size = http_head_size(call->head_bytes.data, call->head_bytes.size);
	if (head_size == 0 || head_size > HTTP_HEAD_LIMIT) {
		*ret_used = size;
		return call->head_bytes.size >= HTTP_HEAD_LIMIT ? E_LIMIT : 0;
	}
	*ret_used = head_size - before;
	rc = http_head_response(call->head_bytes.data, head_size, &call->head);
	if (rc == 0)
		rc = http_framing_response(&call->head, call->head_only, &call->framing,
					   &call->body_left);
	if (rc != 0)
		return E_PROTOCOL;
	if (call->head.status < 200) { /* 100 Continue: the real head follows */
		text_clear(&call->head_bytes);
		return 0;
	}
	call->on_data_wanted = call->options.on_data && call->head.status < 300;
	call->state = CALL_BODY;
	return 0;
}

int http_call_take_answer(struct http_call *call, const char *data, size_t size, size_t *ret_used,
			  bool *ret_done)
{
	size_t at = 0;
	int rc = 0;

	while (rc == 0 && at < size && call->state == CALL_HEAD) {
		size_t used = 0;

		rc = client_answer_take_head(call, data + at, size - at, &used);
		at += used;
	}
	if (rc == 0 && call->state == CALL_BODY) {
		size_t used = 0;

		rc = client_answer_take_body(call, data + at, size - at, &used, ret_done);
		at += used;
	}
	*ret_used = at;
	return rc;
}
