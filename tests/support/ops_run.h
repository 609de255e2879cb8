/* One op on one back end, with memory of its own: for tests of back ends, which compare gradients with
 * differences, and one back end with another. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"
#include "trainer_image/ops/ops.h"

/* A tensor of a test. `values` are FP64 whatever its type is. */
struct ops_value {
	struct op_tensor is;
	double *values;
};

/* Numbers of a generator that each test seeds by itself (splitmix64), in [-1, 1). */
static inline double ops_run_random(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((z ^ z >> 31) >> 11) / 4503599627370496.0 - 1;
}

static inline size_t ops_run_count(const struct op_tensor *is)
{
	return (size_t)tensor_shape_count(&is->shape);
}

static inline void ops_value_new(struct ops_value *value, struct op_tensor is)
{
	value->is = is;
	value->values = calloc(ops_run_count(&is) + 1, sizeof(double));
	assert_non_null(value->values);
}

static inline float ops_run_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* The nearest number of a half type, by another way than the product's: `step` is the distance of
 * numbers at this size. */
static inline double ops_run_round(double value, int digits, int least_exponent)
{
	int exponent;
	double size = value < 0 ? -value : value;

	if (value == 0)
		return value;
	(void)frexp(size, &exponent);
	exponent = exponent - 1 < least_exponent ? least_exponent : exponent - 1;
	return ldexp(rint(ldexp(value, digits - exponent)), exponent - digits);
}

/* The type's own nearest number. */
static inline double ops_run_nearest(enum tensor_type type, double value)
{
	switch (type) {
	case TENSOR_FP64: return value;
	case TENSOR_FP32: return (double)(float)value;
	case TENSOR_BF16: return ops_run_round(value, 7, -126);
	case TENSOR_FP16: return ops_run_round(value, 10, -14);
	case TENSOR_INT32:
	case TENSOR_UINT8: break;
	}
	return value;
}

static inline uint16_t ops_run_to_fp16(double value)
{
	uint16_t sign = value < 0 ? 0x8000U : 0;
	double size = value < 0 ? -value : value;
	int exponent;

	if (size == 0)
		return sign;
	(void)frexp(size, &exponent);
	exponent--;
	if (exponent < -14)
		return (uint16_t)(sign | (unsigned)ldexp(size, 24));
	return (uint16_t)(sign | ((unsigned)(exponent + 15) << 10) |
			  ((unsigned)ldexp(size, 10 - exponent) & 0x3ffU));
}

static inline double ops_run_from_fp16(uint16_t half)
{
	int exponent = half >> 10 & 0x1f;
	double size = exponent == 0 ? ldexp(half & 0x3ff, -24)
				    : ldexp(0x400 | (half & 0x3ff), exponent - 25);

	return half & 0x8000 ? -size : size;
}

static inline void ops_run_store(enum tensor_type type, void *data, size_t i, double value)
{
	switch (type) {
	case TENSOR_FP64: ((double *)data)[i] = value; break;
	case TENSOR_FP32: ((float *)data)[i] = (float)value; break;
	case TENSOR_BF16: {
		float rounded = (float)ops_run_nearest(type, value);
		uint32_t bits;

		memcpy(&bits, &rounded, sizeof(bits));
		((uint16_t *)data)[i] = (uint16_t)(bits >> 16);
		break;
	}
	case TENSOR_FP16:
		((uint16_t *)data)[i] = ops_run_to_fp16(ops_run_nearest(type, value));
		break;
	case TENSOR_INT32: ((int32_t *)data)[i] = (int32_t)value; break;
	case TENSOR_UINT8: ((uint8_t *)data)[i] = (uint8_t)value; break;
	}
}

