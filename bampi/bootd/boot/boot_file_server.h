/* Boot files and images over HTTP, and what their fetch proves about a node. */
#pragma once

#include <stdbool.h>

#include "common/http/server.h"

#include "bampi/bootd/boot/boot.h"
#include "bampi/bootd/boot/boot_counters.h"
#include "bampi/bootd/boot/contents.h"

#define BOOT_ROUTE_FILE  "/boot/file/{name}"
#define BOOT_ROUTE_IMAGE "/boot/image/{digest}"

/* Answers with a file below `folder`, ranges included, or 404; true when there is such a file. */
bool boot_file_send(struct boot_counters *counters, struct http_request *request,
		    const char *folder, const char *name);
/* After the answer: records the fetch of a kernel, ramdisk or image as an observation of its node.
 * Other routes and failed ones are ignored. */
void boot_file_observe(const struct boot_options *options, const struct contents *contents,
		       const struct http_request *request, int status);
