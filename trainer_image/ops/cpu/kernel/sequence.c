/* Words and attention. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "trainer_image/ops/cpu/kernel/real.h"

/* --- embedding: y = table[token] + place --- */

static int64_t sequence_tokens(const struct ops_call *call)
{
	return tensor_shape_count(real_in_shape(call, 0));
}

static void sequence_embed(const struct cpu_work *work, unsigned thread, int64_t first,
			   int64_t last)
{
	const struct ops_call *call = work->call;
	const int32_t *tokens = call->in[0].data;
	int64_t length = real_in_shape(call, 0)->size[1];
	int64_t channels = real_channels(real_out_shape(call, 0));

	(void)thread;
	for (int64_t i = first; i < last; i++) {
		const real *word = real_in(call, 1) + tokens[i] * channels;
		const real *place = real_in(call, 2) + i % length * channels;
		real *y = real_out(call, 0) + i * channels;

		for (int64_t c = 0; c < channels; c++)
			y[c] = word[c] + place[c];
	}
}

const struct cpu_op REAL_NAME(cpu_embedding) = {.loops = {{sequence_tokens, sequence_embed}}};

enum { SEQUENCE_WORDS = 256 };

static int64_t sequence_word_slices(const struct ops_call *call)
{
	return (real_out_shape(call, 0)->size[0] + SEQUENCE_WORDS - 1) / SEQUENCE_WORDS;
}

static void sequence_row_add(real *to, const real *from, int64_t channels)
{
	for (int64_t c = 0; c < channels; c++)
		to[c] += from[c];
}

/* An item is a slice of the words: whoever has it goes through all tokens, in their order. */
static void sequence_table_back(const struct cpu_work *work, unsigned thread, int64_t first,
				int64_t last)
{
	const struct ops_call *call = work->call;
	const int32_t *tokens = call->in[0].data;
	int64_t channels = real_channels(real_out_shape(call, 0));
	int64_t from = first * SEQUENCE_WORDS;
	int64_t to = real_least(last * SEQUENCE_WORDS, real_out_shape(call, 0)->size[0]);
	real *table = real_out(call, 0);

	(void)thread;
	if (!call->accumulate)
		memset(table + from * channels, 0, (size_t)((to - from) * channels) * sizeof(real));
	for (int64_t i = 0; i < sequence_tokens(call); i++)
		if (tokens[i] >= from && tokens[i] < to)
			sequence_row_add(table + tokens[i] * channels,
					 real_in(call, 1) + i * channels, channels);
}

static int64_t sequence_places(const struct ops_call *call)
{
	return real_out_shape(call, 1)->size[0];
}

static void sequence_place_back(const struct cpu_work *work, unsigned thread, int64_t first,
				int64_t last)
{
	const struct ops_call *call = work->call;
	int64_t length = sequence_places(call);
	int64_t channels = real_channels(real_out_shape(call, 0));

	(void)thread;
	for (int64_t place = first; place < last; place++) {
		real *to = real_out(call, 1) + place * channels;

		if (!call->accumulate)
			memset(to, 0, (size_t)channels * sizeof(real));
		for (int64_t i = place; i < sequence_tokens(call); i += length)
			sequence_row_add(to, real_in(call, 1) + i * channels, channels);
	}
}

const struct cpu_op REAL_NAME(cpu_embedding_back) = {
	.loops = {{sequence_word_slices, sequence_table_back},
		  {sequence_places, sequence_place_back}},
};

/* --- attention: an item is a head of a sequence (Vaswani et al. 2017, 3.2) --- */

struct sequence_head {
	int64_t length, channels, size; /* T, C, C / heads */
	int64_t heads;
	int64_t at; /* of q in qkv; k and v lie C and 2 C behind */
	int64_t to; /* in y */
	real factor;
};

static int64_t sequence_heads(const struct ops_call *call)
{
	return real_in_shape(call, 0)->size[0] * call->attributes->heads;
}

static struct sequence_head sequence_head_of(const struct ops_call *call, int64_t item)
{
	struct sequence_head head = {.length = real_in_shape(call, 0)->size[1],
				     .channels = real_in_shape(call, 0)->size[2] / 3,
				     .heads = call->attributes->heads};
	int64_t sequence = item / head.heads;
	int64_t nth = item % head.heads;

	head.size = head.channels / head.heads;
	head.at = sequence * head.length * 3 * head.channels + nth * head.size;
	head.to = sequence * head.length * head.channels + nth * head.size;
	head.factor = (real)1 / REAL_SQRT((real)head.size);
	return head;
}

static struct real_matrix sequence_part(const struct sequence_head *head, const real *qkv, int nth,
					bool turned)
{
	return (struct real_matrix){qkv + head->at + nth * head->channels, 3 * head->channels,
				    turned};
}

static size_t sequence_scores(const struct ops_call *call)
{
	int64_t length = real_in_shape(call, 0)->size[1];

	return (size_t)(length * length) * sizeof(real);
}

static size_t sequence_scores_twice(const struct ops_call *call)
{
	return 2 * sequence_scores(call);
}

