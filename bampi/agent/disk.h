/* The node's disks: what /sys/block says of each, and opening one to work on it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#define DISK_LIMIT 256 /* a JBOD has 102; more than this is a loop in /sys */

struct agent_env;

enum disk_kind { DISK_NVME, DISK_ATA, DISK_SCSI, DISK_VIRTIO, DISK_KIND_COUNT };

struct disk {
	char name[64]; /* "nvme0n1" */
	char model[64];
	char serial[64];
	uint64_t size_bytes;
	uint32_t sector_bytes; /* logical */
	enum disk_kind kind;
	bool removable;
	bool read_only;
	bool usb;
	bool rotational; /* it seeks: a hard disk */
};

const char *disk_kind_text(enum disk_kind kind);
/* All disks in the order of their names; at most DISK_LIMIT. The caller frees. -ENOMEM. */
MUST_USE int disk_list(const struct agent_env *env, struct disk **ret, size_t *ret_count);
/* Opens for reading and writing, for us alone: a disk that is mounted or part of something is
 * E_CONFLICT. *ret_block is false for a regular file (sandbox only). */
MUST_USE int disk_open(const struct agent_env *env, const struct disk *disk, int flags, int *ret_fd,
		       bool *ret_block, struct problem *problem);
/* Of what disk_open gave. */
MUST_USE int disk_size(int fd, bool block, uint64_t *ret_bytes);
/* Has the kernel ask the drive for its size again. */
void disk_rescan(const struct agent_env *env, const struct disk *disk);
