/* Packets of RMCP+ sessions (IPMI 2.0 rev 1.1, chapter 13) by libfreeipmi's templates and key
 * functions, with bounds of our own around them: session set-up (Open Session 13.17-18, RAKP
 * messages 13.20-23) and IPMI messages within a session (13.6, 13.8). Nothing is published on an
 * error. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "bampi/bmc/bmc_driver.h"

enum { RMCP_PACKET_MAX = 512 }; /* of any packet that we send or take */
enum { RMCP_DATA_MAX = 260 };   /* of a request or an answer within one */
enum { RMCP_RANDOM_SIZE = 16, RMCP_GUID_SIZE = 16, RMCP_KEY_MAX = 32, RMCP_USER_MAX = 16 };

/* FreeIPMI's objects, made once for all sessions of a thread. */
struct rmcp_wire;
MUST_USE int rmcp_wire_new(struct rmcp_wire **ret);
void rmcp_wire_free(struct rmcp_wire *wire);

/* Algorithm numbers of a cipher suite [22.15.2]. E_UNSUPPORTED: no such suite, or one with RC4. */
struct rmcp_suite {
	uint8_t authentication, integrity, confidentiality;
};
MUST_USE int rmcp_suite_find(unsigned id, struct rmcp_suite *ret);

/* Who logs in. */
struct rmcp_login {
	char username[RMCP_USER_MAX + 1];
	char password[21];
	unsigned suite_id;
	struct rmcp_suite suite;
	uint8_t privilege;    /* wanted, and sent in Open Session and RAKP 1 alike [6.8] */
	uint32_t workarounds; /* enum bmc_workaround */
};

struct rmcp_keys {
	uint8_t sik[RMCP_KEY_MAX], integrity[RMCP_KEY_MAX], confidentiality[RMCP_KEY_MAX];
	unsigned sik_size, integrity_size, confidentiality_size;
};

/* What both sides have said so far, and what follows from it. */
struct rmcp_exchange {
	uint32_t console_id, bmc_id; /* session ids: ours, and the BMC's */
	uint8_t console_random[RMCP_RANDOM_SIZE];
	uint8_t bmc_random[RMCP_RANDOM_SIZE];
	uint8_t guid[RMCP_GUID_SIZE];
	struct rmcp_keys keys; /* from rmcp_keys_make */
};

/* --- any packet --- */

enum rmcp_kind { RMCP_OPEN, RMCP_RAKP2, RMCP_RAKP4, RMCP_MESSAGE };

/* What kind of answer it is and for which session of ours (0: it does not say). E_PROTOCOL: no
 * RMCP+ packet that a BMC may send. Needs no keys: proves nothing. */
MUST_USE int rmcp_peek(const void *data, size_t size, enum rmcp_kind *ret_kind,
		       uint32_t *ret_console_id);

/* --- session set-up: the size written to `ret`, or a negative error --- */

MUST_USE int rmcp_open_encode(struct rmcp_wire *wire, const struct rmcp_login *login, uint8_t tag,
			      uint32_t console_id, uint8_t ret[RMCP_PACKET_MAX]);
MUST_USE int rmcp_rakp1_encode(struct rmcp_wire *wire, const struct rmcp_login *login, uint8_t tag,
			       const struct rmcp_exchange *exchange, uint8_t ret[RMCP_PACKET_MAX]);
/* `status` other than 0 tells the BMC to forget the session [13.22]. */
MUST_USE int rmcp_rakp3_encode(struct rmcp_wire *wire, const struct rmcp_login *login, uint8_t tag,
			       uint8_t status, const struct rmcp_exchange *exchange,
			       uint8_t ret[RMCP_PACKET_MAX]);

struct rmcp_open_answer {
	uint8_t tag, status; /* [13.24 table 13-15] */
	uint8_t privilege;   /* the rest only for status 0 */
	uint32_t console_id, bmc_id;
	struct rmcp_suite suite;
};
MUST_USE int rmcp_open_decode(struct rmcp_wire *wire, const void *data, size_t size,
			      struct rmcp_open_answer *ret);

/* `genuine`: made by somebody who knows the password. Only then are its contents worth anything. */
struct rmcp_rakp_answer {
	uint8_t tag, status;
	uint32_t console_id; /* the rest only for status 0 */
	bool genuine;
	uint8_t bmc_random[RMCP_RANDOM_SIZE]; /* RAKP 2 */
	uint8_t guid[RMCP_GUID_SIZE];         /* RAKP 2 */
};
MUST_USE int rmcp_rakp2_decode(struct rmcp_wire *wire, const struct rmcp_login *login,
			       const struct rmcp_exchange *exchange, const void *data, size_t size,
			       struct rmcp_rakp_answer *ret);
MUST_USE int rmcp_rakp4_decode(struct rmcp_wire *wire, const struct rmcp_login *login,
			       const struct rmcp_exchange *exchange, const void *data, size_t size,
			       struct rmcp_rakp_answer *ret);
/* exchange->keys. [13.31, 13.32] */
MUST_USE int rmcp_keys_make(const struct rmcp_login *login, struct rmcp_exchange *exchange);

/* --- messages within a session --- */

struct rmcp_message {
	uint32_t sequence; /* of the session */
	uint8_t request;   /* number of the request, 0..63 */
	uint8_t netfn, lun;
	uint16_t size;               /* of data */
	uint8_t data[RMCP_DATA_MAX]; /* command first; in answers then the completion code */
};
/* The size written, or a negative error. */
MUST_USE int rmcp_message_encode(struct rmcp_wire *wire, const struct rmcp_login *login,
				 const struct rmcp_exchange *exchange,
				 const struct rmcp_message *message, uint8_t ret[RMCP_PACKET_MAX]);
/* E_PROTOCOL: malformed, of another session, not protected as the suite says. E_DENIED: its
 * integrity value is wrong. */
MUST_USE int rmcp_message_decode(struct rmcp_wire *wire, const struct rmcp_login *login,
				 const struct rmcp_exchange *exchange, const void *data,
				 size_t size, struct rmcp_message *ret);
