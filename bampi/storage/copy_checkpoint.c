#include "bampi/storage/copy_checkpoint.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "common/base/hex.h"
#include "common/base/text.h"

#include "bampi/storage/volume_file_private.h"

#define SLOT_SIZE  2048
#define STATE_SIZE 512

/* As it lies on disk; only this machine's library reads it again (`library`). */
struct slot {
	char magic[8];
	char library[24]; /* sodium_version_string: the states are its own */
	struct copy_identity identity;
	int64_t sequence, raw_bytes, stored_bytes;
	uint8_t raw[STATE_SIZE], stored[STATE_SIZE];
	uint8_t digest[DIGEST_SIZE]; /* of what is before it */
};

static const char copy_checkpoint_magic[8] = "haascp1";

static void copy_checkpoint_digest_of(const struct slot *slot, uint8_t ret[DIGEST_SIZE])
{
	(void)crypto_generichash(ret, DIGEST_SIZE, (const uint8_t *)slot,
				 offsetof(struct slot, digest), NULL, 0);
}

static bool copy_checkpoint_path_of(const char *part, char *ret, size_t room)
{
	return text_format(ret, room, "%s.checkpoint", part);
}

int copy_checkpoint_init(struct copy_checkpoint *checkpoint, const char *part,
			 const struct copy_identity *identity)
{
	static_assert(sizeof(struct slot) <= SLOT_SIZE, "it fits a slot");
	*checkpoint = (struct copy_checkpoint){.fd = -1, .identity = *identity};
	if (!copy_checkpoint_path_of(part, checkpoint->path, sizeof(checkpoint->path)) ||
	    crypto_generichash_statebytes() > STATE_SIZE)
		return -ENAMETOOLONG;
	checkpoint->fd = open(checkpoint->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return checkpoint->fd < 0 ? -errno : 0;
}

void copy_checkpoint_done(struct copy_checkpoint *checkpoint)
{
	closep(&checkpoint->fd);
	checkpoint->fd = -1;
}

static bool copy_checkpoint_is_ours(const struct copy_checkpoint *checkpoint,
				    const struct slot *slot)
{
	uint8_t digest[DIGEST_SIZE];
	char library[sizeof(slot->library)] = "";

	(void)text_copy(library, sizeof(library), sodium_version_string());
	copy_checkpoint_digest_of(slot, digest);
	return memcmp(slot->digest, digest, sizeof(digest)) == 0 &&
	       memcmp(slot->magic, copy_checkpoint_magic, sizeof(copy_checkpoint_magic)) == 0 &&
	       memcmp(slot->library, library, sizeof(library)) == 0 &&
	       memcmp(&slot->identity, &checkpoint->identity, sizeof(slot->identity)) == 0 &&
	       slot->raw_bytes >= 0 && slot->raw_bytes <= slot->identity.size_bytes &&
	       slot->stored_bytes >= 0;
}

bool copy_checkpoint_load(struct copy_checkpoint *checkpoint, struct copy_point *ret,
			  crypto_generichash_state *raw, crypto_generichash_state *stored)
{
	bool found = false;

	for (int i = 0; i < 2; i++) {
		struct slot slot;

		if (pread(checkpoint->fd, &slot, sizeof(slot), (off_t)i * SLOT_SIZE) !=
			    (ssize_t)sizeof(slot) ||
		    !copy_checkpoint_is_ours(checkpoint, &slot) ||
		    slot.sequence <= checkpoint->sequence)
			continue;
		found = true;
		checkpoint->sequence = slot.sequence;
		ret->raw_bytes = slot.raw_bytes;
		ret->stored_bytes = slot.stored_bytes;
		memcpy(raw, slot.raw, crypto_generichash_statebytes());
		memcpy(stored, slot.stored, crypto_generichash_statebytes());
		sodium_memzero(&slot, sizeof(slot));
	}
	return found;
}

int copy_checkpoint_forget(struct copy_checkpoint *checkpoint)
{
	static const char zeros[2 * SLOT_SIZE] = {0};

	checkpoint->sequence = 0;
	if (pwrite(checkpoint->fd, zeros, sizeof(zeros), 0) != (ssize_t)sizeof(zeros) ||
	    fdatasync(checkpoint->fd) != 0)
		return errno ? -errno : -EIO;
	return 0;
}

int copy_checkpoint_save(struct copy_checkpoint *checkpoint, const struct copy_point *point)
{
	struct slot slot;
	ssize_t wrote;

	memset(&slot, 0, sizeof(slot));
	memcpy(slot.magic, copy_checkpoint_magic, sizeof(copy_checkpoint_magic));
	(void)text_copy(slot.library, sizeof(slot.library), sodium_version_string());
	slot.identity = checkpoint->identity;
	slot.sequence = ++checkpoint->sequence;
	slot.raw_bytes = point->raw_bytes;
	slot.stored_bytes = point->stored_bytes;
	memcpy(slot.raw, point->raw, crypto_generichash_statebytes());
	memcpy(slot.stored, point->stored, crypto_generichash_statebytes());
	copy_checkpoint_digest_of(&slot, slot.digest);
	wrote = pwrite(checkpoint->fd, &slot, sizeof(slot), (off_t)(slot.sequence % 2) * SLOT_SIZE);
	sodium_memzero(&slot, sizeof(slot));
	if (wrote != (ssize_t)sizeof(slot))
		return wrote < 0 ? -errno : -EIO;
	return fdatasync(checkpoint->fd) != 0 ? -errno : 0;
}

int copy_checkpoint_drop(const char *part)
{
	char path[PATH_MAX + 16];

	return copy_checkpoint_path_of(part, path, sizeof(path)) ? volume_scrap(path)
								 : -ENAMETOOLONG;
}
