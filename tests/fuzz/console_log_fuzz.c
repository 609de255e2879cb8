// links: bampi_bmc common_net common_base
/* The log of a console as a crash, or a full disk, may have left it. Invariants: what is read is
 * bounded and, written again, is the same bytes; a record that breaks off moves nothing. */
#include <stdlib.h>
#include <string.h>

#include "bampi/bmc/console_log_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool held)
{
	if (!held)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_reader reader = wire_reader(data, size);
	struct console_log_record record;
	char again[CONSOLE_LOG_HEAD + CONSOLE_LOG_BYTES_MAX];
	const uint8_t *from = reader.at;

	while (console_log_read(&reader, &record) == 0) {
		size_t whole = (size_t)(reader.at - from);

		check(record.size <= CONSOLE_LOG_BYTES_MAX && record.at_ms >= 0);
		check(console_log_write(&record, again, sizeof(again)) == whole);
		check(memcmp(again, from, whole) == 0);
		check(console_log_write(&record, again, whole - 1) == 0);
		from = reader.at;
	}
	check(reader.at == from && !reader.bad);
	return 0;
}
