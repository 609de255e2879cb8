/* The log of a serial console on disk: records one after the other, each a head of 12 bytes (mark,
 * kind, size, time) and its bytes. What a crash cut off in the middle is the end of what counts. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/wire.h"

enum console_log_kind {
	CONSOLE_LOG_OUTPUT = 1, /* bytes of the node */
	CONSOLE_LOG_CONNECTED,  /* to the BMC; no bytes */
	CONSOLE_LOG_LOST,       /* the connection; bytes say why */
	CONSOLE_LOG_CLOSED,     /* nobody wanted it any more; no bytes */
	CONSOLE_LOG_KIND_END
};
const char *console_log_kind_text(enum console_log_kind kind);

enum { CONSOLE_LOG_HEAD = 12, CONSOLE_LOG_BYTES_MAX = 4096 };

struct console_log_record {
	enum console_log_kind kind;
	int64_t at_ms;     /* since 1970 */
	const char *bytes; /* borrowed */
	size_t size;
};

/* The next record; -ENODATA at the end, E_MALFORMED where it breaks off: the reader then stands
 * where it stood. */
MUST_USE int console_log_read(struct wire_reader *reader, struct console_log_record *ret);
/* Writes head and bytes; returns their size, 0 when `room` or the record's size do not allow it. */
size_t console_log_write(const struct console_log_record *record, void *ret, size_t room);
