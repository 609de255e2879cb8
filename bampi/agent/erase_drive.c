#include "bampi/agent/erase_drive.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"
#include "common/io/transfer.h"

#include "bampi/agent/ata.h"
#include "bampi/agent/ata_hidden.h"
#include "bampi/agent/disk_writer.h"
#include "bampi/agent/nvme.h"

#define PIECE_SIZE       ((uint64_t)16 << 20) /* one BLKZEROOUT; a slow disk does it in a second */
#define WRITE_SIZE       ((size_t)1 << 20)
#define SANITIZE_POLL_US (500 * 1000)
#define SANITIZE_WHOLE   65536U
#define GROW_POLL_US     (100 * 1000)
#define GROW_POLLS       100 /* the kernel resets the drive's link before it asks for the size */

static const char *const verdict_words[] = {
	[ERASE_VERDICT_PENDING] = "pending",
	[ERASE_VERDICT_ERASED] = "erased",
	[ERASE_VERDICT_FAILED] = "failed",
	[ERASE_VERDICT_SKIPPED] = "skipped",
};

/* One namespace while a method works on it. */
struct erasing {
	struct erase_job *job;
	size_t index;
	int fd;
	bool block;
	uint64_t size_bytes;
	unsigned status;  /* NVMe status of a refused command */
	uint64_t at_byte; /* where an overwrite failed */
};

const char *erase_verdict_text(enum erase_verdict verdict)
{
	return enum_text(verdict_words, COUNT_OF(verdict_words), (int)verdict);
}

const char *erase_controller_name(const char *disk, char ret[64])
{
	size_t digits;

	ret[0] = '\0';
	if (strncmp(disk, "nvme", 4) != 0)
		return ret;
	digits = strspn(disk + 4, "0123456789");
	if (digits == 0 || disk[4 + digits] != 'n')
		return ret;
	(void)text_copy(ret, 64, disk);
	ret[4 + digits] = '\0';
	return ret;
}

static void erase_drive_beat(struct erase_job *job)
{
	atomic_fetch_add(&job->heartbeat, 1);
}

static int erase_drive_write_zeros(struct erasing *erasing, const void *zeros, uint64_t offset,
				   uint64_t size)
{
	while (size > 0) {
		size_t piece = size < WRITE_SIZE ? (size_t)size : WRITE_SIZE;
		int rc = write_whole_at(erasing->fd, zeros, piece, offset);

		/* The tail of a file is no multiple of O_DIRECT's unit. */
		if (rc == -EINVAL &&
		    fcntl(erasing->fd, F_SETFL, fcntl(erasing->fd, F_GETFL) & ~O_DIRECT) == 0)
			rc = write_whole_at(erasing->fd, zeros, piece, offset);
		erasing->at_byte = offset;
		if (rc)
			return rc;
		erase_drive_beat(erasing->job);
		offset += piece;
		size -= piece;
	}
	return 0;
}

/* The kernel's zero-out keeps the blocks allocated (BLKDEV_ZERO_NOUNMAP): the drive has to store
 * zeros, not to forget addresses. */
static int overwrite_range(struct erasing *erasing, uint64_t from, uint64_t to, bool counted)
{
	CLEANUP(freep) void *zeros = aligned_alloc(4096, WRITE_SIZE);
	bool zero_range = true;

	if (!zeros)
		return -ENOMEM;
	memset(zeros, 0, WRITE_SIZE);
	while (from < to) {
		uint64_t piece = to - from < PIECE_SIZE ? to - from : PIECE_SIZE;
		int rc = 0;

		if (atomic_load(&erasing->job->give_up))
			return -ECANCELED;
		erasing->at_byte = from;
		zero_range = zero_range &&
			     disk_zero_range(erasing->fd, erasing->block, from, piece) == 0;
		if (!zero_range)
			rc = erase_drive_write_zeros(erasing, zeros, from, piece);
		if (rc)
			return rc;
		from += piece;
		erase_drive_beat(erasing->job);
		if (counted)
			atomic_fetch_add(&erasing->job->done_bytes, piece);
	}
	return fdatasync(erasing->fd) < 0 ? -errno : 0;
}

