/* The learning rate of each step. All kinds begin with a warm-up: the rate rises in a line from
 * rate / warmup to `rate`.
 *
 *     constant   rate
 *     steps      rate * factor^n, n = whole spans of `every` steps behind the warm-up
 *     cosine     from rate to last: half a cosine
 *     linear     from rate to last: a line
 *
 * The last step has `last` of cosine and linear. */
#pragma once

#include <stdint.h>

enum schedule_kind { SCHEDULE_CONSTANT, SCHEDULE_STEPS, SCHEDULE_COSINE, SCHEDULE_LINEAR };

/* In the order of enum schedule_kind, ended by NULL. */
extern const char *const schedule_words[];

struct schedule {
	enum schedule_kind kind;
	double rate, last;
	double factor; /* STEPS */
	uint64_t every;
	uint64_t warmup, steps; /* of all of training */
};

/* `step` counts from 0; behind the last it stays. */
double schedule_rate(const struct schedule *schedule, uint64_t step);
