/* What a broken constraint of the database means to a person. */
#pragma once

#include "common/base/problem.h"

/* Rewrites a problem that names a constraint of ours. Returns the HTTP status, 0 when it is none of
 * them. */
int conflict_explain(struct problem *problem);
