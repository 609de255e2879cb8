/* The progress line of what makes record files, on a terminal alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Zero bytes begin one. */
struct convert_line {
	bool shown, begun;
	int64_t begun_ms, told_ms;
	uint64_t first; /* that were done when it began */
};

struct convert_line_now {
	uint64_t done, all, bytes;
	const char *what; /* "pictures" */
	const char *more; /* ", 3 skipped" */
};

void convert_line_tell(struct convert_line *line, const struct convert_line_now *now);
void convert_line_clear(struct convert_line *line);
