/* What the regular looks at BMCs bring (endpoints.h), told to health. */
#pragma once

#include "common/base/macros.h"

#include "bampi/control/endpoints.h"
#include "bampi/control/health/health.h"

/* Both are borrowed for the life of `endpoints`. -ENOMEM. */
MUST_USE int health_feed(struct endpoints *endpoints, struct health *health);
