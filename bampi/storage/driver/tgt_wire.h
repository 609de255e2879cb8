/* The management protocol of Linux tgt 1.0 on its Unix socket (usr/tgtadm.h: struct tgtadm_req,
 * struct tgtadm_rsp). A request has 120 bytes in the machine's own byte order, with a text of
 * "key=value" behind it. An answer has 8 bytes, with a text for people behind it. `tgtadm` speaks
 * it, too, but would put secrets on a command line. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/wire.h"

#include "bampi/storage/driver/storage_driver.h"

#define TGT_REQUEST_SIZE 120
#define TGT_ANSWER_SIZE  8
#define TGT_TEXT_MAX     ((size_t)PATH_MAX + 256)
#define TGT_LIST_MAX     ((size_t)16 << 20) /* the longest answer that is read */
#define TGT_PORTALS_MAX  65536

/* enum tgtadm_mode, enum tgtadm_op: those we use. */
enum tgt_mode {
	TGT_SYSTEM = 0,
	TGT_TARGET = 1,
	TGT_LOGICAL_UNIT = 2,
	TGT_PORTAL = 3,
	TGT_SESSION = 5,
	TGT_CONNECTION = 6,
	TGT_ACCOUNT = 7,
};
enum tgt_op {
	TGT_NEW = 0,
	TGT_DELETE = 1,
	TGT_SHOW = 2,
	TGT_BIND = 3,
	TGT_UNBIND = 4,
	TGT_STATISTICS = 6,
};

/* enum tgtadm_errno: those that mean something to us. */
enum tgt_status {
	TGT_OK = 0,
	TGT_NO_TARGET = 4,
	TGT_NO_SESSION = 6,
	TGT_NO_CONNECTION = 7,
	TGT_TARGET_EXISTS = 9,
	TGT_ADDRESS_EXISTS = 12,
	TGT_NO_ADDRESS = 13,
	TGT_USER_EXISTS = 14,
	TGT_NO_USER = 15,
};

struct tgt_request {
	enum tgt_mode mode;
	enum tgt_op op;
	int32_t target;      /* -1 = none meant */
	uint64_t unit;       /* UINT64_MAX = none meant */
	uint64_t session;    /* TGT_SESSION and TGT_CONNECTION only */
	uint32_t connection; /* TGT_CONNECTION only */
	uint32_t force;      /* 1 = although it is in use */
	const char *text;    /* "" = none; a value must hold no comma */
};

struct tgt_answer {
	uint32_t status;
	uint32_t size; /* bytes of text that follow */
};

/* The whole request; `writer->bad` when it does not fit. The text may be a secret: wipe it. */
void tgt_request_encode(const struct tgt_request *request, struct wire_writer *writer);
/* E_MALFORMED: too short, or a length below its own head. E_LIMIT: more text than is read. */
MUST_USE int tgt_answer_decode(const void *data, size_t size, struct tgt_answer *ret);
/* What `show` of all portals answers: lines of "Portal: 10.0.0.1:3260,1". Others are passed over.
 * E_MALFORMED: one that is too long, or has no address or no port. -ENOMEM. */
MUST_USE int tgt_portals_decode(const char *text, size_t size, struct storage_portals *ret);
/* Room for one more element: a growing array doubles when its count reaches a power of two.
 * -ENOMEM. */
MUST_USE int tgt_wire_grow(void **array, size_t count, size_t element);
/* For people; static. */
const char *tgt_status_text(uint32_t status);
