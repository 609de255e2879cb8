/* How a drive is erased, and when an erase counts as stuck. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bampi/agent/ata_wire.h"
#include "bampi/agent/disk.h"
#include "bampi/agent/nvme_wire.h"

enum erase_method {
	ERASE_SANITIZE_CRYPTO,  /* NVMe Sanitize: the drive throws its key away; the whole subsystem
				 */
	ERASE_SANITIZE_BLOCK,   /* NVMe Sanitize: the drive erases its flash; the whole subsystem */
	ERASE_FORMAT_CRYPTO,    /* NVMe Format, SES 2 */
	ERASE_FORMAT_USER_DATA, /* NVMe Format, SES 1 */
	ERASE_ATA_CRYPTO,       /* ATA SANITIZE DEVICE, CRYPTO SCRAMBLE EXT */
	ERASE_ATA_BLOCK,        /* ATA SANITIZE DEVICE, BLOCK ERASE EXT */
	ERASE_OVERWRITE,        /* zeros over every block */
	ERASE_METHOD_COUNT
};

struct erase_facts {
	enum disk_kind kind;
	bool read_only;
	bool removable;
	bool identified; /* an NVMe controller that answered; then `controller` holds */
	struct nvme_controller controller;
	bool ata_identified; /* an ATA drive that answered; then `ata` holds */
	struct ata_drive ata;
	unsigned siblings; /* NVMe namespaces that the node sees of this controller, this one
			      included */
};

struct erase_plan {
	enum erase_method methods[ERASE_METHOD_COUNT]; /* in order: the next when one fails */
	size_t count;                                  /* 0 = skip */
	char reason[200];                              /* why these, or why it is skipped */
};

/* Never discard: what a drive answers for a trimmed block is its own affair. */
struct erase_plan erase_plan(const struct erase_facts *facts);

/* "nvme_sanitize_crypto", ..., "overwrite" */
const char *erase_method_text(enum erase_method method);
/* The method whose word is `text`; -1 when none. */
int erase_method_value(const char *text);
/* After it the drive may answer with noise instead of zeros. */
bool erase_method_is_crypto(enum erase_method method);
/* For the drive's own time-out of a command that tells no progress. */
uint32_t erase_method_deadline_ms(enum erase_method method);
/* Stuck: no progress for too long, or running longer than this method ever should. */
bool erase_is_stuck(enum erase_method method, int64_t began_ms, int64_t progressed_ms,
		    int64_t now_ms);
