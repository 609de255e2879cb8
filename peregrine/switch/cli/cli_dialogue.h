/* The dialogue with one switch's command line. It opens the stream, logs in, turns the pager off
 * and takes enable mode. Then it runs one command at a time, each ended by the prompt that follows
 * it. The session stays for the next call. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/fence.h"
#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/switch/cli/cli_dialect.h"
#include "peregrine/switch/cli/cli_wire.h"
#include "peregrine/switch/stream/switch_stream.h"

struct cli_dialogue;

/* How a command ended. `output` is clean text without echo and prompt; all is borrowed for the call
 * of the callback. rc: 0 a prompt came (what it thinks of the command: cli_answer_judge);
 * E_UNAVAILABLE no connection, or it was lost; E_AUTHENTICATION; E_TIMEOUT; E_LIMIT it printed
 * without end; E_PROTOCOL: after an error the session is closed, and the next command opens
 * another. */
struct cli_answer {
	int rc;
	const struct problem *problem; /* with rc != 0 */
	const char *output;
	const struct cli_prompt_seen *prompt; /* rc 0 */
	bool sent;                            /* the command may have reached the switch */
};
typedef void (*cli_answer_fn)(void *context, const struct cli_answer *answer);

/* `endpoint` and `dialect` are borrowed. */
MUST_USE int cli_dialogue_new(struct loop *loop, const struct switch_stream_row *row,
			      const struct switch_endpoint *endpoint,
			      const struct cli_dialect *dialect, struct cli_dialogue **ret);
/* Ends the session; no callback comes after. NULL is fine. */
void cli_dialogue_free(struct cli_dialogue *dialogue);

/* A command after the end of `fence` is not sent: it fails with E_LAPSED, and the session ends. NULL:
 * all are sent. Borrowed until the next call of this function. */
void cli_dialogue_guard(struct cli_dialogue *dialogue, struct fence *fence);
/* Runs one command; never two at once. `fn` is called from the loop, never from inside. The text is
 * copied. Times: clock_monotonic_ms. `timeout_ms` of silence ends it, too. */
void cli_dialogue_run(struct cli_dialogue *dialogue, const char *command, int64_t deadline_ms,
		      uint32_t timeout_ms, cli_answer_fn fn, void *context);
/* Forgets the command and ends the session: what the switch does with it is not known. */
void cli_dialogue_break(struct cli_dialogue *dialogue);
/* Is a session open and ready? */
bool cli_dialogue_is_open(const struct cli_dialogue *dialogue);
/* Commands sent so far. */
uint32_t cli_dialogue_commands(const struct cli_dialogue *dialogue);
