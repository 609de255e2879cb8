/* What volume_file.c (plain files) and volume_copy.c (archives) share. */
#pragma once

#include "bampi/storage/volume_file.h"

#define VOLUME_CHUNK ((size_t)4 << 20)

/* Sets message, detail and hint for what went wrong with a file; returns rc. */
int volume_file_problem(struct problem *problem, const char *what, const char *path, int rc);
/* fsync of the folder that `path` lies in. */
MUST_USE int volume_sync_folder(const char *path);
/* On disk and under its name. */
MUST_USE int volume_publish(int fd, const char *part, const char *path);
/* The disk's room for bytes from..size; the file is that long then. */
MUST_USE int volume_reserve(int fd, int64_t from, int64_t size, struct volume_progress *progress);
/* Zeros over a file that is given up, and unlinks it. */
MUST_USE int volume_scrap(const char *path);
