/* Answers that several handlers give in the same words. */
#pragma once

#include "common/http/server.h"

/* Nothing to say: 204. */
void boot_answer_empty(struct http_request *request);
/* 401; tells nothing about why. */
void boot_answer_unauthorized(struct http_request *request);
/* 404; the same for all that is not there and all that is not the caller's. */
void boot_answer_not_found(struct http_request *request);
/* 410 */
void boot_answer_unwanted(struct http_request *request);
/* 503 with Retry-After: it may be answered soon. */
void boot_answer_wait(struct http_request *request, const char *why);
/* The same; the database is away. */
void boot_answer_later(struct http_request *request);
/* The status that fits problem->code. */
void boot_answer_problem(struct http_request *request, const struct problem *problem);
