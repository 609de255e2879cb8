/* The private key of a daemon in a file of its own: a fixed number of bytes, for its owner only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#define KEY_FILE_SIZE_MAX 64

struct key_file {
	const char *path;
	const char *what;            /* for people: "certificate key" */
	size_t size;                 /* at most KEY_FILE_SIZE_MAX */
	void (*make)(uint8_t ret[]); /* a new key of that size */
	const char *exposed_hint;    /* what to do when others may read it */
};

/* Random bytes of the kernel itself, whatever source libsodium has: a program may have set one for
 * numbers that need no secrecy. Waits until the generator is seeded. */
void key_file_draw(uint8_t ret[], size_t size);
/* Is a file its owner's alone, and is that this process or root? E_DENIED with a problem when not;
 * E_MALFORMED: not a file; -errno, -ENOENT among them. */
MUST_USE int key_file_private(const char *path, const char *what, const char *exposed_hint,
			      struct problem *problem);
/* Reads the key, or makes it where there is none: it appears whole or not at all, and programs that
 * start for the first time at once get the key of one of them. `ret` has room for `size` bytes and
 * holds nothing on an error. E_DENIED: others may read it, or own it; E_MALFORMED: not a file of that size;
 * -errno. */
MUST_USE int key_file_load(const struct key_file *file, uint8_t ret[], struct problem *problem);
