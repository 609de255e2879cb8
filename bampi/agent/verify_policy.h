/* What the bytes read back from an erased drive prove. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct verify_facts {
	uint64_t samples;    /* read, first and last MiB included */
	uint64_t nonzero;    /* of them not all zeros */
	uint64_t structured; /* of the non-zero ones: not like noise */
	bool ends_zero;      /* first and last MiB */
	bool crypto;         /* the drive was erased by throwing its key away */
	bool unreadable;
};

/* "verified" or "failed". Zeros always pass. Noise passes only after a crypto erase, and only
 * between zeroed ends. */
const char *verify_verdict(const struct verify_facts *facts);
/* Bytes that do not compress: what a drive gives that has lost its key. */
bool verify_is_noise(const void *data, size_t size);
