/* What agent and bampid agree on about a quote: its registers, and what it is made out to. */
#pragma once

#include <stdint.h>

#define ATTEST_NONCE_SIZE 32

/* 7: the firmware's keys, and whose signature it accepted; 11: the signed image, section by section
 * (systemd-stub). In the SHA-256 bank. */
#define ATTEST_REGISTERS (1U << 7 | 1U << 11)

/* A quote is for one boot and for one agent: the token of the boot, and the public key that secrets
 * are sealed to ("" = none), in hex. */
void attest_nonce(const char *token, const char *seal, uint8_t ret[ATTEST_NONCE_SIZE]);
