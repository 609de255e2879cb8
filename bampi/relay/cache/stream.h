/* An HTTP answer with the bytes of an object that may still be on its way. */
#pragma once

#include "common/http/server.h"

#include "bampi/relay/cache/cache.h"

/* Answers with the range that the request asks for. Of an object that is not verified yet the last
 * byte of the answer is held back until it is; if it turns out to be wrong, the connection is cut,
 * so nobody takes a wrong object for whole. */
void stream_answer(struct object *object, struct http_request *request, const char *content_type);
