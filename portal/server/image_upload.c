#include "portal/server/image_upload.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/transfer.h"

#define UPLOADS_MAX            32
#define IMAGE_UPLOAD_PATH_SIZE 512
#define READ_SIZE              ((size_t)1 << 20)

/* One image being uploaded. While `busy` the worker owns all but `busy` itself. */
struct upload {
	crypto_generichash_state hash; /* of the first `hashed` bytes */
	struct upload *next;
	struct upload_set *set;
	struct upload_part part;
	int64_t hashed; /* -1 = the state is not valid */
	void *data;     /* the copy of part.data */
	bool busy;
	uint64_t used; /* for whom to forget first */
	upload_done_fn fn;
	void *context;
	int rc;
	bool whole;
};

struct upload_set {
	struct worker *worker;
	char folder[IMAGE_UPLOAD_PATH_SIZE - 128];
	struct upload *uploads;
	size_t count;
	uint64_t turn;
};

/* --- in the worker --- */

static int hash_begin(struct upload *upload)
{
	upload->hashed = -1;
	if (crypto_generichash_init(&upload->hash, NULL, 0, DIGEST_SIZE) != 0)
		return -EINVAL;
	upload->hashed = 0;
	return 0;
}

static void hash_add(struct upload *upload, const void *data, size_t size)
{
	(void)crypto_generichash_update(&upload->hash, data, size);
	upload->hashed += (int64_t)size;
}

/* Hashes the file up to `end`; E_STALE when it ends before. */
static int hash_file(struct upload *upload, int fd, int64_t end)
{
	CLEANUP(freep) char *room = malloc(READ_SIZE);
	int rc = room ? hash_begin(upload) : -ENOMEM;

	while (rc == 0 && upload->hashed < end) {
		int64_t left = end - upload->hashed;
		size_t most = left < (int64_t)READ_SIZE ? (size_t)left : READ_SIZE;
		size_t got = 0;

		rc = read_piece_at(fd, room, most, (uint64_t)upload->hashed, &got);
		if (rc == 0 && got == 0)
			rc = E_STALE;
		if (rc == 0)
			hash_add(upload, room, got);
	}
	if (rc != 0)
		upload->hashed = -1;
	return rc;
}

/* The state can't be used for more after this. */
static bool hash_fits(struct upload *upload)
{
	unsigned char digest[DIGEST_SIZE];
	char text[DIGEST_TEXT_SIZE];

	(void)crypto_generichash_final(&upload->hash, digest, sizeof(digest));
	upload->hashed = -1;
	hex_encode(digest, sizeof(digest), text);
	return strcmp(text, upload->part.digest) == 0;
}

static int sync_folder(const char *folder)
{
	CLEANUP(closep) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) != 0 ? -errno : 0;
}

/* The same content may be here already: from another image, or from before a crash between rename
 * and row. */
static bool already_here(struct upload *upload, const char *final)
{
	struct stat stat;
	CLEANUP(closep) int fd = open(final, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode) ||
	    stat.st_size != upload->part.total)
		return false;
	return hash_file(upload, fd, upload->part.total) == 0 && hash_fits(upload);
}

static int image_upload_finish(struct upload *upload, int fd, const char *partial,
			       const char *final)
{
	int rc = 0;

	if (!hash_fits(upload)) {
		(void)unlink(partial);
		return E_DIGEST;
	}
	if (ftruncate(fd, upload->part.total) != 0 || fchmod(fd, 0640) != 0 || fsync(fd) != 0 ||
	    rename(partial, final) != 0)
		rc = -errno;
	if (rc == 0)
		rc = sync_folder(upload->set->folder);
	upload->whole = rc == 0;
	return rc;
}

