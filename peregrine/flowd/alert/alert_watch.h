/* The alerts that are coming, open or going, by key, and what of it is to be told. A key is the
 * kind and what it is about ("traffic.share:leaf1:up0:acme"), the same in every life of the
 * daemon: those that an earlier life left open are taken over and end when they are over. */
#pragma once

#include "common/base/hash_table.h"
#include "common/base/macros.h"

#include "peregrine/flowd/alert/alert_policy.h"

#define ALERT_KEY_SIZE     256
#define ALERT_SUBJECT_SIZE 160

/* What an alert is about. */
struct alert_asset {
	const char *subject_kind; /* "port", "switch"; static */
	const char *switch_name;
	const char *port; /* "" = the whole switch */
	const char *more; /* of the key, behind the subject: a tenant's name; "" = none */
	int64_t switch_id;
	uint32_t place;  /* of traffic_names; INDEX_NONE */
	int64_t tenant;  /* who sees it beside the operators; 0 = nobody */
	double window_s; /* the value is the mean of so many seconds; 0 = it is no mean */
};

struct alert_entry {
	char key[ALERT_KEY_SIZE];
	enum alert_kind kind;
	char subject[ALERT_SUBJECT_SIZE];
	const char *subject_kind;
	char who[80]; /* alert_asset.more */
	int64_t switch_id;
	char port[64];
	uint32_t place;
	int64_t tenant;
	double window_s; /* alert_asset.window_s */

	struct alert_state state;
	bool open;         /* raised and not over: it is in the database, or on its way */
	int64_t raised_us; /* which alert of its key it is */
	int64_t told_us;
	int64_t seen_us; /* when a value was last known */
	bool adopted;    /* of an earlier life, not seen in this one yet */
	int64_t ask_us;  /* suspects are due then; 0 = not */
	UT_hash_handle hh;
};

enum alert_event {
	ALERT_EVENT_RAISED,
	ALERT_EVENT_AGAIN,   /* still open: it is told now and then with its value */
	ALERT_EVENT_SUSPECT, /* look for its suspects */
	ALERT_EVENT_OVER,
	ALERT_EVENT_LOST, /* over, because nothing is known of it any more */
};
typedef void (*alert_fn)(void *context, enum alert_event event, const struct alert_entry *entry);

struct alert_watch_options {
	struct alert_rule rules[ALERT_KIND_COUNT];
	int64_t again_us; /* 30 s */
	int64_t lost_us;  /* without a value: over. 15 min: counters may come that seldom */
	size_t limit;     /* entries at most; what does not fit is counted */
	alert_fn fn;
	void *context;
};

struct alert_watch;

MUST_USE int alert_watch_new(const struct alert_watch_options *options, struct alert_watch **ret);
void alert_watch_free(struct alert_watch *watch);

/* One value. What is far from an alert costs a comparison. */
void alert_watch_see(struct alert_watch *watch, enum alert_kind kind,
		     const struct alert_asset *asset, double value, int64_t at_us);
/* Those of a kind that have no value in this second, because there is nothing to measure any more:
 * it is 0 where `known` says that it would have been seen. */
void alert_watch_absent(struct alert_watch *watch, enum alert_kind kind, int64_t at_us,
			bool (*known)(void *context, const struct alert_entry *entry),
			void *context);
/* After all values of a second. */
void alert_watch_sweep(struct alert_watch *watch, int64_t at_us);
/* An alert that is open in the database. */
struct alert_kept {
	const char *key, *kind, *subject_kind, *subject;
	int64_t tenant; /* id; 0 = none */
	int64_t raised_us;
};

/* Goes on with it, unless it is known already. Unknown kinds are left alone. */
void alert_watch_adopt(struct alert_watch *watch, const struct alert_kept *kept, int64_t at_us);
/* NULL = there is none. */
const struct alert_entry *alert_watch_find(const struct alert_watch *watch, const char *key);
const struct alert_rule *alert_watch_rule(const struct alert_watch *watch, enum alert_kind kind);

struct alert_watch_counts {
	uint64_t open, raised, cleared;
	uint64_t refused; /* that did not fit */
};
struct alert_watch_counts alert_watch_counts(const struct alert_watch *watch);
