/* The face of the CUDA back end where the build found no nvcc. */
#include "common/base/error.h"

#include "trainer_image/ops/ops.h"

int ops_cuda_new(int device, struct ops **ret, struct problem *problem)
{
	(void)device, (void)ret;
	(void)problem_set(problem, E_UNSUPPORTED, "this program was built without CUDA");
	problem_hint(problem, "build it where nvcc is on the path, or compute with device = cpu");
	return E_UNSUPPORTED;
}
