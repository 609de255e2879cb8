/* What bodies say of volumes. No I/O. */
#pragma once

#include "common/http/json_reader.h"

#include "portal/server/error_list.h"

#define VOLUME_BYTES_MAX ((int64_t)1 << 50)
#define PDCI_VOLUMES_MAX 64

/* size_bytes of an object: 1 MiB to 1 PiB in whole 4096-byte blocks. Absent is fine. */
void volume_size_check(const json_t *object, const char *pointer, struct error_list *errors);
/* The "volumes" of a body of POST /pdcis. */
void pdci_volumes_check(const json_t *volumes, struct error_list *errors);
