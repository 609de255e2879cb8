#include "common/net/dhcp_wire.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/net/dhcp_overload.h"
#include "common/net/wire.h"

#define MAGIC_COOKIE   0x63825363U
#define FIXED_SIZE     240 /* with the cookie */
#define HTYPE_ETHERNET 1

static_assert(DHCP_OPTIONS_ROOM >= DHCP_PACKET_MAX, "every option of a request fits");

static const char *const type_words[DHCP_TYPES] = {
	"none", "discover", "offer", "request", "decline", "ack", "nak", "release", "inform",
};

const char *dhcp_type_text(enum dhcp_type type)
{
	return enum_text(type_words, COUNT_OF(type_words), (int)type);
}

/* The areas that may hold options, in the order in which RFC 3396 5 joins them. */
struct areas {
	struct wire_reader area[3];
};

/* One option of an area: false at its end. */
static bool dhcp_wire_next_option(struct wire_reader *area, uint8_t *ret_code,
				  struct wire_reader *ret_value)
{
	uint8_t code;

	do {
		if (wire_left(area) == 0)
			return false; /* END is missing in some requests; the area ends there all
					 the same */
		code = wire_u8(area);
	} while (code == DHCP_OPTION_PAD);
	if (code == DHCP_OPTION_END)
		return false;
	*ret_code = code;
	*ret_value = wire_cut(area, wire_u8(area));
	return !area->bad && !ret_value->bad;
}

static int dhcp_wire_measure(struct areas areas, uint16_t sizes[256], bool present[256])
{
	for (size_t i = 0; i < COUNT_OF(areas.area); i++) {
		struct wire_reader *area = &areas.area[i];
		struct wire_reader value;
		uint8_t code;

		while (dhcp_wire_next_option(area, &code, &value)) {
			sizes[code] = (uint16_t)(sizes[code] + wire_left(&value));
			present[code] = true;
		}
		if (area->bad)
			return E_MALFORMED;
	}
	return 0;
}

/* Joins the pieces of every option into option_bytes. */
static int dhcp_wire_collect(struct areas areas, struct dhcp_message *message)
{
	uint16_t sizes[256] = {0};
	bool present[256] = {false};
	uint16_t at = 0;
	int rc = dhcp_wire_measure(areas, sizes, present);

	if (rc)
		return rc;
	present[DHCP_OPTION_OVERLOAD] =
		false; /* says how this packet was laid out, not what it means */
	for (size_t code = 1; code < DHCP_OPTION_END; code++) {
		if (!present[code])
			continue;
		message->options[code].at = (uint16_t)(at + 1);
		at = (uint16_t)(at + sizes[code]);
	}
	message->option_size = at;

	for (size_t i = 0; i < COUNT_OF(areas.area); i++) {
		struct wire_reader value;
		uint8_t code;

		while (dhcp_wire_next_option(&areas.area[i], &code, &value)) {
			uint16_t size = (uint16_t)wire_left(&value);

			if (!present[code])
				continue;
			wire_copy(&value,
				  &message->option_bytes[message->options[code].at - 1U +
							 message->options[code].size],
				  size);
			message->options[code].size =
				(uint16_t)(message->options[code].size + size);
		}
	}
	return 0;
}

/* Option 52 is looked for in the options area alone: it cannot be in what it announces. */
static uint8_t read_overload(struct wire_reader options)
{
	struct wire_reader value;
	uint8_t code;

	while (dhcp_wire_next_option(&options, &code, &value)) {
		if (code == DHCP_OPTION_OVERLOAD && wire_left(&value) == 1)
			return wire_u8(&value);
	}
	return 0;
}

static void dhcp_wire_read_name(struct wire_reader *packet, char *ret, size_t size)
{
	wire_copy(packet, ret, size);
	ret[size] = '\0';
	/* What follows the terminator is not part of the name, and would not survive being sent
	 * again. */
	memset(ret + strlen(ret), 0, size - strlen(ret));
}