static int run_overwrite(struct erasing *erasing, enum erase_method method)
{
	(void)method;
	return overwrite_range(erasing, 0, erasing->size_bytes, true);
}

/* What is noise after a crypto erase must not be taken for a partition table by chance, nor be it.
 */
static int wipe_ends(struct erasing *erasing)
{
	uint64_t size = erasing->size_bytes;
	uint64_t end = size < WRITE_SIZE ? size : WRITE_SIZE;
	int rc = overwrite_range(erasing, 0, end, false);

	return rc ? rc : overwrite_range(erasing, size - end, size, false);
}

/* The drive has come further: the watchdog hears of it. */
static void erase_drive_sanitized(struct erase_job *job, unsigned *progress, unsigned now)
{
	if (now == *progress)
		return;
	*progress = now;
	erase_drive_beat(job);
	atomic_store(&job->done_bytes, (uint64_t)((double)job->total_bytes * now / SANITIZE_WHOLE));
}

static int run_sanitize(struct erasing *erasing, enum erase_method method)
{
	struct erase_job *job = erasing->job;
	enum nvme_sanitize_action action =
		method == ERASE_SANITIZE_CRYPTO ? NVME_SANITIZE_CRYPTO : NVME_SANITIZE_BLOCK;
	unsigned progress = 0;
	int rc = nvme_sanitize(erasing->fd, action, &erasing->status);

	while (!rc) {
		struct nvme_sanitize_status status;

		usleep(SANITIZE_POLL_US);
		if (atomic_load(&job->give_up))
			return -ECANCELED;
		/* Some drives refuse even the log while they are busy: the watchdog decides how
		 * long that may last. */
		if (nvme_sanitize_poll(erasing->fd, &status))
			continue;
		if (status.state == NVME_SANITIZE_FAILED)
			return -EIO;
		if (status.state == NVME_SANITIZE_DONE || status.state == NVME_SANITIZE_DONE_KEPT)
			break;
		erase_drive_sanitized(job, &progress, status.progress);
	}
	return rc;
}

static int run_ata(struct erasing *erasing, enum erase_method method)
{
	struct erase_job *job = erasing->job;
	enum ata_sanitize_action action =
		method == ERASE_ATA_CRYPTO ? ATA_SANITIZE_CRYPTO : ATA_SANITIZE_BLOCK;
	struct ata_sanitize_status status = {0};
	unsigned progress = 0;
	int rc = ata_sanitize(erasing->fd, action, &status);

	while (!rc) {
		usleep(SANITIZE_POLL_US);
		if (atomic_load(&job->give_up))
			return -ECANCELED;
		rc = ata_sanitize(erasing->fd, ATA_SANITIZE_STATUS, &status);
		if (rc || !status.running)
			break;
		erase_drive_sanitized(job, &progress, status.progress);
	}
	return rc ? rc : status.done ? 0 : -EIO;
}

static int run_format(struct erasing *erasing, enum erase_method method)
{
	enum nvme_format_erase erase =
		method == ERASE_FORMAT_CRYPTO ? NVME_FORMAT_CRYPTO : NVME_FORMAT_USER_DATA;

	return nvme_format(erasing->fd, erase, erase_method_deadline_ms(method), &erasing->status);
}

static const struct {
	int (*run)(struct erasing *erasing, enum erase_method method);
	bool whole_controller;
} erase_drive_ways[] = {
	[ERASE_SANITIZE_CRYPTO] = {run_sanitize, true},
	[ERASE_SANITIZE_BLOCK] = {run_sanitize, true},
	[ERASE_FORMAT_CRYPTO] = {run_format, false},
	[ERASE_FORMAT_USER_DATA] = {run_format, false},
	[ERASE_ATA_CRYPTO] = {run_ata, false},
	[ERASE_ATA_BLOCK] = {run_ata, false},
	[ERASE_OVERWRITE] = {run_overwrite, false},
};
static_assert(COUNT_OF(erase_drive_ways) == ERASE_METHOD_COUNT, "a way per method");

