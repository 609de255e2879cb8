#include "peregrine/flowd/alert/alert_policy.h"

#include <math.h>

#include "common/model/estimate_policy.h"

enum {
	ALERT_POLICY_SECOND_US = 1000000,
	/* Values come once a second. Without one for so long, what was waited for is not known to
	 * have lasted. */
	GAP_US = 5 * ALERT_POLICY_SECOND_US,
	/* A reading of counters that is no older and covers no more is as quick as samples are. */
	QUICK_US = 3 * ALERT_POLICY_SECOND_US,
	/* A gap of samples is one from so many on. */
	MISSING_MIN = 20,
};
#define FADE 0.9

/* clang-format off */
const struct alert_kind_row alert_kind_rows[ALERT_KIND_COUNT] = {
	[ALERT_UTILISATION] = {"traffic.utilisation", "warning", "%",
		"find the tenant of the traffic (haasctl drill); then use another path, or limit that tenant", true},
	[ALERT_ERRORS] = {"traffic.errors", "warning", "frames/s",
		"clean or change the cable and its optics at both ends; compare the counters of the other end", true},
	[ALERT_DISCARDS] = {"traffic.discards", "warning", "frames/s",
		"its queues are full: look for bursts, or for a port behind it that is too slow", true},
	[ALERT_IMBALANCE] = {"traffic.imbalance", "info", "%",
		"few large flows, or a hash of too few fields: see the pairs on the busiest member", true},
	[ALERT_SHARE] = {"traffic.share", "warning", "%", "see its pairs and flows (haasctl drill)", true},
	[ALERT_GAP] = {"traffic.gap", "warning", "%",
		"check the network between switch and collector, and the collector's receive_buffer", false},
	[ALERT_SILENT] = {"traffic.silent", "warning", "s",
		"is the switch up, does it still sample, does its route to the collector work? haasctl switch show", false},
};
/* clang-format on */

static void alert_policy_enter(struct alert_state *state, enum alert_phase phase, int64_t at_us)
{
	state->phase = phase;
	state->since_us = at_us - ALERT_POLICY_SECOND_US;
}

/* Is what is waited for there, and has it been for so long? Else the phase before goes on. */
static bool alert_policy_lasted(struct alert_state *state, bool there, enum alert_phase before,
				int64_t at_us, int64_t seconds)
{
	if (!there) {
		state->phase = before;
		return false;
	}
	return at_us - state->since_us >= seconds * ALERT_POLICY_SECOND_US;
}

enum alert_change alert_step(const struct alert_rule *rule, struct alert_state *state, double value,
			     int64_t at_us)
{
	bool broken = at_us <= state->at_us || at_us - state->at_us > GAP_US;
	bool high = rule->raise > 0 && value >= rule->raise;
	bool low = rule->raise <= 0 || value < rule->clear;

	if (isnan(value))
		return ALERT_SAME;
	state->at_us = at_us;
	state->value = value;
	if (broken && (state->phase == ALERT_RISING || state->phase == ALERT_FALLING))
		state->since_us = at_us - ALERT_POLICY_SECOND_US;
	if (state->phase == ALERT_CALM && high) {
		alert_policy_enter(state, ALERT_RISING, at_us);
		state->peak = value;
	} else if (state->phase == ALERT_OPEN && low) {
		alert_policy_enter(state, ALERT_FALLING, at_us);
	}
	state->peak = fmax(state->peak, value);
	if (state->phase == ALERT_RISING &&
	    alert_policy_lasted(state, high, ALERT_CALM, at_us, rule->raise_s)) {
		alert_policy_enter(state, ALERT_OPEN, at_us);
		return ALERT_RAISED;
	}
	if (state->phase == ALERT_FALLING &&
	    alert_policy_lasted(state, low, ALERT_OPEN, at_us, rule->clear_s)) {
		alert_policy_enter(state, ALERT_CALM, at_us);
		return ALERT_CLEARED;
	}
	return ALERT_SAME;
}

/* --- values --- */

static double percent_of(double bytes, double seconds, uint64_t speed_bps)
{
	if (speed_bps == 0 || seconds <= 0)
		return UNKNOWN;
	return bytes * 8 / seconds / (double)speed_bps * 100;
}

