/* pdci.request: what a tenant asked for, as JSON (docs/architecture.md, PDCI). portald has checked
 * it; here it is read again with the same limits. */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/http/json_reader.h"

#include "bampi/control/alloc/alloc_policy.h"

#define PDCI_IMAGE_SIZE     192
#define PDCI_PACKAGES_MAX   16
#define PDCI_DISK_BYTES_MAX ((int64_t)1 << 60)

struct pdci_request {
	struct alloc_group groups[ALLOC_GROUPS_MAX]; /* `firmwares` is for the caller to fill in */
	char images[ALLOC_GROUPS_MAX][PDCI_IMAGE_SIZE]; /* "NAME" or "NAME:VERSION" */
	size_t group_count;
	char packages[PDCI_PACKAGES_MAX][PDCI_IMAGE_SIZE]; /* "NAME:VERSION" */
	size_t package_count;
	enum alloc_spread spread;
	bool spare; /* a node that fails is replaced without being asked */
};

/* E_INVALID with a problem that names the member. */
MUST_USE int pdci_request_read(const json_t *request, struct pdci_request *ret,
			       struct problem *problem);
