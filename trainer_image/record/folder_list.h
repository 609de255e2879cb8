/* Files of a folder in the order in which people count, x1, x2, x10: pictures DIR/CLASS/NAME.jpg with their classes, or all
 * files, pictures or masks below it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

struct folder_file {
	char *name; /* "CLASS/NAME.jpg", below the folder */
	uint64_t size;
	int32_t label;
};

struct folder_list {
	char **class_name;
	size_t class_count;
	struct folder_file *files; /* by class, then by name */
	size_t file_count;
	uint64_t others; /* files that are no .jpg, .jpeg */
	uint64_t digest; /* xxh64 of classes, names and sizes */
};

/* E_NOT_FOUND: no class with a picture in it. -errno. Folders below a class are not looked into. */
MUST_USE int folder_list_read(const char *folder, struct folder_list *ret, struct problem *problem);
/* All plain files of a folder and of those in it, without classes; hidden ones are left out. Of a file: itself, by the name
 * "". E_NOT_FOUND: no file in it. -errno. */
MUST_USE int folder_list_files(const char *path, struct folder_list *ret, struct problem *problem);
/* All pictures of a folder and of those in it, without classes; hidden ones are left out. E_NOT_FOUND: no picture. -errno. */
MUST_USE int folder_list_pictures(const char *folder, struct folder_list *ret,
				  struct problem *problem);
/* The same of files NAME.png. */
MUST_USE int folder_list_masks(const char *folder, struct folder_list *ret,
			       struct problem *problem);
void folder_list_done(struct folder_list *list);
