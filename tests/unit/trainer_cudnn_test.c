// links: trainer_cudnn
/* cuDNN's engines, beside a fake cuDNN (tests/support/cudnn_fake) that offers what the test says. tests/gpu/trainer_engines asks
 * the real one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "tests/support/cmocka.h"
#include "tests/support/cudnn_fake/cudnn_lab.h"
#include "trainer_image/graph/model_text.h"
#include "trainer_image/ops/cuda/cudnn_conv.h"
#include "trainer_image/ops/cuda/cudnn_source.h"

enum {
	NOTE_TENSOR_CORE = 1,
	NOTE_DOWN = 2,
	NOTE_REDUCED = 3,
	NOTE_NONDETERMINISTIC = 5,
	NOTE_13 = 9
};

static const struct op_attributes cudnn_none = {.factor = 0};

struct cudnn_lab {
	struct cudnn_fake *fake;
	struct cudnn_library library;
	struct cudnn_target target;
};

static void cudnn_lab_begin(struct cudnn_lab *lab)
{
	struct problem problem = {0};
	const struct cudnn_device_row *row = NULL;

	cudnn_use("fake");
	lab->fake = cudnn_state();
	*lab->fake = (struct cudnn_fake){.version = 91900, .first = {{.id = 7}}};
	assert_int_equal(cudnn_library_open(&lab->library, &problem), 0);
	assert_int_equal(cudnn_device_find("h200", 90, &row, &problem), 0);
	assert_int_equal(cudnn_target_describe(&lab->target, &lab->library, row, &problem), 0);
}

static void cudnn_lab_end(struct cudnn_lab *lab)
{
	cudnn_target_done(&lab->target);
	assert_int_equal(lab->fake->live, 0);
	assert_int_equal(lab->fake->handles, 0);
}

struct cudnn_case {
	enum op_kind kind;
	struct op_attributes attributes;
	struct op_tensor in[3];
	size_t in_count;
	struct op_tensor out;
	bool accumulate;
	int operation;
	int64_t sizes[3][4]; /* of x, w, y for cuDNN: N C H W */
	float beta;
};

#define BF16(...)                                             \
	{                                                     \
		TENSOR_BF16,                                  \
		{                                             \
			sizeof((int64_t[]){__VA_ARGS__}) / 8, \
			{                                     \
				__VA_ARGS__                   \
			}                                     \
		}                                             \
	}
#define WINDOW_3_2                                                 \
	{                                                          \
		.window = {3, 3}, .stride = {2, 2}, .pad = {1, 1}, \
	}

static const struct cudnn_case cudnn_cases[] = {
	{OP_CONV,
	 WINDOW_3_2,
	 {BF16(8, 56, 40, 64), BF16(32, 3, 3, 64)},
	 2,
	 BF16(8, 28, 20, 32),
	 false,
	 CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
	 {{8, 64, 56, 40}, {32, 64, 3, 3}, {8, 32, 28, 20}},
	 0},
	{OP_CONV,
	 WINDOW_3_2,
	 {BF16(8, 56, 40, 64), BF16(32, 3, 3, 64), BF16(32)},
	 3,
	 BF16(8, 28, 20, 32),
	 false,
	 CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
	 {{8, 64, 56, 40}, {32, 64, 3, 3}, {8, 32, 28, 20}},
	 1},
	{OP_CONV_DATA,
	 WINDOW_3_2,
	 {BF16(8, 28, 20, 32), BF16(32, 3, 3, 64)},
	 2,
	 BF16(8, 56, 40, 64),
	 false,
	 CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
	 {{8, 64, 56, 40}, {32, 64, 3, 3}, {8, 32, 28, 20}},
	 0},
	{OP_CONV_WEIGHT,
	 WINDOW_3_2,
	 {BF16(8, 56, 40, 64), BF16(8, 28, 20, 32)},
	 2,
	 BF16(32, 3, 3, 64),
	 true,
	 CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
	 {{8, 64, 56, 40}, {32, 64, 3, 3}, {8, 32, 28, 20}},
	 1},
	{OP_LINEAR,
	 {0},
	 {BF16(4, 16, 384), BF16(1152, 384), BF16(1152)},
	 3,
	 BF16(4, 16, 1152),
	 false,
	 CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
	 {{1, 384, 64, 1}, {1152, 384, 1, 1}, {1, 1152, 64, 1}},
	 1},
	{OP_LINEAR_DATA,
	 {0},
	 {BF16(4, 16, 1152), BF16(1152, 384)},
	 2,
	 BF16(4, 16, 384),
	 false,
	 CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
	 {{1, 384, 64, 1}, {1152, 384, 1, 1}, {1, 1152, 64, 1}},
	 0},
	{OP_LINEAR_WEIGHT,
	 {0},
	 {BF16(4, 16, 384), BF16(4, 16, 1152)},
	 2,
	 BF16(1152, 384),
	 false,
	 CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
	 {{1, 384, 64, 1}, {1152, 384, 1, 1}, {1, 1152, 64, 1}},
	 0},
};

