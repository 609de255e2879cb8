/* The HTTP side of booting: scripts, files, images, the agent's routes, callbacks, health. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/loop.h"

#include "bampi/bootd/boot/boot.h"
#include "bampi/bootd/boot/boot_counters.h"
#include "bampi/bootd/boot/contents.h"
#include "bampi/bootd/boot/mailbox.h"

struct boot_server;

/* All are borrowed and must outlive the server. */
struct boot_server_options {
	const struct boot_options *boot;
	struct mailbox *mailbox;
	struct contents *contents;
	struct boot_counters *counters;
};

/* Binds the port. */
MUST_USE int boot_server_new(struct loop *loop, const struct boot_server_options *options,
			     struct boot_server **ret, struct problem *problem);
void boot_server_free(struct boot_server *server);
/* See boot_refreshed. */
void boot_server_refreshed(struct boot_server *server, int64_t read_ms);
uint16_t boot_server_port(const struct boot_server *server);
uint16_t boot_server_tls_port(const struct boot_server *server);
