/* The codecs of a back end beside those of the host (comm/codec.c): the same bits, on numbers that are hard. */
#pragma once

#include "tests/support/ops_parity.h"
#include "trainer_image/comm/codec.h"
#include "trainer_image/ops/ops_sum.h"

enum { PARITY_CODE_MOST = 1030, PARITY_CODE_ROOM = 4 * PARITY_CODE_MOST + 64 };

enum parity_code_kind {
	PARITY_CODE_PLAIN,
	PARITY_CODE_WIDE,
	PARITY_CODE_ZERO,
	PARITY_CODE_TINY,
	PARITY_CODE_TIES,
	PARITY_CODE_INFINITE,
	PARITY_CODE_NAN,
	PARITY_CODE_KINDS
};

/* NaN last: the bits of one are a back end's own. */
static inline float parity_code_number(enum parity_code_kind kind, size_t i)
{
	uint32_t mixed = (uint32_t)(i + 1) * 2654435761U;
	float plain = (float)(mixed >> 8) / 8388608.0F - 1.0F;
	static const float ties[] = {1 + 0x1p-8F,  1 + 0x3p-8F, 1 + 0x1p-11F, 1 + 0x3p-11F,
				     65504,        65519,       65520,        -65536,
				     0x1p-24F,     0x1p-25F,    0x3p-25F,     3.3895314e38F,
				     -3.402823e38F};

	switch (kind) {
	case PARITY_CODE_WIDE: return ldexpf(plain, (int)(mixed % 200) - 100);
	case PARITY_CODE_ZERO: return i % 3 == 0 ? -0.0F : 0.0F;
	case PARITY_CODE_TINY: return plain * 1e-40F;
	case PARITY_CODE_TIES: return ties[i % COUNT_OF(ties)];
	case PARITY_CODE_INFINITE: return i % 300 == 7 ? -HUGE_VALF : plain;
	case PARITY_CODE_NAN: return i % 300 == 9 ? NAN : plain;
	case PARITY_CODE_PLAIN:
	case PARITY_CODE_KINDS: break;
	}
	return plain;
}

static inline void parity_code_same(const float *found, const float *wanted, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (memcmp(&found[i], &wanted[i], sizeof(float)) != 0 &&
		    !(isnan(found[i]) && isnan(wanted[i])))
			fail_msg("number %zu is %a, not %a", i, (double)found[i],
				 (double)wanted[i]);
}

/* Bytes where they are the same on each back end, else what they mean. */
static inline void parity_code_same_bytes(enum codec codec, enum parity_code_kind kind,
					  const uint8_t *found, const uint8_t *wanted, size_t count)
{
	float found_are[PARITY_CODE_MOST];
	float wanted_are[PARITY_CODE_MOST];

	if (kind != PARITY_CODE_NAN)
		assert_memory_equal(found, wanted, codec_size(codec, count));
	codec_decode(codec, found, count, found_are);
	codec_decode(codec, wanted, count, wanted_are);
	parity_code_same(found_are, wanted_are, count);
}

/* Runs one call on copies of the host's memory. */
static inline void parity_code_run(struct ops *ops, const struct ops_code *code, size_t from_bytes,
				   size_t to_bytes, size_t odd)
{
	struct ops_code there = *code;
	size_t lost_bytes = code->lost ? code->count * sizeof(float) : 0;
	bool decodes = code->kind == OPS_DECODE || code->kind == OPS_DECODE_ADD;
	uint8_t *from = ops_take(ops, from_bytes + 4);
	uint8_t *to = ops_take(ops, to_bytes + 4);
	float *lost = lost_bytes > 0 ? ops_take(ops, lost_bytes) : NULL;

	assert_non_null(from);
	assert_non_null(to);
	there.from = from + (decodes ? odd : 0);
	there.to = to + (decodes ? 0 : odd);
	there.lost = lost;
	assert_int_equal(ops_copy(ops, from + (decodes ? odd : 0), code->from, from_bytes, OPS_IN),
			 0);
	assert_int_equal(ops_copy(ops, there.to, code->to, to_bytes, OPS_IN), 0);
	if (lost)
		assert_int_equal(ops_copy(ops, lost, code->lost, lost_bytes, OPS_IN), 0);
	assert_int_equal(ops_sum_code(ops, &there), 0);
	assert_int_equal(ops_copy(ops, code->to, there.to, to_bytes, OPS_OUT), 0);
	if (lost)
		assert_int_equal(ops_copy(ops, code->lost, lost, lost_bytes, OPS_OUT), 0);
	ops_give(ops, lost, lost_bytes);
	ops_give(ops, to, to_bytes + 4);
	ops_give(ops, from, from_bytes + 4);
}

