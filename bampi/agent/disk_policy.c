#include "bampi/agent/disk_policy.h"

#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/agent/sysfs.h"

#define DISK_POLICY_MIB (1024.0 * 1024.0)

static const char *disk_policy_why_not(const struct disk *disk, uint64_t size_bytes)
{
	if (disk->read_only)
		return "read-only";
	if (disk->removable)
		return "removable";
	if (disk->usb)
		return "USB";
	if (disk->size_bytes < size_bytes)
		return "too small";
	return NULL;
}

static bool disk_policy_better(const struct disk *a, const struct disk *b)
{
	if (a->size_bytes != b->size_bytes)
		return a->size_bytes < b->size_bytes;
	return sysfs_name_compare(a->name, b->name) < 0;
}

static int choose_auto(const struct disk disks[], size_t count, uint64_t size_bytes,
		       struct disk_choice *ret, struct problem *problem)
{
	CLEANUP(text_done) struct text refused = {0};
	size_t best = count;
	size_t fit = 0;

	for (size_t i = 0; i < count; i++) {
		const char *reason = disk_policy_why_not(&disks[i], size_bytes);

		if (reason) {
			text_addf(&refused, "%s%s %s", refused.size ? ", " : "", disks[i].name,
				  reason);
			continue;
		}
		fit++;
		if (best == count || disk_policy_better(&disks[i], &disks[best]))
			best = i;
	}
	if (best == count) {
		(void)problem_set(problem, E_NOT_FOUND, "no disk can take an image of %.0f MiB",
				  (double)size_bytes / DISK_POLICY_MIB);
		problem_detail(problem, "%zu disks: %s", count,
			       count ? text_get(&refused) : "none was found");
		problem_hint(
			problem,
			"name a disk in the deployment, or check that the node sees its drives and their controller");
		return problem->code;
	}
	ret->index = best;
	(void)text_format(ret->reason, sizeof(ret->reason),
			  "the smallest of %zu disks that fit (of %zu in all)", fit, count);
	return 0;
}

/* Two drives with one serial are two paths to one drive, or a liar: a person has to look. */
static int find_by_serial(const struct disk disks[], size_t count, const char *wanted, size_t *ret,
			  struct problem *problem)
{
	size_t found = count;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(disks[i].serial, wanted) != 0)
			continue;
		if (found < count) {
			(void)problem_set(problem, E_CONFLICT, "two disks have the serial %s",
					  wanted);
			problem_detail(problem, "%s and %s", disks[found].name, disks[i].name);
			problem_hint(problem, "choose the disk by its name");
			return problem->code;
		}
		found = i;
	}
	if (found == count) {
		(void)problem_set(problem, E_NOT_FOUND, "the node has no disk '%s'", wanted);
		problem_hint(problem,
			     "see the node's inventory for the names and serials of its disks");
		return problem->code;
	}
	*ret = found;
	return 0;
}

static int choose_named(const struct disk disks[], size_t count, const char *wanted,
			struct disk_choice *ret, struct problem *problem)
{
	int rc;

	for (size_t i = 0; i < count; i++)
		if (strcmp(disks[i].name, wanted) == 0) {
			*ret = (struct disk_choice){i, "asked for by name"};
			return 0;
		}
	rc = find_by_serial(disks, count, wanted, &ret->index, problem);
	if (!rc)
		(void)text_copy(ret->reason, sizeof(ret->reason), "asked for by serial");
	return rc;
}

int disk_choose(const struct disk disks[], size_t count, const char *wanted, uint64_t size_bytes,
		struct disk_choice *ret, struct problem *problem)
{
	const struct disk *disk;
	int rc;

	if (!*wanted || strcmp(wanted, "auto") == 0)
		return choose_auto(disks, count, size_bytes, ret, problem);
	rc = choose_named(disks, count, wanted, ret, problem);
	if (rc)
		return rc;
	disk = &disks[ret->index];
	if (disk->read_only)
		return problem_set(problem, E_CONFLICT, "disk %s is read-only", disk->name);
	if (disk->size_bytes < size_bytes) {
		(void)problem_set(problem, E_LIMIT, "disk %s is too small for the image",
				  disk->name);
		problem_detail(problem, "disk %.0f MiB, image %.0f MiB",
			       (double)disk->size_bytes / DISK_POLICY_MIB,
			       (double)size_bytes / DISK_POLICY_MIB);
		return problem->code;
	}
	return 0;
}
