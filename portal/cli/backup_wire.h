/* An encrypted backup of the database, and the keys for it: the bytes of their files.
 *
 *     header      206 bytes: who made it, when, of which schema; the key of the stream, sealed
 *     chunks      pg_dump's custom format, 64 KiB each, by crypto_secretstream_xchacha20poly1305
 *     trailer     "HAASEND1" and an Ed25519ph signature of all bytes before it
 *
 * A chunk is 17 bytes longer than its plain text. The last one is shorter than the others and has the
 * tag FINAL. Numbers are big endian. */
#pragma once

#include <sodium.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define BACKUP_FORMAT       1
#define BACKUP_ID_SIZE      8
#define BACKUP_MAKER_SIZE   64 /* in the file; without NUL when it is full */
#define BACKUP_SEALED_SIZE  (crypto_box_SEALBYTES + crypto_secretstream_xchacha20poly1305_KEYBYTES)
#define BACKUP_STREAM_SIZE  crypto_secretstream_xchacha20poly1305_HEADERBYTES
#define BACKUP_HEADER_SIZE  206
#define BACKUP_TRAILER_SIZE (8 + crypto_sign_BYTES)

struct backup_header {
	uint32_t schema; /* the newest change of the schema (db_migration_newest) */
	int64_t made_s;  /* Unix time of the snapshot */
	char maker[BACKUP_MAKER_SIZE + 1];  /* the controller's host name */
	uint8_t seal_id[BACKUP_ID_SIZE];    /* of the key that opens it */
	uint8_t sign_id[BACKUP_ID_SIZE];    /* of the key that signed it */
	uint8_t sealed[BACKUP_SEALED_SIZE]; /* the key of the stream, crypto_box_seal */
	uint8_t stream[BACKUP_STREAM_SIZE]; /* secretstream's own header */
};

void backup_header_encode(const struct backup_header *header, uint8_t ret[BACKUP_HEADER_SIZE]);
/* E_MALFORMED: no backup of ours. E_UNSUPPORTED: ours, in a format of another program. */
MUST_USE int backup_header_decode(const void *data, size_t size, struct backup_header *ret);

void backup_trailer_encode(const uint8_t signature[crypto_sign_BYTES],
			   uint8_t ret[BACKUP_TRAILER_SIZE]);
/* E_MALFORMED: the file does not end here. */
MUST_USE int backup_trailer_decode(const void *data, size_t size, uint8_t ret[crypto_sign_BYTES]);

/* Each file of a pair holds half of two keys. The controller seals and signs; it cannot open what it
 * sealed. Who restores opens and checks; a backup cannot be forged with that half. */
enum backup_key_half { BACKUP_KEY_BACKUP, BACKUP_KEY_RESTORE };

struct backup_key {
	enum backup_key_half half;
	uint8_t seal[crypto_box_PUBLICKEYBYTES]; /* X25519: public, or secret to restore */
	uint8_t sign[crypto_sign_SEEDBYTES];     /* Ed25519: seed, or public to restore */
};
#define BACKUP_KEY_TEXT_SIZE 256 /* room for a key file and NUL */

/* One line: "haas-backup-key-1 backup SEAL SIGN", the keys in hex. */
void backup_key_encode(const struct backup_key *key, char ret[BACKUP_KEY_TEXT_SIZE]);
MUST_USE int backup_key_decode(const char *text, struct backup_key *ret);
