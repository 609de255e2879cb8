/* What bampid signs of a task, and what the agent believes of one (docs/decision/signed-tasks.md):
 * lines "NAME VALUE\n", each once, in a fixed order, nothing else. The first line says what the
 * text is for, so that no other text that is signed here can be taken for a task. */
#pragma once

#include <stdint.h>

#include "common/base/hex.h"
#include "common/base/macros.h"

#define TASK_STATEMENT_SIZE      1024
#define TASK_SIGNATURE_SIZE      64
#define TASK_SIGNATURE_TEXT_SIZE (2 * TASK_SIGNATURE_SIZE + 1)

struct task_statement {
	int64_t task; /* agent_task.id: the larger, the newer */
	int64_t deployment;
	char kind[32];
	char node[64];
	char mac[18];                 /* of its boot NIC, as mac_text writes it */
	char boot[DIGEST_TEXT_SIZE];  /* BLAKE2b-256 of the boot's token */
	char agent[DIGEST_TEXT_SIZE]; /* the public key that the agent told, hex */
	int64_t issued_ms, expires_ms;
	char params[DIGEST_TEXT_SIZE]; /* BLAKE2b-256 of the params' bytes */
};

/* E_INVALID: a value that a line cannot hold. E_LIMIT. */
MUST_USE int task_statement_encode(const struct task_statement *statement,
				   char ret[TASK_STATEMENT_SIZE]);
/* Takes exactly what task_statement_encode writes. E_MALFORMED. */
MUST_USE int task_statement_decode(const char *text, struct task_statement *ret);
