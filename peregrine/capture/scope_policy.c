#include "peregrine/capture/scope_policy.h"

#include <string.h>

static bool scope_policy_in(const uint8_t macs[][6], size_t count, const uint8_t *mac)
{
	for (size_t i = 0; i < count && i < SCOPE_MACS; i++) {
		if (memcmp(macs[i], mac, 6) == 0)
			return true;
	}
	return false;
}

bool scope_has(const struct scope *scope, const void *frame, size_t size)
{
	const uint8_t *target = frame;
	const uint8_t *source = target + 6;
	bool from_a;
	bool from_b;

	if (size < 12)
		return false;
	from_a = scope_policy_in(scope->a, scope->a_count, source);
	from_b = scope_policy_in(scope->b, scope->b_count, source);
	if (target[0] & 1)
		return from_a || from_b;
	if (scope->b_count == 0)
		return from_a || scope_policy_in(scope->a, scope->a_count, target);
	return (from_a && scope_policy_in(scope->b, scope->b_count, target)) ||
	       (from_b && scope_policy_in(scope->a, scope->a_count, target));
}
