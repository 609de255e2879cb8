/* NCCL, as much of it as sums of gradients take: the functions and numbers of its C interface (nccl.h of NCCL 2.14, which
 * later ones keep). All functions return enum nccl_result but for the words. */
#pragma once

#include <limits.h>
#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#define NCCL_FOLDER_VARIABLE "TRAINER_NCCL"

enum nccl_result {
	NCCL_SUCCESS = 0,
	NCCL_CUDA_ERROR = 1,
	NCCL_SYSTEM_ERROR = 2,
	NCCL_IN_PROGRESS = 7,
};
enum nccl_type { NCCL_BYTE = 0 };

/* Rank 0 makes it; who has it may join. */
struct nccl_id {
	char bytes[128];
};

/* ncclConfig_t as NCCL 2.14 had it: later ones read its size. */
struct nccl_config {
	size_t size;
	unsigned magic, version;
	int blocking;
};

#define NCCL_CONFIG_NONBLOCKING                                                  \
	{                                                                        \
		sizeof(struct nccl_config), 0xcafebeefU, 2 * 10000 + 14 * 100, 0 \
	}

struct nccl_library {
	int (*version)(int *ret);
	int (*make_id)(struct nccl_id *ret);
	int (*join)(void **ret_comm, int ranks, struct nccl_id id, int rank,
		    struct nccl_config *config);
	int (*state)(void *comm, int *ret);
	int (*abort)(void *comm);
	int (*group_start)(void);
	int (*group_end)(void);
	int (*send)(const void *from, size_t count, int type, int to, void *comm, void *stream);
	int (*receive)(void *to, size_t count, int type, int from, void *comm, void *stream);
	const char *(*error)(int result);
	const char *(*last_error)(void *comm);
};

/* -ENOENT: not here; E_UNSUPPORTED: it lacks a function, or is older than 2.14. */
MUST_USE int nccl_library_open(struct nccl_library *ret, struct problem *problem);
