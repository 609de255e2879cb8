/* How far a copy (an archive being made, a volume being restored) is safely on disk. A kill costs
 * what came after, and nothing else. PART.checkpoint has two slots that are written in turn. The
 * digest tells a torn one, and the other holds. It keeps the digests' states, which hold some bytes
 * of the data: it is erased like them. */
#pragma once

#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"

/* What is copied to what; a checkpoint of anything else does not count. */
struct copy_identity {
	int64_t from, to;   /* ids of volume and archive */
	int64_t size_bytes; /* of the data */
	int64_t changed_ns; /* when the volume that is archived was last written; 0 = an archive */
};

struct copy_point {
	int64_t raw_bytes, stored_bytes;
	const crypto_generichash_state *raw, *stored;
};

struct copy_checkpoint {
	char path[4096 + 16];
	int fd; /* -1: not open */
	struct copy_identity identity;
	int64_t sequence;
};

/* Opens or makes it; -errno. */
MUST_USE int copy_checkpoint_init(struct copy_checkpoint *checkpoint, const char *part,
				  const struct copy_identity *identity);
void copy_checkpoint_done(struct copy_checkpoint *checkpoint);
/* The newest of the two slots that is whole and of this identity: sets *ret but for its states,
 * which are copied to `raw` and `stored`. False: there is none. */
bool copy_checkpoint_load(struct copy_checkpoint *checkpoint, struct copy_point *ret,
			  crypto_generichash_state *raw, crypto_generichash_state *stored);
/* What is in it no longer holds: it is begun anew. -errno. */
MUST_USE int copy_checkpoint_forget(struct copy_checkpoint *checkpoint);
/* What it says must be on disk before. -errno. */
MUST_USE int copy_checkpoint_save(struct copy_checkpoint *checkpoint,
				  const struct copy_point *point);
/* Erased and gone; 0 also when there is none. `part` as above. */
MUST_USE int copy_checkpoint_drop(const char *part);
