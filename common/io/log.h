/* The log: lines to stderr, subject first: `info node n17: offer 10.4.2.17 (deployment=12)`. Only
 * programs log errors; libraries return them. Thread-safe per line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

struct problem;

/* Lines above `level` are dropped; default info. With journald as stderr's reader a line
 * is an entry with fields (journal.h). */
void log_setup(enum log_level level);
/* Where journald listens when not at JOURNAL_SOCKET: for tests. Kept, not copied. */
void log_setup_journal(const char *path);
bool log_enabled(enum log_level level);
/* "error", "warn", "info", "debug"; -1 when it is none of them. */
int log_level_parse(const char *word);
/* `subject` names what the line is about, "node n17" or "dhcp". */
void log_line(enum log_level level, const char *subject, const char *format, ...) PRINTF_LIKE(3, 4);
#define log_error(subject, ...) log_line(LOG_LEVEL_ERROR, (subject), __VA_ARGS__)
#define log_warn(subject, ...)  log_line(LOG_LEVEL_WARN, (subject), __VA_ARGS__)
#define log_info(subject, ...)  log_line(LOG_LEVEL_INFO, (subject), __VA_ARGS__)
#define log_debug(subject, ...) log_line(LOG_LEVEL_DEBUG, (subject), __VA_ARGS__)
/* message (detail; hint). */
void log_problem(enum log_level level, const char *subject, const struct problem *problem);

/* At most `burst` lines, refilled `per_minute`; what was dropped is said with the next line that
 * passes. Zero + the two numbers is a fresh limit: static struct log_limit limit = {.burst = 10,
 * .per_minute = 60}; (the one file-level state we allow lives in the program's struct instead). */
struct log_limit {
	uint32_t burst;
	uint32_t per_minute;
	int64_t last_ms;
	uint32_t tokens;
	uint32_t dropped;
};
bool log_allowed(struct log_limit *limit, int64_t now_ms);
