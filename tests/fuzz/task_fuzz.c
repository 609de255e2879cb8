// links: common_net
/* Any text: what is accepted as the statement of a task is, to the byte, what its members are
 * written as. So there is one text for each task, and one meaning of each text. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/net/task_wire.h"

#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	char again[TASK_STATEMENT_SIZE];
	struct task_statement statement;

	if (text && task_statement_decode(text, &statement) == 0) {
		assert(task_statement_encode(&statement, again) == 0);
		assert(strcmp(text, again) == 0);
	}
	free(text);
	return 0;
}