static void cudnn_check_case(struct cudnn_lab *lab, const struct cudnn_case *row)
{
	struct op_inputs op = {row->kind, &row->attributes, row->in, row->in_count};
	struct cudnn_shape shape;
	struct cudnn_engines engines;
	struct problem problem = {0};
	const struct cudnn_fake *fake = lab->fake;

	assert_int_equal(cudnn_shape_of(&op, &row->out, row->accumulate, &shape, &problem), 0);
	assert_int_equal(cudnn_engines_find(&lab->target, &shape, INT64_MAX, CUDNN_ENGINES_MAX,
					    &engines, &problem),
			 0);
	assert_int_equal(fake->operation, row->operation);
	assert_memory_equal(fake->sizes, row->sizes, sizeof(row->sizes));
	for (int i = 0; i < 3; i++) {
		const int64_t *size = row->sizes[i];
		const int64_t strides[4] = {size[1] * size[2] * size[3], 1, size[3] * size[1],
					    size[1]};

		assert_memory_equal(fake->strides[i], strides, sizeof(strides));
		assert_int_equal(fake->data_types[i], CUDNN_DATA_BFLOAT16);
	}
	assert_true(fake->beta >= row->beta && fake->beta <= row->beta);
	assert_int_equal(fake->step[0], row->attributes.stride[0] > 0 ? 2 : 1);
	assert_int_equal(fake->pad[1], row->attributes.pad[1]);
	assert_false(fake->with_handle);
	assert_non_null(strstr(fake->device, "\"deviceName\":\"NVIDIA H200\""));
}

static void shapes(void **state)
{
	struct cudnn_lab lab;
	struct cudnn_shape shape;
	struct problem problem = {0};
	const struct op_tensor fp64[2] = {{TENSOR_FP64, {2, {4, 8}}}, {TENSOR_FP64, {2, {16, 8}}}};
	struct op_inputs op = {OP_LINEAR, &cudnn_none, fp64, 2};

	(void)state;
	cudnn_lab_begin(&lab);
	for (size_t i = 0; i < COUNT_OF(cudnn_cases); i++)
		cudnn_check_case(&lab, &cudnn_cases[i]);
	assert_int_equal(cudnn_shape_of(&op, &fp64[0], false, &shape, &problem), E_UNSUPPORTED);
	assert_string_equal(problem.message, "linear in fp64 has no engine");
	op.kind = OP_ADD;
	assert_int_equal(cudnn_shape_of(&op, &fp64[0], false, &shape, &problem), E_UNSUPPORTED);
	cudnn_lab_end(&lab);
}

static int cudnn_ask(struct cudnn_lab *lab, enum tensor_type type, int64_t limit,
		     struct cudnn_engines *ret, struct problem *problem)
{
	const struct op_tensor in[2] = {{type, {2, {4, 8}}}, {type, {2, {16, 8}}}};
	const struct op_tensor out = {type, {2, {4, 16}}};
	struct op_inputs op = {OP_LINEAR, &cudnn_none, in, 2};
	struct cudnn_shape shape;

	assert_int_equal(cudnn_shape_of(&op, &out, false, &shape, problem), 0);
	return cudnn_engines_find(&lab->target, &shape, limit, CUDNN_ENGINES_MAX, ret, problem);
}

