/* One image or package, from the boot server of another controller into a folder of ours. It blocks: a worker's thread
 * runs it with a loop of its own, so that no slow disk and no slow peer holds DHCP back.
 *
 *	FOLDER/.copy-DIGEST   on its way; goes on where it was, after a broken connection and after a start
 *	FOLDER/DIGEST         whole, of this digest, and durable */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/hex.h"
#include "common/base/problem.h"
#include "common/http/tls.h"

#define CONTENT_URL_SIZE 32
#define CONTENT_PARTIAL  ".copy-"

struct contents;

struct content_fetch {
	struct contents *contents;  /* whose; for the caller */
	char url[CONTENT_URL_SIZE]; /* "https://10.2.0.2:8443" */
	char digest[DIGEST_TEXT_SIZE];
	uint64_t size;
	const char *folder;
	struct tls *tls;         /* with our certificate: the peer gives it to controllers alone */
	const atomic_bool *stop; /* set: it ends with -ECANCELED */

	/* The answer. E_DIGEST: what came is not this content, and was thrown away. -ENOSPC: nothing was
	 * begun. Else what came is kept. */
	bool ran;
	bool resumed; /* a part was there from before */
	int rc;
	struct problem problem;
};

/* A worker_fn. */
void content_fetch_work(void *context);
