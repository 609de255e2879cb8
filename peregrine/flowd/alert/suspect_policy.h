/* Who or what may be the cause of an alert. Facts about tenants, pairs, flows, nodes, ports and
 * changes in, assets ranked with their reasons out. Each fact has a weight for each kind of alert,
 * and a strength. Facts about one asset add up as independent hints do: 1 - (1 - a)(1 - b). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "peregrine/flowd/alert/alert_policy.h"

enum suspect_fact {
	FACT_TENANT,  /* a tenant's traffic there now: share, before */
	FACT_PAIR,    /* of two nodes */
	FACT_FLOW,    /* of one conversation */
	FACT_LOCATED, /* the VLAN of a tenant's network is there: it may send */
	FACT_COUNTED, /* a port's counters: errors, discards */
	FACT_CHANGED, /* somebody changed something there, or something happened: age_s */
	FACT_LOGGED,  /* a node's BMC logged something: age_s, asserted */
	FACT_ILL,     /* a node has a health label */
	SUSPECT_FACT_COUNT
};
/* "located", ...: as alert_candidates (alert.sql) writes them. */
extern const char *const suspect_fact_words[SUSPECT_FACT_COUNT + 1];

/* What a candidate's shares are means of: "now" is so long since an alert may have come with the
 * last second. */
enum { SUSPECT_NOW_S = 5, SUSPECT_BEFORE_S = 60 };

struct candidate {
	enum suspect_fact fact;
	const char *name;  /* of the asset; facts of one name and kind belong together */
	const char *text;  /* what was changed, logged ...; "" = none */
	const char *drill; /* where to look; "" = nowhere */
	double share;      /* of what the port carries now, 0..1: mean of SUSPECT_NOW_S */
	double before;     /* what was there in the SUSPECT_BEFORE_S before it began, of what the
			      port carries now: may be more; UNKNOWN = nobody remembers */
	double percent;    /* of the port's speed; 0 = not known */
	double errors, discards; /* a second */
	int64_t age_s;           /* when it began; below 0: it came later */
	bool here;               /* at the very port or node */
	bool asserted;           /* or critical, of a label */
};

#define SUSPECT_MAX    16
#define SUSPECT_REASON 400

struct suspect {
	const char *kind; /* "tenant", "pair", "flow", "port", "change", "node" */
	const char *name, *drill;
	double score;                 /* 0..1 */
	char reasons[SUSPECT_REASON]; /* "; " between them */
};

/* The most suspect first, at most SUSPECT_MAX, none that is hardly one; equal ones by name.
 * Returns how many. Texts are borrowed from the candidates. */
size_t suspect_rank(enum alert_kind kind, const struct candidate candidates[], size_t count,
		    struct suspect ret[SUSPECT_MAX]);
