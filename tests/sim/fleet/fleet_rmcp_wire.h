/* RMCP+ as a BMC sees it: IPMI 2.0 rev 1.1, clauses 13.6 (packets), 13.17-13.24 (session set-up),
 * 13.28-13.32 (algorithms). Cipher suites 3 (HMAC-SHA1) and 17 (HMAC-SHA256), both with
 * AES-CBC-128. Written against the standard and libgcrypt, on purpose without FreeIPMI: the product
 * talks to it with FreeIPMI. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define RMCP_PACKET_MAX   512
#define RMCP_PAYLOAD_MAX  384
#define RMCP_DATA_MAX     256 /* of one IPMI command or answer */
#define RMCP_HASH_MAX     32
#define RMCP_RANDOM_SIZE  16
#define RMCP_USER_MAX     16
#define RMCP_PASSWORD_MAX 20

enum rmcp_payload {
	RMCP_IPMI = 0x00,
	RMCP_OPEN_REQUEST = 0x10,
	RMCP_OPEN_RESPONSE,
	RMCP_RAKP1,
	RMCP_RAKP2,
	RMCP_RAKP3,
	RMCP_RAKP4,
};

/* RMCP+ status codes (13.24). */
enum rmcp_status {
	RMCP_OK = 0x00,
	RMCP_NO_RESOURCES = 0x01,
	RMCP_BAD_SESSION = 0x02,
	RMCP_NO_PRIVILEGE = 0x09,
	RMCP_BAD_NAME = 0x0d,
	RMCP_BAD_INTEGRITY_VALUE = 0x0f,
	RMCP_NO_SUITE = 0x11,
};

/* A cipher suite: how its hash is called and how much of it a packet carries. */
struct rmcp_suite {
	uint8_t id;
	uint8_t authentication, integrity; /* their numbers on the wire; confidentiality is AES */
	int hash;                          /* enum gcry_md_algos */
	uint8_t hash_size, code_size;
};
const struct rmcp_suite *rmcp_suite_find(uint8_t authentication, uint8_t integrity,
					 uint8_t confidentiality);

struct rmcp_keys {
	const struct rmcp_suite *suite; /* NULL: no session yet */
	uint8_t sik[RMCP_HASH_MAX];
	uint8_t k1[RMCP_HASH_MAX]; /* integrity */
	uint8_t k2[RMCP_HASH_MAX]; /* confidentiality: its first 16 bytes */
};

/* One packet. Pointers lie in the caller's bytes. */
struct rmcp_packet {
	bool lan15; /* IPMI 1.5 header without authentication: only before a session */
	bool encrypted, authenticated;
	uint8_t payload_type;
	uint32_t session_id, sequence;
	const uint8_t *payload;
	size_t payload_size;
	const uint8_t *covered; /* by the integrity code */
	size_t covered_size;
	const uint8_t *code;
	size_t code_size;
};
/* E_MALFORMED; E_UNSUPPORTED for what is not IPMI over RMCP. */
MUST_USE int rmcp_decode(const void *data, size_t size, struct rmcp_packet *ret);
/* Checks the integrity code and decrypts into `ret`. E_AUTHENTICATION, E_MALFORMED. */
MUST_USE int rmcp_open(const struct rmcp_packet *packet, const struct rmcp_keys *keys,
		       uint8_t ret[RMCP_PAYLOAD_MAX], size_t *ret_size);

/* A packet out. `keys` NULL: in clear (session set-up). `iv`: RMCP_RANDOM_SIZE fresh random bytes.
 * -ENOBUFS. */
struct rmcp_head {
	bool lan15;
	uint8_t payload_type;
	uint32_t session_id, sequence;
};
MUST_USE int rmcp_encode(const struct rmcp_head *head, const struct rmcp_keys *keys,
			 const uint8_t *iv, const void *payload, size_t payload_size,
			 uint8_t ret[RMCP_PACKET_MAX], size_t *ret_size);

/* An IPMI command inside a payload (13.8). */
struct rmcp_command {
	uint8_t netfn, command;
	uint8_t responder, requester; /* addresses */
	uint8_t responder_lun, sequence_lun;
	const uint8_t *data;
	size_t size;
};
MUST_USE int rmcp_command_decode(const uint8_t *payload, size_t size, struct rmcp_command *ret);
/* The answer to `command`; `ret` holds RMCP_PAYLOAD_MAX. -ENOBUFS. */
MUST_USE int rmcp_answer_encode(const struct rmcp_command *command, uint8_t completion,
				const void *data, size_t size, uint8_t *ret, size_t *ret_size);

/* What both sides know once RAKP 1 and 2 were said. */
struct rmcp_handshake {
	const struct rmcp_suite *suite;
	uint32_t console_id, bmc_id;
	uint8_t console_random[RMCP_RANDOM_SIZE], bmc_random[RMCP_RANDOM_SIZE];
	uint8_t guid[16];
	uint8_t role; /* privilege byte of RAKP 1 as sent */
	uint8_t user_size;
	char user[RMCP_USER_MAX];
};
struct rmcp_open_request {
	uint8_t tag, privilege;
	uint32_t console_id;
	uint8_t authentication, integrity, confidentiality;
};
MUST_USE int rmcp_open_decode(const uint8_t *payload, size_t size, struct rmcp_open_request *ret);
/* All three write at most RMCP_PAYLOAD_MAX bytes and return the size. */
size_t rmcp_open_encode(const struct rmcp_open_request *request, enum rmcp_status status,
			uint32_t bmc_id, uint8_t *ret);
/* Fills the console's part of the handshake; *ret_tag and *ret_bmc_id as named in the message. */
MUST_USE int rmcp_rakp1_decode(const uint8_t *payload, size_t size, struct rmcp_handshake *ret,
			       uint8_t *ret_tag, uint32_t *ret_bmc_id);
size_t rmcp_rakp2_encode(const struct rmcp_handshake *handshake, uint8_t tag,
			 enum rmcp_status status, const char *password, uint8_t *ret);
/* Checks the console's proof of the password: 0, E_AUTHENTICATION, E_MALFORMED. `handshake` is that
 * of *ret_bmc_id; find it with rmcp_rakp3_session first. */
MUST_USE int rmcp_rakp3_session(const uint8_t *payload, size_t size, uint8_t *ret_tag,
				uint32_t *ret_bmc_id);
MUST_USE int rmcp_rakp3_check(const uint8_t *payload, size_t size,
			      const struct rmcp_handshake *handshake, const char *password);
void rmcp_keys_make(const struct rmcp_handshake *handshake, const char *password,
		    struct rmcp_keys *ret);
size_t rmcp_rakp4_encode(const struct rmcp_handshake *handshake, const struct rmcp_keys *keys,
			 uint8_t tag, enum rmcp_status status, uint8_t *ret);

/* Once per program. */
MUST_USE int rmcp_init(void);