static void erase_drive_begin(struct erase_job *job, enum erase_method method)
{
	atomic_store(&job->method, (int)method);
	atomic_fetch_add(&job->method_runs, 1);
}

static void add_reason(struct erase_result *result, const char *format, ...) PRINTF_LIKE(2, 3);

static void add_reason(struct erase_result *result, const char *format, ...)
{
	size_t used = strlen(result->reason);
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(result->reason + used, sizeof(result->reason) - used, format, arguments);
	va_end(arguments);
}

static void erase_drive_note_failure(const struct erasing *erasing, enum erase_method method,
				     int rc, struct erase_result *result)
{
	const char *text = erase_method_text(method);

	if (rc == -ECANCELED)
		add_reason(result, "; %s was stopped", text);
	else if (rc == E_UNSUPPORTED)
		add_reason(result, "; %s was refused (status 0x%x)", text, erasing->status);
	else if (method == ERASE_OVERWRITE)
		add_reason(result, "; %s failed at byte %llu: %s", text,
			   (unsigned long long)erasing->at_byte, error_text(rc));
	else
		add_reason(result, "; %s failed: %s", text, error_text(rc));
}

/* A sanitize of one namespace was one of all: its siblings take over its result, their ends are
 * wiped each. */
static void erase_drive_share(struct erase_job *job, const struct erase_result *lead)
{
	for (size_t i = 0; i < job->count; i++) {
		struct erase_result *result = &job->results[i];
		struct erasing erasing = {
			.job = job, .index = i, .fd = -1, .size_bytes = job->disks[i].size_bytes};
		struct problem problem = {0};
		int rc;

		if (result->verdict != ERASE_VERDICT_PENDING)
			continue;
		*result = *lead;
		result->size_bytes = erasing.size_bytes;
		add_reason(result, "; together with the other namespaces of its controller");
		rc = disk_open(job->env, &job->disks[i], O_DIRECT, &erasing.fd, &erasing.block,
			       &problem);
		if (!rc)
			rc = wipe_ends(&erasing);
		if (erasing.fd >= 0)
			close(erasing.fd);
		if (rc) {
			result->verdict = ERASE_VERDICT_FAILED;
			add_reason(result, "; its first and last MiB could not be wiped: %s",
				   error_text(rc));
		}
	}
}

static int try_method(struct erasing *erasing, enum erase_method method,
		      struct erase_result *result)
{
	uint64_t done_before = atomic_load(&erasing->job->done_bytes);
	int rc;

	erase_drive_begin(erasing->job, method);
	result->method = method;
	result->tried = true;
	rc = erase_drive_ways[method].run(erasing, method);
	if (!rc && method != ERASE_OVERWRITE)
		rc = wipe_ends(erasing);
	if (rc) {
		erase_drive_note_failure(erasing, method, rc, result);
		atomic_store(&erasing->job->done_bytes, done_before);
	}
	return rc;
}

/* Until the kernel shows what the drive does. */
static int erase_drive_grow(struct erasing *erasing, uint64_t wanted_bytes, struct problem *problem)
{
	const struct disk *disk = &erasing->job->disks[erasing->index];
	int rc = ata_refresh(erasing->fd);

	for (int i = 0; i < GROW_POLLS && !rc; i++) {
		disk_rescan(erasing->job->env, disk);
		rc = disk_size(erasing->fd, erasing->block, &erasing->size_bytes);
		if (!rc && erasing->size_bytes >= wanted_bytes)
			return 0;
		usleep(GROW_POLL_US);
	}
	return problem_set(
		problem, E_CONFLICT,
		"the drive has shown its hidden area and the kernel does not see it; switch the node's power off and on");
}