static inline void parity_code_one(const struct parity *parity, enum codec codec,
				   enum parity_code_kind kind, size_t count)
{
	static uint8_t found[PARITY_CODE_ROOM];
	static uint8_t wanted[PARITY_CODE_ROOM];
	float numbers[PARITY_CODE_MOST];
	float lost[PARITY_CODE_MOST] = {0};
	float lost_found[PARITY_CODE_MOST] = {0};
	float sum[PARITY_CODE_MOST];
	float sum_found[PARITY_CODE_MOST];
	const size_t floats = count * sizeof(float);
	const size_t bytes = codec_size(codec, count);
	const size_t odd = codec == CODEC_INT8 ? 3 : 0;
	struct ops_code code = {OPS_ENCODE, (enum ops_codec)codec, numbers, found, NULL, count};

	for (size_t i = 0; i < count; i++) {
		numbers[i] = parity_code_number(kind, i);
		sum[i] = sum_found[i] = parity_code_number(PARITY_CODE_PLAIN, i + 77);
	}
	memset(found, 0x5a, sizeof(found));
	codec_encode(codec, numbers, count, wanted);
	parity_code_run(parity->device, &code, floats, bytes, odd);
	parity_code_same_bytes(codec, kind, found, wanted, count);

	/* What the second loses follows from what the first lost. */
	code = (struct ops_code){
		OPS_ENCODE_FEEDBACK, (enum ops_codec)codec, numbers, found, lost_found, count};
	for (int time = 0; time < 2; time++) {
		codec_encode_feedback(codec, numbers, lost, count, wanted);
		parity_code_run(parity->device, &code, floats, bytes, odd);
		parity_code_same_bytes(codec, kind, found, wanted, count);
		parity_code_same(lost_found, lost, count);
	}
	codec_add(codec, wanted, count, sum);
	code = (struct ops_code){OPS_DECODE_ADD, (enum ops_codec)codec, wanted, sum_found, NULL,
				 count};
	parity_code_run(parity->device, &code, bytes, floats, odd);
	parity_code_same(sum_found, sum, count);
	codec_decode(codec, wanted, count, sum);
	code.kind = OPS_DECODE;
	parity_code_run(parity->device, &code, bytes, floats, odd);
	parity_code_same(sum_found, sum, count);
}

static inline void parity_codes(const struct parity *parity)
{
	static const size_t counts[] = {1, 255, 256, 257, PARITY_CODE_MOST - 1};

	for (enum codec codec = 0; codec < CODECS; codec++)
		for (enum parity_code_kind kind = 0; kind < PARITY_CODE_KINDS; kind++)
			for (size_t i = 0; i < COUNT_OF(counts); i++)
				parity_code_one(parity, codec, kind, counts[i]);
}

/* Marks of both back ends: each is behind the one before. */
static inline void parity_marks(const struct parity *parity)
{
	struct ops *const both[] = {parity->cpu, parity->device};
	enum { MARKS = 5 };

	for (size_t i = 0; i < COUNT_OF(both); i++)
		for (int time = 0; time < 2; time++) {
			double ms[MARKS];

			for (size_t nth = 0; nth <= MARKS; nth++)
				assert_int_equal(ops_mark(both[i], nth), 0);
			assert_int_equal(ops_marks(both[i], MARKS, ms), 0);
			for (size_t nth = 0; nth < MARKS; nth++)
				assert_true(ms[nth] >= (nth > 0 ? ms[nth - 1] : 0) &&
					    ms[nth] < 60000);
		}
}
