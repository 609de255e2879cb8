/* What application a conversation is, by nDPI: bounded in packets per conversation and in memory,
 * since its conversations are the caller's to count. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

struct dpi;
struct dpi_flow;

enum { DPI_NAME_SIZE = 48 };

MUST_USE int dpi_new(struct dpi **ret);
void dpi_free(struct dpi *dpi);

/* One more packet, from its IP header on, of a conversation that begins with *flow NULL; allocated
 * here, ended here once its name is known or will not be. `name` is written whenever
 * something is known: "TLS", "HTTP.Google"; untouched before. `guessed` with it: nothing but a
 * port's number or an address says so. */
void dpi_look(struct dpi *dpi, struct dpi_flow **flow, const void *packet, size_t size,
	      int64_t time_us, char name[DPI_NAME_SIZE], bool *guessed);
/* What its first packets are guessed to be, when it ends or is asked for before nDPI is sure. NULL
 * is fine. */
void dpi_flow_free(struct dpi_flow *flow);
