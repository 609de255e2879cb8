/* The largest batch whose training step the memory holds. */
#pragma once

#include "trainer_image/plan/plan_report.h"

/* Batches are tried by doubling, then by halves; request->batch is not read, request->memory is not 0. The report of the largest is in
 * `ret`. Errors of plan_report_make() for one sample. Call plan_report_done() in any case. */
MUST_USE int plan_largest(const struct model *model, const struct plan_request *request,
			  struct plan_report *ret, struct problem *problem);
