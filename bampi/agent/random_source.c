#include "bampi/agent/random_source.h"

#include <errno.h>
#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/random.h>

static void random_source_fill(void *const bytes, const size_t size)
{
	unsigned char *at = bytes;
	unsigned flags = GRND_INSECURE; /* does not wait; Linux 5.6 and later */
	size_t left = size;

	while (left > 0) {
		ssize_t done = getrandom(at, left, flags);

		if (done >= 0) {
			at += done;
			left -= (size_t)done;
		} else if (errno == EINVAL && flags != 0) {
			flags = 0;
		} else if (errno != EINTR) {
			abort();
		}
	}
}

static uint32_t random_source_draw(void)
{
	uint32_t value;

	random_source_fill(&value, sizeof(value));
	return value;
}

static const char *random_source_name(void)
{
	return "kernel, unwaited";
}

void random_source_set(void)
{
	/* libsodium keeps the address, and wants it writable. */
	static randombytes_implementation source = {.implementation_name = random_source_name,
						    .random = random_source_draw,
						    .buf = random_source_fill};

	(void)randombytes_set_implementation(&source);
	/* 0 would mean: take it from the kernel, and wait. */
	json_object_seed(random_source_draw() | 1U);
}
