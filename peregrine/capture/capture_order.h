/* What one capture is to do: told to the process on its standard input by who started it, as one
 * JSON object on one line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/capture/decap_wire.h"
#include "peregrine/capture/scope_policy.h"

enum { CAPTURE_FILTER_MAX = 512, CAPTURE_ORDER_MAX = 65536 };

struct capture_order {
	char interface[16]; /* where the mirrored frames come in */
	enum decap_kind kind;
	uint32_t session;                    /* GRE key, ERSPAN session or VNI to take; 0 = any */
	char filter[CAPTURE_FILTER_MAX + 1]; /* pcap-filter(7), of frames without tunnel and tags */
	struct scope scope;
	uint32_t snap_length; /* bytes of each frame that are kept */
	uint32_t seconds;     /* it ends by itself after that */
	unsigned files;
	uint64_t file_bytes;
	bool wrap;
	char folder[512];
	char comment[256]; /* goes into the file */
};

/* E_MALFORMED, with a problem. */
MUST_USE int capture_order_read(const char *text, size_t size, struct capture_order *ret,
				struct problem *problem);
