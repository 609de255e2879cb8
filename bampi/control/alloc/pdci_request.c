#include "bampi/control/alloc/pdci_request.h"

#include <string.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/text.h"

#define COUNT_MAX 4096

/* Left out: nothing is asked. */
static int read_disks(const json_t *disks, size_t index, struct alloc_disks_wanted *ret,
		      struct problem *problem)
{
	struct json_reader reader = json_reader(disks);
	const json_t *rotational = json_object_get(disks, "rotational");

	*ret = (struct alloc_disks_wanted){0};
	if (!disks)
		return 0;
	ret->count = (unsigned)json_get_int(&reader, "count", 1, ALLOC_DISKS_MAX, 1, false);
	ret->min_bytes =
		(uint64_t)json_get_int(&reader, "min_bytes", 1, PDCI_DISK_BYTES_MAX, 0, false);
	if (json_is_boolean(rotational))
		ret->kind = json_is_true(rotational) ? ALLOC_DISK_ROTATING : ALLOC_DISK_FLASH;
	if (problem_is_set(&reader.problem))
		return problem_set(problem, E_INVALID, "group %zu: disks: %s", index + 1,
				   reader.problem.message);
	return 0;
}

static int read_group(const json_t *group, size_t index, struct pdci_request *ret,
		      struct problem *problem)
{
	struct json_reader reader = json_reader(group);
	const char *class = json_get_string(&reader, "class", false);
	const char *image = json_get_string(&reader, "image", true);

	ret->groups[index].place = index;
	ret->groups[index].count = (unsigned)json_get_int(&reader, "count", 1, COUNT_MAX, 0, true);
	if (problem_is_set(&reader.problem))
		return problem_set(problem, E_INVALID, "group %zu: %s", index + 1,
				   reader.problem.message);
	if (!text_copy(ret->groups[index].class, sizeof(ret->groups[index].class),
		       class ? class : "") ||
	    !text_copy(ret->images[index], sizeof(ret->images[index]), image))
		return problem_set(problem, E_INVALID, "group %zu: a name is too long", index + 1);
	return read_disks(json_object_get(group, "disks"), index, &ret->groups[index].disks,
			  problem);
}

static int read_packages(const json_t *packages, struct pdci_request *ret, struct problem *problem)
{
	ret->package_count = json_array_size(packages);
	if (ret->package_count > PDCI_PACKAGES_MAX)
		return problem_set(problem, E_INVALID, "packages: at most %d are possible",
				   PDCI_PACKAGES_MAX);
	for (size_t i = 0; i < ret->package_count; i++) {
		const char *name = json_string_value(json_array_get(packages, i));

		if (!name || !text_copy(ret->packages[i], sizeof(ret->packages[i]), name))
			return problem_set(problem, E_INVALID, "packages: number %zu is not a name",
					   i + 1);
	}
	return 0;
}

int pdci_request_read(const json_t *request, struct pdci_request *ret, struct problem *problem)
{
	const json_t *groups = json_object_get(request, "groups");
	const char *spread = json_string_value(json_object_get(request, "spread"));
	const char *spare = json_string_value(json_object_get(request, "spare"));
	struct pdci_request read = {.group_count = json_array_size(groups)};
	int word = enum_value(alloc_spread_words, ALLOC_SPREAD_COUNT, spread ? spread : "near");

	if (read.group_count == 0 || read.group_count > ALLOC_GROUPS_MAX)
		return problem_set(problem, E_INVALID, "groups: 1 to %d are possible",
				   ALLOC_GROUPS_MAX);
	if (word < 0)
		return problem_set(problem, E_INVALID, "spread: near or rack");
	read.spread = (enum alloc_spread)word;
	read.spare = spare && strcmp(spare, "automatic") == 0;
	for (size_t i = 0; i < read.group_count; i++) {
		int rc = read_group(json_array_get(groups, i), i, &read, problem);

		if (rc)
			return rc;
	}
	if (read_packages(json_object_get(json_object_get(request, "params"), "packages"), &read,
			  problem) != 0)
		return E_INVALID;
	*ret = read;
	return 0;
}
