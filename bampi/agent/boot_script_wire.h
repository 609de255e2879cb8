/* The boot script of bampi-bootd, as the agent of a signed image reads it: an image whose command
 * line is fixed takes three words from it and executes nothing. The script is iPXE's
 * (bampi/bootd/boot/script_table.c). */
#pragma once

#include <stddef.h>

#include "common/base/hex.h"
#include "common/base/macros.h"
#include "common/net/mac.h"

#define BOOT_SCRIPT_LIMIT 4096

enum boot_script_target {
	BOOT_SCRIPT_AGENT, /* work: the words are there */
	BOOT_SCRIPT_DISK,  /* the node's own disk */
	BOOT_SCRIPT_STOP,  /* nothing to start: power off */
	BOOT_SCRIPT_WAIT,  /* the server does not know yet, or knows no such node: ask again */
};

struct boot_script {
	enum boot_script_target target;
	char url[64]; /* "http://10.2.0.1:8080"; "" unless BOOT_SCRIPT_AGENT, as the next two */
	char token[TOKEN_TEXT_SIZE];
	char mac[MAC_TEXT_SIZE];
};

/* E_MALFORMED: no script of ours, or one that tells of work without saying where. E_LIMIT. */
MUST_USE int boot_script_decode(const void *bytes, size_t size, struct boot_script *ret);
