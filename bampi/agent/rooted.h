/* Files inside another system's root. Its owner made every link in there. So no path is followed
 * out of it (openat2(2), RESOLVE_IN_ROOT), and a file is replaced, never written through. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/base/macros.h"

/* Makes a folder and those above it, root-owned; those that exist stay as they are. */
MUST_USE int rooted_make_folder(int root_fd, const char *path, mode_t mode);
/* Writes a sibling and renames it over `path`: whatever was there, link or file, is replaced. The
 * folder must exist. */
MUST_USE int rooted_write(int root_fd, const char *path, const void *data, size_t size,
			  mode_t mode);
/* The same for what does not fit in memory: create opens the sibling for writing, publish puts it
 * on disk and in place, discard gives it up. */
MUST_USE int rooted_create(int root_fd, const char *path, int *ret_fd);
MUST_USE int rooted_append(int fd, const void *data, size_t size);
MUST_USE int rooted_publish(int root_fd, const char *path, int fd, mode_t mode);
void rooted_discard(int root_fd, const char *path);
/* A symbolic link in place of whatever was there. */
MUST_USE int rooted_link(int root_fd, const char *path, const char *target);
bool rooted_exists(int root_fd, const char *path);
