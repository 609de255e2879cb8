/* Which steps a plan has, and how each step behaves. Only what does something today stands here. */
#pragma once

#include "bampi/control/deploy/step.h"

struct plan_row {
	enum step_id steps[PLAN_STEPS_MAX];
	size_t count;
	int base; /* of deployment.step_index: cancel's steps are logged behind those they end */
};

extern const struct plan_row plan_table[PLAN_COUNT];
extern const struct step_row step_table[STEP_COUNT];

/* The first step from `index` on that has something to do: without switches of ours those about
 * switches are passed over, without packages put_packages. plan->count when none is left. */
size_t plan_pass_over(const struct plan_row *plan, size_t index, const struct facts *facts);
/* Index of the step called `name` in the plan; -1 when it has none. */
int plan_find(const struct plan_row *plan, const char *name);
int plan_find_id(const struct plan_row *plan, enum step_id id);
