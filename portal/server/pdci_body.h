/* What a body of POST /pdcis may hold, and the request that it is for bampid. No I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/http/json_reader.h"

#include "portal/server/error_list.h"

/* The same limits as bampi/control/alloc. */
#define PDCI_GROUPS_MAX    16
#define PDCI_COUNT_MAX     4096
#define PDCI_NETWORKS_MAX  16
#define PDCI_NICS_MAX      64
#define PDCI_BONDS_MAX     8
#define PDCI_BOND_NICS_MAX 8
#define PDCI_DISKS_MAX     256
#define PDCI_DISK_SIZE_MAX ((int64_t)1 << 60)

/* Says in `errors` what is wrong. `tenant_needed`: nobody else says whose it is. */
void pdci_body_check(json_t *body, bool tenant_needed, struct error_list *errors);
/* pdci.request: the body without what the row has columns for. Caller frees; NULL without memory.
 */
char *pdci_request_text(json_t *body);
/* NIC, network and mode of each element: what PUT /nodes/{node}/networks takes too. `networks`: the
 * names that there are, as members of an object; NULL = any. */
void pdci_nics_check(const json_t *nics, const json_t *networks, const char *pointer,
		     struct error_list *errors);
/* A name that could be mistaken for an id is none. */
void pdci_name_check(const json_t *body, struct error_list *errors);