/* Places that the place `row` sees. */
static int64_t sequence_seen(const struct ops_call *call, int64_t row, int64_t length)
{
	return call->attributes->causal ? row + 1 : length;
}

/* Scores to shares; returns log(sum(exp)). */
static real sequence_soft(real *scores, int64_t seen, int64_t length, real factor)
{
	real most = REAL_LEAST;
	real sum = 0;

	for (int64_t i = 0; i < seen; i++) {
		scores[i] *= factor;
		most = scores[i] > most ? scores[i] : most;
	}
	for (int64_t i = 0; i < seen; i++) {
		scores[i] = REAL_EXP(scores[i] - most);
		sum += scores[i];
	}
	for (int64_t i = 0; i < seen; i++)
		scores[i] /= sum;
	for (int64_t i = seen; i < length; i++)
		scores[i] = 0;
	return most + REAL_LOG(sum);
}

static void sequence_attend(const struct cpu_work *work, unsigned thread, int64_t first,
			    int64_t last)
{
	const struct ops_call *call = work->call;
	const real *qkv = real_in(call, 0);
	real *scores = (real *)(void *)(work->scratch + thread * work->scratch_size);

	for (int64_t item = first; item < last; item++) {
		struct sequence_head head = sequence_head_of(call, item);

		real_multiply(work, sequence_part(&head, qkv, 0, false),
			      sequence_part(&head, qkv, 1, true), head.length, head.length,
			      head.size, 0, scores, head.length);
		for (int64_t row = 0; row < head.length; row++)
			real_out(call, 1)[item * head.length + row] = sequence_soft(
				scores + row * head.length, sequence_seen(call, row, head.length),
				head.length, head.factor);
		real_multiply(work, (struct real_matrix){scores, head.length, false},
			      sequence_part(&head, qkv, 2, false), head.length, head.size,
			      head.length, 0, real_out(call, 0) + head.to, head.channels);
	}
}

const struct cpu_op REAL_NAME(cpu_attention) = {
	.loops = {{sequence_heads, sequence_attend}},
	.scratch = sequence_scores,
};

/* Scores of a row to shares again, by what was kept of them; then the shares' gradients in `slopes` to
 * those of the scores (Dao et al. 2022, algorithm 4). */
static void sequence_row_back(const struct ops_call *call, const struct sequence_head *head,
			      int64_t item, int64_t row, real *scores, real *slopes)
{
	const real *y = real_in(call, 1) + head->to + row * head->channels;
	const real *dy = real_in(call, 2) + head->to + row * head->channels;
	real log_sum = real_in(call, 3)[item * head->length + row];
	int64_t seen = sequence_seen(call, row, head->length);
	real sum = 0;

	for (int64_t c = 0; c < head->size; c++)
		sum += y[c] * dy[c];
	for (int64_t i = 0; i < seen; i++) {
		scores[i] = REAL_EXP(scores[i] * head->factor - log_sum);
		slopes[i] = scores[i] * (slopes[i] - sum) * head->factor;
	}
	for (int64_t i = seen; i < head->length; i++)
		scores[i] = slopes[i] = 0;
}

static void sequence_head_back(const struct cpu_work *work, int64_t item, real *scores)
{
	const struct ops_call *call = work->call;
	struct sequence_head head = sequence_head_of(call, item);
	const real *qkv = real_in(call, 0);
	const struct real_matrix dy = {real_in(call, 2) + head.to, head.channels, false};
	real *slopes = scores + head.length * head.length;
	real *dqkv = real_out(call, 0) + head.at;

	real_multiply(work, sequence_part(&head, qkv, 0, false), sequence_part(&head, qkv, 1, true),
		      head.length, head.length, head.size, 0, scores, head.length);
	real_multiply(work, dy, sequence_part(&head, qkv, 2, true), head.length, head.length,
		      head.size, 0, slopes, head.length);
	for (int64_t row = 0; row < head.length; row++)
		sequence_row_back(call, &head, item, row, scores + row * head.length,
				  slopes + row * head.length);
	real_multiply(work, (struct real_matrix){slopes, head.length, false},
		      sequence_part(&head, qkv, 1, false), head.length, head.size, head.length, 0,
		      dqkv, 3 * head.channels);
	real_multiply(work, (struct real_matrix){slopes, head.length, true},
		      sequence_part(&head, qkv, 0, false), head.length, head.size, head.length, 0,
		      dqkv + head.channels, 3 * head.channels);
	real_multiply(work, (struct real_matrix){scores, head.length, true}, dy, head.length,
		      head.size, head.length, 0, dqkv + 2 * head.channels, 3 * head.channels);
}

static void sequence_attend_back(const struct cpu_work *work, unsigned thread, int64_t first,
				 int64_t last)
{
	real *scores = (real *)(void *)(work->scratch + thread * work->scratch_size);

	for (int64_t item = first; item < last; item++)
		sequence_head_back(work, item, scores);
}

const struct cpu_op REAL_NAME(cpu_attention_back) = {
	.loops = {{sequence_heads, sequence_attend_back}},
	.scratch = sequence_scores_twice,
};
