#include "trainer_image/record/folder_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "trainer_image/record/record.h"

/* Names of a folder, but for hidden ones, in natural order. The caller frees each and the array. */
static int folder_list_names(int fd, char ***ret, size_t *ret_count)
{
	struct dirent **entries = NULL;
	int count = scandirat(fd, ".", &entries, NULL, versionsort);

	if (count < 0)
		return -errno;
	char **names = calloc((size_t)count + 1, sizeof(*names));
	size_t used = 0;
	int rc = names ? 0 : -ENOMEM;
	for (int i = 0; i < count; i++) {
		if (rc == 0 && entries[i]->d_name[0] != '.') {
			names[used] = strdup(entries[i]->d_name);
			rc = names[used] ? 0 : -ENOMEM;
			used += names[used] != NULL;
		}
		free(entries[i]);
	}
	free(entries);
	*ret = names;
	*ret_count = used;
	return rc;
}

static void folder_list_names_free(char **names, size_t count)
{
	for (size_t i = 0; names && i < count; i++)
		free(names[i]);
	free(names);
}

static bool folder_list_is_picture(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0);
}

/* "CLASS/NAME", and of class "" the name alone. */
static int folder_list_add(struct folder_list *list, const char *class_name, const char *name,
			   uint64_t size)
{
	struct text path = {0};

	if (list->file_count % 1024 == 0) {
		struct folder_file *files =
			realloc(list->files, (list->file_count + 1024) * sizeof(*files));

		if (!files)
			return -ENOMEM;
		list->files = files;
	}
	text_addf(&path, "%s%s%s", class_name, class_name[0] ? "/" : "", name);
	struct folder_file *file = &list->files[list->file_count];
	*file = (struct folder_file){
		.name = text_take(&path), .size = size, .label = (int32_t)list->class_count};
	if (!file->name)
		return -ENOMEM;
	list->file_count++;
	return 0;
}

/* The pictures of one class. */
static int folder_list_class(struct folder_list *list, int fd, const char *class_name)
{
	char **names = NULL;
	size_t count = 0;
	int rc = folder_list_names(fd, &names, &count);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct stat status;

		if (fstatat(fd, names[i], &status, 0) < 0 || !S_ISREG(status.st_mode) ||
		    !folder_list_is_picture(names[i]))
			list->others++;
		else
			rc = folder_list_add(list, class_name, names[i], (uint64_t)status.st_size);
	}
	folder_list_names_free(names, count);
	return rc;
}

