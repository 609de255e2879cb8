/* The key files of backups. One pair of files for a site: X.backup stays on the controller, X.restore
 * is kept by the operators who restore, away from it. */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "portal/cli/backup_wire.h"

#define BACKUP_KEY_DEFAULT "/etc/haas/backup.key"

/* What a half must know of the other: identities, and what the work needs of the keys. */
struct backup_key_ids {
	uint8_t seal[BACKUP_ID_SIZE];
	uint8_t sign[BACKUP_ID_SIZE];
};

/* Writes `path`.backup and `path`.restore (0600). E_CONFLICT: one is there, and stays. */
MUST_USE int backup_key_make(const char *path, struct problem *problem);
/* Reads one half; backup_key_done() it. E_DENIED: others may read the file, or it is the other half. E_MALFORMED:
 * no key. E_NOT_FOUND. */
MUST_USE int backup_key_load(const char *path, enum backup_key_half half, struct backup_key *ret,
			     struct problem *problem);
void backup_key_done(struct backup_key *key);
/* Both halves of a pair give the same. */
void backup_key_ids(const struct backup_key *key, struct backup_key_ids *ret);
