/* The bytes of nodes' serial consoles, kept on disk: two files per node of at most 64 KiB and a bit
 * each. The older one is thrown away when the newer is full, so the last 64 KiB are always there.
 * Appended without fsync: it must outlive a bampid that dies, not a machine that loses power. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"

#include "bampi/bmc/console_log_wire.h"

enum { CONSOLE_LOG_KEPT = 64 * 1024 };

/* A node's file. Zero + id is one that was not looked at yet. */
struct console_log {
	int64_t id;
	bool whole; /* what a crash had left half written was cut off */
	/* The newest record, when it is output: what comes within a second is added to it, so that
	 * heads do not eat the room of a console that trickles. */
	int64_t last_at; /* place of its head */
	int64_t last_ms;
	size_t last_size; /* 0 = there is none */
};

/* Appends; makes `folder` (0700) and file (0600) when missing. Bytes beyond the limit of a record
 * go into several. -errno. */
MUST_USE int console_log_append(struct console_log *log, const char *folder,
				const struct console_log_record *record);
/* Calls `fn` for what is kept, oldest first, starting with at most CONSOLE_LOG_KEPT bytes of
 * output. 0 also when nothing is. -errno, -ENOMEM. */
typedef void (*console_log_fn)(void *context, const struct console_log_record *record);
MUST_USE int console_log_each(const char *folder, int64_t id, console_log_fn fn, void *context);
/* The node is gone. */
void console_log_remove(const char *folder, int64_t id);
