/* Cross entropy of softmax with label smoothing (Szegedy et al. 2015, 7): an item is a row. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "trainer_image/ops/cpu/kernel/real.h"

static int64_t loss_rows(const struct ops_call *call)
{
	return real_rows(real_in_shape(call, 0));
}

static void loss_row(const struct ops_call *call, int64_t row)
{
	int64_t classes = real_channels(real_in_shape(call, 0));
	const real *logit = real_in(call, 0) + row * classes;
	int32_t label = ((const int32_t *)call->in[1].data)[row];
	real smooth = (real)call->attributes->smooth;
	real most = logit[0];
	real sum = 0;
	real all = 0;

	for (int64_t i = 1; i < classes; i++)
		most = logit[i] > most ? logit[i] : most;
	for (int64_t i = 0; i < classes; i++) {
		sum += REAL_EXP(logit[i] - most);
		all += logit[i];
	}
	real log_sum = most + REAL_LOG(sum);

	real_out(call, 1)[row] = log_sum;
	real_out(call, 0)[row] = label < 0 ? (real)0
					   : log_sum - ((real)1 - smooth) * logit[label] -
						     smooth * all / (real)classes;
}

static void loss_forward(const struct cpu_work *work, unsigned thread, int64_t first, int64_t last)
{
	(void)thread;
	for (int64_t row = first; row < last; row++)
		loss_row(work->call, row);
}

const struct cpu_op REAL_NAME(cpu_cross_entropy) = {.loops = {{loss_rows, loss_forward}}};

static void loss_row_back(const struct ops_call *call, int64_t row)
{
	int64_t classes = real_channels(real_in_shape(call, 0));
	const real *logit = real_in(call, 0) + row * classes;
	int32_t label = ((const int32_t *)call->in[1].data)[row];
	real log_sum = real_in(call, 2)[row];
	real *slope = real_out(call, 0) + row * classes;
	real scale = (real)call->pass->scale;
	real smooth = (real)call->attributes->smooth;

	if (label < 0) {
		memset(slope, 0, (size_t)classes * sizeof(real));
		return;
	}
	for (int64_t i = 0; i < classes; i++)
		slope[i] = scale * (REAL_EXP(logit[i] - log_sum) - smooth / (real)classes);
	slope[label] -= scale * ((real)1 - smooth);
}

static void loss_back(const struct cpu_work *work, unsigned thread, int64_t first, int64_t last)
{
	(void)thread;
	for (int64_t row = first; row < last; row++)
		loss_row_back(work->call, row);
}

const struct cpu_op REAL_NAME(cpu_cross_entropy_back) = {.loops = {{loss_rows, loss_back}}};
