#include "tests/sim/fleet/fleet_rmcp_wire.h"

#include <errno.h>
#include <gcrypt.h>
#include <string.h>

#include "common/base/error.h"
#include "common/net/wire.h"

#define RMCP_VERSION      6
#define RMCP_NO_ACK       0xff
#define RMCP_CLASS_IPMI   7
#define AUTHENTICATION_15 0x00 /* none */
#define FORMAT_RMCPPLUS   0x06
#define ENCRYPTED         0x80
#define AUTHENTICATED     0x40
#define NEXT_HEADER       0x07
#define AES_BLOCK         16
#define AES_CBC_128       1
#define CONSTANT_SIZE     20 /* of 13.32's constants, whatever the hash */

int rmcp_init(void)
{
	if (gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P))
		return 0;
	if (!gcry_check_version(NULL))
		return E_UNSUPPORTED;
	(void)gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
	(void)gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
	return 0;
}

static const struct rmcp_suite fleet_rmcp_wire_suites[] = {
	/* id, auth., integrity, hash,             size, carried (table 13-19) */
	{3, 1, 1, GCRY_MD_SHA1, 20, 12},
	{17, 3, 4, GCRY_MD_SHA256, 32, 16},
};

const struct rmcp_suite *rmcp_suite_find(uint8_t authentication, uint8_t integrity,
					 uint8_t confidentiality)
{
	for (size_t i = 0; i < COUNT_OF(fleet_rmcp_wire_suites); i++) {
		if (fleet_rmcp_wire_suites[i].authentication == authentication &&
		    fleet_rmcp_wire_suites[i].integrity == integrity &&
		    confidentiality == AES_CBC_128)
			return &fleet_rmcp_wire_suites[i];
	}
	return NULL;
}

/* --- little endian, as IPMI has it --- */

static uint16_t get_u16(struct wire_reader *reader)
{
	uint16_t value = wire_u16(reader);

	return (uint16_t)(value >> 8 | value << 8);
}

static uint32_t get_u32(struct wire_reader *reader)
{
	uint32_t low = get_u16(reader);

	return low | (uint32_t)get_u16(reader) << 16;
}

static void put_u16(struct wire_writer *writer, uint16_t value)
{
	wire_put_u8(writer, (uint8_t)value);
	wire_put_u8(writer, (uint8_t)(value >> 8));
}

static void put_u32(struct wire_writer *writer, uint32_t value)
{
	put_u16(writer, (uint16_t)value);
	put_u16(writer, (uint16_t)(value >> 16));
}

/* --- hashes --- */

static void fleet_rmcp_wire_hmac(const struct rmcp_suite *suite, const void *key, size_t key_size,
				 const void *data, size_t size, uint8_t ret[RMCP_HASH_MAX])
{
	/* libgcrypt only reads them. NOLINTBEGIN(performance-no-int-to-ptr) */
	gcry_buffer_t parts[2] = {
		{.len = key_size, .data = (void *)(uintptr_t)key},
		{.len = size, .data = (void *)(uintptr_t)data},
	};
	/* NOLINTEND(performance-no-int-to-ptr) */

	memset(ret, 0, RMCP_HASH_MAX);
	(void)gcry_md_hash_buffers(suite->hash, GCRY_MD_FLAG_HMAC, ret, parts, 2);
}

/* K[UID]: the password, zero-padded, which HMAC does by itself. */
static void hmac_password(const struct rmcp_suite *suite, const char *password, const void *data,
			  size_t size, uint8_t ret[RMCP_HASH_MAX])
{
	uint8_t key[RMCP_PASSWORD_MAX] = {0};

	memcpy(key, password, strnlen(password, sizeof(key)));
	fleet_rmcp_wire_hmac(suite, key, sizeof(key), data, size, ret);
}

static bool fleet_rmcp_wire_equal(const uint8_t *a, const uint8_t *b, size_t size)
{
	uint8_t different = 0;

	for (size_t i = 0; i < size; i++)
		different |= a[i] ^ b[i];
	return different == 0;
}

/* --- packets in --- */