static void engines(void **state)
{
	static const struct cudnn_fake_engine first[] = {
		{.id = 1, .workspace = 900, .numerical = {NOTE_TENSOR_CORE, NOTE_NONDETERMINISTIC}},
		{.id = 2, .workspace = 800, .numerical = {NOTE_REDUCED}},
		{.id = 3, .workspace = 700, .numerical = {NOTE_13}},
		{.id = 4, .workspace = 600, .behavior = {1}},
		{.id = 5, .workspace = 500, .fails = true},
		{.id = 6, .workspace = 400, .numerical = {NOTE_TENSOR_CORE}},
		{.id = 7, .workspace = 400}, /* not less than the sixth */
		{.id = 8, .workspace = 90, .more = 10},
	};
	static const struct cudnn_fake_engine others[] = {
		{.id = 9, .workspace = 100}, {.id = 10}, {.id = 11}};
	struct cudnn_lab lab;
	struct cudnn_engines found;
	struct problem problem = {0};

	(void)state;
	cudnn_lab_begin(&lab);
	memcpy(lab.fake->first, first, sizeof(first));
	memcpy(lab.fake->others, others, sizeof(others));
	assert_int_equal(cudnn_ask(&lab, TENSOR_BF16, INT64_MAX, &found, &problem), 0);
	assert_int_equal(found.count, 3);
	assert_int_equal(found.rows[0].id, 6);
	assert_int_equal(found.rows[1].id, 8);
	assert_int_equal(found.rows[1].workspace, 100);
	assert_int_equal(found.rows[2].id, 10);
	assert_string_equal(found.rows[2].name, "eng10_k2=5");
	assert_int_equal(found.refused[CUDNN_REFUSED_NONDETERMINISTIC], 1);
	assert_int_equal(found.refused[CUDNN_REFUSED_PRECISION], 2);
	assert_int_equal(found.refused[CUDNN_REFUSED_COMPILED], 1);
	assert_int_equal(found.refused[CUDNN_REFUSED_PLAN], 1);
	assert_int_equal(found.refused[CUDNN_REFUSED_WORKSPACE], 2);
	assert_int_equal(found.offered, 10); /* the eleventh is not tried: nothing needs less */
	assert_int_equal(cudnn_engines_choose(&found, INT64_MAX)->id, 6);
	assert_int_equal(cudnn_engines_choose(&found, 399)->id, 8);
	assert_int_equal(cudnn_engines_choose(&found, 0)->id, 10);

	/* Tensor cores are TF32 in FP32. */
	assert_int_equal(cudnn_ask(&lab, TENSOR_FP32, INT64_MAX, &found, &problem), 0);
	assert_int_equal(found.rows[0].id, 7);
	assert_int_equal(found.refused[CUDNN_REFUSED_PRECISION], 4);
	assert_int_equal(cudnn_ask(&lab, TENSOR_BF16, 99, &found, &problem), 0);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.rows[0].id, 10);
	assert_null(cudnn_engines_choose(&found, -1));
	cudnn_lab_end(&lab);
}

static void no_engine(void **state)
{
	struct cudnn_lab lab;
	struct cudnn_engines found;
	struct problem problem = {0};

	(void)state;
	cudnn_lab_begin(&lab);
	lab.fake->first[0] = (struct cudnn_fake_engine){.id = 1, .numerical = {NOTE_DOWN}};
	lab.fake->first[1] = (struct cudnn_fake_engine){.id = 2, .workspace = 1000};
	assert_int_equal(cudnn_ask(&lab, TENSOR_FP16, 999, &found, &problem), E_UNSUPPORTED);
	assert_string_equal(problem.message, "no engine for forward 4x8 to 16 in fp16");
	assert_non_null(strstr(problem.detail,
			       "cuDNN offers 2; refused: 0 not deterministic, 1 not exact"));
	assert_non_null(strstr(problem.detail, "1 over 999 bytes of workspace"));
	assert_non_null(strstr(problem.hint, "more workspace"));
	lab.fake->first[0].id = 0;
	assert_int_equal(cudnn_ask(&lab, TENSOR_FP16, 999, &found, &problem), E_UNSUPPORTED);
	assert_string_equal(problem.detail, "cuDNN offers none on this GPU");
	lab.fake->heuristics = 3002; /* not supported is an answer, an internal error none */
	assert_int_equal(cudnn_ask(&lab, TENSOR_FP16, 999, &found, &problem), E_UNSUPPORTED);
	lab.fake->heuristics = 4000;
	assert_int_equal(cudnn_ask(&lab, TENSOR_FP16, 999, &found, &problem), -EIO);
	assert_string_equal(problem.detail, "the fake says why");
	cudnn_lab_end(&lab);
}

