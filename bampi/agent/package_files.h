/* Packages in an OS that is being installed: what is asked for, and the files that make the OS
 * install them when it starts. The agent only puts them there; nothing of them runs before the node
 * is in its tenant's networks (docs/decision: no-tenant-code-in-provisioning.md, packages-at-first-boot.md). Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/hex.h"
#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/base/text.h"
#include "common/http/json_reader.h"

#define PACKAGE_LIMIT     16
#define PACKAGE_DIR       "/var/lib/haas/packages"
#define PACKAGE_FILE_SIZE 160

enum package_kind {
	PACKAGE_DEB,    /* put as it is; dpkg installs it */
	PACKAGE_BUNDLE, /* tar, packed with zstd; put unpacked from zstd; the OS unpacks it in / */
	PACKAGE_KIND_COUNT
};

struct package_file {
	const char *name, *version, *url; /* borrowed from the params */
	enum package_kind kind;
	uint8_t digest[DIGEST_SIZE]; /* of what is fetched */
	uint64_t size_bytes;
	char file[PACKAGE_FILE_SIZE]; /* "cuda_12.4.deb", "tools_1.tar" */
};

struct package_list {
	struct package_file packages[PACKAGE_LIMIT];
	size_t count;
	uint64_t size_bytes; /* of all */
	const char *disk;
	uint32_t root_partition;
};

/* The params of put_packages. E_MALFORMED, E_LIMIT with a problem that names the member. */
MUST_USE int package_list_read(const json_t *params, struct package_list *ret,
			       struct problem *problem);

/* "KIND FILE" a line, in the order that they are installed in. */
void package_list_text(const struct package_list *list, struct text *ret);
/* The program that installs what the list names, and the systemd unit that starts it at boot. */
extern const char package_installer_text[];
extern const char package_unit_text[];