double alert_percent(const struct traffic_sums *sums, double seconds, uint64_t speed_bps,
		     const struct alert_rule *rule)
{
	struct estimate e = estimate_of(sums, 0);

	if (percent_of((double)e.low, seconds, speed_bps) < rule->clear &&
	    percent_of((double)e.high, seconds, speed_bps) >= rule->raise)
		return UNKNOWN;
	return percent_of((double)e.bytes, seconds, speed_bps);
}

/* The last interval still says what is: another would have ended by twice its length. */
static bool is_of_now(const struct port_facts *facts)
{
	const struct port_rates *rates = facts->counted;
	int64_t age_us = rates ? facts->at_us - rates->at_us : 0;

	return rates && rates->at_us > 0 && age_us >= -GAP_US &&
	       age_us <= (int64_t)(rates->seconds * 2 * ALERT_POLICY_SECOND_US) + GAP_US;
}

static bool is_quick(const struct port_facts *facts)
{
	return is_of_now(facts) && facts->at_us - facts->counted->at_us <= QUICK_US &&
	       facts->counted->seconds * ALERT_POLICY_SECOND_US <= QUICK_US;
}

double alert_utilisation(const struct port_facts *facts, const struct alert_rule *rule,
			 double *ret_window_s)
{
	double counted = UNKNOWN;
	double sampled = UNKNOWN;
	uint64_t speed = facts->speed_bps;

	if (is_of_now(facts)) {
		const double *rates = facts->counted->per_second;

		/* What the port says itself; what was configured may be another. */
		if (facts->counted->speed_bps)
			speed = facts->counted->speed_bps;
		counted = percent_of(rates[COUNTER_OUT_BYTES], 1, speed);
	}
	if (facts->sampled)
		sampled = alert_percent(&facts->out, facts->seconds, speed, rule);
	*ret_window_s = facts->seconds;
	if (!is_quick(facts) && !isnan(sampled))
		return sampled;
	if (!isnan(counted))
		*ret_window_s = facts->counted->seconds;
	return counted;
}

double alert_errors(const struct port_facts *facts)
{
	return is_of_now(facts) ? facts->counted->per_second[COUNTER_IN_ERRORS] +
					  facts->counted->per_second[COUNTER_OUT_ERRORS]
				: UNKNOWN;
}

double alert_discards(const struct port_facts *facts)
{
	if (is_of_now(facts) && !facts->counted->up)
		return 0;
	return is_of_now(facts) ? facts->counted->per_second[COUNTER_IN_DISCARDS] +
					  facts->counted->per_second[COUNTER_OUT_DISCARDS]
				: UNKNOWN;
}

void balance_add(struct balance *balance, double percent)
{
	if (isnan(percent))
		return;
	balance->count++;
	balance->sum += percent;
	balance->most = fmax(balance->most, percent);
}

double alert_imbalance(const struct balance *balance)
{
	return balance->count < 2 ? UNKNOWN : balance->most - balance->sum / balance->count;
}

double alert_share(double percent, double others_percent)
{
	return others_percent >= 1 ? percent : 0;
}

double alert_gap(struct gap *gap, uint64_t came, uint64_t missing)
{
	gap->came = gap->came * FADE + (double)came;
	gap->missing = gap->missing * FADE + (double)missing;
	if (gap->missing < MISSING_MIN)
		return 0;
	return gap->missing / (gap->came + gap->missing) * 100;
}

int64_t alert_silent_since(const struct silence_facts *facts, int64_t at_us)
{
	/* It is silent because we told it to be. */
	if (facts->due_us == DUE_NEVER)
		return at_us;
	/* Told to speak again, it has a while to begin. */
	if (facts->heard_us)
		return facts->heard_us > facts->due_us ? facts->heard_us : facts->due_us;
	/* Not heard in this life, and nobody waits for it: what an alert said of it is over. */
	if (facts->due_us == DUE_OTHER)
		return at_us;
	/* It was silent then, and has been since: also when this life began between. */
	if (facts->raised_us)
		return facts->raised_us - (int64_t)(facts->raise * ALERT_POLICY_SECOND_US);
	return facts->due_us;
}

double alert_silence(int64_t silent_us, int64_t at_us)
{
	if (silent_us == 0)
		return UNKNOWN;
	/* Heard in what is now the future: the clock was set back. */
	return at_us > silent_us ? (double)(at_us - silent_us) / ALERT_POLICY_SECOND_US : 0;
}
