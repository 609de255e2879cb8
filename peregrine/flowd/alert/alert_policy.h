/* When traffic is worth an alert: measures of ports, links, tenants and agents, and their limits.
 * Each kind has a value that is told once a second. An alert is raised when the value has been at
 * or above `raise` for raise_s. It is over when the value has been below `clear` for clear_s. A
 * value that flaps between the two changes nothing, nor does an unknown one. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/model/traffic_sums.h"

#include "peregrine/flowd/flow/port_counters.h"

enum alert_kind {
	ALERT_UTILISATION, /* of a port, by what leaves it, as a drill path has it: percent of its
			      speed. What enters leaves another port, or a NIC. */
	ALERT_ERRORS,      /* of a port: frames a second */
	ALERT_DISCARDS,    /* of a port: frames a second */
	ALERT_IMBALANCE,   /* among the members of an aggregate, or a switch's uplinks: how far the
			      busiest is above their mean, in percent of its speed */
	ALERT_SHARE,       /* of a link that one of several tenants has: percent of its speed */
	ALERT_GAP,         /* samples of a switch that did not come: percent */
	ALERT_SILENT,      /* seconds since a switch's agent was heard */
	ALERT_KIND_COUNT
};

struct alert_kind_row {
	const char *name; /* alert.kind: "traffic.utilisation" */
	const char *severity;
	const char *unit; /* of values: "%", "frames/s", "s" */
	const char *hint;
	bool traffic; /* somebody's frames are in it: it has a drill path */
};
extern const struct alert_kind_row alert_kind_rows[ALERT_KIND_COUNT];

/* In the units of its kind; raise 0 = never. */
struct alert_rule {
	double raise, clear;
	int64_t raise_s, clear_s;
};

enum alert_phase { ALERT_CALM, ALERT_RISING, ALERT_OPEN, ALERT_FALLING };
enum alert_change { ALERT_SAME, ALERT_RAISED, ALERT_CLEARED };

struct alert_state {
	enum alert_phase phase;
	int64_t since_us; /* of the phase: when its first second began */
	int64_t at_us;    /* of the last value */
	double value, peak;
};

/* The value of the second that ends at `at_us`; UNKNOWN: nothing changes. Seconds that
 * are missing, or come again because the clock was set back, begin the waiting anew. */
enum alert_change alert_step(const struct alert_rule *rule, struct alert_state *state, double value,
			     int64_t at_us);

/* --- values --- */

/* What cannot be known. isnan() finds it. */
#define UNKNOWN ((double)NAN)

/* An estimate of bytes in `seconds` as percent of `speed_bps`. Unknown when its 95 % interval holds
 * both thresholds: it may be too much, and it may be nothing. */
double alert_percent(const struct traffic_sums *sums, double seconds, uint64_t speed_bps,
		     const struct alert_rule *rule);

struct port_facts {
	uint64_t speed_bps; /* 0 = unknown */
	bool sampled;       /* its switch samples: no sample means no traffic */
	struct traffic_sums out;
	double seconds;                   /* that the samples are of */
	const struct port_rates *counted; /* NULL = no counters */
	int64_t at_us;
};
/* Counters that are as quick as samples are better than these; slow ones fill in for them.
 * `ret_window_s`: the seconds that the value is the mean of. */
double alert_utilisation(const struct port_facts *facts, const struct alert_rule *rule,
			 double *ret_window_s);
/* Errors and discards: of the last interval between two readings, while that is of now. */
double alert_errors(const struct port_facts *facts);
/* 0 for a port without link: whatever is sent there is thrown away, and nobody misses it. */
double alert_discards(const struct port_facts *facts);

/* Utilisations of the members of one group, one by one. */
struct balance {
	unsigned count;
	double sum, most;
};
void balance_add(struct balance *balance, double percent);
double alert_imbalance(const struct balance *balance);

/* What one tenant has of a link, when others have a hundredth of it at least. */
double alert_share(double percent, double others_percent);

/* Samples that came and that did not, fading over about ten seconds: a single lost datagram of a
 * quiet switch is no gap. */
struct gap {
	double came, missing;
};
double alert_gap(struct gap *gap, uint64_t came, uint64_t missing);

/* What was said to a switch about sFlow, where that is no time since when it is to send it. */
enum {
	DUE_UNKNOWN = 0, /* nothing, as far as we know: somebody else may have told it to */
	DUE_NEVER = -1,  /* to send none */
	DUE_OTHER = -2,  /* in vain, or to send something else: what it sends is not our doing */
};

struct silence_facts {
	int64_t heard_us;  /* in sFlow, in this life of the daemon; 0 = not */
	int64_t due_us;    /* since when it was told to send sFlow, or DUE_* */
	int64_t raised_us; /* of the alert about its silence that is open; 0 = none is */
	double raise;      /* seconds, of the rule */
};

/* From when on a switch's silence counts; 0 = nothing is expected of it. */
int64_t alert_silent_since(const struct silence_facts *facts, int64_t at_us);
/* Since `silent_us`; 0: nothing is expected. */
double alert_silence(int64_t silent_us, int64_t at_us);
