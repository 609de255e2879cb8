// links: peregrine_switch
/* What a switch shows of its mirror sessions: the first byte says by which family's rules it is
 * read. What is planned from it is lines that nothing could end early; sessions and ports are names
 * within their room. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "peregrine/switch/cli/cli_mirror_policy.h"
#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const ports[] = {"Gi1/0/24", "Ethernet24", "ethernet 1/24"};
	static const struct switch_tunnel tunnel = {.to = "10.9.0.2", .from = "10.9.0.1"};
	const struct switch_tunnel *sent = NULL;
	static struct cli_mirrors there;
	static struct cli_mirror_plan plan;
	struct switch_mirror mirror = {.port = "Gi1/0/1"};
	const struct cli_mirror *row;
	char *text;

	if (size == 0)
		return 0;
	row = cli_mirror_of(cli_dialects[data[0] % cli_dialect_count]);
	if (data[0] & 0x80 && cli_erspan_of(row->dialect)) {
		row = cli_erspan_of(row->dialect);
		sent = &tunnel;
	}
	text = fuzz_text(data + 1, size - 1);
	if (cli_mirrors_read(row, text, &there) == 0) {
		for (size_t i = 0; i < there.count; i++) {
			assert(memchr(there.sessions[i].target, '\0', 64));
			assert(memchr(there.sessions[i].from, '\0', 46));
		}
		for (size_t i = 0; i < COUNT_OF(ports) * 2; i++) {
			struct cli_mirror_want want = {&mirror, i % 2,
						       sent ? sent->to : ports[i / 2], sent};
			struct problem problem = {0};

			if (cli_mirror_plan_make(row, &there, &want, &plan, &problem) != 0)
				assert(problem_is_set(&problem));
			for (size_t j = 0; j < plan.count; j++) {
				for (const char *at = plan.lines[j].text; *at; at++)
					assert(*at != '\n' && *at != '\r');
			}
		}
	}
	free(text);
	return 0;
}