static int folder_list_classes(struct folder_list *list, int fd, char *const names[], size_t count)
{
	list->class_name = calloc(count + 1, sizeof(*list->class_name));
	if (!list->class_name)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		size_t before = list->file_count;
		int below = openat(fd, names[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		int rc = 0;

		if (below < 0) {
			list->others++;
			continue;
		}
		if (list->class_count >= RECORD_CLASSES_MAX)
			rc = E_LIMIT;
		if (rc == 0)
			rc = folder_list_class(list, below, names[i]);
		closep(&below);
		if (rc < 0)
			return rc;
		if (list->file_count == before)
			continue; /* no class, but a folder beside them */
		list->class_name[list->class_count] = strdup(names[i]);
		if (!list->class_name[list->class_count++])
			return -ENOMEM;
	}
	return 0;
}

static int folder_list_digest(struct folder_list *list)
{
	XXH64_state_t *state = XXH64_createState();

	if (!state)
		return -ENOMEM;
	XXH64_reset(state, 0);
	for (size_t i = 0; i < list->file_count; i++) {
		const struct folder_file *file = &list->files[i];
		uint8_t size[8];

		for (unsigned k = 0; k < sizeof(size); k++)
			size[k] = (uint8_t)(file->size >> 8 * k);
		XXH64_update(state, file->name, strlen(file->name) + 1);
		XXH64_update(state, size, sizeof(size));
	}
	list->digest = XXH64_digest(state);
	XXH64_freeState(state);
	return 0;
}

int folder_list_read(const char *folder, struct folder_list *ret, struct problem *problem)
{
	struct folder_list list = {0};
	char **names = NULL;
	size_t count = 0;
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 ? -errno : folder_list_names(fd, &names, &count);

	if (rc == 0)
		rc = folder_list_classes(&list, fd, names, count);
	if (rc == 0)
		rc = folder_list_digest(&list);
	folder_list_names_free(names, count);
	closep(&fd);
	if (rc == 0 && list.file_count == 0)
		rc = E_NOT_FOUND;
	if (rc < 0) {
		folder_list_done(&list);
		problem_set(problem, rc, "cannot read %s: %s", folder,
			    rc == E_NOT_FOUND ? "no picture in it" : error_text(rc));
		problem_hint(problem, "a set is a folder with a folder per class: "
				      "DIR/cat/1.jpg, DIR/dog/1.jpg; of text: trainer words");
		return rc;
	}
	*ret = list;
	return 0;
}

/* --- all files of a kind --- */

/* Which files are wanted: `is` NULL = all. */
struct folder_list_kind {
	bool (*is)(const char *name);
	const char *what;
};

static bool folder_list_is_mask(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && strcmp(dot, ".png") == 0;
}

static int folder_list_compare(const FTSENT **a, const FTSENT **b)
{
	return strverscmp((*a)->fts_name, (*b)->fts_name);
}

/* What stands at one entry. A folder that is met again by a link ends there. */
static int folder_list_entry(struct folder_list *list, FTS *walk, FTSENT *entry, size_t root,
			     const struct folder_list_kind *kind)
{
	const char *name = entry->fts_path + root;

	switch (entry->fts_info) {
	case FTS_ERR:
	case FTS_DNR:
	case FTS_NS: return entry->fts_errno ? -entry->fts_errno : -EIO;
	default: break;
	}
	if (entry->fts_level > 0 && entry->fts_name[0] == '.') {
		(void)fts_set(walk, entry, FTS_SKIP);
		return 0;
	}
	if (entry->fts_info != FTS_F)
		return 0;
	if (kind->is && (entry->fts_level == 0 || !kind->is(entry->fts_name))) {
		list->others++;
		return 0;
	}
	while (*name == '/')
		name++;
	return folder_list_add(list, "", name, (uint64_t)entry->fts_statp->st_size);
}

static int folder_list_walk(struct folder_list *list, char *path,
			    const struct folder_list_kind *kind)
{
	char *const paths[] = {path, NULL};
	size_t root = strlen(path);
	FTSENT *entry;
	int rc = 0;
	FTS *walk = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, folder_list_compare);

	if (!walk)
		return -errno;
	errno = 0;
	while (rc == 0 && (entry = fts_read(walk)) != NULL)
		rc = folder_list_entry(list, walk, entry, root, kind);
	if (rc == 0 && errno != 0)
		rc = -errno;
	(void)fts_close(walk);
	return rc;
}

static int folder_list_below(const char *path, const struct folder_list_kind *kind,
			     struct folder_list *ret, struct problem *problem)
{
	struct folder_list list = {0};
	CLEANUP(freep) char *copy = strdup(path);
	int rc = copy ? folder_list_walk(&list, copy, kind) : -ENOMEM;

	if (rc == 0)
		rc = folder_list_digest(&list);
	if (rc == 0 && list.file_count == 0)
		rc = E_NOT_FOUND;
	if (rc < 0) {
		folder_list_done(&list);
		return rc == E_NOT_FOUND ? problem_set(problem, rc, "cannot read %s: no %s in it",
						       path, kind->what)
					 : problem_set(problem, rc, "cannot read %s: %s", path,
						       error_text(rc));
	}
	*ret = list;
	return 0;
}

int folder_list_files(const char *path, struct folder_list *ret, struct problem *problem)
{
	static const struct folder_list_kind kind = {NULL, "file"};

	return folder_list_below(path, &kind, ret, problem);
}

int folder_list_pictures(const char *folder, struct folder_list *ret, struct problem *problem)
{
	static const struct folder_list_kind kind = {folder_list_is_picture, "picture"};

	return folder_list_below(folder, &kind, ret, problem);
}

int folder_list_masks(const char *folder, struct folder_list *ret, struct problem *problem)
{
	static const struct folder_list_kind kind = {folder_list_is_mask, "PNG"};

	return folder_list_below(folder, &kind, ret, problem);
}

void folder_list_done(struct folder_list *list)
{
	for (size_t i = 0; i < list->file_count; i++)
		free(list->files[i].name);
	free(list->files);
	folder_list_names_free(list->class_name, list->class_count);
	*list = (struct folder_list){0};
}
