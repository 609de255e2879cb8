// links: bootd_boot
/* Invariants: a progress that decodes is in range and one printable line; a result that decodes
 * holds exactly one of data and problem, and that decodes again to the same. */
#undef NDEBUG /* the invariants are the test */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "bampi/bootd/boot/boot_report.h"
#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_result(const struct boot_result *result)
{
	const char *json = result->ok ? result->data : result->problem;
	struct text body = {0};
	struct boot_result again = {0};
	struct problem problem = {0};

	assert((result->data != NULL) == result->ok && (result->problem != NULL) != result->ok);
	text_addf(&body, "{\"ok\":%s,\"%s\":", result->ok ? "true" : "false",
		  result->ok ? "data" : "problem");
	text_add(&body, json);
	text_add(&body, "}");
	if (!body.failed && body.size <= BOOT_RESULT_LIMIT) {
		assert(boot_result_decode(body.data, body.size, &again, &problem) == 0);
		assert(strcmp(json, again.ok ? again.data : again.problem) == 0);
	}
	boot_result_done(&again);
	text_done(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Bodies are NUL-terminated by the HTTP server. */
	char *body = fuzz_text(data, size);
	struct boot_progress progress;
	struct boot_result result = {0};
	struct problem problem = {0};

	if (boot_progress_decode(body, size, &progress, &problem) == 0) {
		assert(progress.percent >= 0 && progress.percent <= 100);
		assert(progress.done_bytes >= 0 && progress.total_bytes >= 0);
		assert(memchr(progress.text, 0, sizeof(progress.text)));
		for (const char *c = progress.text; *c; c++)
			assert((unsigned char)*c >= ' ' && *c != 0x7f);
	}
	if (boot_result_decode(body, size, &result, &problem) == 0)
		check_result(&result);
	boot_result_done(&result);
	free(body);
	return 0;
}
