#include "trainer_image/cli/convert_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "common/base/clock.h"

enum { CONVERT_LINE_MS = 200 };

void convert_line_clear(struct convert_line *line)
{
	if (line->shown)
		fputs("\r\033[K", stderr);
	line->shown = false;
}

void convert_line_tell(struct convert_line *line, const struct convert_line_now *now)
{
	int64_t now_ms = clock_monotonic_ms();

	if (!line->begun)
		*line = (struct convert_line){
			.begun = true, .begun_ms = now_ms, .told_ms = now_ms, .first = now->done};
	if (!isatty(STDERR_FILENO) ||
	    (now_ms - line->told_ms < CONVERT_LINE_MS && now->done < now->all))
		return;
	line->told_ms = now_ms;
	line->shown = true;
	double seconds = (double)(now_ms - line->begun_ms) / 1000 + 1e-3;
	double rate = (double)(now->done - line->first) / seconds;
	double left = rate > 0 ? (double)(now->all - now->done) / rate : 0;
	fprintf(stderr,
		"\r%" PRIu64 " of %" PRIu64 " %s, %.0f/s, %.1f MB/s%s, %" PRId64 ":%02d left\033[K",
		now->done, now->all, now->what, rate, (double)now->bytes / 1e6 / seconds, now->more,
		(int64_t)left / 60, (int)((int64_t)left % 60));
}
