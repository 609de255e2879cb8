/* Device memory, as what runs on the emulated GPU sees it. */
#pragma once

#include <stdbool.h>

/* The host may touch all of it between the two; they nest. */
void emulation_open(void);
void emulation_close(void);
bool emulation_is_device(const void *memory);
