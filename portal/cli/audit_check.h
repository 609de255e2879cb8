/* The check of a file of `haasctl audit export`, without a server: the chain of blocks, their
 * signatures, and each event against the block that it was sealed in. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/model/event_block.h"

#include "portal/cli/certificate_keys.h"

struct audit_event {
	int64_t id;
	size_t place; /* in the file, from 0 */
	bool sealed;
	char line[EVENT_LINE_SIZE];
};

struct audit_check {
	struct certificate_keys keys;
	struct audit_event *events; /* by id, once the file is read; owned */
	size_t event_count, event_room;
	json_t *blocks;  /* array, in the order of the file; owned */
	char begins[64]; /* the position that the export began after; "" = with the first event */
	bool begun, ended;
	char ends[64];   /* the position that the export names as its end */
	size_t early;    /* events before the first block of a file that begins later */
	size_t unsealed; /* events behind the last block */
	size_t wrong;    /* what does not fit; each is told on stderr */
};

/* Reads a file. EXIT_OK, or told: an empty file, and one whose end is cut. */
MUST_USE int audit_check_read(struct audit_check *check, const char *path);
/* All of it. `head` is the block that was kept elsewhere, or NULL. */
void audit_check_all(struct audit_check *check, const json_t *head);
void audit_check_done(struct audit_check *check);
