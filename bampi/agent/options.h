/* What the agent is told at its start: by the kernel command line on a node, by options in tests.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

struct options {
	char root[256]; /* "" on a node */
	char url[256];
	char token[128];
	char mac[64];
	char script[256]; /* where a signed image asks for the three above; "" = nowhere */
	int64_t silence_ms;
	bool sandbox;
};

/* Where the ramdisk has the certificates of the site's CAs: bampi/agent/ramdisk/build --site-ca. */
#define OPTIONS_SITE_CA "/etc/haas/site-ca.crt"
/* Where a signed image keeps what it was told; below `root`. */
#define OPTIONS_WORDS_PATH "/run/haas/words"

/* haas.url=, haas.token=, haas.mac= of a kernel command line; what is absent stays as it was.
 * E_LIMIT when a value is too long. */
MUST_USE int options_read_cmdline(const char *cmdline, struct options *options);
/* The whole of argv and, for what it leaves open, ROOT/proc/cmdline and OPTIONS_WORDS_PATH. Returns -1 to go on, else an
 * exit status (--help, --version, usage). */
int options_read(int argc, char **argv, struct options *ret);
