/* The agent of a signed image asks for its boot script, as iPXE would: it may have no command line
 * of its own (docs/secure-boot.md). */
#pragma once

#include "common/base/macros.h"
#include "common/io/loop.h"

#include "bampi/agent/options.h"

struct tls;

/* Exit statuses of the agent; ramdisk/init does what they say. */
#define BOOT_SCRIPT_EXIT_OFF  10 /* nothing to start: power off */
#define BOOT_SCRIPT_EXIT_DISK 11 /* the node's own disk: start again */

/* Asks options->script, by `tls` when it is an https: URL, until there is a decision. -1 to go on, with url, token and mac in
 * `options`; else an exit status. */
MUST_USE int boot_script_ask(struct loop *loop, struct options *options, const struct tls *tls);
