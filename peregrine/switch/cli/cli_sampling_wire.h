/* What a switch shows of its sampling otherwise than it is typed, as lines that are typed. Pure. */
#pragma once

#include "common/base/macros.h"
#include "common/base/text.h"

/* SONiC: `show sflow`, `show sflow interface` and `show interfaces status`, clean, one after the
 * other. -ENOMEM. */
MUST_USE int cli_sflow_typed(const char *shown, struct text *ret);