static int decode_lan15(struct wire_reader *reader, struct rmcp_packet *ret)
{
	ret->lan15 = true;
	ret->sequence = get_u32(reader);
	ret->session_id = get_u32(reader);
	ret->payload_size = wire_u8(reader);
	ret->payload = wire_bytes(reader, ret->payload_size);
	return reader->bad ? E_MALFORMED : 0;
}

static int decode_trailer(struct wire_reader *reader, const uint8_t *start, struct rmcp_packet *ret)
{
	uint8_t pad = 0;

	while (wire_left(reader) > 0 && *reader->at == 0xff && pad < 4) {
		wire_skip(reader, 1);
		pad++;
	}
	if (wire_u8(reader) != pad || wire_u8(reader) != NEXT_HEADER || reader->bad)
		return E_MALFORMED;
	ret->covered = start;
	ret->covered_size = (size_t)(reader->at - start);
	ret->code_size = wire_left(reader);
	ret->code = reader->at;
	return 0;
}

int rmcp_decode(const void *data, size_t size, struct rmcp_packet *ret)
{
	struct wire_reader reader = wire_reader(data, size);
	struct rmcp_packet packet = {0};
	uint8_t version = wire_u8(&reader);
	const uint8_t *start;
	uint8_t format;
	int rc = 0;

	(void)wire_u16(&reader); /* reserved, sequence: not used by IPMI */
	if (wire_u8(&reader) != RMCP_CLASS_IPMI || version != RMCP_VERSION)
		return reader.bad ? E_MALFORMED : E_UNSUPPORTED;
	start = reader.at;
	format = wire_u8(&reader);
	if (format == AUTHENTICATION_15) {
		rc = decode_lan15(&reader, &packet);
	} else if (format == FORMAT_RMCPPLUS) {
		uint8_t type = wire_u8(&reader);

		packet.encrypted = type & ENCRYPTED;
		packet.authenticated = type & AUTHENTICATED;
		packet.payload_type = type & 0x3f;
		packet.session_id = get_u32(&reader);
		packet.sequence = get_u32(&reader);
		packet.payload_size = get_u16(&reader);
		packet.payload = wire_bytes(&reader, packet.payload_size);
		if (packet.authenticated && !reader.bad)
			rc = decode_trailer(&reader, start, &packet);
	} else {
		rc = E_UNSUPPORTED;
	}
	if (rc || reader.bad)
		return rc ? rc : E_MALFORMED;
	*ret = packet;
	return 0;
}

static int fleet_rmcp_wire_aes(const struct rmcp_keys *keys, const uint8_t *iv, uint8_t *data,
			       size_t size, bool encrypt)
{
	gcry_cipher_hd_t cipher;
	gcry_error_t error;

	if (gcry_cipher_open(&cipher, GCRY_CIPHER_AES128, GCRY_CIPHER_MODE_CBC, 0))
		return -ENOMEM;
	error = gcry_cipher_setkey(cipher, keys->k2, AES_BLOCK);
	if (!error)
		error = gcry_cipher_setiv(cipher, iv, AES_BLOCK);
	if (!error)
		error = encrypt ? gcry_cipher_encrypt(cipher, data, size, NULL, 0)
				: gcry_cipher_decrypt(cipher, data, size, NULL, 0);
	gcry_cipher_close(cipher);
	return error ? E_MALFORMED : 0;
}

int rmcp_open(const struct rmcp_packet *packet, const struct rmcp_keys *keys,
	      uint8_t ret[RMCP_PAYLOAD_MAX], size_t *ret_size)
{
	uint8_t code[RMCP_HASH_MAX];
	size_t size = packet->payload_size;
	uint8_t pad;
	int rc;

	if (!keys->suite || !packet->authenticated || !packet->encrypted ||
	    packet->code_size != keys->suite->code_size)
		return E_AUTHENTICATION;
	fleet_rmcp_wire_hmac(keys->suite, keys->k1, keys->suite->hash_size, packet->covered,
			     packet->covered_size, code);
	if (!fleet_rmcp_wire_equal(code, packet->code, packet->code_size))
		return E_AUTHENTICATION;
	if (size < (size_t)2 * AES_BLOCK || size % AES_BLOCK != 0 ||
	    size - AES_BLOCK > RMCP_PAYLOAD_MAX)
		return E_MALFORMED;
	size -= AES_BLOCK;
	memcpy(ret, packet->payload + AES_BLOCK, size);
	rc = fleet_rmcp_wire_aes(keys, packet->payload, ret, size, false);
	pad = ret[size - 1];
	if (rc || pad >= AES_BLOCK || (size_t)pad + 1 > size)
		return E_MALFORMED;
	*ret_size = size - 1 - pad;
	return 0;
}

