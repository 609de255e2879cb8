/* Which agents may speak, from where: (agent address, source address) -> the agent's number. Made
 * anew by the main loop when switches change, then never written: receivers read it without a lock.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

struct agent_directory;

enum { AGENT_UNKNOWN = -1, AGENT_SPOOFED = -2, AGENT_LOUD = -3, AGENT_LIMIT = 65535 };

struct agent_row {
	uint8_t agent[16];  /* as its datagrams name it; IPv4 mapped */
	uint8_t source[16]; /* where its datagrams come from */
	uint16_t number;    /* the same in all rows of one agent */
};

MUST_USE int agent_directory_new(const struct agent_row *rows, size_t count,
				 struct agent_directory **ret);
void agent_directory_free(struct agent_directory *directory);
/* The number; AGENT_UNKNOWN: nobody has that address; AGENT_SPOOFED: somebody has, but its
 * datagrams come from elsewhere. */
int agent_directory_find(const struct agent_directory *directory, const uint8_t agent[16],
			 const uint8_t source[16]);
