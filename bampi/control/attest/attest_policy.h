/* Is it the site's signed image that runs on a node, and the agent in it that talks to us? Judges
 * what the agent's task *attest* brought. Pure.
 *
 * The chip's key and register 7 (the firmware's keys, and whose signature it accepted) are believed
 * the first time, and pinned: from then on another chip or other keys are not attested. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "bampi/control/attest/attest_trust.h"

#define ATTEST_KEY_TEXT  129 /* x and y in hex */
#define ATTEST_TEXT_SIZE 65  /* a register in hex */

struct attest_pins { /* "" = none yet */
	char key[ATTEST_KEY_TEXT];
	char pcr7[ATTEST_TEXT_SIZE];
};

struct attest_facts {
	const json_t *result; /* of the task */
	const char *token;    /* of the boot */
	const char *seal;     /* the agent's key as bampi-bootd saw it, in hex; "" = none */
	struct attest_pins pins;
	const struct attest_trust *trust;
};

struct attest_verdict {
	bool attested;
	char why[160];           /* not attested: a sentence; "" = attested */
	char hint[200];          /* what to do about it */
	struct attest_pins pins; /* as they are from now on */
};

void attest_judge(const struct attest_facts *facts, struct attest_verdict *ret);