/* --- packets out --- */

static void put_rmcp(struct wire_writer *writer)
{
	wire_put_u8(writer, RMCP_VERSION);
	wire_put_u8(writer, 0);
	wire_put_u8(writer, RMCP_NO_ACK);
	wire_put_u8(writer, RMCP_CLASS_IPMI);
}

/* Initialisation vector, then payload, pad 01 02 03 .. and its length, encrypted (13.29). */
static int fleet_rmcp_wire_encrypt(const struct rmcp_keys *keys, const uint8_t *iv,
				   const void *payload, size_t size, uint8_t *ret, size_t *ret_size)
{
	size_t whole = (size + 1 + AES_BLOCK - 1) / AES_BLOCK * AES_BLOCK;

	if (whole + AES_BLOCK > RMCP_PAYLOAD_MAX)
		return -ENOBUFS;
	memcpy(ret, iv, AES_BLOCK);
	memcpy(ret + AES_BLOCK, payload, size);
	for (size_t i = size; i + 1 < whole; i++)
		ret[AES_BLOCK + i] = (uint8_t)(i - size + 1);
	ret[AES_BLOCK + whole - 1] = (uint8_t)(whole - size - 1);
	*ret_size = whole + AES_BLOCK;
	return fleet_rmcp_wire_aes(keys, iv, ret + AES_BLOCK, whole, true);
}

static int encode_lan15(const struct rmcp_head *head, const void *payload, size_t payload_size,
			struct wire_writer *writer)
{
	wire_put_u8(writer, AUTHENTICATION_15);
	put_u32(writer, head->sequence);
	put_u32(writer, head->session_id);
	wire_put_u8(writer, (uint8_t)payload_size);
	wire_put_bytes(writer, payload, payload_size);
	return payload_size > 0xff ? -ENOBUFS : 0;
}

static int encode_lan20(const struct rmcp_head *head, const struct rmcp_keys *keys,
			const uint8_t *iv, const void *payload, size_t payload_size,
			struct wire_writer *writer)
{
	uint8_t sealed[RMCP_PAYLOAD_MAX];
	int rc = keys ? fleet_rmcp_wire_encrypt(keys, iv, payload, payload_size, sealed,
						&payload_size)
		      : 0;

	if (rc)
		return rc;
	wire_put_u8(writer, FORMAT_RMCPPLUS);
	wire_put_u8(writer, (uint8_t)(head->payload_type | (keys ? ENCRYPTED | AUTHENTICATED : 0)));
	put_u32(writer, head->session_id);
	put_u32(writer, head->sequence);
	put_u16(writer, (uint16_t)payload_size);
	wire_put_bytes(writer, keys ? sealed : payload, payload_size);
	return 0;
}

/* The session trailer (13.6): filled up to a multiple of four, then the code over all since
 * `start`. */
static void put_trailer(const struct rmcp_keys *keys, const uint8_t *packet, size_t start,
			struct wire_writer *writer)
{
	uint8_t code[RMCP_HASH_MAX];
	uint8_t pad = 0;

	while ((wire_written(writer) - start + 2) % 4 != 0) {
		wire_put_u8(writer, 0xff);
		pad++;
		if (writer->bad)
			return;
	}
	wire_put_u8(writer, pad);
	wire_put_u8(writer, NEXT_HEADER);
	fleet_rmcp_wire_hmac(keys->suite, keys->k1, keys->suite->hash_size, packet + start,
			     wire_written(writer) - start, code);
	wire_put_bytes(writer, code, keys->suite->code_size);
}

