/* A folder of pictures becomes a record file. Files are read, checked and made smaller by several threads, and written in
 * one order: the same folder and options give the same bytes. An interrupted one goes on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

struct convert_options {
	uint32_t page_size; /* 0 = RECORD_PAGE_SIZE */
	unsigned side;      /* larger pictures are made as large; 0: bytes stay as they are */
	int quality;        /* of what is made, 1 .. 100 */
	unsigned threads;   /* 0 = as many as processors */
	/* Files stay in the order of classes. Else they are mixed once, so that the pages of a window hold all classes. */
	bool sorted;
	bool sync_pages; /* RECORD_SYNC_PAGE */
	/* A folder of masks (mask.h): that of the picture a/b.jpg is a/b.png in it. NULL: the folders of the pictures are
	 * their classes. */
	const char *masks;
	uint32_t classes; /* of masks, 1 .. MASK_CLASSES_MAX */
	/* A file that was left out, and why. */
	void (*skipped)(void *context, const char *name, const char *why);
	/* After each file; `bytes`: read so far. */
	void (*progress)(void *context, uint64_t done, uint64_t all, uint64_t bytes);
	void *context;
};

struct convert_result {
	uint64_t files, samples;
	uint64_t skipped; /* those of earlier, interrupted calls too */
	uint64_t others;  /* files beside the pictures */
	uint64_t before;  /* files that earlier calls had consumed */
	uint64_t classes;
};

/* A picture without a whole mask of its own size, or with a class that is none, is left out.
 * -EALREADY: it was complete before. E_CONFLICT: the file is of another folder, or of other options. -errno. */
MUST_USE int convert_folder(const char *folder, const char *path,
			    const struct convert_options *options, struct convert_result *ret,
			    struct problem *problem);
