/* What the answer to a login means for the secrets of a switch that are exchanged. Pure.
 *
 * New secrets count once the switch took them. They are given up again only when it takes the
 * former ones and not them: so they are proven first, whatever made us ask. */
#pragma once

#include "peregrine/switch/switch_proof.h"

/* Which secrets are proven. */
enum rotation_proof {
	ROTATION_NEW,              /* they do not count yet */
	ROTATION_PRESENT,          /* that count, and something was refused with them */
	ROTATION_FORMER,           /* the present ones are refused */
	ROTATION_FORMER_OR_SILENT, /* the present ones got no answer, which may be a refusal */
	ROTATION_PRESENT_AGAIN, /* the former ones are good, and the present ones got no answer */
	ROTATION_PROOF_COUNT
};

struct rotation_verdict {
	const char *step; /* of haas.switch_rotation_step(); NULL: `next` is proven */
	const char *text; /* for the log, after "switch NAME: "; with a step */
	enum rotation_proof next;
};

struct rotation_verdict rotation_judge(enum rotation_proof proof, enum switch_proof_end end);
