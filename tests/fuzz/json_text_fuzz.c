// links: common_base common_http
/* Invariant: whatever bytes a string holds, what our writer writes is JSON, and reads back as the
 * same string when it was UTF-8. */
#undef NDEBUG /* the invariants are the test */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"
#include "common/http/json_reader.h"

#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *string = fuzz_text(data, size);
	struct text text = {0};
	struct problem problem = {0};
	json_t *json = NULL;
	json_t *direct;
	const char *back;

	json_begin_array(&text, NULL);
	json_put_string(&text, NULL, string);
	json_end_array(&text);
	assert(json_read(text_get(&text), text.size, SIZE_MAX, &json, &problem) == 0);
	back = json_string_value(json_array_get(json, 0));
	direct = json_stringn(string, strlen(string)); /* NULL when it is not UTF-8 */
	if (direct)
		assert(strcmp(back, string) == 0);
	else
		assert(strstr(back, "\xef\xbf\xbd"));
	json_decref(direct);
	json_decref(json);
	text_done(&text);
	free(string);
	return 0;
}
