/* What is to be done next for one volume or archive of a storage. Pure: the row, and what the
 * target software has open, in; one action out. Asked again after each, so that a kill anywhere
 * costs a repetition and nothing else. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum volume_state {
	VOLUME_CREATING,
	VOLUME_READY,
	VOLUME_FAILED,
	VOLUME_DELETING,
	VOLUME_DELETED,
	VOLUME_STATE_COUNT
};
extern const char *const volume_state_words[VOLUME_STATE_COUNT + 1];

enum archive_state {
	ARCHIVE_ARCHIVING,
	ARCHIVE_READY,
	ARCHIVE_FAILED,
	ARCHIVE_DELETING,
	ARCHIVE_DELETED,
	ARCHIVE_STATE_COUNT
};
extern const char *const archive_state_words[ARCHIVE_STATE_COUNT + 1];

/* What is open, against what shall be. */
enum volume_fit {
	FIT_CLOSED, /* no target of this volume */
	FIT_WRONG,  /* another file or secret */
	FIT_LONG,   /* somebody is let in, or logged in, who shall not be */
	FIT_SHORT,  /* somebody is still to be let in */
	FIT_RIGHT,
};

struct volume_facts {
	enum volume_state state;
	bool absent;        /* wanted: to be destroyed */
	bool restore;       /* its data comes of an archive */
	int64_t size, kept; /* bytes: wanted, and made */
	bool open_wanted;   /* it shall be open to somebody now */
	enum volume_fit fit;
	bool told_open; /* the row says that it is open */
	bool told;      /* and to whom, as wanted now */
};

enum volume_action {
	ACTION_NONE,
	ACTION_MAKE,    /* reserve its room */
	ACTION_RESTORE, /* and fill it of the archive */
	ACTION_GROW,
	ACTION_OPEN,
	ACTION_ADMIT,
	ACTION_EXPEL, /* whoever shall not be there any more; the others stay */
	ACTION_CLOSE,
	ACTION_TELL_OPEN,   /* write down to whom it is open */
	ACTION_TELL_CLOSED, /* write down that it is closed */
	ACTION_DESTROY,
	ACTION_ARCHIVE, /* archives only */
	ACTION_COUNT
};
extern const char *const volume_action_words[ACTION_COUNT + 1];

enum volume_action volume_decide(const struct volume_facts *facts);

struct archive_facts {
	enum archive_state state;
	bool absent;
	bool volume_open; /* a target has the volume's file: what is written now would tear the copy
			   */
};

enum volume_action archive_decide(const struct archive_facts *facts);

/* When what failed is tried again, ms after the n-th failure in a row (1 = the first). */
int64_t volume_retry_ms(unsigned failures);