struct cudnn_filled {
	int count, rc;
	struct cudnn_conv_filled is;
};

static int cudnn_fill(void *context, const struct cudnn_conv_filled *is, struct problem *problem)
{
	struct cudnn_filled *filled = context;

	filled->count++;
	filled->is = *is;
	return filled->rc == 0 ? 0 : problem_set(problem, filled->rc, "no bias");
}

// NOLINTNEXTLINE(readability-non-const-parameter): calls write their memory
static struct ops_call cudnn_call(const struct cudnn_case *row, char memory[5])
{
	struct ops_call call = {.kind = row->kind,
				.attributes = &row->attributes,
				.in_count = row->in_count,
				.out_count = 1,
				.accumulate = row->accumulate,
				.workspace = memory + 3};

	for (size_t i = 0; i < row->in_count; i++)
		call.in[i] = (struct ops_tensor){row->in[i], memory + i};
	call.out[0] = (struct ops_tensor){row->out, memory + 4};
	return call;
}

static void conv(void **state)
{
	/* Which memory cuDNN gets as x, w and y: an input, or 4, the output. */
	static const int order[COUNT_OF(cudnn_cases)][3] = {
		{0, 1, 4}, {0, 1, 4}, {4, 1, 0}, {0, 4, 1}, {0, 1, 4}, {4, 1, 0}, {0, 4, 1}};
	char memory[5];
	struct cudnn_filled filled = {0};
	struct cudnn_conv_bias bias = {&filled, cudnn_fill};
	struct cudnn_conv *conv = NULL;
	struct cudnn_engine engine;
	struct problem problem = {0};
	struct cudnn_lab lab;

	(void)state;
	cudnn_lab_begin(&lab);
	cudnn_target_done(&lab.target);
	lab.fake->no_gpu = true;
	assert_int_equal(cudnn_conv_new(memory, 500, &bias, &conv, &problem), -EIO);
	assert_string_equal(problem.message, "cuDNN: opening the GPU failed, status 1001");
	lab.fake->no_gpu = false;
	lab.fake->first[0] = (struct cudnn_fake_engine){.id = 6, .workspace = 501};
	lab.fake->first[1] = (struct cudnn_fake_engine){.id = 7, .workspace = 400, .fails = true};
	lab.fake->first[2] = (struct cudnn_fake_engine){.id = 8, .workspace = 300};
	assert_int_equal(cudnn_conv_new(memory, 500, &bias, &conv, &problem), 0);
	assert_ptr_equal(lab.fake->stream, memory);
	for (size_t i = 0; i < COUNT_OF(cudnn_cases); i++) {
		struct ops_call call = cudnn_call(&cudnn_cases[i], memory);
		bool has_bias = call.in_count > 2;
		int asked = lab.fake->questions;
		int count = filled.count;

		assert_int_equal(cudnn_conv_run(conv, &call, &problem), E_NOT_FOUND);
		assert_int_equal(cudnn_conv_find(conv, &call, &engine, &problem), 0);
		assert_int_equal(cudnn_conv_find(conv, &call, &engine, &problem), 0);
		assert_int_equal(lab.fake->questions, asked + 3); /* both modes; its plan */
		assert_true(lab.fake->with_handle);
		assert_int_equal(engine.id, 8);
		assert_int_equal(engine.workspace, 300);
		call.workspace_size = 299;
		assert_int_equal(cudnn_conv_run(conv, &call, &problem), E_LIMIT);
		call.workspace_size = 300;
		assert_int_equal(cudnn_conv_run(conv, &call, &problem), 0);
		assert_int_equal(lab.fake->ran, 8);
		assert_ptr_equal(lab.fake->workspace, memory + 3);
		for (int k = 0; k < 3; k++)
			assert_ptr_equal(lab.fake->memory[k], memory + order[i][k]);
		assert_int_equal(filled.count, count + (has_bias ? 1 : 0));
	}
	assert_ptr_equal(filled.is.y, memory + 4);
	assert_ptr_equal(filled.is.bias, memory + 2);
	assert_int_equal(filled.is.rows, 64);
	assert_int_equal(filled.is.channels, 1152);
	assert_int_equal(filled.is.type, TENSOR_BF16);

	/* What fails is told, and no product runs without its bias. */
	struct ops_call call = cudnn_call(&cudnn_cases[1], memory);
	int runs = lab.fake->runs;

	call.workspace_size = 300;
	filled.rc = -EIO;
	assert_int_equal(cudnn_conv_run(conv, &call, &problem), -EIO);
	assert_int_equal(lab.fake->runs, runs);
	filled.rc = 0;
	lab.fake->run = 5003;
	assert_int_equal(cudnn_conv_run(conv, &call, &problem), -EIO);
	assert_non_null(strstr(problem.message, "cuDNN: eng8_k2=5 of forward "));
	assert_non_null(strstr(problem.message, " in bf16 failed, status 5003"));
	assert_string_equal(problem.detail, "the fake says why");
	cudnn_conv_free(conv);
	cudnn_lab_end(&lab);
}

