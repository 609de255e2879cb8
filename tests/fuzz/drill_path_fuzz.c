// links: common_model
/* Any text as a path of the drill: what is taken is printed as a text that means the same, and
 * every level above it is a path too; what is refused says why. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/drill_path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trip(struct drill_path *path)
{
	CLEANUP(text_done) struct text first = {0};
	CLEANUP(text_done) struct text second = {0};
	struct problem problem = {0};
	struct drill_path again;

	drill_path_print(path, &first);
	assert(drill_path_parse(text_get(&first), &again, &problem) == 0);
	assert(again.level == path->level);
	drill_path_print(&again, &second);
	assert(strcmp(text_get(&first), text_get(&second)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct drill_path path;
	struct problem problem = {0};
	char *text = malloc(size + 1);

	assert(text);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	if (drill_path_parse(text, &path, &problem)) {
		assert(problem.message[0] && problem.hint[0]);
		free(text);
		return 0;
	}
	free(text);
	for (;;) {
		enum drill_level level = path.level;

		round_trip(&path);
		drill_path_up(&path);
		assert(path.level < level || level == DRILL_ALL);
		if (level == DRILL_ALL)
			return 0;
	}
}
