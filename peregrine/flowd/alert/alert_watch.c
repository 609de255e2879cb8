#include "peregrine/flowd/alert/alert_watch.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "peregrine/flowd/flow/attribution_index.h"

LEAKS_LEFT_TO_SANITIZER

enum {
	/* The second in which it was raised is among the last ones by then. */
	SUSPECT_US = 2 * 1000000,
};

struct alert_watch {
	struct alert_watch_options options;
	struct alert_entry *entries;
	size_t count, of_kind[ALERT_KIND_COUNT];
	struct alert_watch_counts counts;
};

int alert_watch_new(const struct alert_watch_options *options, struct alert_watch **ret)
{
	struct alert_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	watch->options = *options;
	*ret = watch;
	return 0;
}

static void alert_watch_forget(struct alert_watch *watch, struct alert_entry *entry)
{
	HASH_DEL(watch->entries, entry);
	watch->count--;
	watch->of_kind[entry->kind]--;
	free(entry);
}

void alert_watch_free(struct alert_watch *watch)
{
	struct alert_entry *entry;
	struct alert_entry *next;

	if (!watch)
		return;
	HASH_ITER(hh, watch->entries, entry, next) alert_watch_forget(watch, entry);
	free(watch);
}

static struct alert_entry *alert_watch_find_entry(const struct alert_watch *watch, const char *key)
{
	struct alert_entry *entry = NULL;

	HASH_FIND_STR(watch->entries, key, entry);
	return entry;
}

const struct alert_entry *alert_watch_find(const struct alert_watch *watch, const char *key)
{
	return alert_watch_find_entry(watch, key);
}

static struct alert_entry *alert_watch_make(struct alert_watch *watch, enum alert_kind kind,
					    const char *key)
{
	struct alert_entry *entry =
		watch->count < watch->options.limit ? calloc(1, sizeof(*entry)) : NULL;

	if (!entry) {
		watch->counts.refused++;
		return NULL;
	}
	(void)text_copy(entry->key, sizeof(entry->key), key);
	entry->kind = kind;
	entry->place = INDEX_NONE;
	HASH_ADD_STR(watch->entries, key, entry);
	watch->count++;
	watch->of_kind[kind]++;
	return entry;
}

static void alert_watch_describe(struct alert_entry *entry, const struct alert_asset *asset)
{
	(void)text_format(entry->subject, sizeof(entry->subject), "%s%s%s", asset->switch_name,
			  asset->port[0] ? ":" : "", asset->port);
	(void)text_copy(entry->who, sizeof(entry->who), asset->more);
	(void)text_copy(entry->port, sizeof(entry->port), asset->port);
	entry->subject_kind = asset->subject_kind;
	entry->switch_id = asset->switch_id;
	entry->place = asset->place;
	entry->tenant = asset->tenant;
	entry->window_s = asset->window_s;
}

static void alert_watch_tell(struct alert_watch *watch, enum alert_event event,
			     struct alert_entry *entry, int64_t at_us)
{
	entry->told_us = at_us;
	watch->options.fn(watch->options.context, event, entry);
}

static void alert_watch_changed(struct alert_watch *watch, struct alert_entry *entry,
				enum alert_change change, int64_t at_us)
{
	switch (change) {
	case ALERT_RAISED:
		entry->open = true;
		entry->raised_us = at_us;
		entry->ask_us = at_us + SUSPECT_US;
		watch->counts.open++;
		watch->counts.raised++;
		alert_watch_tell(watch, ALERT_EVENT_RAISED, entry, at_us);
		break;
	case ALERT_CLEARED:
		watch->counts.open--;
		watch->counts.cleared++;
		alert_watch_tell(watch, ALERT_EVENT_OVER, entry, at_us);
		alert_watch_forget(watch, entry);
		break;
	case ALERT_SAME:
		if (entry->state.phase == ALERT_CALM)
			alert_watch_forget(watch, entry);
		break;
	}
}

void alert_watch_see(struct alert_watch *watch, enum alert_kind kind,
		     const struct alert_asset *asset, double value, int64_t at_us)
{
	const struct alert_rule *rule = &watch->options.rules[kind];
	bool high = rule->raise > 0 && value >= rule->raise;
	struct alert_entry *entry;
	char key[ALERT_KEY_SIZE];

	if (isnan(value) || (!high && watch->of_kind[kind] == 0))
		return;
	(void)text_format(key, sizeof(key), "%s:%s%s%s%s%s", alert_kind_rows[kind].name,
			  asset->switch_name, asset->port[0] ? ":" : "", asset->port,
			  asset->more[0] ? ":" : "", asset->more);
	entry = alert_watch_find_entry(watch, key);
	if (!entry)
		entry = high ? alert_watch_make(watch, kind, key) : NULL;
	if (!entry)
		return;
	alert_watch_describe(entry, asset);
	entry->adopted = false;
	entry->seen_us = at_us;
	alert_watch_changed(watch, entry, alert_step(rule, &entry->state, value, at_us), at_us);
}

