/* A model as its file describes it, with blocks and repetitions written out: results in the order in
 * which they are computed. Example of a file: trainer_image/model/lenet.model.
 *
 * Result 0 is the input, result 1 the label, result 2 + i what op i gives. */
#pragma once

#include "common/base/text.h"

#include "trainer_image/graph/op.h"

enum {
	MODEL_OPS_MAX = 10000,
	MODEL_NAME_SIZE = 120, /* of a written-out name with NUL: "stage1.bottleneck_2.conv_1" */
	MODEL_PARAMETERS_MAX = 4,
};

/* Behind the kinds of op.h: the same memory in another shape. */
enum { MODEL_FLATTEN = OP_KINDS };

enum model_result { MODEL_INPUT, MODEL_LABEL, MODEL_FIRST };

struct model_op {
	int kind; /* enum op_kind or MODEL_FLATTEN */
	int line; /* of the file; of a block the line in it */
	char name[MODEL_NAME_SIZE];
	int in[OP_IN_MAX]; /* results */
	int in_count;
	struct op_attributes attributes;
	int64_t out;               /* channels out: conv, linear, embedding */
	int64_t words;             /* embedding */
	bool bias;                 /* conv, linear */
	bool whole;                /* average_pool: one window over the whole image */
	struct tensor_shape shape; /* of its result for one sample, without the batch */
};

struct model {
	char name[MODEL_NAME_SIZE];
	char input_name[MODEL_NAME_SIZE], label_name[MODEL_NAME_SIZE];
	struct tensor_shape input, label; /* of one sample, without the batch */
	int64_t words; /* the input are tokens below this; 0 = an image or vector */
	int64_t classes;
	struct model_op *ops;
	size_t count, room;
};

/* How training begins with a parameter. */
enum model_start {
	MODEL_ZERO,
	MODEL_ONE,
	MODEL_HE,     /* normal, deviation sqrt(2 / fan_in) */
	MODEL_NORMAL, /* normal, deviation 0.02 */
};

/* A parameter or running statistic of an op: its inputs behind those of the file. */
struct model_parameter {
	const char *word; /* "weight"; static */
	struct op_tensor is;
	enum model_start start;
	int64_t fan_in;
	bool statistic; /* running mean or variance: no gradient */
};

void model_free(struct model *model);
void model_freep(struct model **model);

/* The shape of a result for a batch. */
struct tensor_shape model_shape(const struct model *model, int result, int64_t batch);
/* Parameters of an op whose first input is `x`. Returns their number. */
size_t model_parameters(const struct model_op *op, const struct op_tensor *x,
			struct model_parameter ret[MODEL_PARAMETERS_MAX]);
/* `op.shape`, and attributes that follow from the shape of the input. Problems have shapes of one
 * sample, and no line. E_INVALID. */
MUST_USE int model_infer(const struct model *model, struct model_op *op, struct problem *problem);
