// links: common_model
/* Any text as a URL of the drill: what is taken is printed as one that says the same; what is
 * refused says why. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/drill_url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(text_done) struct text printed = {0};
	struct drill_url url;
	struct drill_url again;
	struct problem problem = {0};
	char *text = malloc(size + 1);

	assert(text);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	if (drill_url_parse(text, &url, &problem)) {
		assert(problem.message[0] && problem.hint[0]);
		free(text);
		return 0;
	}
	free(text);
	drill_url_print(&url, &printed);
	assert(drill_url_is(text_get(&printed)));
	assert(drill_url_parse(text_get(&printed), &again, &problem) == 0);
	assert(strcmp(url.path, again.path) == 0 && strcmp(url.at, again.at) == 0 &&
	       strcmp(url.window, again.window) == 0);
	return 0;
}
