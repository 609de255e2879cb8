/* TFTP packets (RFC 1350) with the options of RFC 2347 (form), 2348 blksize, 2349 tsize and
 * timeout, 7440 windowsize. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define TFTP_NAME_MAX       255
#define TFTP_MESSAGE_MAX    100
#define TFTP_HEAD_SIZE      4   /* of DATA */
#define TFTP_OACK_SIZE_MAX  128 /* of an OACK with all options that we know */
#define TFTP_BLOCK_SIZE     512 /* without blksize */
#define TFTP_BLOCK_SIZE_MIN 8
#define TFTP_BLOCK_SIZE_MAX 65464

enum tftp_opcode { TFTP_RRQ = 1, TFTP_WRQ, TFTP_DATA, TFTP_ACK, TFTP_ERROR, TFTP_OACK };

enum tftp_error {
	TFTP_ERROR_OTHER = 0,
	TFTP_ERROR_NOT_FOUND = 1,
	TFTP_ERROR_ACCESS = 2,
	TFTP_ERROR_ILLEGAL = 4,
	TFTP_ERROR_OPTION = 8, /* RFC 2347; also how a client ends a transfer that it began only to
				  learn tsize */
};

struct tftp_options {
	bool has_block_size, has_window_size, has_timeout, has_size;
	uint16_t block_size;  /* bytes, 8..65464 */
	uint16_t window_size; /* blocks, 1..65535 */
	uint8_t timeout_s;    /* 1..255 */
	uint64_t size;        /* tsize, bytes */
};

struct tftp_request {
	enum tftp_opcode opcode;      /* TFTP_RRQ or TFTP_WRQ */
	char name[TFTP_NAME_MAX + 1]; /* as sent; never empty */
	bool octet;                   /* mode; else one that we do not serve */
	struct tftp_options options;
};

/* What a client sends during a transfer. */
struct tftp_reply {
	enum tftp_opcode opcode;            /* TFTP_ACK or TFTP_ERROR */
	uint16_t block;                     /* of an ACK */
	uint16_t code;                      /* of an ERROR */
	char message[TFTP_MESSAGE_MAX + 1]; /* of an ERROR: printable, cut */
};

/* E_MALFORMED; E_UNSUPPORTED for a packet of another kind; E_LIMIT for a name that is too long.
 * Options that are unknown or out of range are left out, as RFC 2347 wants; of one given twice the
 * first counts. */
MUST_USE int tftp_request_decode(const void *data, size_t size, struct tftp_request *ret);
MUST_USE int tftp_reply_decode(const void *data, size_t size, struct tftp_reply *ret);

void tftp_data_head(uint16_t block, uint8_t ret[TFTP_HEAD_SIZE]);
/* Both give the size written; `ret` holds TFTP_OACK_SIZE_MAX, or TFTP_HEAD_SIZE + TFTP_MESSAGE_MAX
 * + 1 bytes. */
size_t tftp_oack_encode(const struct tftp_options *options, uint8_t *ret);
size_t tftp_error_encode(enum tftp_error code, const char *message, uint8_t *ret);
