#include "common/io/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/enum_text.h"
#include "common/base/problem.h"
#include "common/base/text.h"
#include "common/io/journal.h"

#define LINE_SIZE 2048

enum log_style {
	STYLE_PLAIN,   /* a pipe: whoever reads it stamps the time */
	STYLE_TIME,    /* a terminal or a file */
	STYLE_JOURNAL, /* journald, with fields; with sd-daemon(3)'s prefix <N> where it takes none */
};

/* The one state that is the process's own, like stderr itself: set once by main(), read by every
 * thread. */
static atomic_int level_now = LOG_LEVEL_INFO;
static atomic_int style_now = STYLE_PLAIN;
static const char *_Atomic journal_path = JOURNAL_SOCKET;

static const char *const level_words[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARN] = "warn",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

/* syslog(3) severities. */
static const int log_priorities[] = {
	[LOG_LEVEL_ERROR] = 3,
	[LOG_LEVEL_WARN] = 4,
	[LOG_LEVEL_INFO] = 6,
	[LOG_LEVEL_DEBUG] = 7,
};

/* JOURNAL_STREAM is "device:inode" of journald's socket; it is inherited, so stderr must still be
 * that socket (systemd.exec(5)). */
static bool stderr_is_journal(const struct stat *status)
{
	const char *stream =
		getenv("JOURNAL_STREAM"); // NOLINT(concurrency-mt-unsafe): before threads
	char expected[64];
	size_t i = 0;

	if (!stream || !text_format(expected, sizeof(expected), "%ju:%ju",
				    (uintmax_t)status->st_dev, (uintmax_t)status->st_ino))
		return false;
	while (stream[i] && stream[i] == expected[i])
		i++;
	return stream[i] == expected[i];
}

static enum log_style style_of_stderr(void)
{
	struct stat status;

	if (fstat(STDERR_FILENO, &status) != 0)
		return STYLE_PLAIN;
	if (stderr_is_journal(&status))
		return STYLE_JOURNAL;
	return S_ISREG(status.st_mode) || isatty(STDERR_FILENO) ? STYLE_TIME : STYLE_PLAIN;
}

void log_setup(enum log_level level)
{
	atomic_store(&level_now, (int)level);
	atomic_store(&style_now, (int)style_of_stderr());
}

void log_setup_journal(const char *path)
{
	atomic_store(&journal_path, path);
}

bool log_enabled(enum log_level level)
{
	return (int)level <= atomic_load_explicit(&level_now, memory_order_relaxed);
}

int log_level_parse(const char *word)
{
	return enum_value(level_words, COUNT_OF(level_words), word);
}

PRINTF_LIKE(3, 0)
static size_t log_append(char line[LINE_SIZE], size_t at, const char *format, va_list arguments)
{
	int length = vsnprintf(line + at, LINE_SIZE - at, format, arguments);

	if (length < 0)
		return at;
	return at + (size_t)length < LINE_SIZE ? at + (size_t)length : LINE_SIZE - 1;
}

PRINTF_LIKE(3, 4)
static size_t log_appendf(char line[LINE_SIZE], size_t at, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	at = log_append(line, at, format, arguments);
	va_end(arguments);
	return at;
}

PRINTF_LIKE(3, 0)
static bool log_to_journal(enum log_level level, const char *subject, const char *format,
			   va_list arguments)
{
	char line[LINE_SIZE];
	char datagram[JOURNAL_SIZE];
	va_list copy;
	size_t size = log_appendf(line, 0, "%s: ", subject);

	va_copy(copy, arguments);
	size = log_append(line, size, format, copy);
	va_end(copy);
	text_blank_controls(line, size);
	size = journal_format(datagram, log_priorities[level], program_invocation_short_name,
			      subject, line);
	return journal_send(atomic_load(&journal_path), datagram, size);
}

void log_line(enum log_level level, const char *subject, const char *format, ...)
{
	int style = atomic_load_explicit(&style_now, memory_order_relaxed);
	char time[CLOCK_TEXT_SIZE];
	char line[LINE_SIZE];
	va_list arguments;
	size_t size = 0;

	if (!log_enabled(level))
		return;
	va_start(arguments, format);
	if (style == STYLE_JOURNAL && log_to_journal(level, subject, format, arguments)) {
		va_end(arguments);
		return;
	}
	va_end(arguments);
	if (style == STYLE_JOURNAL)
		size = log_appendf(line, size, "<%d>", log_priorities[level]);
	if (style == STYLE_TIME)
		size = log_appendf(line, size, "%s ", clock_text(clock_wall_us(), time));
	size = log_appendf(line, size, "%s %s: ", level_words[level], subject);
	va_start(arguments, format);
	size = log_append(line, size, format, arguments);
	va_end(arguments);
	text_blank_controls(line, size);
	line[size] = '\n'; /* over the NUL: one write is one line, whatever other threads do */
	if (write(STDERR_FILENO, line, size + 1) < 0)
		return; /* nowhere left to say it */
}

void log_problem(enum log_level level, const char *subject, const struct problem *problem)
{
	bool detail = problem->detail[0] != '\0';
	bool hint = problem->hint[0] != '\0';

	log_line(level, subject, "%s%s%s%s%s%s", problem->message, detail || hint ? " (" : "",
		 problem->detail, detail && hint ? "; " : "", problem->hint,
		 detail || hint ? ")" : "");
}

bool log_allowed(struct log_limit *limit, int64_t now_ms)
{
	int64_t gained;

	if (limit->last_ms == 0) {
		limit->tokens = limit->burst;
		limit->last_ms = now_ms > 0 ? now_ms : 1;
	}
	gained = limit->per_minute && now_ms > limit->last_ms
			 ? (now_ms - limit->last_ms) * limit->per_minute / 60000
			 : 0;
	if (gained > 0) { /* time that made no whole token yet stays on the account */
		limit->last_ms += gained * 60000 / limit->per_minute;
		limit->tokens = gained < limit->burst - limit->tokens
					? limit->tokens + (uint32_t)gained
					: limit->burst;
	}
	if (limit->tokens == 0) {
		limit->dropped++;
		return false;
	}
	limit->tokens--;
	if (limit->dropped > 0)
		log_warn("log", "%" PRIu32 " lines like the next were left out", limit->dropped);
	limit->dropped = 0;
	return true;
}