int rmcp_encode(const struct rmcp_head *head, const struct rmcp_keys *keys, const uint8_t *iv,
		const void *payload, size_t payload_size, uint8_t ret[RMCP_PACKET_MAX],
		size_t *ret_size)
{
	struct wire_writer writer = wire_writer(ret, RMCP_PACKET_MAX);
	size_t start;
	int rc;

	put_rmcp(&writer);
	start = wire_written(&writer);
	if (head->lan15)
		rc = encode_lan15(head, payload, payload_size, &writer);
	else
		rc = encode_lan20(head, keys, iv, payload, payload_size, &writer);
	if (rc == 0 && keys && !head->lan15)
		put_trailer(keys, ret, start, &writer);
	if (rc || writer.bad)
		return rc ? rc : -ENOBUFS;
	*ret_size = wire_written(&writer);
	return 0;
}

/* --- commands --- */

static uint8_t fleet_rmcp_wire_checksum(const uint8_t *bytes, size_t size)
{
	uint8_t sum = 0;

	for (size_t i = 0; i < size; i++)
		sum = (uint8_t)(sum + bytes[i]);
	return (uint8_t)(0x100 - sum);
}

int rmcp_command_decode(const uint8_t *payload, size_t size, struct rmcp_command *ret)
{
	struct wire_reader reader = wire_reader(payload, size);
	struct rmcp_command command = {.responder = wire_u8(&reader)};
	uint8_t netfn = wire_u8(&reader);
	uint8_t head_sum = wire_u8(&reader);

	command.netfn = netfn >> 2;
	command.responder_lun = netfn & 3;
	command.requester = wire_u8(&reader);
	command.sequence_lun = wire_u8(&reader);
	command.command = wire_u8(&reader);
	if (reader.bad || wire_left(&reader) < 1 ||
	    head_sum != fleet_rmcp_wire_checksum(payload, 2) ||
	    payload[size - 1] != fleet_rmcp_wire_checksum(payload + 3, size - 4) ||
	    command.netfn & 1)
		return E_MALFORMED;
	command.size = wire_left(&reader) - 1;
	command.data = reader.at;
	*ret = command;
	return 0;
}

int rmcp_answer_encode(const struct rmcp_command *command, uint8_t completion, const void *data,
		       size_t size, uint8_t *ret, size_t *ret_size)
{
	struct wire_writer writer = wire_writer(ret, RMCP_PAYLOAD_MAX);

	wire_put_u8(&writer, command->requester);
	wire_put_u8(&writer, (uint8_t)((command->netfn | 1) << 2 | (command->sequence_lun & 3)));
	wire_put_u8(&writer, fleet_rmcp_wire_checksum(ret, 2));
	wire_put_u8(&writer, command->responder);
	wire_put_u8(&writer, (uint8_t)((command->sequence_lun & 0xfc) | command->responder_lun));
	wire_put_u8(&writer, command->command);
	wire_put_u8(&writer, completion);
	wire_put_bytes(&writer, data, size);
	wire_put_u8(&writer, fleet_rmcp_wire_checksum(ret + 3, wire_written(&writer) - 3));
	if (writer.bad)
		return -ENOBUFS;
	*ret_size = wire_written(&writer);
	return 0;
}

/* --- opening a session --- */

/* One of the three algorithm blocks (13.17): type, reserved, length 8, algorithm. */
static uint8_t get_algorithm(struct wire_reader *reader, uint8_t type, bool *bad)
{
	uint8_t is = wire_u8(reader);
	uint8_t algorithm;

	wire_skip(reader, 2);
	*bad |= is != type || wire_u8(reader) != 8;
	algorithm = wire_u8(reader) & 0x3f;
	wire_skip(reader, 3);
	return algorithm;
}

int rmcp_open_decode(const uint8_t *payload, size_t size, struct rmcp_open_request *ret)
{
	struct wire_reader reader = wire_reader(payload, size);
	struct rmcp_open_request request = {.tag = wire_u8(&reader)};
	bool bad = false;

	request.privilege = wire_u8(&reader) & 0x0f;
	wire_skip(&reader, 2);
	request.console_id = get_u32(&reader);
	request.authentication = get_algorithm(&reader, 0, &bad);
	request.integrity = get_algorithm(&reader, 1, &bad);
	request.confidentiality = get_algorithm(&reader, 2, &bad);
	if (reader.bad || bad)
		return E_MALFORMED;
	*ret = request;
	return 0;
}

