#include "trainer_image/comm/codec.h"

#include <math.h>
#include <string.h>

#include "common/base/half.h"
#include "common/base/macros.h"

/* So many numbers at once, by a buffer that stays in the cache; a multiple of the block. */
enum { CODEC_PART = 1024, CODEC_INT8_BLOCK_SIZE = CODEC_BLOCK + sizeof(float) };

static void codec_none_to(const float *from, uint8_t *to, size_t count)
{
	memcpy(to, from, count * sizeof(float));
}

static void codec_none_from(const uint8_t *from, float *to, size_t count)
{
	memcpy(to, from, count * sizeof(float));
}

static void codec_half_to(void (*round)(const float *, uint16_t *, size_t), const float *from,
			  uint8_t *to, size_t count)
{
	uint16_t half[CODEC_PART];

	round(from, half, count);
	memcpy(to, half, count * sizeof(*half));
}

static void codec_half_from(void (*widen)(const uint16_t *, float *, size_t), const uint8_t *from,
			    float *to, size_t count)
{
	uint16_t half[CODEC_PART];

	memcpy(half, from, count * sizeof(*half));
	widen(half, to, count);
}

static void codec_bf16_to(const float *from, uint8_t *to, size_t count)
{
	codec_half_to(half_to_bf16, from, to, count);
}

static void codec_bf16_from(const uint8_t *from, float *to, size_t count)
{
	codec_half_from(half_from_bf16, from, to, count);
}

static void codec_fp16_to(const float *from, uint8_t *to, size_t count)
{
	codec_half_to(half_to_fp16, from, to, count);
}

static void codec_fp16_from(const uint8_t *from, float *to, size_t count)
{
	codec_half_from(half_from_fp16, from, to, count);
}

/* The largest size; not a number when one is among them. */
static float codec_int8_most(const float *from, size_t count)
{
	float most = 0;

	for (size_t i = 0; i < count; i++) {
		float size = fabsf(from[i]);

		most = size > most || size != size ? size : most;
		if (most != most)
			return most;
	}
	return most;
}

/* A block: its scale, then a signed byte a number. */
static void codec_int8_block_to(const float *from, uint8_t *to, size_t count)
{
	float most = codec_int8_most(from, count);
	float whole = most / 127.0F;
	float inverse = most > 0 && isfinite(most) && whole > 0 ? 1.0F / whole : 0.0F;
	/* A scale below the normal numbers is too small to matter. */
	float in = isfinite(inverse) ? inverse : 0.0F;
	float scale = isfinite(inverse) ? whole : 0.0F;

	memcpy(to, &scale, sizeof(scale));
	for (size_t i = 0; i < count; i++) {
		/* Not a number times 0 is that again, and no byte. */
		float step = in > 0 ? rintf(from[i] * in) : 1.0F;

		to[sizeof(scale) + i] = (uint8_t)(int8_t)(step > 127    ? 127
							  : step < -127 ? -127
									: step);
	}
}

static void codec_int8_block_from(const uint8_t *from, float *to, size_t count)
{
	float scale;

	memcpy(&scale, from, sizeof(scale));
	for (size_t i = 0; i < count; i++)
		to[i] = scale * (float)(int8_t)from[sizeof(scale) + i];
}

static size_t codec_int8_size(size_t count)
{
	return count + (count + CODEC_BLOCK - 1) / CODEC_BLOCK * sizeof(float);
}

static void codec_int8_to(const float *from, uint8_t *to, size_t count)
{
	for (size_t i = 0; i < count; i += CODEC_BLOCK) {
		codec_int8_block_to(from + i, to,
				    count - i < CODEC_BLOCK ? count - i : CODEC_BLOCK);
		to += CODEC_INT8_BLOCK_SIZE;
	}
}

static void codec_int8_from(const uint8_t *from, float *to, size_t count)
{
	for (size_t i = 0; i < count; i += CODEC_BLOCK) {
		codec_int8_block_from(from, to + i,
				      count - i < CODEC_BLOCK ? count - i : CODEC_BLOCK);
		from += CODEC_INT8_BLOCK_SIZE;
	}
}

static const struct codec_row {
	const char *text;
	size_t bytes; /* of a number; INT8 has its blocks besides */
	void (*to)(const float *from, uint8_t *to, size_t count);
	void (*from)(const uint8_t *from, float *to, size_t count);
} codec_rows[CODECS] = {
	[CODEC_NONE] = {"none", 4, codec_none_to, codec_none_from},
	[CODEC_BF16] = {"bf16", 2, codec_bf16_to, codec_bf16_from},
	[CODEC_FP16] = {"fp16", 2, codec_fp16_to, codec_fp16_from},
	[CODEC_INT8] = {"int8", 1, codec_int8_to, codec_int8_from},
};

const char *codec_text(enum codec codec)
{
	return codec_rows[codec].text;
}

enum codec codec_parse(const char *text)
{
	enum codec codec = CODEC_NONE;

	while (codec < CODECS && strcmp(codec_rows[codec].text, text) != 0)
		codec++;
	return codec;
}

size_t codec_size(enum codec codec, size_t count)
{
	return codec == CODEC_INT8 ? codec_int8_size(count) : count * codec_rows[codec].bytes;
}

static size_t codec_part(size_t count, size_t at)
{
	return count - at < CODEC_PART ? count - at : CODEC_PART;
}

void codec_encode(enum codec codec, const float *from, size_t count, uint8_t *to)
{
	for (size_t i = 0; i < count; i += CODEC_PART)
		codec_rows[codec].to(from + i, to + codec_size(codec, i), codec_part(count, i));
}

void codec_decode(enum codec codec, const uint8_t *from, size_t count, float *to)
{
	for (size_t i = 0; i < count; i += CODEC_PART)
		codec_rows[codec].from(from + codec_size(codec, i), to + i, codec_part(count, i));
}

void codec_add(enum codec codec, const uint8_t *from, size_t count, float *to)
{
	float part[CODEC_PART];

	for (size_t i = 0; i < count; i += CODEC_PART) {
		size_t size = codec_part(count, i);

		codec_rows[codec].from(from + codec_size(codec, i), part, size);
		for (size_t k = 0; k < size; k++)
			to[i + k] += part[k];
	}
}

void codec_encode_feedback(enum codec codec, const float *from, float *lost, size_t count,
			   uint8_t *to)
{
	float wanted[CODEC_PART];
	float got[CODEC_PART];

	for (size_t i = 0; i < count; i += CODEC_PART) {
		size_t size = codec_part(count, i);
		uint8_t *at = to + codec_size(codec, i);

		for (size_t k = 0; k < size; k++)
			wanted[k] = from[i + k] + lost[i + k];
		codec_rows[codec].to(wanted, at, size);
		codec_rows[codec].from(at, got, size);
		for (size_t k = 0; k < size; k++)
			lost[i + k] = isfinite(got[k]) ? wanted[k] - got[k] : 0.0F;
	}
}
