/* The driver "netconf": switches by NETCONF (RFC 6241) over SSH. One engine (netconf_change.c,
 * netconf_read.c) and one constant row per data model (netconf_dialect.h). */
#pragma once

#include "peregrine/switch/switch_driver.h"

extern const struct switch_driver netconf_switch_driver;

/* As netconf_switch_driver.open, on another kind of stream: for tests. */
struct switch_stream_row;
int netconf_switch_open_on(const struct switch_stream_row *stream,
			   const struct switch_endpoint *endpoint,
			   const struct switch_family *family, const struct switch_host *host,
			   void **ret_session, struct problem *problem);
