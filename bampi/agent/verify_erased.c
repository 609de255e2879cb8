#include "bampi/agent/verify_erased.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/io/log.h"
#include "common/io/transfer.h"

#include "bampi/agent/disk.h"
#include "bampi/agent/disk_writer.h"
#include "bampi/agent/erase_policy.h"
#include "bampi/agent/verify_policy.h"

#define VERIFY_ERASED_SUBJECT "verify"
#define SAMPLE_SIZE           ((size_t)4096)
#define SAMPLE_COUNT \
	1024 /* a drive of which one block in a hundred was left alone is found out but for one \
		time in 29000 */
#define END_SIZE ((size_t)1 << 20)

struct verify {
	struct task *task;
	struct text *data;
	uint8_t *buffer; /* END_SIZE, aligned */
	size_t done;
	size_t total;
};

static int verify_erased_read_sample(const struct verify *verify, int fd, uint64_t offset,
				     size_t size, struct verify_facts *facts)
{
	int rc = read_whole_at(fd, verify->buffer, size, offset);

	if (rc)
		return rc;
	facts->samples++;
	if (disk_is_zero(verify->buffer, size))
		return 0;
	facts->nonzero++;
	if (!verify_is_noise(verify->buffer, size))
		facts->structured++;
	return 0;
}

static int read_samples(const struct verify *verify, int fd, const struct disk *disk,
			struct verify_facts *facts)
{
	size_t end = disk->size_bytes < END_SIZE ? (size_t)disk->size_bytes : END_SIZE;
	uint64_t blocks = disk->size_bytes / SAMPLE_SIZE;
	int rc = verify_erased_read_sample(verify, fd, 0, end, facts);

	if (!rc)
		rc = verify_erased_read_sample(verify, fd, disk->size_bytes - end, end, facts);
	facts->ends_zero = !rc && facts->nonzero == 0;
	for (int i = 0; i < SAMPLE_COUNT && blocks > 0 && !rc; i++) {
		uint64_t random;

		if (!task_wanted(verify->task))
			return -ECANCELED;
		randombytes_buf(&random, sizeof(random));
		rc = verify_erased_read_sample(verify, fd, random % blocks * SAMPLE_SIZE,
					       SAMPLE_SIZE, facts);
	}
	return rc;
}

static void verify_erased_write_drive(struct verify *verify, const char *serial,
				      const struct verify_facts *facts, const char *verdict)
{
	json_begin_object(verify->data, NULL);
	json_put_string(verify->data, "serial", serial);
	json_put_int(verify->data, "samples", (int64_t)facts->samples);
	json_put_int(verify->data, "nonzero", (int64_t)facts->nonzero);
	json_put_string(verify->data, "verdict", verdict);
	json_end_object(verify->data);
	verify->done++;
	task_say(verify->task, (int64_t)verify->done, (int64_t)verify->total,
		 "read back %zu of %zu drives", verify->done, verify->total);
}

static int verify_disk(struct verify *verify, const struct disk *disk, const char *serial,
		       bool crypto)
{
	CLEANUP(closep) int fd = -1;
	struct verify_facts facts = {.crypto = crypto};
	struct problem problem = {0};
	const char *verdict;
	bool block;
	int rc = disk_open(verify->task->env, disk, O_DIRECT, &fd, &block, &problem);

	if (!rc)
		rc = read_samples(verify, fd, disk, &facts);
	/* The tail of a file is no multiple of O_DIRECT's unit: through the cache then, which a
	 * file of a test may do. */
	if (rc == -EINVAL && !block && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_DIRECT) == 0) {
		facts = (struct verify_facts){.crypto = crypto};
		rc = read_samples(verify, fd, disk, &facts);
	}
	if (rc == -ECANCELED)
		return rc;
	facts.unreadable = rc != 0;
	verdict = verify_verdict(&facts);
	log_info(VERIFY_ERASED_SUBJECT, "%s: %s (serial=%s samples=%llu nonzero=%llu%s%s)",
		 disk->name, verdict, serial, (unsigned long long)facts.samples,
		 (unsigned long long)facts.nonzero, rc ? " error=" : "", rc ? error_text(rc) : "");
	verify_erased_write_drive(verify, serial, &facts, verdict);
	return 0;
}

static const struct disk *verify_erased_find_disk(const struct disk *disks, size_t count,
						  const char *wanted)
{
	for (size_t i = 0; i < count; i++)
		if (*wanted && strcmp(disks[i].serial, wanted) == 0)
			return &disks[i];
	for (size_t i = 0; i < count; i++)
		if (strcmp(disks[i].name, wanted) == 0)
			return &disks[i];
	return NULL;
}

static int verify_named(struct verify *verify, const json_t *entry, const struct disk *disks,
			size_t count)
{
	const char *wanted =
		json_string_value(json_is_object(entry) ? json_object_get(entry, "serial") : entry);
	const char *method = json_string_value(json_object_get(entry, "method"));
	int value = method ? erase_method_value(method) : -1;
	struct verify_facts none = {0};
	const struct disk *disk;

	if (!wanted)
		return E_MALFORMED;
	disk = verify_erased_find_disk(disks, count, wanted);
	if (disk)
		return verify_disk(verify, disk, wanted,
				   value >= 0 && erase_method_is_crypto((enum erase_method)value));
	log_warn(VERIFY_ERASED_SUBJECT, "no drive has the serial %s any more", wanted);
	verify_erased_write_drive(verify, wanted, &none, "missing");
	return 0;
}

static int verify_drives(struct verify *verify, const json_t *drives, const struct disk *disks,
			 size_t count)
{
	size_t index;
	const json_t *entry;
	int rc = 0;

	if (drives) {
		verify->total = json_array_size(drives);
		json_array_foreach(drives, index, entry)
		{
			rc = verify_named(verify, entry, disks, count);
			if (rc)
				return rc;
		}
		return 0;
	}
	verify->total = count;
	for (size_t i = 0; i < count && !rc; i++)
		if (!disks[i].read_only && !disks[i].removable && !disks[i].usb)
			rc = verify_disk(verify, &disks[i], disks[i].serial, false);
	return rc;
}

int verify_erased_run(struct task *task, struct text *data, struct problem *problem)
{
	CLEANUP(freep) uint8_t *buffer = aligned_alloc(4096, END_SIZE);
	CLEANUP(freep) struct disk *disks = NULL;
	const json_t *drives = json_object_get(task->params, "drives");
	struct verify verify = {.task = task, .data = data, .buffer = buffer};
	size_t count = 0;
	int rc;

	if (!buffer)
		return -ENOMEM;
	if (json_is_null(drives))
		drives = NULL;
	if ((drives && !json_is_array(drives)) || json_array_size(drives) > DISK_LIMIT)
		return problem_set(problem, E_MALFORMED,
				   "drives is not an array of at most %d serials", DISK_LIMIT);
	rc = disk_list(task->env, &disks, &count);
	if (rc)
		return rc;
	json_begin_object(data, NULL);
	json_begin_array(data, "drives");
	rc = verify_drives(&verify, drives, disks, count);
	json_end_array(data);
	json_end_object(data);
	if (rc == E_MALFORMED)
		return problem_set(problem, rc,
				   "an entry of drives is neither a serial nor an object with one");
	return rc;
}
