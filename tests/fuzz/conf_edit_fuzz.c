// links: common_io
// alone: its leak suppressions would hold for others
/* Any text: an edit is refused, or gives a text that says the value and is not edited twice. The first byte
 * chooses what is set. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/io/conf_edit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libconfig 1.5 loses the string it was reading when a text ends inside it (conf_fuzz.c). */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig";
}

static const char *const edits[][2] = {
	{"interfaces", "[\"eth1\", \"eth2\"]"},
	{"database", "\"host=a\\\"b\""},
	{"dhcp.servers", "[\"10.2.0.1\"]"},
	{"http.port", "8081"},
	{"tftp", "false"},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(text_done) struct text once = {0};
	CLEANUP(text_done) struct text twice = {0};
	CLEANUP(text_done) struct text got = {0};
	CLEANUP(freep) char *text = NULL;
	struct problem problem = {0};

	if (size == 0 || size > 4096 || memchr(data, 0, size))
		return 0;
	const char *const *edit = edits[data[0] % (sizeof(edits) / sizeof(edits[0]))];
	text = strndup((const char *)data + 1, size - 1);
	assert(text);
	if (conf_edit_set(text, edit[0], edit[1], &once, &problem)) {
		assert(once.size == 0 && problem.message[0]);
		return 0;
	}
	assert(conf_edit_get(text_get(&once), edit[0], &got, &problem) == 0);
	assert(strcmp(text_get(&got), edit[1]) == 0);
	assert(conf_edit_set(text_get(&once), edit[0], edit[1], &twice, &problem) == 0);
	assert(strcmp(text_get(&once), text_get(&twice)) == 0);
	return 0;
}
