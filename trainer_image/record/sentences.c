#include "trainer_image/record/sentences.h"

#include <errno.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"

#include "trainer_image/record/shuffle_policy.h"

enum { SENTENCES_WORDS = 8, SENTENCES_PURPOSE = 30 };

static const char *const sentences_names[SENTENCES_WORDS] = {"sara", "tom",  "mina", "otto",
							     "lea",  "ivan", "ruth", "paul"};
static const char *const sentences_colours[SENTENCES_WORDS] = {"red",   "green", "blue",  "yellow",
							       "white", "black", "brown", "grey"};
static const char *const sentences_things[SENTENCES_WORDS] = {"cup",  "ball", "hat",  "box",
							      "lamp", "kite", "shoe", "desk"};

static void sentences_line(uint64_t seed, uint64_t index, struct text *text)
{
	uint64_t dice = shuffle_key(seed, index, SENTENCES_PURPOSE);
	const char *name = sentences_names[dice % SENTENCES_WORDS];
	const char *colour = sentences_colours[dice / 8 % SENTENCES_WORDS];
	const char *thing = sentences_things[dice / 64 % SENTENCES_WORDS];

	text_addf(text, "%s has a %s %s. the %s is %s.\n", name, colour, thing, thing, colour);
}

int sentences_write(const char *path, uint64_t count, uint64_t seed, struct problem *problem)
{
	CLEANUP(text_done) struct text text = {0};

	for (uint64_t i = 0; i < count && !text.failed; i++)
		sentences_line(seed, i, &text);
	int rc = text.failed ? -ENOMEM : file_write_atomic(path, text_get(&text), text.size, 0644);

	return rc == 0 ? 0 : problem_set(problem, rc, "cannot write %s: %s", path, error_text(rc));
}