static void put_algorithm(struct wire_writer *writer, uint8_t type, uint8_t algorithm)
{
	wire_put_u8(writer, type);
	wire_put_zeros(writer, 2);
	wire_put_u8(writer, 8);
	wire_put_u8(writer, algorithm);
	wire_put_zeros(writer, 3);
}

size_t rmcp_open_encode(const struct rmcp_open_request *request, enum rmcp_status status,
			uint32_t bmc_id, uint8_t *ret)
{
	struct wire_writer writer = wire_writer(ret, RMCP_PAYLOAD_MAX);

	wire_put_u8(&writer, request->tag);
	wire_put_u8(&writer, (uint8_t)status);
	wire_put_u8(&writer, request->privilege ? request->privilege : 4);
	wire_put_u8(&writer, 0);
	put_u32(&writer, request->console_id);
	if (status == RMCP_OK) {
		put_u32(&writer, bmc_id);
		put_algorithm(&writer, 0, request->authentication);
		put_algorithm(&writer, 1, request->integrity);
		put_algorithm(&writer, 2, request->confidentiality);
	}
	return wire_written(&writer);
}

int rmcp_rakp1_decode(const uint8_t *payload, size_t size, struct rmcp_handshake *ret,
		      uint8_t *ret_tag, uint32_t *ret_bmc_id)
{
	struct wire_reader reader = wire_reader(payload, size);
	uint8_t tag = wire_u8(&reader);
	struct rmcp_handshake said = {0};
	uint32_t bmc_id;

	wire_skip(&reader, 3);
	bmc_id = get_u32(&reader);
	wire_copy(&reader, said.console_random, sizeof(said.console_random));
	said.role = wire_u8(&reader);
	wire_skip(&reader, 2);
	said.user_size = wire_u8(&reader);
	if (said.user_size > RMCP_USER_MAX)
		return E_MALFORMED;
	wire_copy(&reader, said.user, said.user_size);
	if (reader.bad)
		return E_MALFORMED;
	memcpy(ret->console_random, said.console_random, sizeof(said.console_random));
	memcpy(ret->user, said.user, sizeof(said.user));
	ret->role = said.role;
	ret->user_size = said.user_size;
	*ret_tag = tag;
	*ret_bmc_id = bmc_id;
	return 0;
}

static void fleet_rmcp_wire_put_identity(struct wire_writer *writer,
					 const struct rmcp_handshake *handshake)
{
	wire_put_u8(writer, handshake->role);
	wire_put_u8(writer, handshake->user_size);
	wire_put_bytes(writer, handshake->user, handshake->user_size);
}

size_t rmcp_rakp2_encode(const struct rmcp_handshake *handshake, uint8_t tag,
			 enum rmcp_status status, const char *password, uint8_t *ret)
{
	struct wire_writer writer = wire_writer(ret, RMCP_PAYLOAD_MAX);
	uint8_t said[128];
	struct wire_writer proof = wire_writer(said, sizeof(said));
	uint8_t code[RMCP_HASH_MAX];

	wire_put_u8(&writer, tag);
	wire_put_u8(&writer, (uint8_t)status);
	wire_put_zeros(&writer, 2);
	put_u32(&writer, handshake->console_id);
	if (status != RMCP_OK)
		return wire_written(&writer);
	wire_put_bytes(&writer, handshake->bmc_random, sizeof(handshake->bmc_random));
	wire_put_bytes(&writer, handshake->guid, sizeof(handshake->guid));
	put_u32(&proof, handshake->console_id);
	put_u32(&proof, handshake->bmc_id);
	wire_put_bytes(&proof, handshake->console_random, sizeof(handshake->console_random));
	wire_put_bytes(&proof, handshake->bmc_random, sizeof(handshake->bmc_random));
	wire_put_bytes(&proof, handshake->guid, sizeof(handshake->guid));
	fleet_rmcp_wire_put_identity(&proof, handshake);
	hmac_password(handshake->suite, password, said, wire_written(&proof), code);
	wire_put_bytes(&writer, code, handshake->suite->hash_size);
	return wire_written(&writer);
}

