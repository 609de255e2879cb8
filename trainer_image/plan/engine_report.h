/* What `trainer plan` says about engines. Each distinct shape has an engine with its workspace, or a kernel of our own. The
 * limit of workspace may have given up the fastest. */
#pragma once

#include "trainer_image/plan/plan_report.h"

/* At most 80 columns. With `all` a line for each shape, else for each kind of product. */
void engine_report_text(const struct plan_report *report, bool all, struct text *text);
/* A member "engines": an object, or null with a member "engines_unknown" that says why. */
void engine_report_json(const struct plan_report *report, struct text *text);
/* Of an op; NULL when it runs by a kernel of our own, or engines are not known. Borrowed. */
const char *engine_report_name(const struct plan_report *report, int op);
