#include "peregrine/control/rotation_policy.h"

#define PROVE(proof)            \
	{                       \
		.next = (proof) \
	}
#define SAY(ending, words)                        \
	{                                         \
		.step = (ending), .text = (words) \
	}

#define KEEP    SAY("later", "takes its secrets")
#define BACK    SAY("back", "refuses its new secrets: the former ones are in use again")
#define NEITHER SAY("later", "takes neither its new nor its former secrets")
#define SILENT  SAY("again", "gave no answer to a login")
#define WAITS   SAY("later", "gave no answer to a login")

/* A refusal is tried again much later than silence: each more may lock an account. */
static const struct rotation_verdict
	rotation_verdicts[ROTATION_PROOF_COUNT][SWITCH_PROOF_END_COUNT] = {
		[ROTATION_NEW] = {[SWITCH_PROOF_TAKEN] = SAY("proven", "took its new secrets"),
				  [SWITCH_PROOF_REFUSED] = SAY("fail", "refuses its new secrets"),
				  [SWITCH_PROOF_MUTE] = WAITS,
				  [SWITCH_PROOF_SILENT] = WAITS},
		[ROTATION_PRESENT] = {[SWITCH_PROOF_TAKEN] = KEEP,
				      [SWITCH_PROOF_REFUSED] = PROVE(ROTATION_FORMER),
				      [SWITCH_PROOF_MUTE] = PROVE(ROTATION_FORMER_OR_SILENT),
				      [SWITCH_PROOF_SILENT] = SILENT},
		[ROTATION_FORMER] = {[SWITCH_PROOF_TAKEN] = BACK,
				     [SWITCH_PROOF_REFUSED] = NEITHER,
				     [SWITCH_PROOF_MUTE] = NEITHER,
				     [SWITCH_PROOF_SILENT] = NEITHER},
		[ROTATION_FORMER_OR_SILENT] = {[SWITCH_PROOF_TAKEN] = PROVE(ROTATION_PRESENT_AGAIN),
					       [SWITCH_PROOF_REFUSED] = NEITHER,
					       [SWITCH_PROOF_MUTE] = SILENT,
					       [SWITCH_PROOF_SILENT] = SILENT},
		[ROTATION_PRESENT_AGAIN] = {[SWITCH_PROOF_TAKEN] = KEEP,
					    [SWITCH_PROOF_REFUSED] = BACK,
					    [SWITCH_PROOF_MUTE] = BACK,
					    [SWITCH_PROOF_SILENT] = SILENT},
};

struct rotation_verdict rotation_judge(enum rotation_proof proof, enum switch_proof_end end)
{
	return rotation_verdicts[proof][end];
}
