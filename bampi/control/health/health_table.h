/* What is wrong with a node when its BMC says so: constant rules from an observation to a health
 * label. Sensor and event words are those of IPMI 2.0 (table 42-2, 42-3) as FreeIPMI spells them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEALTH_LABEL_SIZE 48

enum health_severity { HEALTH_INFO, HEALTH_WARNING, HEALTH_CRITICAL, HEALTH_SEVERITY_COUNT };
extern const char *const health_severity_words[HEALTH_SEVERITY_COUNT];

/* Bits. What they do is in the database (health.sql). */
enum health_effect {
	HEALTH_NO_ALLOCATION = 1 << 0, /* not given to a tenant */
	HEALTH_NO_AUTOMATION = 1 << 1, /* no step of a deployment is started */
};
enum { HEALTH_EFFECT_COUNT = 2 };
extern const char *const health_effect_words[HEALTH_EFFECT_COUNT]; /* of bit 0, 1 */

enum health_cause {
	HEALTH_SENSOR, /* a sensor is in a state */
	HEALTH_EVENT,  /* the event log has entries */
	HEALTH_SILENT, /* the BMC does not answer */
	HEALTH_DRIVE,  /* an erase has failed */
};

#define HEALTH_BY_HAND (-1) /* clear_s: only a person can say that it is mended */

/* Patterns are those of fnmatch(3), without regard to case; NULL = any. The first row that fits a
 * sensor or an entry is the one that counts; several rows may raise one label. */
struct health_rule {
	const char *label;
	enum health_severity severity;
	unsigned effects;
	enum health_cause cause;
	const char *type; /* of sensor or entry */
	const char *what; /* HEALTH_SENSOR: its state; HEALTH_EVENT: the event's text */
	bool powered;     /* says something only while the node is on: fans of a node that is off
			     stand still */
	unsigned count;   /* HEALTH_EVENT: so many within ... */
	int32_t window_s; /* ... so long; an older entry is history */
	int32_t hold_s;   /* raised when it has been so for so long */
	int32_t clear_s;  /* gone when it has been well for so long */
	const char *hint; /* what to do */
};

extern const struct health_rule health_rules[];
extern const size_t health_rule_count;