int dhcp_decode(const void *data, size_t size, struct dhcp_message *ret)
{
	struct wire_reader packet = wire_reader(data, size);
	struct wire_reader sname;
	struct wire_reader file;
	struct areas areas = {0};
	uint8_t overload;
	int rc;

	if (size > DHCP_PACKET_MAX)
		return E_LIMIT;
	if (size < FIXED_SIZE)
		return E_MALFORMED;

	memset(ret, 0, offsetof(struct dhcp_message, option_bytes));
	ret->op = wire_u8(&packet);
	ret->htype = wire_u8(&packet);
	ret->hlen = wire_u8(&packet);
	ret->hops = wire_u8(&packet);
	ret->xid = wire_u32(&packet);
	ret->secs = wire_u16(&packet);
	ret->flags = wire_u16(&packet);
	ret->ciaddr = wire_u32(&packet);
	ret->yiaddr = wire_u32(&packet);
	ret->siaddr = wire_u32(&packet);
	ret->giaddr = wire_u32(&packet);
	wire_copy(&packet, ret->chaddr, sizeof(ret->chaddr));
	sname = wire_cut(&packet, DHCP_SNAME_SIZE);
	file = wire_cut(&packet, DHCP_FILE_SIZE);
	if (wire_u32(&packet) != MAGIC_COOKIE || ret->hlen > sizeof(ret->chaddr))
		return E_MALFORMED;

	overload = read_overload(packet);
	areas.area[0] = packet;
	areas.area[1] = overload & DHCP_OVERLOAD_FILE ? file : wire_reader(NULL, 0);
	areas.area[2] = overload & DHCP_OVERLOAD_SNAME ? sname : wire_reader(NULL, 0);
	if (!(overload & DHCP_OVERLOAD_SNAME))
		dhcp_wire_read_name(&sname, ret->sname, DHCP_SNAME_SIZE);
	if (!(overload & DHCP_OVERLOAD_FILE))
		dhcp_wire_read_name(&file, ret->file, DHCP_FILE_SIZE);
	rc = dhcp_wire_collect(areas, ret);
	return rc;
}

static bool has_place(uint8_t code)
{
	return memchr(dhcp_options_first, code, sizeof(dhcp_options_first)) ||
	       memchr(dhcp_options_last, code, sizeof(dhcp_options_last));
}

static void write_options(struct wire_writer *writer, const struct dhcp_message *message)
{
	for (size_t i = 0; i < sizeof(dhcp_options_first); i++)
		dhcp_write_option(writer, message, dhcp_options_first[i]);
	for (unsigned code = 1; code < DHCP_OPTION_END; code++) {
		if (message->options[code].at && !has_place((uint8_t)code))
			dhcp_write_option(writer, message, (uint8_t)code);
	}
	for (size_t i = 0; i < sizeof(dhcp_options_last); i++)
		dhcp_write_option(writer, message, dhcp_options_last[i]);
	wire_put_u8(writer, DHCP_OPTION_END);
}

/* All but the options: FIXED_SIZE bytes. */
static void write_fields(struct wire_writer *writer, const struct dhcp_message *message,
			 const uint8_t sname[DHCP_SNAME_SIZE], const uint8_t file[DHCP_FILE_SIZE])
{
	wire_put_u8(writer, message->op);
	wire_put_u8(writer, message->htype);
	wire_put_u8(writer, message->hlen);
	wire_put_u8(writer, message->hops);
	wire_put_u32(writer, message->xid);
	wire_put_u16(writer, message->secs);
	wire_put_u16(writer, message->flags);
	wire_put_u32(writer, message->ciaddr);
	wire_put_u32(writer, message->yiaddr);
	wire_put_u32(writer, message->siaddr);
	wire_put_u32(writer, message->giaddr);
	wire_put_bytes(writer, message->chaddr, sizeof(message->chaddr));
	wire_put_bytes(writer, sname, DHCP_SNAME_SIZE);
	wire_put_bytes(writer, file, DHCP_FILE_SIZE);
	wire_put_u32(writer, MAGIC_COOKIE);
}

/* `overload`: the fields that carry options, 0 = none. False: it does not fit. */
static bool dhcp_wire_encode_as(const struct dhcp_message *message, uint8_t overload, uint8_t *data,
				size_t room, size_t *ret_size)
{
	struct wire_writer fields = wire_writer(data, FIXED_SIZE);
	struct wire_writer options = wire_writer(data + FIXED_SIZE, room - FIXED_SIZE);
	uint8_t sname[DHCP_SNAME_SIZE];
	uint8_t file[DHCP_FILE_SIZE];
	size_t size;

	memcpy(sname, message->sname, sizeof(sname));
	memcpy(file, message->file, sizeof(file));
	if (!overload)
		write_options(&options, message);
	else if (!dhcp_overload(message, overload, &options, file, sname))
		return false;
	write_fields(&fields, message, sname, file);
	size = FIXED_SIZE + wire_written(&options);
	if (size < DHCP_REPLY_MIN)
		wire_put_zeros(&options, DHCP_REPLY_MIN - size);
	*ret_size = FIXED_SIZE + wire_written(&options);
	return !options.bad;
}

int dhcp_encode(const struct dhcp_message *message, void *data, size_t room, size_t *ret_size)
{
	/* `file` is given up last: some ROMs read no option 67. */
	static const uint8_t overloads[] = {0, DHCP_OVERLOAD_SNAME, DHCP_OVERLOAD_FILE,
					    DHCP_OVERLOAD_FILE | DHCP_OVERLOAD_SNAME};
	size_t size;

	if (room < FIXED_SIZE || message->overfull)
		return -ENOBUFS;
	for (size_t i = 0; i < sizeof(overloads); i++) {
		if (!dhcp_may_overload(message, overloads[i]) ||
		    !dhcp_wire_encode_as(message, overloads[i], data, room, &size))
			continue;
		*ret_size = size;
		return 0;
	}
	return -ENOBUFS;
}