int rmcp_rakp3_session(const uint8_t *payload, size_t size, uint8_t *ret_tag, uint32_t *ret_bmc_id)
{
	struct wire_reader reader = wire_reader(payload, size);
	uint8_t tag = wire_u8(&reader);
	uint32_t bmc_id;

	wire_skip(&reader, 3);
	bmc_id = get_u32(&reader);
	if (reader.bad)
		return E_MALFORMED;
	*ret_tag = tag;
	*ret_bmc_id = bmc_id;
	return 0;
}

int rmcp_rakp3_check(const uint8_t *payload, size_t size, const struct rmcp_handshake *handshake,
		     const char *password)
{
	struct wire_reader reader = wire_reader(payload, size);
	uint8_t said[64];
	struct wire_writer proof = wire_writer(said, sizeof(said));
	uint8_t code[RMCP_HASH_MAX];
	const uint8_t *theirs;

	wire_skip(&reader, 8);
	theirs = wire_bytes(&reader, handshake->suite->hash_size);
	if (!theirs)
		return E_MALFORMED;
	wire_put_bytes(&proof, handshake->bmc_random, sizeof(handshake->bmc_random));
	put_u32(&proof, handshake->console_id);
	fleet_rmcp_wire_put_identity(&proof, handshake);
	hmac_password(handshake->suite, password, said, wire_written(&proof), code);
	return fleet_rmcp_wire_equal(code, theirs, handshake->suite->hash_size) ? 0
										: E_AUTHENTICATION;
}

void rmcp_keys_make(const struct rmcp_handshake *handshake, const char *password,
		    struct rmcp_keys *ret)
{
	uint8_t said[64];
	struct wire_writer writer = wire_writer(said, sizeof(said));
	uint8_t constant[CONSTANT_SIZE];
	const struct rmcp_suite *suite = handshake->suite;

	ret->suite = suite;
	wire_put_bytes(&writer, handshake->console_random, sizeof(handshake->console_random));
	wire_put_bytes(&writer, handshake->bmc_random, sizeof(handshake->bmc_random));
	fleet_rmcp_wire_put_identity(&writer, handshake);
	/* No key of the BMC itself (K[G]): the user's stands for it ("one-key", 13.31). */
	hmac_password(suite, password, said, wire_written(&writer), ret->sik);
	memset(constant, 1, sizeof(constant));
	fleet_rmcp_wire_hmac(suite, ret->sik, suite->hash_size, constant, sizeof(constant),
			     ret->k1);
	memset(constant, 2, sizeof(constant));
	fleet_rmcp_wire_hmac(suite, ret->sik, suite->hash_size, constant, sizeof(constant),
			     ret->k2);
}

size_t rmcp_rakp4_encode(const struct rmcp_handshake *handshake, const struct rmcp_keys *keys,
			 uint8_t tag, enum rmcp_status status, uint8_t *ret)
{
	struct wire_writer writer = wire_writer(ret, RMCP_PAYLOAD_MAX);
	uint8_t said[64];
	struct wire_writer proof = wire_writer(said, sizeof(said));
	uint8_t code[RMCP_HASH_MAX];

	wire_put_u8(&writer, tag);
	wire_put_u8(&writer, (uint8_t)status);
	wire_put_zeros(&writer, 2);
	put_u32(&writer, handshake->console_id);
	if (status != RMCP_OK)
		return wire_written(&writer);
	wire_put_bytes(&proof, handshake->console_random, sizeof(handshake->console_random));
	put_u32(&proof, handshake->bmc_id);
	wire_put_bytes(&proof, handshake->guid, sizeof(handshake->guid));
	fleet_rmcp_wire_hmac(keys->suite, keys->sik, keys->suite->hash_size, said,
			     wire_written(&proof), code);
	wire_put_bytes(&writer, code, keys->suite->code_size);
	return wire_written(&writer);
}