/* An overwrite, and the reading back, reach what the kernel can address. */
static int erase_drive_unhide(struct erasing *erasing, const struct ata_drive *drive,
			      struct ata_hidden *hidden, struct problem *problem)
{
	uint32_t sector_bytes = erasing->job->disks[erasing->index].sector_bytes;
	int rc = ata_unhide(erasing->fd, drive, hidden, problem);

	if (rc || hidden->opened == 0)
		return rc;
	return erase_drive_grow(erasing, hidden->sectors * sector_bytes, problem);
}

/* Learns what the drive can do. */
static int erase_drive_ask(struct erasing *erasing, struct erase_facts *facts,
			   struct ata_hidden *hidden, struct problem *problem)
{
	const struct disk *disk = &erasing->job->disks[erasing->index];
	int rc = disk_open(erasing->job->env, disk, O_DIRECT, &erasing->fd, &erasing->block,
			   problem);

	if (!rc && disk->kind == DISK_NVME)
		facts->identified = nvme_identify(erasing->fd, &facts->controller) == 0;
	if (!rc && disk->kind == DISK_ATA)
		facts->ata_identified = ata_identify(erasing->fd, &facts->ata) == 0;
	if (!rc && facts->ata_identified)
		rc = erase_drive_unhide(erasing, &facts->ata, hidden, problem);
	return rc;
}

static void erase_drive_note_hidden(const struct ata_hidden *hidden, struct erase_result *result)
{
	if (hidden->opened > 0)
		add_reason(result, "; %llu hidden sectors were opened",
			   (unsigned long long)hidden->opened);
	if (hidden->unknown)
		add_reason(result, "; the drive does not tell whether it hides sectors");
}

static void erase_disk(struct erase_job *job, size_t index)
{
	const struct disk *disk = &job->disks[index];
	struct erase_result *result = &job->results[index];
	struct erasing erasing = {
		.job = job, .index = index, .fd = -1, .size_bytes = disk->size_bytes};
	struct erase_facts facts = {
		.kind = disk->kind,
		.read_only = disk->read_only,
		.removable = disk->removable || disk->usb,
		.siblings = (unsigned)job->count,
	};
	struct ata_hidden hidden = {0};
	struct problem problem = {0};
	struct erase_plan plan;
	bool skip = facts.read_only || facts.removable;
	int rc = skip ? 0 : erase_drive_ask(&erasing, &facts, &hidden, &problem);

	plan = erase_plan(&facts);
	(void)text_copy(result->reason, sizeof(result->reason), rc ? problem.message : plan.reason);
	erase_drive_note_hidden(&hidden, result);
	result->size_bytes = erasing.size_bytes;
	result->verdict = rc ? ERASE_VERDICT_FAILED : ERASE_VERDICT_SKIPPED;
	for (size_t i = 0; i < plan.count && !rc; i++) {
		int tried = try_method(&erasing, plan.methods[i], result);

		result->verdict = tried ? ERASE_VERDICT_FAILED : ERASE_VERDICT_ERASED;
		if (!tried || tried == -ECANCELED)
			break;
	}
	if (erasing.fd >= 0)
		close(erasing.fd);
	if (result->verdict == ERASE_VERDICT_ERASED &&
	    erase_drive_ways[result->method].whole_controller)
		erase_drive_share(job, result);
}

void erase_job_run(struct erase_job *job)
{
	for (size_t i = 0; i < job->count; i++) {
		int64_t began_ms = clock_monotonic_ms();

		if (job->results[i].verdict != ERASE_VERDICT_PENDING)
			continue;
		erase_disk(job, i);
		job->results[i].seconds = (double)(clock_monotonic_ms() - began_ms) / 1000.0;
	}
	atomic_store(&job->method, -1);
}
