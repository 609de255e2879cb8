/* What all ranks of a job must agree on before its first step, and each checkpoint of the job with it:
 * names with values, "seed" = "7", "graph" = "5d0c5f4b8a1e2f77".
 *
 * A term that differs is named with both values. Ranks with other graphs, plans or orders of sums would
 * wait for each other for ever, or add numbers that do not belong together. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/comm/transport.h"

enum { TERMS_MAX = 32, TERM_NAME_SIZE = 24, TERM_VALUE_SIZE = 72 };

struct term {
	char name[TERM_NAME_SIZE]; /* printable ASCII, as the value is */
	char value[TERM_VALUE_SIZE];
};

/* Zero bytes are no terms. */
struct terms {
	struct term term[TERMS_MAX]; /* in the order of their names */
	size_t count;
	bool bad; /* too many, too long, twice or not printable */
};

struct term_difference {
	const char *name;          /* borrowed from the terms */
	const char *mine, *theirs; /* NULL: there is no such term */
};

void terms_add(struct terms *terms, const char *name, const char *format, ...) PRINTF_LIKE(3, 4);
/* The first that differs, in the order of names; false: they are the same. */
bool terms_differ(const struct terms *mine, const struct terms *theirs,
		  struct term_difference *ret);

/* All ranks call it before the first step, while nobody else uses the transport. First digests go round;
 * where they differ, the terms. All ranks then have the same answer. E_CONFLICT: `problem` names each rank
 * that differs from most others, and its terms. E_PROTOCOL: a rank sends no terms; -EINVAL: `terms` is bad;
 * -ENOMEM; else as transport_exchange. */
MUST_USE int terms_agree(struct transport *transport, const struct terms *terms,
			 struct problem *problem);
