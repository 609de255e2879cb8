#include "bampi/storage/driver/tgt_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#define DRIVER_SIZE 64

static void put_native_u32(struct wire_writer *writer, uint32_t value)
{
	wire_put_bytes(writer, &value, sizeof(value));
}

static void put_native_u64(struct wire_writer *writer, uint64_t value)
{
	wire_put_bytes(writer, &value, sizeof(value));
}

void tgt_request_encode(const struct tgt_request *request, struct wire_writer *writer)
{
	static const char driver[] = "iscsi";
	size_t text = request->text[0] ? strlen(request->text) + 1 : 0; /* with its NUL */

	if (text > TGT_TEXT_MAX) {
		writer->bad = true;
		return;
	}
	put_native_u32(writer, request->mode);
	put_native_u32(writer, request->op);
	wire_put_bytes(writer, driver, sizeof(driver));
	wire_put_zeros(writer, DRIVER_SIZE - sizeof(driver));
	put_native_u32(writer, (uint32_t)(TGT_REQUEST_SIZE + text));
	put_native_u32(writer, (uint32_t)request->target);
	put_native_u64(writer, request->session);
	put_native_u64(writer, request->unit);
	put_native_u32(writer, request->connection);
	wire_put_zeros(writer, 3 * sizeof(uint32_t)); /* bus, device type, direction */
	put_native_u32(writer, 0);                    /* pack */
	put_native_u32(writer, request->force);
	wire_put_bytes(writer, request->text, text);
}

int tgt_answer_decode(const void *data, size_t size, struct tgt_answer *ret)
{
	struct wire_reader reader = wire_reader(data, size);
	uint32_t status;
	uint32_t length;

	wire_copy(&reader, &status, sizeof(status));
	wire_copy(&reader, &length, sizeof(length));
	if (reader.bad || length < TGT_ANSWER_SIZE)
		return E_MALFORMED;
	if (length - TGT_ANSWER_SIZE > TGT_LIST_MAX)
		return E_LIMIT;
	*ret = (struct tgt_answer){status, length - TGT_ANSWER_SIZE};
	return 0;
}

const char *tgt_status_text(uint32_t status)
{
	static const char *const texts[] = {
		"success",
		"unknown error",
		"out of memory",
		"no such driver",
		"no such target",
		"no such logical unit",
		"no such session",
		"no such connection",
		"no such binding",
		"the target is there already",
		"the logical unit is there already",
		"the binding is there already",
		"the address is there already",
		"no such address",
		"the account is there already",
		"no such account",
		"too many accounts",
		"invalid request (does the file exist?)",
		"outgoing account is there already",
		"the target is in use",
		"the logical unit is in use",
		"the driver is in use",
		"unsupported operation",
		"unknown parameter",
		"removal is prevented",
	};

	return status < COUNT_OF(texts) ? texts[status] : "an error of a later version";
}

int tgt_wire_grow(void **array, size_t count, size_t element)
{
	void *more;

	if (count & (count - 1))
		return 0;
	more = realloc(*array, (count ? 2 * count : 1) * element);
	if (!more)
		return -ENOMEM;
	*array = more;
	return 0;
}

/* --- the list of portals --- */

/* "10.0.0.1:3260,1": the address may have colons of its own, in brackets. */
static int add_portal(struct storage_portals *portals, const char *line, size_t size)
{
	const char *comma = memchr(line, ',', size);
	size_t length = comma ? (size_t)(comma - line) : size;
	void *list = portals->list;
	struct storage_portal portal = {0};
	const char *port;
	int rc;

	if (length >= sizeof(portal.text) || portals->count >= TGT_PORTALS_MAX ||
	    memchr(line, '\0', length))
		return E_MALFORMED;
	memcpy(portal.text, line, length);
	port = strrchr(portal.text, ':');
	if (!port || port == portal.text || port[1] == '\0' ||
	    port[1 + strspn(port + 1, "0123456789")] != '\0')
		return E_MALFORMED;
	rc = tgt_wire_grow(&list, portals->count, sizeof(portal));
	portals->list = list;
	if (rc == 0)
		portals->list[portals->count++] = portal;
	return rc;
}

int tgt_portals_decode(const char *text, size_t size, struct storage_portals *ret)
{
	static const char head[] = "Portal: ";
	const size_t head_size = strlen(head);
	struct storage_portals portals = {0};
	int rc = 0;

	while (rc == 0 && size > 0) {
		const char *end = memchr(text, '\n', size);
		size_t length = end ? (size_t)(end - text) : size;
		size_t whole = end ? length + 1 : length;

		if (length > head_size && memcmp(text, head, head_size) == 0)
			rc = add_portal(&portals, text + head_size, length - head_size);
		text += whole;
		size -= whole;
	}
	if (rc) {
		storage_portals_done(&portals);
		return rc;
	}
	*ret = portals;
	return 0;
}
