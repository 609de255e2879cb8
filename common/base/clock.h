/* Time: monotonic milliseconds for deadlines, nanoseconds for the length of work, wall-clock microseconds
 * for records. Policies take time as an argument. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CLOCK_TEXT_SIZE 32

int64_t clock_monotonic_ms(void);
int64_t clock_monotonic_us(void);
uint64_t clock_monotonic_ns(void);
/* Monotonic, and goes on while the machine sleeps: for promises made to other machines. */
int64_t clock_boot_ms(void);
int64_t clock_wall_us(void);
/* RFC 3339 in UTC with milliseconds, "2026-11-21T03:10:00.123Z"; returns ret. */
const char *clock_text(int64_t wall_us, char ret[CLOCK_TEXT_SIZE]);
