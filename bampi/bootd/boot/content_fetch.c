#include "bampi/bootd/boot/content_fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/http/client.h"
#include "common/io/loop.h"
#include "common/io/transfer.h"

#define CONTENT_FETCH_PIECE      ((size_t)256 << 10)
#define CONTENT_FETCH_SILENCE_MS 20000
#define CONTENT_FETCH_STOP_MS    200 /* so soon a stop is noticed */
#define CONTENT_FETCH_PATH_SIZE  512

struct content_fetch_run {
	crypto_generichash_state hash; /* of the first `have` bytes */
	struct content_fetch *fetch;
	struct loop *loop;
	struct http_call *call;
	struct loop_timer *timer;
	char partial[CONTENT_FETCH_PATH_SIZE];
	char path[CONTENT_FETCH_PATH_SIZE];
	int fd;
	uint64_t have;
	int rc; /* of the transfer */
};

static bool content_fetch_stops(const struct content_fetch_run *run)
{
	return atomic_load(run->fetch->stop);
}

/* --- what is there from before --- */

static int content_fetch_open(struct content_fetch_run *run)
{
	const struct content_fetch *fetch = run->fetch;
	struct stat status;

	if (!text_format(run->partial, sizeof(run->partial), "%s/" CONTENT_PARTIAL "%s",
			 fetch->folder, fetch->digest) ||
	    !text_format(run->path, sizeof(run->path), "%s/%s", fetch->folder, fetch->digest))
		return -ENAMETOOLONG;
	run->fd = open(run->partial, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (run->fd < 0 || fstat(run->fd, &status) != 0)
		return -errno;
	if ((uint64_t)status.st_size > fetch->size && ftruncate(run->fd, 0) != 0)
		return -errno;
	return 0;
}

static int content_fetch_hash(struct content_fetch_run *run)
{
	CLEANUP(freep) uint8_t *piece = malloc(CONTENT_FETCH_PIECE);

	if (!piece)
		return -ENOMEM;
	(void)crypto_generichash_init(&run->hash, NULL, 0, DIGEST_SIZE);
	while (!content_fetch_stops(run)) {
		size_t got = 0;
		int rc = read_piece_at(run->fd, piece, CONTENT_FETCH_PIECE, run->have, &got);

		if (rc || got == 0)
			return rc;
		(void)crypto_generichash_update(&run->hash, piece, got);
		run->have += got;
	}
	return -ECANCELED;
}

/* A full disk is everybody's trouble: nothing is begun that does not fit. */
static int content_fetch_room(const struct content_fetch_run *run)
{
	struct statvfs room;

	if (fstatvfs(run->fd, &room) != 0)
		return -errno;
	return (uint64_t)room.f_bavail * room.f_frsize < run->fetch->size - run->have ? -ENOSPC : 0;
}

/* --- what comes --- */

static int content_fetch_on_data(void *context, const void *data, size_t size)
{
	struct content_fetch_run *run = context;
	int rc;

	if (content_fetch_stops(run))
		return -ECANCELED;
	if (size > run->fetch->size - run->have)
		return E_LIMIT;
	rc = write_whole_at(run->fd, data, size, run->have);
	if (rc)
		return rc;
	(void)crypto_generichash_update(&run->hash, data, size);
	run->have += size;
	return 0;
}

static void content_fetch_on_done(void *context, int rc, const struct http_response *response,
				  const struct problem *problem)
{
	struct content_fetch_run *run = context;
	struct problem *ret = &run->fetch->problem;

	run->call = NULL;
	if (rc == 0 && response->status / 100 != 2) {
		rc = problem_set(ret, E_NOT_FOUND, "the other controller refuses it");
		problem_detail(ret, "status %d", response->status);
	} else if (rc == 0 && run->have < run->fetch->size) {
		rc = problem_set(ret, E_PROTOCOL, "the answer was short");
	} else if (rc && problem) {
		*ret = *problem;
	}
	run->rc = rc;
	loop_stop(run->loop);
}

static void content_fetch_look(void *context)
{
	struct content_fetch_run *run = context;

	if (content_fetch_stops(run)) {
		run->rc = -ECANCELED;
		loop_stop(run->loop);
		return;
	}
	loop_timer_arm(run->timer, CONTENT_FETCH_STOP_MS);
}

static int content_fetch_call(struct content_fetch_run *run, struct http_client *client)
{
	char target[32 + DIGEST_TEXT_SIZE];
	char range[40];
	const struct http_header ranges = {"Range", range};
	const struct http_call_options options = {
		.method = "GET",
		.target = target,
		.headers = &ranges,
		.header_count = run->have > 0 ? 1 : 0,
		.timeout_ms = CONTENT_FETCH_SILENCE_MS,
		.on_data = content_fetch_on_data,
		.on_done = content_fetch_on_done,
		.context = run,
	};
	int rc;

	(void)text_format(target, sizeof(target), "/boot/image/%s", run->fetch->digest);
	(void)text_format(range, sizeof(range), "bytes=%" PRIu64 "-", run->have);
	rc = http_client_call(client, &options, &run->call);
	if (rc)
		return rc;
	loop_timer_arm(run->timer, CONTENT_FETCH_STOP_MS);
	loop_run(run->loop);
	if (run->call)
		http_call_cancel(run->call);
	return run->rc;
}

static int content_fetch_transfer(struct content_fetch_run *run)
{
	struct http_client *client = NULL;
	int rc = loop_new(&run->loop);

	if (rc == 0)
		rc = loop_timer_new(run->loop, content_fetch_look, run, &run->timer);
	if (rc == 0)
		rc = http_client_new_tls(run->loop, run->fetch->url, run->fetch->tls, &client);
	if (rc == 0)
		rc = content_fetch_call(run, client);
	http_client_free(client);
	loop_timer_free(run->timer);
	loop_free(run->loop);
	return rc;
}

/* --- the whole of it --- */

/* Durable first, then under its name. */
static int content_fetch_publish(struct content_fetch_run *run)
{
	uint8_t bytes[DIGEST_SIZE];
	char digest[DIGEST_TEXT_SIZE];
	CLEANUP(closep) int folder = -1;

	(void)crypto_generichash_final(&run->hash, bytes, sizeof(bytes));
	hex_encode(bytes, sizeof(bytes), digest);
	if (strcmp(digest, run->fetch->digest) != 0) {
		(void)unlink(run->partial);
		return problem_set(&run->fetch->problem, E_DIGEST, "its bytes have another digest");
	}
	if (fdatasync(run->fd) != 0)
		return -errno;
	folder = open(run->fetch->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0 || rename(run->partial, run->path) != 0 || fsync(folder) != 0)
		return -errno;
	return 0;
}

void content_fetch_work(void *context)
{
	struct content_fetch *fetch = context;
	struct content_fetch_run run = {.fetch = fetch, .fd = -1};
	int rc = content_fetch_open(&run);

	fetch->ran = true;
	if (rc == 0)
		rc = content_fetch_hash(&run);
	fetch->resumed = run.have > 0;
	if (rc == 0)
		rc = content_fetch_room(&run);
	if (rc == 0 && run.have < fetch->size)
		rc = content_fetch_transfer(&run);
	if (rc == 0)
		rc = content_fetch_publish(&run);
	if (rc && !problem_is_set(&fetch->problem))
		(void)problem_set(&fetch->problem, rc, "%s", error_text(rc));
	closep(&run.fd);
	fetch->rc = rc;
}
