/* bampid's side of an agent's task: its signing key, and the statement that is signed
 * (common/net/task_wire.h). bampi-bootd hands tasks on and cannot make one: it faces the network. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/net/task_wire.h"

#define TASK_SECRET_KEY_SIZE 64
#define TASK_PUBLIC_KEY_SIZE 32

struct task_key {
	uint8_t secret[TASK_SECRET_KEY_SIZE];
	char public_text[2 * TASK_PUBLIC_KEY_SIZE + 1];
};

/* Reads the key FOLDER/bampid-task.key, or makes it (mode 0600) when the file is not there, and
 * keeps its public half beside it: bampid-task.pub, for the ramdisk. */
MUST_USE int task_key_load(const char *folder, struct task_key *ret, struct problem *problem);
void task_key_wipe(struct task_key *key);

/* Fills in statement->params, the digest of `params`. {"statement", "params", "signature"}, texts,
 * for the row and, unchanged, for the agent. NULL: a value that no statement can hold, or no
 * memory. */
MUST_USE json_t *task_sign(const struct task_key *key, struct task_statement *statement,
			   const json_t *params);
