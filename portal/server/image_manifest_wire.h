/* The manifest of an image, as docs/architecture.md has it: is every member there and possible?
 * Unknown members are left alone, they are signed. */
#pragma once

#include <stddef.h>

#include "common/base/macros.h"

#include "portal/server/error_list.h"

#define MANIFEST_LIMIT ((size_t)64 << 10)

/* What is wrong goes into `errors`, with pointers into the manifest. 0, or E_INVALID. */
MUST_USE int image_manifest_check(const char *text, size_t size, struct error_list *errors);