/* Each call has the fastest engine for the workspace that it has, else the one with the least. */
static void conv_workspace(void **state)
{
	static const struct {
		size_t asked, has; /* bytes */
		int64_t id;
	} rows[] = {{SIZE_MAX, 400, 6}, {400, 512, 6}, {399, 256, 7},
		    {100, 100, 7},      {99, 0, 8},    {0, 0, 8}};
	char memory[5];
	struct cudnn_filled filled = {0};
	struct cudnn_conv_bias bias = {&filled, cudnn_fill};
	struct cudnn_conv *conv = NULL;
	struct cudnn_engine engine;
	struct problem problem = {0};
	struct cudnn_lab lab;

	(void)state;
	cudnn_lab_begin(&lab);
	cudnn_target_done(&lab.target);
	lab.fake->first[0] = (struct cudnn_fake_engine){.id = 5, .workspace = 501};
	lab.fake->first[1] = (struct cudnn_fake_engine){.id = 6, .workspace = 400};
	/* Its plan needs less than its configuration said: it is found again nevertheless. */
	lab.fake->first[2] = (struct cudnn_fake_engine){.id = 7, .workspace = 100, .more = -50};
	lab.fake->others[0] = (struct cudnn_fake_engine){.id = 8, .workspace = 0};
	assert_int_equal(cudnn_conv_new(memory, 500, &bias, &conv, &problem), 0);
	struct ops_call call = cudnn_call(&cudnn_cases[0], memory);

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		call.workspace_size = rows[i].asked;
		assert_int_equal(cudnn_conv_find(conv, &call, &engine, &problem), 0);
		assert_int_equal(engine.id, rows[i].id);
		call.workspace_size = rows[i].has;
		assert_int_equal(cudnn_conv_run(conv, &call, &problem), 0);
		assert_int_equal(lab.fake->ran, rows[i].id);
	}
	/* Both modes once; each plan as far as its engine. */
	assert_int_equal(lab.fake->questions, 2 + 1 + 1 + 2);
	cudnn_conv_free(conv);
	cudnn_lab_end(&lab);
}

struct source_lab {
	struct cudnn_lab cudnn;
	struct cudnn_source *source;
	const struct plan_engine_source *face;
	struct model *model;
	struct graph *graph;
	struct plan_engines engines;
};

/* ResNet-18 on an A100, whose fake engines need 100 MiB, 3 MiB and 1000 bytes. */
static void source_begin(struct source_lab *lab)
{
	char path[PATH_MAX];
	struct problem problem = {0};

	*lab = (struct source_lab){0};
	cudnn_lab_begin(&lab->cudnn);
	struct cudnn_fake *fake = lab->cudnn.fake;

	fake->first[0] = (struct cudnn_fake_engine){.id = 6, .workspace = 100 << 20};
	fake->first[1] = (struct cudnn_fake_engine){.id = 7, .workspace = 3 << 20};
	fake->others[0] = (struct cudnn_fake_engine){.id = 8, .workspace = 1000};
	(void)snprintf(path, sizeof(path), "%s/../trainer_image/model/resnet18.model",
		       TEST_SOURCE_DIR);
	assert_int_equal(model_load(path, &lab->model, &problem), 0);
	assert_int_equal(graph_build(lab->model, 2, TENSOR_BF16, true, &lab->graph, &problem), 0);
	assert_int_equal(
		cudnn_source_new(gpu_row("a100"), TENSOR_BF16, &lab->source, &lab->face, &problem),
		0);
}

