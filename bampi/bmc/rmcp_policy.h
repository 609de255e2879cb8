/* What the codes and silences of an RMCP+ session mean. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* After so long without a word a session is kept alive: BMCs end theirs after 60 s [6.12.15]. */
enum { RMCP_KEEP_ALIVE_MS = 40000 };
/* First retransmission; the next after twice as long, and so on. Set-up and what only looks is
 * asked again soon. A command is not: many BMCs take seconds for it, and execute it twice. */
enum { RMCP_AGAIN_MS = 1000, RMCP_COMMAND_AGAIN_MS = 4000, RMCP_AGAIN_MAX_MS = 8000 };
/* Without a word for so long an exchange has failed. */
enum { RMCP_TIMEOUT_MS = 10000 };
/* A command that must not be sent twice goes only through a session that was heard so recently. */
enum { RMCP_PROVEN_MS = 2000 };
/* [6.8] */
enum { RMCP_PRIVILEGE_USER = 2, RMCP_PRIVILEGE_OPERATOR = 3 };
/* Set-ups in one exchange. */
enum { RMCP_SETUPS_MAX = 3 };

/* Status of an Open Session answer, RAKP 2 or RAKP 4 [table 13-15]. */
struct rmcp_status {
	const char *text;
	int theirs; /* IPMI_ERR_x: what it means, in ipmi_failure_table */
	bool stale; /* it is about a session that is gone: set up another one */
};
/* Never NULL. */
const struct rmcp_status *rmcp_status_find(uint8_t status);

/* When a packet that was sent `sends` times (1 or more) is due again, after the last time. */
int64_t rmcp_again_ms(uint32_t first_ms, unsigned sends);

/* Sequence numbers of what comes in: each at most once, and none that is too old [6.12.13]. Zero
 * bytes are a new one. */
struct rmcp_window {
	bool begun;
	uint32_t highest;
	uint32_t seen; /* bit n: highest - n */
};
bool rmcp_window_take(struct rmcp_window *window, uint32_t sequence);
