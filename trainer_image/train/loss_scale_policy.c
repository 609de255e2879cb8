#include "trainer_image/train/loss_scale_policy.h"

struct loss_scale loss_scale_begin(bool moves)
{
	return (struct loss_scale){.scale = moves ? LOSS_SCALE_FIRST : 1, .moves = moves};
}

bool loss_scale_step(struct loss_scale *scale, bool finite)
{
	if (!scale->moves)
		return finite;
	if (!finite) {
		scale->good = 0;
		scale->scale /= 2;
		return scale->scale >= 1;
	}
	scale->good++;
	if (scale->good >= LOSS_SCALE_STEPS) {
		scale->good = 0;
		scale->scale = scale->scale < LOSS_SCALE_MOST ? scale->scale * 2 : scale->scale;
	}
	return true;
}
