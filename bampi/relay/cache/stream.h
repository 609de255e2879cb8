/* An HTTP answer with the bytes of an object that may still be on its way. */
#pragma once

#include "common/http/server.h"

#include "bampi/relay/cache/cache.h"

/* Answers with the range that the request asks for. The last byte of an object that is not verified
 * yet is held back. If the object turns out to be wrong, the connection is cut. So nobody takes a
 * wrong object for whole. */
void stream_answer(struct object *object, struct http_request *request, const char *content_type);
