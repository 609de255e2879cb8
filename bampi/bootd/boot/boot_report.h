/* What an agent posts: progress and results (docs/architecture.md, "What bampi-bootd and a node say
 * to each other"). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hex.h"
#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/net/ipv4.h"

#define BOOT_PROGRESS_LIMIT     ((size_t)4096)      /* bytes of a body */
#define BOOT_RESULT_LIMIT       ((size_t)768 << 10) /* an inventory may be 512 KiB */
#define BOOT_PROGRESS_TEXT_SIZE 160

struct boot_progress {
	int percent; /* 0..100 */
	int64_t done_bytes, total_bytes;
	char text[BOOT_PROGRESS_TEXT_SIZE]; /* UTF-8 without control characters */
};

/* Who says so: the agent whose signature was proven, and from where. */
struct boot_signer {
	char agent[DIGEST_TEXT_SIZE]; /* its public key, hex; "" = it is not signed */
	char address[IPV4_TEXT_SIZE];
};

struct boot_result {
	bool ok;
	bool refused;  /* the agent did not believe that the task is ours; not ok then */
	char *data;    /* JSON object, when ok; owned */
	char *problem; /* JSON {message, detail, hint}, when not ok; owned */
	struct boot_signer signer;
};

/* E_MALFORMED or E_LIMIT with the problem naming the member; -ENOMEM. */
MUST_USE int boot_progress_decode(const char *body, size_t size, struct boot_progress *ret,
				  struct problem *problem);
MUST_USE int boot_result_decode(const char *body, size_t size, struct boot_result *ret,
				struct problem *problem);
/* A failed result with this problem, for a report that cannot be kept. -ENOMEM. */
MUST_USE int boot_result_failed(const struct problem *why, struct boot_result *ret);
void boot_result_done(struct boot_result *result);