static int take_part(struct upload *upload)
{
	const struct upload_part *part = &upload->part;
	char partial[IMAGE_UPLOAD_PATH_SIZE];
	char final[IMAGE_UPLOAD_PATH_SIZE];
	CLEANUP(closep) int fd = -1;
	int rc;

	(void)text_format(partial, sizeof(partial), "%s/.upload-%" PRId64 "-%.16s",
			  upload->set->folder, part->image, part->digest);
	(void)text_format(final, sizeof(final), "%s/%s", upload->set->folder, part->digest);
	if (already_here(upload, final)) {
		(void)unlink(partial);
		upload->whole = true;
		return 0;
	}
	fd = open(partial, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return -errno;
	rc = upload->hashed == part->offset ? 0 : hash_file(upload, fd, part->offset);
	if (rc != 0)
		return rc;
	rc = write_whole_at(fd, upload->data, part->size, (uint64_t)part->offset);
	if (rc == 0 && fsync(fd) != 0)
		rc = -errno;
	if (rc == 0 && part->offset == 0)
		rc = sync_folder(upload->set->folder);
	if (rc != 0) {
		(void)!ftruncate(fd,
				 part->offset); /* gives the room back; the hash has not moved */
		return rc;
	}
	hash_add(upload, upload->data, part->size);
	return part->offset + (int64_t)part->size < part->total
		       ? 0
		       : image_upload_finish(upload, fd, partial, final);
}

static void image_upload_work(void *context)
{
	struct upload *upload = context;

	upload->rc = take_part(upload);
}

/* --- in the loop --- */

static void image_upload_done(void *context)
{
	struct upload *upload = context;
	int64_t received = upload->whole ? upload->part.total
					 : upload->part.offset + (int64_t)upload->part.size;

	free(upload->data);
	upload->data = NULL;
	upload->busy = false;
	upload->fn(upload->context, upload->rc, received, upload->whole);
}

static void image_upload_forget(struct upload_set *set, const struct upload *upload)
{
	for (struct upload **link = &set->uploads; *link; link = &(*link)->next) {
		if (*link == upload) {
			struct upload *gone = *link;

			*link = gone->next;
			set->count--;
			free(gone->data);
			free(gone);
			return;
		}
	}
}

/* Makes room by forgetting the hash state that was used longest ago; it can be made again. */
static void image_upload_make_room(struct upload_set *set)
{
	const struct upload *oldest = NULL;

	if (set->count < UPLOADS_MAX)
		return;
	for (const struct upload *upload = set->uploads; upload; upload = upload->next) {
		if (!upload->busy && (!oldest || upload->used < oldest->used))
			oldest = upload;
	}
	if (oldest)
		image_upload_forget(set, oldest);
}

static int upload_find(struct upload_set *set, int64_t image, struct upload **ret)
{
	struct upload *upload = set->uploads;

	while (upload && upload->part.image != image)
		upload = upload->next;
	if (upload) {
		*ret = upload;
		return upload->busy ? E_CONFLICT : 0;
	}
	image_upload_make_room(set);
	if (set->count >= UPLOADS_MAX)
		return -EAGAIN;
	upload = aligned_alloc(alignof(struct upload),
			       sizeof(*upload)); /* libsodium's state wants 64 */
	if (!upload)
		return -ENOMEM;
	memset(upload, 0, sizeof(*upload));
	upload->set = set;
	upload->hashed = -1;
	upload->next = set->uploads;
	set->uploads = upload;
	set->count++;
	*ret = upload;
	return 0;
}

int upload_set_new(struct worker *worker, const char *folder, struct upload_set **ret)
{
	struct upload_set *set = calloc(1, sizeof(*set));

	if (!set)
		return -ENOMEM;
	set->worker = worker;
	if (!text_copy(set->folder, sizeof(set->folder), folder)) {
		free(set);
		return -ENAMETOOLONG;
	}
	*ret = set;
	return 0;
}

void upload_set_free(struct upload_set *set)
{
	while (set && set->uploads)
		image_upload_forget(set, set->uploads);
	free(set);
}

int upload_add(struct upload_set *set, const struct upload_part *part, upload_done_fn fn,
	       void *context)
{
	struct upload *upload;
	void *copy = malloc(part->size > 0 ? part->size : 1);
	int rc = copy ? upload_find(set, part->image, &upload) : -ENOMEM;

	if (rc != 0) {
		free(copy);
		return rc;
	}
	memcpy(copy, part->data, part->size);
	upload->part = *part;
	upload->part.data = NULL;
	upload->data = copy;
	upload->used = ++set->turn;
	upload->fn = fn;
	upload->context = context;
	upload->whole = false;
	upload->rc = -ECANCELED; /* a worker that stops calls `done` without having worked */
	upload->busy = true;
	rc = worker_submit(set->worker, image_upload_work, image_upload_done, upload);
	if (rc != 0) {
		upload->busy = false;
		upload->data = NULL;
		free(copy);
	}
	return rc;
}
