#include "common/base/clock.h"

#include <time.h>

#include "common/base/text.h"

static int64_t clock_us(clockid_t clock)
{
	struct timespec now = {0};

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_monotonic_ms(void)
{
	return clock_us(CLOCK_MONOTONIC) / 1000;
}

int64_t clock_monotonic_us(void)
{
	return clock_us(CLOCK_MONOTONIC);
}

uint64_t clock_monotonic_ns(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

int64_t clock_boot_ms(void)
{
	return clock_us(CLOCK_BOOTTIME) / 1000;
}

int64_t clock_wall_us(void)
{
	return clock_us(CLOCK_REALTIME);
}

const char *clock_text(int64_t wall_us, char ret[CLOCK_TEXT_SIZE])
{
	int64_t part_us = wall_us % 1000000;
	time_t seconds = (time_t)(wall_us / 1000000);
	struct tm tm = {0};

	if (part_us < 0) { /* before 1970 the remainder points the wrong way */
		part_us += 1000000;
		seconds--;
	}
	if (!gmtime_r(&seconds, &tm) || tm.tm_year < -1900 || tm.tm_year > 9999 - 1900) {
		(void)text_copy(ret, CLOCK_TEXT_SIZE, "?");
		return ret;
	}
	(void)text_format(ret, CLOCK_TEXT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
			  tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
			  tm.tm_sec, (int)(part_us / 1000));
	return ret;
}
