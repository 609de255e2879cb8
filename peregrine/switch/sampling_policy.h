/* Sampling (sFlow) of switches: what is wanted of one, how it stands, and what follows from both. A
 * driver brings a switch to what is wanted (SWITCH_SAMPLING) and says what it found; whether that
 * is good is decided here. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The name under which ours stands on switches: sFlowRcvrOwner, external_ids:haas. */
#define SAMPLING_OWNER "haas-peregrined"

struct sampling_wanted {
	bool enabled;       /* false: ours is taken away, nobody else's is touched */
	bool change;        /* false: only look */
	char collector[46]; /* literal IPv4 or IPv6 */
	uint16_t port;
	uint32_t rate;   /* 1 frame in so many; 0 = by speed */
	uint16_t header; /* bytes of each frame */
	uint16_t poll_s; /* counters of ports are told this often */
};

struct sampling_found {
	bool agrees;      /* all that is ours is as wanted (not enabled: nothing is ours) */
	bool foreign;     /* somebody else's stands where ours would be */
	uint32_t sources; /* ports that sample for us, or bridges */
	uint32_t rate_low, rate_high; /* theirs */
	char text[96];                /* whose it is, what differs: the first of it */
};

/* About as many samples from a full port of any speed: 1 in so many as it has megabits per second
 * (sflow.org, "sampling rates"). Unknown speeds are taken as 1 Gbit/s. */
uint32_t sampling_rate(const struct sampling_wanted *wanted, uint64_t speed_bps);

/* What an agent made of wanted rates, learnt by reading what was set just before: as close as it
 * gets, also where its least rate is far above (or its highest far below) the wanted one. */
struct sampling_adjusted {
	struct {
		uint32_t wanted, made;
	} rows[16];
	unsigned count; /* of all that were learnt; the oldest is forgotten first */
};

void sampling_learn(struct sampling_adjusted *adjusted, uint32_t wanted, uint32_t made);
/* Nearest power of two, or what the agent is known to make of it; a doubled one, as switches set it
 * under load, is neither. */
bool sampling_rate_agrees(const struct sampling_adjusted *adjusted, uint32_t wanted,
			  uint32_t found);

enum sampling_state {
	SAMPLING_APPLIED,
	SAMPLING_OFF,
	SAMPLING_DRIFT, /* differs, and was only to be looked at */
	SAMPLING_FOREIGN,
	SAMPLING_REFUSED,
	SAMPLING_SILENT,
	SAMPLING_STATE_COUNT
};
extern const char *const sampling_state_words[SAMPLING_STATE_COUNT];

/* `rc` of the call; `found` of a good one. */
enum sampling_state sampling_judge(const struct sampling_wanted *wanted, int rc,
				   const struct sampling_found *found);
