/* Hexadecimal, digests and random tokens (libsodium). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define DIGEST_SIZE      32 /* BLAKE2b-256 */
#define DIGEST_TEXT_SIZE 65 /* in hex with NUL */
#define TOKEN_TEXT_SIZE  33 /* 128 random bits in hex with NUL */

/* Lower-case hex with NUL; `ret` holds 2 * size + 1 bytes. */
void hex_encode(const void *bytes, size_t size, char *ret);
/* Exactly 2 * size hex digits, nothing after. 0 or E_MALFORMED. */
MUST_USE int hex_decode(const char *text, void *ret, size_t size);
/* 128 random bits in hex. */
void token_new(char ret[TOKEN_TEXT_SIZE]);
/* BLAKE2b-256 of one buffer, as hex. */
void digest_text(const void *bytes, size_t size, char ret[DIGEST_TEXT_SIZE]);
