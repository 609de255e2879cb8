/* The task write_image: proves who made the image, chooses the disk, streams the image onto it,
 * proves what was written. */
#pragma once

#include "bampi/agent/task.h"

MUST_USE int write_image_run(struct task *task, struct text *data, struct problem *problem);
