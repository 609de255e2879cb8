/* How a gradient travels: FP32 as it is, rounded to a half type, or to 8 bits with a scale for each
 * block. The sums are always made in FP32.
 *
 *     CODEC_NONE   4 bytes a number
 *     CODEC_BF16   2
 *     CODEC_FP16   2; what is too large becomes infinite, and the step is left out (loss scaling)
 *     CODEC_INT8   1, and 4 for each 256: scale = the largest size / 127, to the nearest
 *
 * INT8 loses much at once, so what was lost is added to the next gradient (error feedback: Seide et al.
 * 2014; Karimireddy et al. 2019). */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum codec { CODEC_NONE, CODEC_BF16, CODEC_FP16, CODEC_INT8, CODECS };

enum { CODEC_BLOCK = 256 };

/* "none", "bf16", "fp16", "int8". */
const char *codec_text(enum codec codec);
/* CODECS when there is none. */
enum codec codec_parse(const char *text);
/* Bytes that `count` numbers become. */
size_t codec_size(enum codec codec, size_t count);
void codec_encode(enum codec codec, const float *from, size_t count, uint8_t *to);
void codec_decode(enum codec codec, const uint8_t *from, size_t count, float *to);
/* to += what was encoded. */
void codec_add(enum codec codec, const uint8_t *from, size_t count, float *to);
/* With error feedback: encodes from + lost, and leaves in `lost` what that loses. Not a number
 * and infinity are sent as they are (the block becomes that), and lose nothing. */
void codec_encode_feedback(enum codec codec, const float *from, float *lost, size_t count,
			   uint8_t *to);
