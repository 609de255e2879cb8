/* One peregrine-capture: started with an order, heard line by line, ended by closing its input.
 * What it writes is as untrusted as the packets that it looks at: bounded before it is parsed. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/http/json_reader.h"
#include "common/io/loop.h"

struct capture_process;

struct capture_process_options {
	const char *program, *user;
	const char *order;  /* JSON of the database; "folder" is added */
	const char *folder; /* is made */
	/* Each line that it tells; borrowed. */
	void (*heard)(void *context, json_t *line);
	/* It is over, and says nothing more: it may be freed from inside. */
	void (*over)(void *context);
	void *context;
};

MUST_USE int capture_process_new(struct loop *loop, const struct capture_process_options *options,
				 struct capture_process **ret, struct problem *problem);
/* Tells it to end; `over` comes later. Killed when it has not after a while. */
void capture_process_stop(struct capture_process *process);
/* Kills it when it still runs. NULL is fine. Not from inside `heard`. */
void capture_process_free(struct capture_process *process);