const uint8_t *dhcp_option(const struct dhcp_message *message, uint8_t code, size_t *ret_size)
{
	if (message->options[code].at == 0)
		return NULL;
	*ret_size = message->options[code].size;
	return &message->option_bytes[message->options[code].at - 1U];
}

/* A big-endian number of exactly `size` bytes. */
static uint32_t dhcp_wire_option_number(const struct dhcp_message *message, uint8_t code,
					size_t size)
{
	size_t there;
	const uint8_t *bytes = dhcp_option(message, code, &there);
	uint32_t value = 0;

	for (size_t i = 0; bytes && there == size && i < size; i++)
		value = value << 8 | bytes[i];
	return value;
}

enum dhcp_type dhcp_type(const struct dhcp_message *message)
{
	uint32_t value = dhcp_wire_option_number(message, DHCP_OPTION_TYPE, 1);

	return value < DHCP_TYPES ? (enum dhcp_type)value : DHCP_NO_TYPE;
}

uint32_t dhcp_option_address(const struct dhcp_message *message, uint8_t code)
{
	return dhcp_wire_option_number(message, code, 4);
}

uint16_t dhcp_option_u16(const struct dhcp_message *message, uint8_t code)
{
	return (uint16_t)dhcp_wire_option_number(message, code, 2);
}

bool dhcp_option_begins(const struct dhcp_message *message, uint8_t code, const char *prefix)
{
	size_t size;
	const uint8_t *bytes = dhcp_option(message, code, &size);

	return bytes && size >= strlen(prefix) && memcmp(bytes, prefix, strlen(prefix)) == 0;
}

const char *dhcp_option_text(const struct dhcp_message *message, uint8_t code, char *ret,
			     size_t room)
{
	size_t size = 0;
	const uint8_t *bytes = dhcp_option(message, code, &size);
	size_t length = 0;

	while (bytes && length < size && length + 1 < room && bytes[length] != '\0') {
		uint8_t byte = bytes[length];

		bool plain = byte > ' ' && byte < 0x7f && byte != '"' && byte != '\\';

		/* What would have to be escaped in every log and query behind us is replaced here.
		 */
		ret[length++] = (char)(plain ? byte : (uint8_t)'.');
	}
	ret[length] = '\0';
	return ret;
}

const uint8_t *dhcp_relay_option(const struct dhcp_message *message, uint8_t code, size_t *ret_size)
{
	size_t size = 0;
	const uint8_t *bytes = dhcp_option(message, DHCP_OPTION_RELAY, &size);
	struct wire_reader relay = wire_reader(bytes, bytes ? size : 0);

	while (wire_left(&relay) > 0) {
		uint8_t there = wire_u8(&relay);
		struct wire_reader value = wire_cut(&relay, wire_u8(&relay));

		if (relay.bad)
			return NULL;
		if (there == code) {
			*ret_size = wire_left(&value);
			return value.at;
		}
	}
	return NULL;
}

uint32_t dhcp_relay_address(const struct dhcp_message *message, uint8_t code)
{
	size_t size = 0;
	const uint8_t *bytes = dhcp_relay_option(message, code, &size);
	struct wire_reader value = wire_reader(bytes, bytes ? size : 0);

	return size == 4 ? wire_u32(&value) : 0;
}

bool dhcp_client_mac(const struct dhcp_message *message, struct mac *ret)
{
	if (message->htype != HTYPE_ETHERNET || message->hlen != sizeof(ret->bytes))
		return false;
	memcpy(ret->bytes, message->chaddr, sizeof(ret->bytes));
	return !mac_is_zero(*ret) && !(ret->bytes[0] & 1U); /* never a group address */
}

void dhcp_put(struct dhcp_message *message, uint8_t code, const void *bytes, size_t size)
{
	if (size > sizeof(message->option_bytes) - message->option_size) {
		message->overfull = true;
		return;
	}
	message->options[code].at = (uint16_t)(message->option_size + 1U);
	message->options[code].size = (uint16_t)size;
	if (size > 0)
		memcpy(&message->option_bytes[message->option_size], bytes, size);
	message->option_size = (uint16_t)(message->option_size + size);
}

void dhcp_put_u8(struct dhcp_message *message, uint8_t code, uint8_t value)
{
	dhcp_put(message, code, &value, 1);
}

void dhcp_put_u32(struct dhcp_message *message, uint8_t code, uint32_t value)
{
	uint8_t bytes[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8),
			    (uint8_t)value};

	dhcp_put(message, code, bytes, sizeof(bytes));
}

void dhcp_put_text(struct dhcp_message *message, uint8_t code, const char *text)
{
	dhcp_put(message, code, text, strlen(text));
}

void dhcp_remove(struct dhcp_message *message, uint8_t code)
{
	message->options[code].at = 0;
	message->options[code].size = 0;
}
