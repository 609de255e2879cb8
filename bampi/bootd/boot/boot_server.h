/* The HTTP side of booting: scripts, files, images, the agent's routes, callbacks, health. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/loop.h"

#include "bampi/bootd/boot/boot.h"
#include "bampi/bootd/boot/boot_counters.h"
#include "bampi/bootd/boot/mailbox.h"

struct boot_server;

/* Binds the port. options, mailbox and counters are borrowed and must outlive it. */
MUST_USE int boot_server_new(struct loop *loop, const struct boot_options *options,
			     struct mailbox *mailbox, struct boot_counters *counters,
			     struct boot_server **ret, struct problem *problem);
void boot_server_free(struct boot_server *server);
/* See boot_refreshed. */
void boot_server_refreshed(struct boot_server *server, int64_t read_ms);
uint16_t boot_server_port(const struct boot_server *server);
uint16_t boot_server_tls_port(const struct boot_server *server);
