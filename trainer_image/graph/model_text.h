/* Reads and prints model files.
 *
 *     model lenet                        # a comment
 *     input image 28 28 1                # height, width, channels; "input token 128 words=50257"
 *     label digit 10                     # classes; sizes behind it: a label per place
 *     conv out=6 window=5 pad=2 bias=1   # takes the result before it
 *     first = relu                       # a name for later
 *     sum = add first other
 *     block step(x, width=, stride=1)    # values have "="; x is a result
 *       conv x out=width window=3 stride=stride pad=1
 *     end                                # what its last line gives is its result
 *     repeat 3
 *       step width=64
 *     end
 *
 * A line is `[NAME =] OP [INPUT ...] [key=value ...]`. A block uses blocks above it alone, so there is
 * no recursion. All is bounded: 1 MiB, 20,000 words, 10,000 ops, 16 levels. */
#pragma once

#include "trainer_image/graph/model.h"

enum { MODEL_TEXT_MAX = 1 << 20 };

/* `path` is for messages. E_MALFORMED with the line and what may stand there, E_LIMIT, -ENOMEM. The
 * caller frees `ret`. */
MUST_USE int model_parse(const char *path, const char *data, size_t size, struct model **ret,
			 struct problem *problem);
/* The same for a file; -errno too. */
MUST_USE int model_load(const char *path, struct model **ret, struct problem *problem);
/* The model without blocks and repetitions; reading it gives the same model. */
void model_print(const struct model *model, struct text *text);