void alert_watch_absent(struct alert_watch *watch, enum alert_kind kind, int64_t at_us,
			bool (*known)(void *context, const struct alert_entry *entry),
			void *context)
{
	struct alert_entry *entry;
	struct alert_entry *next;

	if (watch->of_kind[kind] == 0)
		return;
	HASH_ITER(hh, watch->entries, entry, next)
	{
		if (entry->kind != kind || entry->seen_us == at_us || !known(context, entry))
			continue;
		entry->adopted = false;
		entry->seen_us = at_us;
		alert_watch_changed(
			watch, entry,
			alert_step(&watch->options.rules[kind], &entry->state, 0, at_us), at_us);
	}
}

void alert_watch_sweep(struct alert_watch *watch, int64_t at_us)
{
	struct alert_entry *entry;
	struct alert_entry *next;

	HASH_ITER(hh, watch->entries, entry, next)
	{
		/* The clock was set back: all that is timed begins now. */
		if (entry->seen_us > at_us)
			entry->seen_us = at_us;
		if (entry->told_us > at_us)
			entry->told_us = at_us;
		if (entry->ask_us > at_us + SUSPECT_US)
			entry->ask_us = at_us + SUSPECT_US;
		if (at_us - entry->seen_us > watch->options.lost_us) {
			if (entry->open) {
				watch->counts.open--;
				watch->counts.cleared++;
				alert_watch_tell(watch, ALERT_EVENT_LOST, entry, at_us);
			}
			alert_watch_forget(watch, entry);
			continue;
		}
		/* While it goes, what made it has gone: the suspects stay those of the time when
		 * it was there. */
		if (entry->open && entry->ask_us && entry->ask_us <= at_us &&
		    entry->state.phase == ALERT_OPEN) {
			entry->ask_us = 0;
			watch->options.fn(watch->options.context, ALERT_EVENT_SUSPECT, entry);
		}
		if (entry->open && !entry->adopted &&
		    at_us - entry->told_us >= watch->options.again_us) {
			entry->ask_us = at_us;
			alert_watch_tell(watch, ALERT_EVENT_AGAIN, entry, at_us);
		}
	}
}

void alert_watch_adopt(struct alert_watch *watch, const struct alert_kept *kept, int64_t at_us)
{
	struct alert_entry *entry = alert_watch_find_entry(watch, kept->key);
	size_t known = 0;
	size_t length;

	while (known < ALERT_KIND_COUNT && strcmp(alert_kind_rows[known].name, kept->kind) != 0)
		known++;
	/* Raised in this life before the database told: it is the same one, under its first time.
	 */
	if (entry && entry->open)
		entry->raised_us = kept->raised_us;
	if ((entry && entry->open) || known == ALERT_KIND_COUNT)
		return;
	if (!entry)
		entry = alert_watch_make(watch, (enum alert_kind)known, kept->key);
	if (!entry)
		return;
	(void)text_copy(entry->subject, sizeof(entry->subject), kept->subject);
	if (strchr(kept->subject, ':'))
		(void)text_copy(entry->port, sizeof(entry->port), strchr(kept->subject, ':') + 1);
	length = strlen(kept->kind) + 1 + strlen(kept->subject) + 1;
	if (strlen(kept->key) > length)
		(void)text_copy(entry->who, sizeof(entry->who), kept->key + length);
	entry->subject_kind = strcmp(kept->subject_kind, "switch") == 0 ? "switch" : "port";
	entry->tenant = kept->tenant;
	entry->state = (struct alert_state){.phase = ALERT_OPEN};
	entry->open = entry->adopted = true;
	entry->raised_us = kept->raised_us;
	entry->told_us = entry->seen_us = at_us;
	watch->counts.open++;
}

const struct alert_rule *alert_watch_rule(const struct alert_watch *watch, enum alert_kind kind)
{
	return &watch->options.rules[kind];
}

struct alert_watch_counts alert_watch_counts(const struct alert_watch *watch)
{
	return watch->counts;
}
