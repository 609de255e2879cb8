/* The few commands of a TPM 2.0 that a quote takes (TCG TPM 2.0 Library, parts 2 and 3): make the
 * attestation key, read registers, quote them; and the quote itself. Big endian. The key is a
 * restricted signing key (ECDSA on P-256), a primary of the endorsement hierarchy from a fixed
 * template: the same chip makes the same key each time, and it signs nothing but what the chip says
 * itself. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define TPM_COMMAND_MAX  128
#define TPM_RESPONSE_MAX 4096
#define TPM_DIGEST_SIZE  32 /* SHA-256, everywhere here */
#define TPM_ATTEST_MAX   512
#define TPM_REGISTERS    24

struct tpm_key { /* a point of P-256 */
	uint8_t x[TPM_DIGEST_SIZE], y[TPM_DIGEST_SIZE];
};

struct tpm_signature {
	uint8_t r[TPM_DIGEST_SIZE], s[TPM_DIGEST_SIZE];
};

struct tpm_quoted {
	uint8_t attest[TPM_ATTEST_MAX]; /* what was signed */
	size_t attest_size;
	struct tpm_signature signature;
};

/* What a quote says. */
struct tpm_quote {
	uint8_t nonce[TPM_DIGEST_SIZE];
	uint32_t registers;              /* bit n = register n, of the SHA-256 bank */
	uint8_t digest[TPM_DIGEST_SIZE]; /* of their values, in order */
};

/* Commands; give their size. */
size_t tpm_key_encode(uint8_t ret[TPM_COMMAND_MAX]);
size_t tpm_quote_encode(uint32_t key, const uint8_t nonce[TPM_DIGEST_SIZE], uint32_t registers,
			uint8_t ret[TPM_COMMAND_MAX]);
size_t tpm_registers_encode(uint32_t registers, uint8_t ret[TPM_COMMAND_MAX]);

/* The chip is busy with itself, a self-test for example: the same command again, a moment later. */
#define TPM_CODE_RETRY 0x922U

/* Responses. E_DENIED: the chip refuses, *ret_code says why; it is 0 otherwise. E_MALFORMED. */
MUST_USE int tpm_key_decode(const void *bytes, size_t size, uint32_t *ret_code,
			    uint32_t *ret_handle, struct tpm_key *ret);
MUST_USE int tpm_quoted_decode(const void *bytes, size_t size, uint32_t *ret_code,
			       struct tpm_quoted *ret);
/* Values of the registers asked for, lowest first. E_MALFORMED also when it tells of others: then
 * the chip has no SHA-256 bank, or more were asked for than it tells at once (8). */
MUST_USE int tpm_registers_decode(const void *bytes, size_t size, uint32_t registers,
				  uint32_t *ret_code, uint8_t ret[][TPM_DIGEST_SIZE]);

/* The code of a response; 0 also when it has none. */
uint32_t tpm_code(const void *bytes, size_t size);

/* The signed part of a quote (TPMS_ATTEST). E_MALFORMED: no quote, or one of another bank. */
MUST_USE int tpm_attest_decode(const void *bytes, size_t size, struct tpm_quote *ret);
