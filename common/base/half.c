#include "common/base/half.h"

#include <string.h>

static inline uint32_t half_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline float half_number(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

void half_from_bf16(const uint16_t *from, float *to, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = half_number((uint32_t)from[i] << 16);
}

void half_to_bf16(const float *from, uint16_t *to, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t bits = half_bits(from[i]);
		uint32_t rounded = (bits + 0x7fffU + (bits >> 16 & 1)) >> 16;
		uint32_t nan = bits >> 16 | 0x40U; /* rounding must not carry it to infinity */

		to[i] = (uint16_t)((bits & 0x7fffffffU) > 0x7f800000U ? nan : rounded);
	}
}

/* The number 2^112 moves an fp16's exponent to that of an FP32; subnormals become normal by it. */
void half_from_fp16(const uint16_t *from, float *to, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t sign = (uint32_t)(from[i] & 0x8000U) << 16;
		uint32_t rest = (uint32_t)(from[i] & 0x7fffU) << 13;
		uint32_t number = half_bits(half_number(rest) * 0x1p112F);
		uint32_t special = rest | 0x7f800000U; /* infinity and NaN */

		to[i] = half_number(sign | ((from[i] & 0x7c00U) == 0x7c00U ? special : number));
	}
}

/* Below 2^-14 an fp16 has the step 2^-24: adding 0.5, whose step is that, rounds to it. */
static inline uint32_t half_small(uint32_t rest)
{
	return half_bits(half_number(rest) + 0.5F) - half_bits(0.5F);
}

void half_to_fp16(const float *from, uint16_t *to, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t bits = half_bits(from[i]);
		uint32_t sign = bits >> 16 & 0x8000U;
		uint32_t rest = bits & 0x7fffffffU;
		uint32_t normal = (rest - 0x38000000U + 0xfffU + (rest >> 13 & 1)) >> 13;
		uint32_t half;

		if (rest > 0x7f800000U)
			half = 0x7e00U;
		else if (rest >=
			 0x47800000U) /* 65536 and more; 65520 rounds up to infinity by itself */
			half = 0x7c00U;
		else
			half = rest < 0x38800000U ? half_small(rest) : normal;
		to[i] = (uint16_t)(sign | half);
	}
}
