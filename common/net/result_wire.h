/* What an agent signs of a result (docs/decision/signed-tasks.md, Results): lines "NAME VALUE\n" as
 * of a task (task_wire.h). The reader makes the same lines of what it knows and of the bytes that
 * came, and parses nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hex.h"

#define RESULT_STATEMENT_SIZE      256
#define RESULT_SIGNATURE_SIZE      64
#define RESULT_SIGNATURE_TEXT_SIZE (2 * RESULT_SIGNATURE_SIZE + 1)
#define RESULT_SIGNATURE_FIELD     "Haas-Result-Signature"
#define RESULT_AGENT_FIELD         "Haas-Agent-Key"

/* The token stands for node and boot: no two boots have one. */
void result_statement(int64_t task, const char *token, const void *body, size_t size,
		      char ret[RESULT_STATEMENT_SIZE]);
/* Whether the agent with this public key (ed25519, hex) signed it; texts may be NULL. */
bool result_is_signed(const char *agent, const char *signature, int64_t task, const char *token,
		      const void *body, size_t size);
