/* What to do when an image stops coming. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

/* No byte for so long: a new connection. Ten times that, over all connections: the task fails. */
#define DOWNLOAD_SILENCE_MS      INT64_C(30000)
#define DOWNLOAD_PATIENCE_FACTOR 10

struct download_facts {
	int rc;          /* of the exchange; 0 = an answer came */
	int status;      /* of the answer; 0 without one */
	uint64_t offset; /* bytes that we have */
	uint64_t size;   /* bytes that there are */
	bool asked_range;
	int64_t last_byte_ms; /* when the last byte came, or the download began */
	unsigned attempts;    /* failed ones since then */
	int64_t silence_ms;   /* DOWNLOAD_SILENCE_MS; tests are in a hurry */
};

enum download_action { DOWNLOAD_DONE, DOWNLOAD_AGAIN, DOWNLOAD_FAIL };

struct download_verdict {
	enum download_action action;
	int64_t delay_ms;       /* AGAIN */
	struct problem problem; /* FAIL */
};

/* Called when an exchange ended. */
struct download_verdict download_next(const struct download_facts *facts, int64_t now_ms);
