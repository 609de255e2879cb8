/* The boot side of bampi-relay: what bampi-bootd serves by HTTP and TFTP, served from a cache where
 * that is the same, else passed to the controller. boot_cache_new binds the ports, so it is called
 * with privileges; boot_cache_open opens the folder, after they are dropped. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/http/metrics.h"
#include "common/http/tls.h"
#include "common/io/loop.h"

struct boot_cache;

struct boot_cache_options {
	const char *controller;           /* "http://10.0.0.1:8080", "https://10.0.0.1:8443" */
	const struct tls *served, *asked; /* as server, as client; borrowed; NULL = no HTTPS */
	uint16_t https_port;
	bool https_only;       /* with it scripts too come by HTTPS alone */
	uint32_t http_address; /* 0 = any */
	uint16_t http_port;
	bool tftp;
	const char *folder;      /* absolute */
	uint64_t limit;          /* bytes */
	const char *const *keep; /* names of files to have ready, NULL-ended; borrowed */
};

MUST_USE int boot_cache_new(struct loop *loop, const struct boot_cache_options *options,
			    struct boot_cache **ret, struct problem *problem);
MUST_USE int boot_cache_open(struct boot_cache *boot, struct problem *problem);
void boot_cache_free(struct boot_cache *boot);

const struct metric_row *boot_cache_metric_rows(size_t *ret_count);
const void *boot_cache_metric_values(struct boot_cache *boot);
