#include "bampi/bmc/redfish_driver.h"

#include "common/base/error.h"

#include "bampi/bmc/redfish_client.h"

static int redfish_driver_open(const struct bmc_endpoint *endpoint, const struct bmc_host *host,
			       void **ret_session, struct problem *problem)
{
	struct redfish_client *client = NULL;
	int rc = redfish_client_new(host->loop, host->fetcher, endpoint, &client, problem);

	if (rc == 0)
		*ret_session = client;
	return rc;
}

static int redfish_driver_start(void *session, const struct bmc_request *request,
				int64_t deadline_ms, bmc_call_fn fn, void *context)
{
	return redfish_client_start(session, request, deadline_ms, fn, context);
}

static bool redfish_driver_cancel(void *session)
{
	redfish_client_cancel(session);
	return true;
}

static void redfish_driver_close(void *session)
{
	redfish_client_free(session);
}

const struct bmc_driver redfish_driver = {
	.name = "redfish",
	.open = redfish_driver_open,
	.start = redfish_driver_start,
	.cancel = redfish_driver_cancel,
	.close = redfish_driver_close,
};
