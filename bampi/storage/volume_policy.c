#include "bampi/storage/volume_policy.h"

#define RETRY_FIRST_MS 2000
#define RETRY_MOST_MS  60000

const char *const volume_state_words[VOLUME_STATE_COUNT + 1] = {
	[VOLUME_CREATING] = "creating", [VOLUME_READY] = "ready",     [VOLUME_FAILED] = "failed",
	[VOLUME_DELETING] = "deleting", [VOLUME_DELETED] = "deleted",
};

const char *const archive_state_words[ARCHIVE_STATE_COUNT + 1] = {
	[ARCHIVE_ARCHIVING] = "archiving", [ARCHIVE_READY] = "ready",
	[ARCHIVE_FAILED] = "failed",       [ARCHIVE_DELETING] = "deleting",
	[ARCHIVE_DELETED] = "deleted",
};

const char *const volume_action_words[ACTION_COUNT + 1] = {
	[ACTION_NONE] = "none",           [ACTION_MAKE] = "make",
	[ACTION_RESTORE] = "restore",     [ACTION_GROW] = "grow",
	[ACTION_OPEN] = "open",           [ACTION_ADMIT] = "admit",
	[ACTION_EXPEL] = "expel",         [ACTION_CLOSE] = "close",
	[ACTION_TELL_OPEN] = "tell_open", [ACTION_TELL_CLOSED] = "tell_closed",
	[ACTION_DESTROY] = "destroy",     [ACTION_ARCHIVE] = "archive",
};

static enum volume_action decide_open(const struct volume_facts *facts)
{
	switch (facts->fit) {
	case FIT_CLOSED:
	case FIT_WRONG: return ACTION_OPEN;
	case FIT_LONG: return ACTION_EXPEL;
	case FIT_SHORT: return ACTION_ADMIT;
	case FIT_RIGHT: return facts->told ? ACTION_NONE : ACTION_TELL_OPEN;
	}
	return ACTION_NONE;
}

enum volume_action volume_decide(const struct volume_facts *facts)
{
	if (facts->state == VOLUME_DELETED)
		return ACTION_NONE;
	if (facts->open_wanted && !facts->absent && facts->state == VOLUME_READY)
		return decide_open(facts);
	/* Whatever else is to be done with its file: nobody has it open meanwhile. */
	if (facts->fit != FIT_CLOSED)
		return ACTION_CLOSE;
	if (facts->told_open)
		return ACTION_TELL_CLOSED;
	if (facts->absent)
		return ACTION_DESTROY;
	if (facts->state == VOLUME_CREATING || facts->state == VOLUME_FAILED)
		return facts->restore ? ACTION_RESTORE : ACTION_MAKE;
	return facts->kept < facts->size ? ACTION_GROW : ACTION_NONE;
}

enum volume_action archive_decide(const struct archive_facts *facts)
{
	if (facts->state == ARCHIVE_DELETED)
		return ACTION_NONE;
	if (facts->absent)
		return ACTION_DESTROY;
	return facts->state == ARCHIVE_ARCHIVING && !facts->volume_open ? ACTION_ARCHIVE
									: ACTION_NONE;
}

int64_t volume_retry_ms(unsigned failures)
{
	int64_t ms = RETRY_FIRST_MS;

	while (failures > 1 && ms < RETRY_MOST_MS) {
		ms *= 2;
		failures--;
	}
	return ms < RETRY_MOST_MS ? ms : RETRY_MOST_MS;
}
