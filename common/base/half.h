/* bf16 (the upper half of an FP32) and fp16 (IEEE 754 binary16) by integer arithmetic: the same on each
 * processor. To the nearest, ties to even; what is too large for fp16 becomes infinite; NaN stays NaN. */
#pragma once

#include <stddef.h>
#include <stdint.h>

void half_from_bf16(const uint16_t *from, float *to, size_t count);
void half_to_bf16(const float *from, uint16_t *to, size_t count);
void half_from_fp16(const uint16_t *from, float *to, size_t count);
void half_to_fp16(const float *from, uint16_t *to, size_t count);
