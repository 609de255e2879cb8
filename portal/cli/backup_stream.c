#include "portal/cli/backup_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"

#define BACKUP_SEALED_CHUNK (BACKUP_CHUNK_SIZE + crypto_secretstream_xchacha20poly1305_ABYTES)

struct backup_stream {
	crypto_secretstream_xchacha20poly1305_state state;
	crypto_sign_state signature;
	uint8_t plain[BACKUP_CHUNK_SIZE];
	uint8_t sealed[BACKUP_SEALED_CHUNK];
};

static void backup_stream_freep(struct backup_stream **stream)
{
	if (*stream)
		sodium_memzero(*stream, sizeof(**stream));
	free(*stream);
}

static int backup_stream_write(int fd, const void *data, size_t size, struct problem *problem)
{
	const uint8_t *at = data;

	while (size > 0) {
		ssize_t written = write(fd, at, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return problem_set(problem, -errno, "cannot write the backup: %s",
					   strerror(errno));
		at += written;
		size -= (size_t)written;
	}
	return 0;
}

/* Reads until the room is full or the end; *ret says how much came. */
static int backup_stream_fill(int fd, uint8_t *room, size_t size, size_t *ret,
			      struct problem *problem)
{
	size_t used = 0;

	while (used < size) {
		ssize_t got = read(fd, room + used, size - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return problem_set(problem, -errno, "cannot read the backup: %s",
					   strerror(errno));
		if (got == 0)
			break;
		used += (size_t)got;
	}
	*ret = used;
	return 0;
}

static int backup_stream_put(struct backup_stream *stream, const void *data, size_t size, int to,
			     struct problem *problem)
{
	crypto_sign_update(&stream->signature, data, size);
	return backup_stream_write(to, data, size, problem);
}

/* Makes the stream's key, seals it for who restores, and writes the header. */
static int backup_stream_begin(struct backup_stream *stream, const struct backup_key *key,
			       const struct backup_header *facts, int to, struct problem *problem)
{
	struct backup_header header = *facts;
	struct backup_key_ids ids;
	uint8_t head[BACKUP_HEADER_SIZE];
	uint8_t secret[crypto_secretstream_xchacha20poly1305_KEYBYTES];

	backup_key_ids(key, &ids);
	memcpy(header.seal_id, ids.seal, sizeof(header.seal_id));
	memcpy(header.sign_id, ids.sign, sizeof(header.sign_id));
	crypto_secretstream_xchacha20poly1305_keygen(secret);
	int rc = crypto_box_seal(header.sealed, secret, sizeof(secret), key->seal);
	if (rc == 0)
		rc = crypto_secretstream_xchacha20poly1305_init_push(&stream->state, header.stream,
								     secret);
	sodium_memzero(secret, sizeof(secret));
	if (rc != 0)
		return problem_set(problem, E_INVALID, "the backup key cannot seal");
	crypto_sign_init(&stream->signature);
	backup_header_encode(&header, head);
	return backup_stream_put(stream, head, sizeof(head), to, problem);
}

static int backup_stream_end(struct backup_stream *stream, const struct backup_key *key, int to,
			     struct problem *problem)
{
	uint8_t public_key[crypto_sign_PUBLICKEYBYTES];
	uint8_t secret[crypto_sign_SECRETKEYBYTES];
	uint8_t signature[crypto_sign_BYTES];
	uint8_t trailer[BACKUP_TRAILER_SIZE];

	crypto_sign_seed_keypair(public_key, secret, key->sign);
	crypto_sign_final_create(&stream->signature, signature, NULL, secret);
	sodium_memzero(secret, sizeof(secret));
	backup_trailer_encode(signature, trailer);
	return backup_stream_write(to, trailer, sizeof(trailer), problem);
}

int backup_seal(const struct backup_key *key, const struct backup_header *header, int from, int to,
		struct problem *problem)
{
	CLEANUP(backup_stream_freep)
	struct backup_stream *stream = calloc(1, sizeof(*stream));
	size_t size = BACKUP_CHUNK_SIZE;

	if (!stream)
		return problem_set(problem, -ENOMEM, "out of memory");
	int rc = backup_stream_begin(stream, key, header, to, problem);
	/* A chunk that is not full is the last one; it may be empty. */
	while (rc == 0 && size == BACKUP_CHUNK_SIZE) {
		unsigned long long sealed = 0;

		rc = backup_stream_fill(from, stream->plain, BACKUP_CHUNK_SIZE, &size, problem);
		if (rc < 0)
			break;
		crypto_secretstream_xchacha20poly1305_push(
			&stream->state, stream->sealed, &sealed, stream->plain, size, NULL, 0,
			size == BACKUP_CHUNK_SIZE
				? crypto_secretstream_xchacha20poly1305_TAG_MESSAGE
				: crypto_secretstream_xchacha20poly1305_TAG_FINAL);
		rc = backup_stream_put(stream, stream->sealed, (size_t)sealed, to, problem);
	}
	return rc == 0 ? backup_stream_end(stream, key, to, problem) : rc;
}

static int backup_stream_truncated(const char *path, struct problem *problem)
{
	(void)problem_set(problem, E_DIGEST, "the backup %s has no end: it was cut off", path);
	problem_hint(problem, "copy it again, or take an older backup");
	return E_DIGEST;
}

static int backup_stream_foreign(const char *path, const struct backup *backup,
				 struct problem *problem)
{
	struct backup_key_ids ids;

	backup_key_ids(backup->key, &ids);
	if (memcmp(ids.seal, backup->header.seal_id, sizeof(ids.seal)) == 0 &&
	    memcmp(ids.sign, backup->header.sign_id, sizeof(ids.sign)) == 0)
		return 0;
	(void)problem_set(problem, E_DENIED, "the backup %s was made with another key", path);
	problem_detail(problem, "its maker calls itself %s", backup->header.maker);
	problem_hint(problem, "give the .restore file of the pair that it was made with");
	return E_DENIED;
}

static int backup_stream_header(const char *path, struct backup *backup, size_t size,
				struct problem *problem)
{
	int rc = backup_header_decode(backup->head, size, &backup->header);

	if (rc == E_UNSUPPORTED) {
		(void)problem_set(problem, rc, "the backup %s has a format of another haasctl",
				  path);
		problem_hint(problem, "install the program version that made it");
	} else if (rc < 0) {
		(void)problem_set(problem, rc, "%s is not an encrypted backup of haasctl", path);
		problem_hint(problem, "a backup of haasctl db backup --plain needs --plain");
	}
	return rc;
}

int backup_open(const char *path, int fd, const struct backup_key *key, struct backup *ret,
		struct problem *problem)
{
	struct backup backup = {.fd = fd, .key = key};
	uint8_t trailer[BACKUP_TRAILER_SIZE];
	struct stat status;

	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return problem_set(problem, E_MALFORMED, "%s is not a file", path);
	backup.size = status.st_size;
	ssize_t got = pread(fd, backup.head, sizeof(backup.head), 0);
	if (got < 0)
		return problem_set(problem, -errno, "cannot read %s: %s", path, strerror(errno));
	int rc = backup_stream_header(path, &backup, (size_t)got, problem);
	if (rc < 0)
		return rc;
	if (backup.size < (off_t)(BACKUP_HEADER_SIZE + BACKUP_TRAILER_SIZE) ||
	    pread(fd, trailer, sizeof(trailer), backup.size - (off_t)sizeof(trailer)) !=
		    (ssize_t)sizeof(trailer) ||
	    backup_trailer_decode(trailer, sizeof(trailer), backup.signature) < 0)
		return backup_stream_truncated(path, problem);
	rc = backup_stream_foreign(path, &backup, problem);
	if (rc == 0)
		*ret = backup;
	return rc;
}

static int backup_stream_damaged(struct problem *problem)
{
	(void)problem_set(problem, E_DIGEST, "the backup is damaged, or was changed");
	problem_hint(problem, "copy it again, or take an older backup");
	return E_DIGEST;
}

static int backup_stream_unseal(struct backup_stream *stream, const struct backup *backup,
				struct problem *problem)
{
	uint8_t public_key[crypto_box_PUBLICKEYBYTES];
	uint8_t secret[crypto_secretstream_xchacha20poly1305_KEYBYTES];

	crypto_scalarmult_base(public_key, backup->key->seal);
	int rc = crypto_box_seal_open(secret, backup->header.sealed, sizeof(backup->header.sealed),
				      public_key, backup->key->seal);
	if (rc == 0)
		rc = crypto_secretstream_xchacha20poly1305_init_pull(&stream->state,
								     backup->header.stream, secret);
	sodium_memzero(secret, sizeof(secret));
	crypto_sign_init(&stream->signature);
	crypto_sign_update(&stream->signature, backup->head, sizeof(backup->head));
	return rc == 0 ? 0 : backup_stream_damaged(problem);
}

/* One chunk; *ret_last with the last one, which is where the trailer begins and nowhere else. */
static int backup_stream_chunk(struct backup_stream *stream, const struct backup *backup, off_t *at,
			       int to, struct problem *problem)
{
	off_t left = backup->size - (off_t)BACKUP_TRAILER_SIZE - *at;
	size_t size = left < (off_t)BACKUP_SEALED_CHUNK ? (size_t)left : BACKUP_SEALED_CHUNK;
	unsigned long long plain = 0;
	unsigned char tag = 0;
	size_t got = 0;

	int rc = backup_stream_fill(backup->fd, stream->sealed, size, &got, problem);
	if (rc < 0)
		return rc;
	if (got != size ||
	    crypto_secretstream_xchacha20poly1305_pull(&stream->state, stream->plain, &plain, &tag,
						       stream->sealed, size, NULL, 0) != 0)
		return backup_stream_damaged(problem);
	*at += (off_t)size;
	if ((tag == crypto_secretstream_xchacha20poly1305_TAG_FINAL) != ((off_t)size == left))
		return backup_stream_damaged(problem);
	crypto_sign_update(&stream->signature, stream->sealed, size);
	return to < 0 ? 0 : backup_stream_write(to, stream->plain, (size_t)plain, problem);
}

int backup_read(const struct backup *backup, int to, struct problem *problem)
{
	CLEANUP(backup_stream_freep)
	struct backup_stream *stream = calloc(1, sizeof(*stream));
	off_t at = BACKUP_HEADER_SIZE;

	if (!stream)
		return problem_set(problem, -ENOMEM, "out of memory");
	if (lseek(backup->fd, at, SEEK_SET) < 0)
		return problem_set(problem, -errno, "cannot read the backup: %s", strerror(errno));
	int rc = backup_stream_unseal(stream, backup, problem);
	do {
		if (rc == 0)
			rc = backup_stream_chunk(stream, backup, &at, to, problem);
	} while (rc == 0 && at < backup->size - (off_t)BACKUP_TRAILER_SIZE);
	if (rc == 0 &&
	    crypto_sign_final_verify(&stream->signature, backup->signature, backup->key->sign) != 0)
		rc = backup_stream_damaged(problem);
	return rc;
}