static void source_end(struct source_lab *lab)
{
	plan_engines_done(&lab->engines);
	cudnn_source_free(lab->source);
	graph_free(lab->graph);
	model_free(lab->model);
	cudnn_lab_end(&lab->cudnn);
}

static void source(void **state)
{
	struct source_lab lab;
	struct problem problem = {0};
	struct cudnn_source *none = NULL;
	int products = 0;

	(void)state;
	source_begin(&lab);
	const struct plan_engine_source *face = NULL;

	assert_int_equal(cudnn_source_new(gpu_row("t4"), TENSOR_BF16, &none, &face, &problem),
			 E_INVALID);
	assert_string_equal(problem.message, "t4 (sm_75) has no bf16");
	assert_int_equal(cudnn_source_new(gpu_row("v100"), TENSOR_FP16, &none, &face, &problem),
			 E_UNSUPPORTED);
	assert_string_equal(lab.face->library, "cuDNN 9.19.0");
	assert_int_equal(plan_engines_init(&lab.engines, lab.face, lab.graph, &problem), 0);
	for (int i = 0; i < lab.graph->op_count; i++) {
		const struct plan_engine *engine = &lab.engines.ops[i].engine;

		assert_int_equal(engine->shape >= 0, cudnn_shape_is_for(lab.graph->ops[i].kind));
		assert_int_equal(engine->id, engine->shape >= 0 ? 6 : 0);
		products += engine->shape >= 0 ? 1 : 0;
	}
	assert_int_equal(products, 62);
	assert_int_equal(lab.cudnn.fake->questions, 2 * 35); /* both modes, once for each shape */
	source_end(&lab);
}

/* Room for all, for the second engine; and for none. */
static void source_limits(void **state)
{
	static const struct {
		int64_t budget, limit, id; /* id 0: too little */
	} rows[] = {
		{INT64_C(1) << 30, PLAN_ENGINE_LIMIT, 6},
		{INT64_C(90) << 20, INT64_C(64) << 20, 7},
		{INT64_C(1) << 20, 0, 0},
	};
	struct source_lab lab;
	struct problem problem = {0};

	(void)state;
	source_begin(&lab);
	assert_int_equal(plan_engines_init(&lab.engines, lab.face, lab.graph, &problem), 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(plan_freep) struct plan *plan = NULL;
		struct plan_options options = {.budget = rows[i].budget};
		int rc = plan_engines_make(&lab.engines, lab.graph, &options, &plan, &problem);

		assert_int_equal(rc, rows[i].id == 0 ? E_LIMIT : 0);
		if (rc < 0)
			continue;
		assert_true(plan->arena <= rows[i].budget);
		assert_int_equal(lab.engines.limit, rows[i].limit);
		assert_int_equal(lab.engines.ops[0].engine.id, rows[i].id);
		assert_int_equal(lab.engines.ops[0].first_workspace, 100 << 20);
	}
	assert_int_equal(lab.cudnn.fake->questions, 2 * 35);
	source_end(&lab);
}

static void source_without_engines(void **state)
{
	struct source_lab lab;
	struct problem problem = {0};

	(void)state;
	source_begin(&lab);
	lab.cudnn.fake->first[0].id = 0;
	lab.cudnn.fake->others[0].id = 0;
	assert_int_equal(plan_engines_init(&lab.engines, lab.face, lab.graph, &problem),
			 E_UNSUPPORTED);
	assert_string_equal(problem.message, "62 ops have no engine");
	assert_non_null(strstr(problem.detail,
			       "the first: no engine for forward 2x224x224x3 to 64, 7x7/2"));
	source_end(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes),         cmocka_unit_test(engines),
		cmocka_unit_test(no_engine),      cmocka_unit_test(conv),
		cmocka_unit_test(conv_workspace), cmocka_unit_test(source),
		cmocka_unit_test(source_limits),  cmocka_unit_test(source_without_engines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
