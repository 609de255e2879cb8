/* The driver "cli": switches by their command line over SSH. One engine (cli_change.c, cli_read.c)
 * and one constant row per family (cli_dialect.h). */
#pragma once

#include "peregrine/switch/switch_driver.h"

extern const struct switch_driver cli_switch_driver;

/* As cli_switch_driver.open, on another kind of stream: for tests. */
struct switch_stream_row;
int cli_switch_open_on(const struct switch_stream_row *stream,
		       const struct switch_endpoint *endpoint, const struct switch_family *family,
		       const struct switch_host *host, void **ret_session, struct problem *problem);
