#include "peregrine/switch/sampling_policy.h"

#include "common/base/error.h"
#include "common/base/macros.h"

enum { RATE_LEAST = 100, RATE_MOST = 1000000, SPEED_UNKNOWN = 1000 };

const char *const sampling_state_words[SAMPLING_STATE_COUNT] = {
	[SAMPLING_APPLIED] = "applied", [SAMPLING_OFF] = "off",
	[SAMPLING_DRIFT] = "drift",     [SAMPLING_FOREIGN] = "foreign",
	[SAMPLING_REFUSED] = "refused", [SAMPLING_SILENT] = "silent",
};

uint32_t sampling_rate(const struct sampling_wanted *wanted, uint64_t speed_bps)
{
	uint64_t rate = speed_bps ? speed_bps / 1000000 : SPEED_UNKNOWN;

	if (wanted->rate)
		return wanted->rate;
	if (rate < RATE_LEAST)
		return RATE_LEAST;
	return rate > RATE_MOST ? RATE_MOST : (uint32_t)rate;
}

static bool is_near(uint64_t wanted, uint64_t found)
{
	return found * 3 >= wanted * 2 && found * 3 <= wanted * 4;
}

static bool is_learnt(const struct sampling_adjusted *adjusted, uint32_t wanted, uint32_t found)
{
	for (unsigned i = 0; i < COUNT_OF(adjusted->rows) && i < adjusted->count; i++) {
		if (adjusted->rows[i].wanted == wanted && adjusted->rows[i].made == found)
			return true;
	}
	return false;
}

bool sampling_rate_agrees(const struct sampling_adjusted *adjusted, uint32_t wanted, uint32_t found)
{
	return is_near(wanted, found) || is_learnt(adjusted, wanted, found);
}

void sampling_learn(struct sampling_adjusted *adjusted, uint32_t wanted, uint32_t made)
{
	unsigned at = adjusted->count % COUNT_OF(adjusted->rows);

	if (made == 0 || sampling_rate_agrees(adjusted, wanted, made))
		return;
	adjusted->rows[at].wanted = wanted;
	adjusted->rows[at].made = made;
	adjusted->count++;
}

enum sampling_state sampling_judge(const struct sampling_wanted *wanted, int rc,
				   const struct sampling_found *found)
{
	if (rc == E_TIMEOUT || rc == E_UNAVAILABLE || rc == E_NOT_FOUND)
		return SAMPLING_SILENT;
	if (rc)
		return SAMPLING_REFUSED;
	if (!wanted->enabled)
		return found->agrees    ? SAMPLING_OFF
		       : wanted->change ? SAMPLING_REFUSED
					: SAMPLING_DRIFT;
	if (found->foreign)
		return SAMPLING_FOREIGN;
	if (found->agrees)
		return SAMPLING_APPLIED;
	return wanted->change ? SAMPLING_REFUSED : SAMPLING_DRIFT;
}
