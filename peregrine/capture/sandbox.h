/* What is left to a process that is about to look at strangers' bytes: the descriptors that it
 * holds, memory, time. No file can be opened, no socket made, no program started, no process made
 * or looked at; it ends with its parent. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

/* As `user` when we are another (NULL or "": stay). `file_bytes`: no file may grow past that. After
 * `most_s` the process is killed, whatever it does. Not to be undone. */
MUST_USE int sandbox_enter(const char *user, uint64_t file_bytes, unsigned most_s,
			   struct problem *problem);
