/* What a signed image of this site measures into its node's TPM: the *.pcr11 files that
 * `ramdisk/build --secure-boot` writes beside the images. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#define ATTEST_TRUST_MAX  16
#define ATTEST_VALUE_SIZE 32

struct attest_trust {
	uint8_t values[ATTEST_TRUST_MAX][ATTEST_VALUE_SIZE];
	size_t count;
};

/* All *.pcr11 of `folder`. A folder that does not exist holds none. A file that cannot be read is an
 * error that names it. */
MUST_USE int attest_trust_load(const char *folder, struct attest_trust *ret,
			       struct problem *problem);
