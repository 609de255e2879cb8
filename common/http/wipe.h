/* Secrets leave no copies: memory that held one is zeroed before it goes back. */
#pragma once

#include <stddef.h>

/* Zeroes memory that we only borrowed (a request's body, a JSON string) and that nobody reads after
 * us. */
void wipe_borrowed(const void *memory, size_t size);
/* From here on jansson zeroes what it frees, its own work buffers included. Once, at start. */
void wipe_json_memory(void);
