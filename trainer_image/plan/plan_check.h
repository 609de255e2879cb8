/* Runs a plan on paper: every step reads bytes that still hold what it wants, and writes none that
 * are read later. It shares no code with the planner. */
#pragma once

#include "trainer_image/plan/plan.h"

/* E_INVALID with the step and what is wrong with it; -ENOMEM. */
MUST_USE int plan_check(const struct graph *graph, const struct plan *plan,
			struct problem *problem);
