#include "common/net/tpm_wire.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/error.h"
#include "common/net/wire.h"

enum {
	TAG_PLAIN = 0x8001,
	TAG_SESSIONS = 0x8002,
	TAG_QUOTE = 0x8018,
};
enum {
	CODE_CREATE_PRIMARY = 0x131,
	CODE_QUOTE = 0x158,
	CODE_PCR_READ = 0x17e,
};
enum {
	ALG_SHA256 = 0x0b,
	ALG_NULL = 0x10,
	ALG_ECDSA = 0x18,
	ALG_ECC = 0x23,
	CURVE_P256 = 0x03,
};

#define HIERARCHY_ENDORSEMENT 0x4000000bU
#define SESSION_PASSWORD      0x40000009U
#define MAGIC                 0xff544347U /* "\xffTCG" */
/* fixedTPM, fixedParent, sensitiveDataOrigin, userWithAuth, restricted, sign */
#define KEY_ATTRIBUTES 0x00050072U
#define SELECT_SIZE    3

static struct wire_writer tpm_begin(uint8_t ret[TPM_COMMAND_MAX], uint16_t tag, uint32_t code)
{
	struct wire_writer writer = wire_writer(ret, TPM_COMMAND_MAX);

	wire_put_u16(&writer, tag);
	wire_put_u32(&writer, 0); /* the size: tpm_end */
	wire_put_u32(&writer, code);
	return writer;
}

static size_t tpm_end(const struct wire_writer *writer)
{
	size_t size = wire_written(writer);
	struct wire_writer header = wire_writer(writer->start + 2, 4);

	wire_put_u32(&header, (uint32_t)size);
	return size;
}

/* An empty password: nobody is to keep us from quoting, nobody can sign anything else. */
static void tpm_put_session(struct wire_writer *writer)
{
	wire_put_u32(writer, 9);
	wire_put_u32(writer, SESSION_PASSWORD);
	wire_put_u16(writer, 0);
	wire_put_u8(writer, 0);
	wire_put_u16(writer, 0);
}

static void tpm_put_registers(struct wire_writer *writer, uint32_t registers)
{
	wire_put_u32(writer, 1);
	wire_put_u16(writer, ALG_SHA256);
	wire_put_u8(writer, SELECT_SIZE);
	for (unsigned i = 0; i < SELECT_SIZE; i++)
		wire_put_u8(writer, (uint8_t)(registers >> (8 * i)));
}

size_t tpm_key_encode(uint8_t ret[TPM_COMMAND_MAX])
{
	struct wire_writer writer = tpm_begin(ret, TAG_SESSIONS, CODE_CREATE_PRIMARY);

	wire_put_u32(&writer, HIERARCHY_ENDORSEMENT);
	tpm_put_session(&writer);
	wire_put_u16(&writer, 4); /* inSensitive: no password, no data */
	wire_put_u32(&writer, 0);
	wire_put_u16(&writer, 24); /* inPublic */
	wire_put_u16(&writer, ALG_ECC);
	wire_put_u16(&writer, ALG_SHA256);
	wire_put_u32(&writer, KEY_ATTRIBUTES);
	wire_put_u16(&writer, 0);        /* authPolicy */
	wire_put_u16(&writer, ALG_NULL); /* symmetric */
	wire_put_u16(&writer, ALG_ECDSA);
	wire_put_u16(&writer, ALG_SHA256);
	wire_put_u16(&writer, CURVE_P256);
	wire_put_u16(&writer, ALG_NULL); /* kdf */
	wire_put_u32(&writer, 0);        /* unique: x and y */
	wire_put_u16(&writer, 0);        /* outsideInfo */
	wire_put_u32(&writer, 0);        /* creationPCR */
	return tpm_end(&writer);
}

size_t tpm_quote_encode(uint32_t key, const uint8_t nonce[TPM_DIGEST_SIZE], uint32_t registers,
			uint8_t ret[TPM_COMMAND_MAX])
{
	struct wire_writer writer = tpm_begin(ret, TAG_SESSIONS, CODE_QUOTE);

	wire_put_u32(&writer, key);
	tpm_put_session(&writer);
	wire_put_u16(&writer, TPM_DIGEST_SIZE);
	wire_put_bytes(&writer, nonce, TPM_DIGEST_SIZE);
	wire_put_u16(&writer, ALG_NULL); /* the key's own scheme */
	tpm_put_registers(&writer, registers);
	return tpm_end(&writer);
}

size_t tpm_registers_encode(uint32_t registers, uint8_t ret[TPM_COMMAND_MAX])
{
	struct wire_writer writer = tpm_begin(ret, TAG_PLAIN, CODE_PCR_READ);

	tpm_put_registers(&writer, registers);
	return tpm_end(&writer);
}

/* The reader behind the header of a response. */
static int tpm_open(const void *bytes, size_t size, uint16_t tag, uint32_t *ret_code,
		    struct wire_reader *ret)
{
	struct wire_reader reader = wire_reader(bytes, size);
	uint16_t seen = wire_u16(&reader);
	uint32_t told = wire_u32(&reader);
	uint32_t code = wire_u32(&reader);

	*ret_code = 0;
	if (reader.bad || told != size)
		return E_MALFORMED;
	*ret_code = code;
	if (code)
		return E_DENIED;
	if (seen != tag)
		return E_MALFORMED;
	*ret = reader;
	return 0;
}

uint32_t tpm_code(const void *bytes, size_t size)
{
	struct wire_reader reader = wire_reader(bytes, size);

	wire_skip(&reader, 6);
	return wire_u32(&reader);
}

