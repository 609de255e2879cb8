#include "bampi/bmc/console_log_wire.h"

#include <errno.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"

#define MARK 0xc5

const char *console_log_kind_text(enum console_log_kind kind)
{
	static const char *const words[] = {
		[CONSOLE_LOG_OUTPUT] = "output",
		[CONSOLE_LOG_CONNECTED] = "connected",
		[CONSOLE_LOG_LOST] = "lost",
		[CONSOLE_LOG_CLOSED] = "closed",
	};

	return enum_text(words, COUNT_OF(words), (int)kind);
}

int console_log_read(struct wire_reader *reader, struct console_log_record *ret)
{
	struct wire_reader from = *reader;
	uint8_t mark;
	uint8_t kind;
	uint16_t size;
	uint64_t at_ms;
	const uint8_t *bytes;

	if (wire_left(reader) == 0)
		return -ENODATA;
	mark = wire_u8(&from);
	kind = wire_u8(&from);
	size = wire_u16(&from);
	at_ms = wire_u64(&from);
	bytes = wire_bytes(&from, size);
	if (from.bad || mark != MARK || kind < CONSOLE_LOG_OUTPUT || kind >= CONSOLE_LOG_KIND_END ||
	    size > CONSOLE_LOG_BYTES_MAX || at_ms > INT64_MAX)
		return E_MALFORMED;
	*ret = (struct console_log_record){.kind = (enum console_log_kind)kind,
					   .at_ms = (int64_t)at_ms,
					   .bytes = (const char *)bytes,
					   .size = size};
	*reader = from;
	return 0;
}

size_t console_log_write(const struct console_log_record *record, void *ret, size_t room)
{
	struct wire_writer writer = wire_writer(ret, room);

	if (record->size > CONSOLE_LOG_BYTES_MAX)
		return 0;
	wire_put_u8(&writer, MARK);
	wire_put_u8(&writer, (uint8_t)record->kind);
	wire_put_u16(&writer, (uint16_t)record->size);
	wire_put_u64(&writer, (uint64_t)record->at_ms);
	wire_put_bytes(&writer, record->bytes, record->size);
	return writer.bad ? 0 : wire_written(&writer);
}
