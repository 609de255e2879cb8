#include "common/tftp/tftp_wire.h"

#include <string.h>
#include <strings.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/net/wire.h"

/* Clients send at most half a dozen; more are not looked at. */
#define OPTIONS_MAX 16

/* A NUL-ended string; "" and bad without its NUL. */
static const char *read_string(struct wire_reader *packet)
{
	const void *end = memchr(packet->at, 0, wire_left(packet));

	if (packet->bad || !end) {
		packet->bad = true;
		return "";
	}
	return (const char *)wire_bytes(packet, (size_t)((const uint8_t *)end - packet->at) + 1);
}

/* Decimal digits only; past 64 bits or else false. */
static bool tftp_wire_read_number(const char *text, uint64_t *ret)
{
	uint64_t value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		uint64_t digit = (uint64_t)(*text - '0');

		if (*text < '0' || *text > '9' || value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*ret = value;
	return true;
}

/* Options whose value is out of range are left out: the transfer goes on without them (RFC 2347).
 * blksize above the limit is the exception, as the server may answer any smaller value (RFC 2348).
 */
static void read_option(const char *name, const char *text, struct tftp_options *ret)
{
	uint64_t value;

	if (!tftp_wire_read_number(text, &value))
		return;
	if (strcasecmp(name, "blksize") == 0 && !ret->has_block_size) {
		ret->has_block_size = value >= TFTP_BLOCK_SIZE_MIN;
		ret->block_size =
			(uint16_t)(value > TFTP_BLOCK_SIZE_MAX ? TFTP_BLOCK_SIZE_MAX : value);
	} else if (strcasecmp(name, "windowsize") == 0 && !ret->has_window_size) {
		ret->has_window_size = value >= 1 && value <= UINT16_MAX;
		ret->window_size = (uint16_t)value;
	} else if (strcasecmp(name, "timeout") == 0 && !ret->has_timeout) {
		ret->has_timeout = value >= 1 && value <= UINT8_MAX;
		ret->timeout_s = (uint8_t)value;
	} else if (strcasecmp(name, "tsize") == 0 && !ret->has_size) {
		ret->has_size = true;
		ret->size = value;
	}
}

int tftp_request_decode(const void *data, size_t size, struct tftp_request *ret)
{
	struct wire_reader packet = wire_reader(data, size);
	uint16_t opcode = wire_u16(&packet);
	struct tftp_request request = {.opcode = opcode == TFTP_WRQ ? TFTP_WRQ : TFTP_RRQ};
	const char *name;
	const char *mode;

	if (packet.bad || (opcode != TFTP_RRQ && opcode != TFTP_WRQ))
		return E_UNSUPPORTED;
	name = read_string(&packet);
	mode = read_string(&packet);
	if (packet.bad || !*name)
		return E_MALFORMED;
	if (!text_copy(request.name, sizeof(request.name), name))
		return E_LIMIT;
	request.octet = strcasecmp(mode, "octet") == 0;
	for (unsigned i = 0; i < OPTIONS_MAX && wire_left(&packet) > 0; i++) {
		const char *option = read_string(&packet);
		const char *value = read_string(&packet);

		/* Some ROMs pad the packet; what is no pair of strings ends the options. */
		if (packet.bad)
			break;
		read_option(option, value, &request.options);
	}

	*ret = request;
	return 0;
}

int tftp_reply_decode(const void *data, size_t size, struct tftp_reply *ret)
{
	struct wire_reader packet = wire_reader(data, size);
	uint16_t opcode = wire_u16(&packet);
	uint16_t number = wire_u16(&packet);
	struct tftp_reply reply = {.opcode = TFTP_ACK};

	if (packet.bad)
		return E_MALFORMED;
	if (opcode == TFTP_ACK) {
		reply.opcode = TFTP_ACK;
		reply.block = number;
	} else if (opcode == TFTP_ERROR) {
		reply.opcode = TFTP_ERROR;
		reply.code = number;
		/* The message may lack its NUL. */
		for (size_t i = 0; i < TFTP_MESSAGE_MAX && wire_left(&packet) > 0; i++) {
			uint8_t c = wire_u8(&packet);

			if (!c)
				break;
			reply.message[i] = (char)(c < ' ' || c > '~' ? '?' : c);
		}
	} else {
		return E_UNSUPPORTED;
	}

	*ret = reply;
	return 0;
}

void tftp_data_head(uint16_t block, uint8_t ret[TFTP_HEAD_SIZE])
{
	struct wire_writer packet = wire_writer(ret, TFTP_HEAD_SIZE);

	wire_put_u16(&packet, TFTP_DATA);
	wire_put_u16(&packet, block);
}

static void tftp_wire_put_option(struct wire_writer *packet, const char *name, uint64_t value)
{
	char text[24];

	(void)text_format(text, sizeof(text), "%llu", (unsigned long long)value);
	wire_put_bytes(packet, name, strlen(name) + 1);
	wire_put_bytes(packet, text, strlen(text) + 1);
}

size_t tftp_oack_encode(const struct tftp_options *options, uint8_t *ret)
{
	struct wire_writer packet = wire_writer(ret, TFTP_OACK_SIZE_MAX);

	wire_put_u16(&packet, TFTP_OACK);
	if (options->has_size)
		tftp_wire_put_option(&packet, "tsize", options->size);
	if (options->has_block_size)
		tftp_wire_put_option(&packet, "blksize", options->block_size);
	if (options->has_window_size)
		tftp_wire_put_option(&packet, "windowsize", options->window_size);
	if (options->has_timeout)
		tftp_wire_put_option(&packet, "timeout", options->timeout_s);
	return wire_written(&packet);
}

size_t tftp_error_encode(enum tftp_error code, const char *message, uint8_t *ret)
{
	struct wire_writer packet = wire_writer(ret, TFTP_HEAD_SIZE + TFTP_MESSAGE_MAX + 1);
	size_t size = strnlen(message, TFTP_MESSAGE_MAX);

	wire_put_u16(&packet, TFTP_ERROR);
	wire_put_u16(&packet, (uint16_t)code);
	wire_put_bytes(&packet, message, size);
	wire_put_u8(&packet, 0);
	return wire_written(&packet);
}
