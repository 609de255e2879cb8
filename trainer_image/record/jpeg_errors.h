/* How libjpeg tells of errors and warnings: it leaves by longjmp, and what it says becomes a problem. For jpeg.c
 * and jpeg_shrink.c alone. */
#pragma once

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#include <stdio.h> /* jpeglib.h wants its FILE */
#include <jpeglib.h>
#include <jerror.h>
/* clang-format on */

#include "common/base/problem.h"

struct jpeg_errors {
	struct jpeg_error_mgr library;
	jmp_buf jump;            /* where an error goes on */
	struct problem *problem; /* of the call that runs */
	uint64_t warnings;
	bool whole; /* as struct jpeg_limits has it */
};

/* For `err` of the library's object, whose client_data has to be `errors`. */
struct jpeg_error_mgr *jpeg_errors_init(struct jpeg_errors *errors);
