/* Which health labels a node has by the rules of health_table.h, and since when. Pure: the facts
 * are borrowed, time is an argument. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "bampi/control/health/health_table.h"

enum { HEALTH_LABELS_MAX = 32, HEALTH_REASON_SIZE = 320 };

/* Times are milliseconds since 1970, 0 = never. */

/* A sensor that is not nominal. */
struct health_alarm {
	const char *name, *type;
	const char *state; /* "warning", "critical" */
};

/* An entry of the event log. */
struct health_event {
	const char *type, *sensor, *event;
	bool asserted;   /* else the end of it */
	int64_t bmc_ms;  /* when it happened, by the BMC's clock */
	int64_t seen_ms; /* when we read it */
};

struct health_drive {
	const char *name, *reason;
};

/* What is known of a label from the last time. */
struct health_memory {
	char label[HEALTH_LABEL_SIZE];
	int64_t raised_ms;  /* the label exists since; 0 = it does not */
	int64_t bad_ms;     /* seen bad since, not yet raised */
	int64_t good_ms;    /* raised, but well since */
	int64_t cleared_ms; /* by a person: what was seen before does not count */
};

struct health_facts {
	bool powered;            /* the node was on when last seen */
	int64_t bmc_failing_ms;  /* the BMC fails since; 0 = it answers */
	const char *bmc_problem; /* why; "" = unknown */
	const struct health_alarm *alarms;
	size_t alarm_count;
	const struct health_event *events; /* oldest first */
	size_t event_count;
	const struct health_drive *drives; /* whose erase failed */
	size_t drive_count;
	const struct health_memory *memories;
	size_t memory_count;
};

struct health_label {
	char label[HEALTH_LABEL_SIZE];
	enum health_severity severity;
	unsigned effects;
	const char *hint;                /* of the table */
	char reason[HEALTH_REASON_SIZE]; /* "" = as it was: nothing new was seen */
	int64_t since_ms;
};

struct health_verdict {
	struct health_label labels[HEALTH_LABELS_MAX];
	size_t label_count;
	struct health_memory memories[HEALTH_LABELS_MAX]; /* what must be known the next time */
	size_t memory_count;
	int64_t next_ms; /* when time alone will change something; 0 = it will not */
};

void health_decide(const struct health_facts *facts, int64_t now_ms, struct health_verdict *ret);

/* The row for a sensor in this state or an entry of the event log; NULL = it means nothing. */
const struct health_rule *health_rule_find(enum health_cause cause, const char *type,
					   const char *what);