/* A TPM2B: its size, its bytes. */
static struct wire_reader tpm_sized(struct wire_reader *reader)
{
	uint16_t size = wire_u16(reader);

	return wire_cut(reader, size);
}

/* A number of at most 32 bytes, filled up with zeros in front. */
static void tpm_number(struct wire_reader *reader, uint8_t ret[TPM_DIGEST_SIZE])
{
	struct wire_reader number = tpm_sized(reader);
	size_t size = wire_left(&number);

	memset(ret, 0, TPM_DIGEST_SIZE);
	if (number.bad || size > TPM_DIGEST_SIZE)
		reader->bad = true;
	else
		wire_copy(&number, ret + TPM_DIGEST_SIZE - size, size);
}

static void tpm_expect16(struct wire_reader *reader, uint16_t value)
{
	if (wire_u16(reader) != value)
		reader->bad = true;
}

int tpm_key_decode(const void *bytes, size_t size, uint32_t *ret_code, uint32_t *ret_handle,
		   struct tpm_key *ret)
{
	struct wire_reader reader;
	struct wire_reader key;
	struct tpm_key point;
	uint32_t handle;
	int rc = tpm_open(bytes, size, TAG_SESSIONS, ret_code, &reader);

	if (rc)
		return rc;
	handle = wire_u32(&reader);
	wire_skip(&reader, 4); /* size of the parameters */
	key = tpm_sized(&reader);
	tpm_expect16(&key, ALG_ECC);
	tpm_expect16(&key, ALG_SHA256);
	if (wire_u32(&key) != KEY_ATTRIBUTES)
		key.bad = true;
	(void)tpm_sized(&key);
	tpm_expect16(&key, ALG_NULL);
	tpm_expect16(&key, ALG_ECDSA);
	tpm_expect16(&key, ALG_SHA256);
	tpm_expect16(&key, CURVE_P256);
	tpm_expect16(&key, ALG_NULL);
	tpm_number(&key, point.x);
	tpm_number(&key, point.y);
	if (reader.bad || key.bad || wire_left(&key) > 0)
		return E_MALFORMED;

	*ret_handle = handle;
	*ret = point;
	return 0;
}

int tpm_quoted_decode(const void *bytes, size_t size, uint32_t *ret_code, struct tpm_quoted *ret)
{
	struct wire_reader reader;
	struct wire_reader attest;
	struct tpm_signature signature;
	int rc = tpm_open(bytes, size, TAG_SESSIONS, ret_code, &reader);

	if (rc)
		return rc;
	wire_skip(&reader, 4); /* size of the parameters */
	attest = tpm_sized(&reader);
	tpm_expect16(&reader, ALG_ECDSA);
	tpm_expect16(&reader, ALG_SHA256);
	tpm_number(&reader, signature.r);
	tpm_number(&reader, signature.s);
	if (reader.bad || attest.bad || wire_left(&attest) > sizeof(ret->attest))
		return E_MALFORMED;

	ret->attest_size = wire_left(&attest);
	wire_copy(&attest, ret->attest, ret->attest_size);
	ret->signature = signature;
	return 0;
}

/* TPML_PCR_SELECTION of the SHA-256 bank alone. */
static uint32_t tpm_registers(struct wire_reader *reader)
{
	uint32_t registers = 0;
	uint8_t size;

	if (wire_u32(reader) != 1)
		reader->bad = true;
	tpm_expect16(reader, ALG_SHA256);
	size = wire_u8(reader);
	if (size > 4)
		reader->bad = true;
	for (unsigned i = 0; i < size && !reader->bad; i++)
		registers |= (uint32_t)wire_u8(reader) << (8 * i);
	return registers;
}

int tpm_registers_decode(const void *bytes, size_t size, uint32_t registers, uint32_t *ret_code,
			 uint8_t ret[][TPM_DIGEST_SIZE])
{
	uint8_t values[TPM_REGISTERS][TPM_DIGEST_SIZE];
	struct wire_reader reader;
	uint32_t count = (uint32_t)__builtin_popcount(registers);
	int rc = tpm_open(bytes, size, TAG_PLAIN, ret_code, &reader);

	if (rc)
		return rc;
	wire_skip(&reader, 4); /* the update counter */
	if (count > TPM_REGISTERS || tpm_registers(&reader) != registers ||
	    wire_u32(&reader) != count)
		return E_MALFORMED;
	for (uint32_t i = 0; i < count; i++) {
		tpm_expect16(&reader, TPM_DIGEST_SIZE);
		wire_copy(&reader, values[i], TPM_DIGEST_SIZE);
	}
	if (reader.bad)
		return E_MALFORMED;

	memcpy(ret, values, (size_t)count * TPM_DIGEST_SIZE);
	return 0;
}

int tpm_attest_decode(const void *bytes, size_t size, struct tpm_quote *ret)
{
	struct tpm_quote quote = {0};
	struct wire_reader reader = wire_reader(bytes, size);

	if (wire_u32(&reader) != MAGIC)
		return E_MALFORMED;
	tpm_expect16(&reader, TAG_QUOTE);
	(void)tpm_sized(&reader); /* the name of the signer: its key is known otherwise */
	tpm_expect16(&reader, TPM_DIGEST_SIZE);
	wire_copy(&reader, quote.nonce, TPM_DIGEST_SIZE);
	wire_skip(&reader, 17 + 8); /* clock, firmware version */
	quote.registers = tpm_registers(&reader);
	tpm_expect16(&reader, TPM_DIGEST_SIZE);
	wire_copy(&reader, quote.digest, TPM_DIGEST_SIZE);
	if (reader.bad || wire_left(&reader) > 0)
		return E_MALFORMED;

	*ret = quote;
	return 0;
}
