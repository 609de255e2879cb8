/* The devices of ranks as a transport of comm/, "nccl": bytes go from device to device, and its place is the device's
 * memory. The back end does both (ops/ops_sum.h); nothing here runs on the host.
 *
 * So the sums of a device are those of comm/collective.h, with the same bits as the host's. */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/ops/ops_sum.h"
#include "trainer_image/train/team.h"

/* All ranks together. `team` and `ops` outlive it; when the team's transport is stopped, so is this one. Errors as those of
 * ops_sum_id() and ops_sum_join(); E_UNAVAILABLE as team_tell(). */
MUST_USE int device_link_new(struct team *team, struct ops *ops, struct transport **ret,
			     struct problem *problem);
/* Gives up what is under way; before its memory is given back. NULL is allowed. */
void device_link_leave(struct transport *link);