static inline double ops_run_load(enum tensor_type type, const void *data, size_t i)
{
	switch (type) {
	case TENSOR_FP64: return ((const double *)data)[i];
	case TENSOR_FP32: return (double)((const float *)data)[i];
	case TENSOR_BF16: return (double)ops_run_bits((uint32_t)((const uint16_t *)data)[i] << 16);
	case TENSOR_FP16: return ops_run_from_fp16(((const uint16_t *)data)[i]);
	case TENSOR_INT32: return ((const int32_t *)data)[i];
	case TENSOR_UINT8: break;
	}
	return ((const uint8_t *)data)[i];
}

/* As an op takes it: floats of `type`, whole numbers as they are, statistics in FP32. */
static inline void *ops_run_data(const struct ops_value *value)
{
	size_t count = ops_run_count(&value->is);
	size_t size = (count * tensor_type_size(value->is.type) + 63) & ~(size_t)63;
	void *data = aligned_alloc(64, size ? size : 64);

	assert_non_null(data);
	for (size_t i = 0; i < count; i++)
		ops_run_store(value->is.type, data, i, value->values[i]);
	return data;
}

static inline size_t ops_run_bytes(const struct ops_value *value)
{
	return ops_run_count(&value->is) * tensor_type_size(value->is.type);
}

/* In memory that the back end takes: of a host exactly as many bytes, so that the sanitizer knows its end. */
static inline void *ops_run_put(struct ops *ops, const struct ops_value *value)
{
	void *data = ops_run_data(value);
	void *memory;

	if (ops->backend->on_host)
		return data;
	memory = ops_take(ops, ops_run_bytes(value));
	assert_non_null(memory);
	assert_int_equal(ops_copy(ops, memory, data, ops_run_bytes(value), OPS_IN), 0);
	memset(data, 0xee, ops_run_bytes(value)); /* it has been read */
	free(data);
	return memory;
}

/* Back to `value`; the memory is given back. */
static inline int ops_run_get(struct ops *ops, void *memory, struct ops_value *value)
{
	size_t bytes = ops_run_bytes(value);
	void *data = memory;
	int rc = 0;

	if (!ops->backend->on_host) {
		data = malloc(bytes + 1);
		assert_non_null(data);
		rc = ops_copy(ops, data, memory, bytes, OPS_OUT);
		ops_give(ops, memory, bytes);
	}
	for (size_t k = 0; rc == 0 && k < ops_run_count(&value->is); k++)
		value->values[k] = ops_run_load(value->is.type, data, k);
	free(data);
	return rc;
}

/* Runs `call`, whose in_count, kind, attributes and options are set; its outputs begin with what
 * `out` holds, and are read back there. Inputs are read back too: running averages change. */
static inline int ops_run_values(struct ops *ops, struct ops_call *call, struct ops_value in[],
				 struct ops_value out[])
{
	struct problem problem = {0};
	size_t size = 0;
	int rc;

	for (size_t i = 0; i < call->in_count; i++)
		call->in[i] = (struct ops_tensor){in[i].is, ops_run_put(ops, &in[i])};
	for (size_t i = 0; i < call->out_count; i++)
		call->out[i] = (struct ops_tensor){out[i].is, ops_run_put(ops, &out[i])};
	call->workspace = NULL;
	call->workspace_size = SIZE_MAX;
	assert_int_equal(ops_workspace(ops, call, &size, &problem), 0);
	call->workspace_size = size;
	if (size > 0)
		call->workspace = ops->backend->on_host
					  ? aligned_alloc(64, (size + 63) & ~(size_t)63)
					  : ops_take(ops, size);
	rc = ops_run(ops, call);
	for (size_t i = 0; i < call->in_count; i++) {
		int got = ops_run_get(ops, call->in[i].data, &in[i]);

		rc = rc != 0 ? rc : got;
	}
	for (size_t i = 0; i < call->out_count; i++) {
		int got = ops_run_get(ops, call->out[i].data, &out[i]);

		rc = rc != 0 ? rc : got;
	}
	if (ops->backend->on_host)
		free(call->workspace);
	else
		ops_give(ops, call->workspace, size);
	return rc;
}
