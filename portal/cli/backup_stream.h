/* Encrypts, signs, checks and decrypts a backup (backup_wire.h) piece by piece: no plain text touches
 * a disk, and memory does not grow with the database. */
#pragma once

#include <sys/types.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "portal/cli/backup_key.h"

#define BACKUP_CHUNK_SIZE 65536

/* Copies `from` to its end into `to`, encrypted and signed. Of the header, schema, time and maker are
 * given; the rest is made here. */
MUST_USE int backup_seal(const struct backup_key *key, const struct backup_header *header, int from,
			 int to, struct problem *problem);

struct backup {
	int fd;
	off_t size;
	const struct backup_key *key;
	struct backup_header header;
	uint8_t head[BACKUP_HEADER_SIZE];
	uint8_t signature[crypto_sign_BYTES];
};

/* Reads header and trailer of a file that stays the caller's, and compares the keys. E_MALFORMED: no
 * backup. E_DIGEST: it was cut off. E_DENIED: made or sealed with another key. E_UNSUPPORTED. */
MUST_USE int backup_open(const char *path, int fd, const struct backup_key *key, struct backup *ret,
			 struct problem *problem);
/* Goes through all of it. With `to` -1 it only checks, also the signature. Call it that way first: then
 * nothing of a damaged or forged backup is ever used. E_DIGEST: damaged, or not of its maker. */
MUST_USE int backup_read(const struct backup *backup, int to, struct problem *problem);
