/* The plan of a graph for a back end, with the rule of `trainer plan`: where the budget is too small for the fastest engines, others
 * with less workspace are taken. */
#pragma once

#include "trainer_image/ops/ops.h"
#include "trainer_image/plan/plan.h"
#include "trainer_image/train/team.h"

/* `options->workspace` is not read. Ranks of a `team` (NULL: alone) plan with the largest workspace of all: other plans would
 * compute other results again. Errors of plan_engines_init() and plan_engines_make(), and those of struct team. */
MUST_USE int executor_plan(const struct graph *graph, struct ops *ops, struct team *team,
			   const struct plan_options *options, struct plan **ret,
			   struct problem *problem);
