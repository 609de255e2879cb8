/* Task attest: the node's TPM signs what was started on it, for this boot and for the key that
 * secrets are sealed to (docs/secure-boot.md, Attestation). Without a TPM the result says so. */
#pragma once

#include "bampi/agent/task.h"

MUST_USE int attest_run(struct task *task, struct text *data, struct problem *problem);
