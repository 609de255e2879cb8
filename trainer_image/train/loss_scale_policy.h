/* The loss scale of FP16: gradients are multiplied by it so that small ones are no zeros. A step whose
 * gradients became infinite is left out and halves the scale; many good steps double it
 * (Micikevicius et al. 2018). BF16 and FP32 have the scale 1 for ever. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct loss_scale {
	double scale;
	uint64_t good; /* steps since the scale was changed */
	bool moves;    /* false: 1 for ever */
};

enum { LOSS_SCALE_FIRST = 65536, LOSS_SCALE_MOST = 1 << 24, LOSS_SCALE_STEPS = 2000 };

struct loss_scale loss_scale_begin(bool moves);
/* After a step: `finite` says whether its gradients are. False: no smaller scale can help. */
bool loss_scale_step(struct loss_scale *scale, bool finite);
