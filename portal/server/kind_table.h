/* What a "{name}" in the pattern of a route names: its form, and the sentence when there is none of that
 * name. */
#pragma once

#include "common/base/problem.h"
#include "common/http/server.h"

/* Holds each value of the path against the form of its kind. False: one names nothing, and the problem
 * says which. */
bool kind_path_check(const struct http_request *request, const char *pattern,
		     struct problem *ret_problem);
/* "node n9 does not exist": the first {name} of the pattern is the kind. */
void kind_not_found(const struct http_request *request, const char *pattern,
		    struct problem *ret_problem);
