/* Products of matrices by OpenBLAS, which is loaded when the first back end is made.
 *
 * Not linked: OpenBLAS chooses its code while it is loaded, by a list of processors that it knows. On
 * one that is younger than the list it takes the code for SSE3: a fifth of the speed of a Xeon with
 * AVX-512. So the code is named to it first (OPENBLAS_CORETYPE, which an operator may set too). */
#pragma once

#include <cblas.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

struct cpu_blas {
	__typeof__(cblas_sgemm) *sgemm;
	__typeof__(cblas_dgemm) *dgemm;
};

/* `core`: "SkylakeX", "Haswell", or NULL for OpenBLAS's own choice. The first call of a process decides.
 * -ENOENT: no OpenBLAS here. */
MUST_USE int cpu_blas_open(const char *core, struct cpu_blas *ret, struct problem *problem);
