/* Talks Redfish to one BMC, on the loop. One session per BMC, kept while it is used and always
 * DELETEd: when idle, when closed, when the program ends. One request at a time (and at most the
 * end of an older session beside it). After a 401 the password is tried once, never in a loop:
 * BMCs lock accounts. Passwords are in bodies and headers only. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/http/fetch.h"
#include "common/io/loop.h"

#include "bampi/bmc/bmc_driver.h"

enum { REDFISH_IDLE_MS = 90000 };   /* an unused session is ended after so long */
enum { REDFISH_BASIC_MS = 60000 };  /* no session free: none is asked for before so long */
enum { REDFISH_ROOT_MS = 3600000 }; /* the service root is read again after so long */

struct redfish_client;

/* No I/O. The endpoint is copied. -ENOMEM; -EINVAL with a problem. */
MUST_USE int redfish_client_new(struct loop *loop, struct fetcher *fetcher,
				const struct bmc_endpoint *endpoint, struct redfish_client **ret,
				struct problem *problem);
/* As start(), cancel() and close() of bmc_driver. A call that is cancelled while it logs in leaves
 * the session for the next call. Closing waits for it in the background and ends it. */
MUST_USE int redfish_client_start(struct redfish_client *client, const struct bmc_request *request,
				  int64_t deadline_ms, bmc_call_fn fn, void *context);
void redfish_client_cancel(struct redfish_client *client);
void redfish_client_free(struct redfish_client *client);
