/* A generated text whose end follows from its begin: each line names a colour and a thing twice.
 *
 *     sara has a green cup. the cup is green.
 *
 * A guess by the letters just before cannot know the second thing and colour; a model that looks back can. (seed, index) is
 * the same line on each machine. Another seed is another text: train with one, test with another. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

/* `count` lines to a text file, in the place of what it was. -errno. */
MUST_USE int sentences_write(const char *path, uint64_t count, uint64_t seed,
			     struct problem *problem);
