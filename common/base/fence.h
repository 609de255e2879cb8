/* A fence: the moment until which the holder of a claim may change a BMC or a switch. Example: a claim
 * of 30 s, asked for at 12:00:00. Its fence ends at 12:00:27, PostgreSQL gives the claim to another
 * program after 12:00:30.
 *
 * Ask fence_holds() just before each packet that changes something. A program that was stopped, and
 * wakes up after the end, then sends nothing of what it had begun before.
 *
 * The end is a time of clock_boot_ms(). That clock goes on while a program is stopped, and while the
 * machine sleeps. Threads may share a fence. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"

struct fence;

/* A fence ends a tenth of the claim before the claim: for packets on their way, and for clocks of
 * different speed. */
enum { FENCE_MARGIN = 10 };

/* The end of the fence of a claim of `claim_ms`. `asked_ms`: when the statement that claims was sent,
 * which is before PostgreSQL began to count. */
int64_t fence_end_ms(int64_t asked_ms, int64_t claim_ms);

/* -ENOMEM. */
MUST_USE int fence_new(int64_t end_ms, struct fence **ret);
/* Returns `fence`; NULL is fine. */
struct fence *fence_ref(struct fence *fence);
void fence_unref(struct fence *fence);

/* The claim was extended. An end before the known one changes nothing. NULL is fine. */
void fence_extend(struct fence *fence, int64_t end_ms);
/* The claim is lost or given up: the fence is over now, and cannot be extended. NULL is fine. */
void fence_drop(struct fence *fence);

/* Is its end still to come? Always true for NULL: nothing had to be claimed. */
bool fence_holds(const struct fence *fence);
/* Time until its end, 0 when it is over. INT64_MAX for NULL. */
int64_t fence_left_ms(const struct fence *fence);
