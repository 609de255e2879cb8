#include "common/http/wipe.h"

#include <malloc.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/http/json_reader.h"

void wipe_borrowed(const void *memory, size_t size)
{
	void *own;

	/* Borrowed as const so that nobody changes it by mistake; here it is meant. */
	memcpy(&own, &memory, sizeof(own));
	if (own && size > 0)
		sodium_memzero(own, size);
}

static void wiping_free(void *memory)
{
	if (memory)
		sodium_memzero(memory, malloc_usable_size(memory));
	free(memory);
}

void wipe_json_memory(void)
{
	json_set_alloc_funcs(malloc, wiping_free);
}
