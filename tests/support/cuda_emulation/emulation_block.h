/* The threads of a kernel, one after another on one core: each is a fiber from its first barrier on. */
#pragma once

#include <stddef.h>

enum { EMULATION_THREADS_MAX = 1024, EMULATION_WARP = 32 };

struct emulation_grid {
	unsigned grid[3], block[3];
	size_t shared; /* bytes */
};

void emulation_grid_run(const struct emulation_grid *grid, void (*run)(const void *body),
			const void *body);
