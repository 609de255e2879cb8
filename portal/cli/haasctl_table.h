/* The commands of haasctl as one set: what main.c parses, and what a test reads. */
#pragma once

#include "portal/cli/haasctl.h"

/* The set without its context. Returns its commands, which the caller frees; NULL: no memory. */
MUST_USE struct command *haasctl_table_new(struct command_set *ret);
