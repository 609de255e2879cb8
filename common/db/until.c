#include "common/db/until.h"

int64_t db_until_ms(int64_t asked_ms, int64_t answered_ms, int64_t left_ms, int64_t known_ms)
{
	if (answered_ms - asked_ms < DB_SILENT_MS)
		return asked_ms + left_ms;
	return known_ms ? known_ms : answered_ms + left_ms;
}
