#include "trainer_image/ops/cuda/nccl_library.h"

#include "common/base/error.h"

#include "trainer_image/ops/cuda/cuda_library.h"

enum { NCCL_LEAST = 2 * 10000 + 14 * 100 };

#define ROW(name, member)                                     \
	{                                                     \
		(name), offsetof(struct nccl_library, member) \
	}

static const struct cuda_library_function nccl_library_functions[] = {
	ROW("ncclGetVersion", version),
	ROW("ncclGetUniqueId", make_id),
	ROW("ncclCommInitRankConfig", join),
	ROW("ncclCommGetAsyncError", state),
	ROW("ncclCommAbort", abort),
	ROW("ncclGroupStart", group_start),
	ROW("ncclGroupEnd", group_end),
	ROW("ncclSend", send),
	ROW("ncclRecv", receive),
	ROW("ncclGetErrorString", error),
	ROW("ncclGetLastError", last_error),
};

static const struct cuda_library nccl_library_is = {
	.title = "NCCL",
	.file = "libnccl.so.2",
	.variable = NCCL_FOLDER_VARIABLE,
	.least = "NCCL 2.14 or later",
	.functions = nccl_library_functions,
	.count = COUNT_OF(nccl_library_functions),
};

int nccl_library_open(struct nccl_library *ret, struct problem *problem)
{
	struct nccl_library library = {0};
	int version = 0;
	int rc = cuda_library_open(&nccl_library_is, &library, NULL, problem);

	if (rc != 0)
		return rc;
	if (library.version(&version) != NCCL_SUCCESS || version < NCCL_LEAST) {
		(void)problem_set(problem, E_UNSUPPORTED, "NCCL %d.%d.%d cannot be used",
				  version / 10000, version / 100 % 100, version % 100);
		problem_hint(problem, "install %s, or name its folder in %s", nccl_library_is.least,
			     nccl_library_is.variable);
		return E_UNSUPPORTED;
	}
	*ret = library;
	return 0;
}
