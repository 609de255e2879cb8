// links: trainer_plan
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hash.h"

#include "tests/support/cmocka.h"
#include "trainer_image/graph/model_text.h"
#include "trainer_image/plan/arena_policy.h"
#include "trainer_image/plan/plan.h"
#include "trainer_image/plan/plan_check.h"
#include "trainer_image/plan/step_time.h"

struct plan_lab {
	uint64_t seed;
	struct model *model;
	struct graph *graph;
};

static uint32_t plan_random(struct plan_lab *lab, uint32_t range)
{
	lab->seed += UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(hash_spread(lab->seed) % range);
}

/* A random model: `count` ops on vectors; what nothing reads is joined at the end. */
static void plan_random_model(struct plan_lab *lab, int count, struct text *text)
{
	static const char *const singles[] = {"relu", "gelu", "tanh", "layer_norm"};
	int sizes[128] = {64};
	bool used[128] = {false};
	int results = 1;
	int open[128];
	int open_count = 0;

	text_add(text, "model random\ninput r0 64\nlabel y 10\n");
	for (; results <= count; results++) {
		int a = plan_random(lab, 2) == 0 ? results - 1
						 : (int)plan_random(lab, (uint32_t)results);
		int b = (int)plan_random(lab, (uint32_t)results);
		uint32_t kind = plan_random(lab, 8);

		sizes[results] = sizes[a];
		text_addf(text, "r%d = ", results);
		if (kind < 2) {
			sizes[results] = 64 << plan_random(lab, 4);
			text_addf(text, "linear r%d out=%d\n", a, sizes[results]);
		} else if (kind < 4 && sizes[a] == sizes[b] && a != b) {
			text_addf(text, "add r%d r%d\n", a, b);
			used[b] = true;
		} else if (kind == 4) {
			text_addf(text, "dropout r%d rate=0.5\n", a);
		} else {
			text_addf(text, "%s r%d\n", singles[plan_random(lab, 4)], a);
		}
		used[a] = true;
	}
	for (int i = 0; i < results; i++)
		if (!used[i])
			open[open_count++] = i;
	while (open_count > 1) {
		int joined = open_count < 8 ? open_count : 8;

		text_addf(text, "r%d = concat", results);
		for (int i = 0; i < joined; i++)
			text_addf(text, " r%d", open[--open_count]);
		text_add(text, "\n");
		open[open_count++] = results++;
	}
	text_addf(text, "linear r%d out=10\ncross_entropy\n", open[0]);
}

static void plan_lab_done(struct plan_lab *lab)
{
	graph_free(lab->graph);
	model_free(lab->model);
	lab->graph = NULL;
	lab->model = NULL;
}

static void plan_lab_begin(struct plan_lab *lab, int ops, int64_t batch)
{
	struct text text = {0};
	struct problem problem = {0};

	plan_random_model(lab, ops, &text);
	(void)!model_parse("random", text_get(&text), text.size, &lab->model, &problem);
	assert_string_equal(problem.message, "");
	assert_int_equal(graph_build(lab->model, batch, TENSOR_FP32, true, &lab->graph, &problem),
			 0);
	text_done(&text);
}

static void plan_lab_load(struct plan_lab *lab, const char *name, int64_t batch)
{
	char path[300];
	struct problem problem = {0};

	(void)snprintf(path, sizeof(path), "%s/../trainer_image/model/%s.model", TEST_SOURCE_DIR,
		       name);
	(void)!model_load(path, &lab->model, &problem);
	assert_string_equal(problem.message, "");
	assert_int_equal(graph_build(lab->model, batch, TENSOR_BF16, true, &lab->graph, &problem),
			 0);
}

/* The plan, checked; NULL when the budget is too small: then the smallest that works is in `ret_least`. */
static struct plan *plan_lab_plan(const struct plan_lab *lab, int64_t budget, int64_t *ret_least)
{
	struct plan *plan = NULL;
	struct problem problem = {0};
	int rc = plan_make(lab->graph, &(struct plan_options){.budget = budget}, &plan, &problem);

	if (rc == E_LIMIT) {
		const char *number = strstr(problem.message, "at least ");

		assert_non_null(number);
		*ret_least = atoll(number + strlen("at least "));
		return NULL;
	}
	assert_int_equal(rc, 0);
	(void)!plan_check(lab->graph, plan, &problem);
	assert_string_equal(problem.message, "");
	assert_true(plan->arena >= plan->floor);
	assert_true(budget == 0 || plan->arena <= budget);
	return plan;
}

/* A second, plain way from a set of dropped ops to work and to the most bytes that are live at once. */
enum { BRUTE_STEPS = 128, BRUTE_TENSORS = 256 };

struct brute {
	const struct graph *graph;
	int steps[BRUTE_STEPS], count;
	bool there[BRUTE_TENSORS];
	double extra;
};

static int brute_root(const struct brute *brute, int tensor)
{
	return brute->graph->tensors[tensor].alias;
}

static bool brute_lasting(const struct brute *brute, int tensor)
{
	return brute->graph->tensors[tensor].role <= GRAPH_GRADIENT;
}

static void brute_run(struct brute *brute, int op, bool again)
{
	const struct graph_op *row = &brute->graph->ops[op];

	brute->steps[brute->count++] = op;
	for (int k = 0; k < row->out_count; k++)
		brute->there[row->out[k]] = true;
	brute->extra += again ? row->flops : 0;
}

static void brute_schedule(struct brute *brute, uint32_t set)
{
	const struct graph *graph = brute->graph;

	for (int i = 0; i < graph->forward_count; i++)
		brute_run(brute, i, false);
	for (int i = 0; i < graph->forward_count; i++)
		for (int k = 0; set >> i & 1U && k < graph->ops[i].out_count; k++)
			brute->there[graph->ops[i].out[k]] = false;
	for (int i = graph->forward_count; i < graph->op_count; i++) {
		for (;;) {
			int op = i;

			for (bool more = true; more;) {
				const struct graph_op *row = &graph->ops[op];

				more = false;
				for (int k = 0; k < row->in_count && !more; k++) {
					int root = brute_root(brute, row->in[k]);

					more = !brute_lasting(brute, root) && !brute->there[root];
					op = more ? graph->tensors[root].op : op;
				}
			}
			brute_run(brute, op, op != i);
			if (op == i)
				break;
		}
	}
}

static bool brute_reads(const struct brute *brute, int step, int tensor)
{
	const struct graph_op *row = &brute->graph->ops[brute->steps[step]];

	for (int k = 0; k < row->in_count; k++)
		if (brute_root(brute, row->in[k]) == tensor)
			return true;
	return false;
}

static bool brute_writes(const struct brute *brute, int step, int tensor)
{
	const struct graph_op *row = &brute->graph->ops[brute->steps[step]];

	for (int k = 0; k < row->out_count; k++)
		if (row->out[k] == tensor)
			return true;
	return false;
}

/* Is the value of `tensor` that step `at` sees read behind it? */
static bool brute_read_later(const struct brute *brute, int at, int tensor)
{
	if (tensor == brute->graph->loss)
		return true;
	for (int i = at + 1; i < brute->count; i++) {
		if (brute_reads(brute, i, tensor))
			return true;
		if (brute_writes(brute, i, tensor))
			return false;
	}
	return false;
}

static int64_t brute_round(const struct brute *brute, int tensor)
{
	return (graph_tensor_bytes(brute->graph, tensor) + 255) / 256 * 256;
}

static int64_t brute_peak(const struct brute *brute)
{
	bool live[BRUTE_TENSORS] = {false};
	int64_t peak = 0;

	for (int at = 0; at < brute->count; at++) {
		const struct graph_op *row = &brute->graph->ops[brute->steps[at]];
		bool in_place = row->kind == OP_ADD || row->kind == OP_ACTIVATION ||
				row->kind == OP_ACTIVATION_BACK || row->kind == OP_DROPOUT ||
				row->kind == OP_DROPOUT_BACK;
		int64_t bytes = 0;

		for (int k = 0; k < row->out_count; k++)
			live[row->out[k]] = !brute_lasting(brute, row->out[k]);
		for (int t = 0; t < brute->graph->tensor_count; t++)
			bytes += live[t] ? brute_round(brute, t) : 0;
		for (int k = 0; k < row->in_count && in_place; k++) {
			int root = brute_root(brute, row->in[k]);

			if (brute_lasting(brute, root) || brute_read_later(brute, at, root) ||
			    graph_tensor_bytes(brute->graph, root) !=
				    graph_tensor_bytes(brute->graph, row->out[0]))
				continue;
			bytes -= brute_round(brute, root);
			in_place = false;
		}
		peak = bytes > peak ? bytes : peak;
		for (int t = 0; t < brute->graph->tensor_count; t++)
			live[t] = live[t] && brute_read_later(brute, at, t);
	}
	return peak;
}

/* The fewest extra operations of all sets within the budget, -1 = none; the smallest peak of all. */
static double brute_best(const struct plan_lab *lab, int64_t budget, int64_t *ret_smallest)
{
	double best = -1;

	*ret_smallest = INT64_MAX;
	for (uint32_t set = 0; set < 1U << (lab->graph->forward_count - 1); set++) {
		struct brute brute = {.graph = lab->graph};

		brute_schedule(&brute, set);
		if (best >= 0 && brute.extra >= best)
			continue;
		int64_t peak = brute_peak(&brute);

		*ret_smallest = peak < *ret_smallest ? peak : *ret_smallest;
		if (peak <= budget)
			best = brute.extra;
	}
	return best;
}

static void equals_brute_force(void **state)
{
	struct plan_lab lab = {.seed = 21};
	int compared = 0;
	int dearer = 0;
	int largest = 0;

	(void)state;
	for (int round = 0; round < 60; round++) {
		/* One of 14 ops that may be dropped. */
		plan_lab_begin(&lab, round == 59 ? 12 : 4 + round % 5, 16);
		int64_t least = 0;
		struct plan *all = plan_lab_plan(&lab, 0, &least);
		int64_t budget = all->arena - 256 - all->arena * (round % 4) / 10;
		int64_t smallest = 0;

		largest = lab.graph->forward_count - 1 > largest ? lab.graph->forward_count - 1
								 : largest;
		if (lab.graph->forward_count <= (round == 59 ? 15 : 11)) {
			struct plan *plan = plan_lab_plan(&lab, budget, &least);
			double best = brute_best(&lab, budget, &smallest);

			if (plan) {
				assert_true(plan->exact);
				assert_true(plan->extra_flops >= best && best >= 0);
				dearer += plan->extra_flops > best ? 1 : 0;
				compared++;
			} else {
				/* No set fits, or one does by its live bytes alone. */
				assert_true(best < 0 || least > budget);
				assert_true(least >= smallest);
				plan = plan_lab_plan(&lab, least, &least);
				assert_non_null(plan);
				assert_int_equal(plan->arena, least);
			}
			plan_free(plan);
		}
		plan_free(all);
		plan_lab_done(&lab);
	}
	/* A set whose live bytes fit may have no offsets that fit; here that happens to none. */
	assert_int_equal(largest, 14);
	assert_true(compared >= 15);
	assert_int_equal(dearer, 0);
}

static void random_graphs(void **state)
{
	struct plan_lab lab = {.seed = 5};

	(void)state;
	for (int round = 0; round < 20; round++) {
		int64_t least = 0;

		plan_lab_begin(&lab, 15 + 2 * round, 32);
		struct plan *all = plan_lab_plan(&lab, 0, &least);

		for (int percent = 90; percent >= 30; percent -= 20) {
			struct plan *plan = plan_lab_plan(&lab, all->arena * percent / 100, &least);

			if (!plan) {
				plan = plan_lab_plan(&lab, least, &least);
				assert_non_null(plan);
				percent = 0;
			}
			assert_true(plan->extra_flops >= 0);
			plan_free(plan);
		}
		plan_free(all);
		plan_lab_done(&lab);
	}
}

/* model batch percent naive floor arena extra: bytes; percent of the arena without a budget; extra in
 * thousandths of the forward pass. */
static void golden(void **state)
{
	char path[300];
	char line[200];
	char name[40];
	long batch = 0;
	long percent = 0;
	int rows = 0;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/data/trainer_plan.golden", TEST_SOURCE_DIR);
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		struct plan_lab lab = {0};
		int64_t least = 0;
		char said[200];

		if (sscanf(line, "%39s %ld %ld", name, &batch, &percent) != 3)
			continue;
		plan_lab_load(&lab, name, batch);
		struct plan *plan = plan_lab_plan(&lab, 0, &least);

		if (percent < 100) {
			int64_t budget = percent > 0 ? plan->arena * percent / 100 : 256;

			plan_free(plan);
			plan = plan_lab_plan(&lab, budget, &least);
			if (!plan)
				plan = plan_lab_plan(&lab, least, &least);
		}
		assert_non_null(plan);
		(void)snprintf(said, sizeof(said),
			       "%s %ld %ld %" PRId64 " %" PRId64 " %" PRId64 " %.0f\n", name, batch,
			       percent, plan_naive_bytes(lab.graph), plan->floor, plan->arena,
			       1000 * plan->extra_flops / graph_flops(lab.graph, false));
		assert_string_equal(said, line);
		plan_free(plan);
		plan_lab_done(&lab);
		rows++;
	}
	(void)fclose(file);
	assert_true(rows >= 20);
}

static void plan_break_offset(struct plan *plan)
{
	for (int i = 0; i < plan->value_count; i++)
		plan->values[i].offset = 0;
}

static void plan_break_arena(struct plan *plan)
{
	plan->arena -= PLAN_ALIGNMENT;
}

static void plan_break_last(struct plan *plan)
{
	plan->step_count--;
}

static void plan_break_order(struct plan *plan)
{
	struct plan_step step = plan->steps[0];

	plan->steps[0] = plan->steps[1];
	plan->steps[1] = step;
}

static void plan_break_recompute(struct plan *plan)
{
	for (int i = 0; i < plan->step_count; i++)
		plan->steps[i].recompute = false;
}

static void plan_break_alignment(struct plan *plan)
{
	plan->values[plan->steps[0].out[0]].offset += 8;
}

static void check_finds(void **state)
{
	static void (*const breaks[])(struct plan * plan) = {
		plan_break_offset, plan_break_arena,     plan_break_last,
		plan_break_order,  plan_break_recompute, plan_break_alignment,
	};
	struct plan_lab lab = {0};
	int64_t least = 0;

	(void)state;
	plan_lab_load(&lab, "lenet", 8);
	for (size_t i = 0; i < COUNT_OF(breaks); i++) {
		struct problem problem = {0};
		struct plan *plan = plan_lab_plan(&lab, 256, &least);

		assert_null(plan);
		plan = plan_lab_plan(&lab, least, &least);
		assert_true(plan->extra_flops > 0);
		breaks[i](plan);
		assert_int_equal(plan_check(lab.graph, plan, &problem), E_INVALID);
		plan_free(plan);
	}
	plan_lab_done(&lab);
}

static int64_t plan_test_workspace(void *context, const struct graph *graph, int op)
{
	(void)context;
	return graph->ops[op].kind == OP_CONV ? 100000 : 0;
}

static void workspace(void **state)
{
	struct plan_lab lab = {0};
	struct problem problem = {0};
	struct plan *plan = NULL;
	struct plan_options options = {.workspace = plan_test_workspace};

	(void)state;
	plan_lab_load(&lab, "lenet", 1);
	assert_int_equal(plan_make(lab.graph, &options, &plan, &problem), 0);
	assert_int_equal(plan_check(lab.graph, plan, &problem), 0);
	assert_int_equal(plan->workspace, 100096);
	assert_true(plan->arena >= plan->workspace);
	plan_free(plan);
	plan_lab_done(&lab);
}

static void arena(void **state)
{
	struct arena_block blocks[] = {{0, 1, 512, -1}, {1, 2, 256, -1}, {2, 3, 512, -1}};
	int64_t bytes = -1;

	(void)state;
	assert_int_equal(arena_place(blocks, 3, &bytes), 0);
	assert_int_equal(bytes, 768);
	assert_int_equal(blocks[0].offset, 0);
	assert_int_equal(blocks[1].offset, 512);
	assert_int_equal(blocks[2].offset, 0);
	assert_int_equal(arena_place(NULL, 0, &bytes), 0);
	assert_int_equal(bytes, 0);
}

/* The digests of a model's graph, and of its plan under a budget of so many percent. */
static void digest_of(const char *line, int64_t batch, int percent, uint64_t ret[2])
{
	CLEANUP(text_done) struct text text = {0};
	CLEANUP(plan_freep) struct plan *plan = NULL;
	struct plan_lab lab = {0};
	struct plan_options options = {0};
	struct problem problem = {0};

	text_addf(&text,
		  "model digest\ninput image 8 8 1\nlabel digit 10\nconv out=8 window=3 pad=1\n"
		  "batch_norm\n%s\nconv out=8 window=3 pad=1\nbatch_norm\nrelu\nflatten\n"
		  "linear out=10\ncross_entropy\n",
		  line);
	assert_int_equal(model_parse("digest", text_get(&text), text.size, &lab.model, &problem),
			 0);
	assert_int_equal(graph_build(lab.model, batch, TENSOR_FP32, true, &lab.graph, &problem), 0);
	assert_int_equal(plan_make(lab.graph, &options, &plan, &problem), 0);
	if (percent < 100) {
		options.budget = plan->arena * percent / 100;
		plan_free(TAKE(plan));
		assert_int_equal(plan_make(lab.graph, &options, &plan, &problem), 0);
	}
	ret[0] = graph_digest(lab.graph);
	ret[1] = plan_digest(plan);
	plan_lab_done(&lab);
}

static void digests(void **state)
{
	uint64_t first[2];
	uint64_t other[2];

	(void)state;
	digest_of("dropout rate=0.5", 4, 100, first);
	digest_of("dropout rate=0.5", 4, 100, other);
	assert_memory_equal(first, other, sizeof(first));
	digest_of("dropout rate=0.4", 4, 100, other); /* an attribute alone */
	assert_true(first[0] != other[0]);
	assert_true(first[1] == other[1]);
	digest_of("dropout rate=0.5", 8, 100, other);
	assert_true(first[0] != other[0]);
	assert_true(first[1] == other[1]);
	digest_of("relu", 4, 100, other);
	assert_true(first[0] != other[0]);
	digest_of("dropout rate=0.5", 4, 80, other); /* the plan alone */
	assert_true(first[0] == other[0]);
	assert_true(first[1] != other[1]);
}

/* Four ops: 208 bytes of the product, 160 of the loss, 192 of its gradient, 208 of the weight's. */
static void times(void **state)
{
	static const char model[] =
		"model m\ninput x 6\nlabel y 4\nlinear out=4 bias=0\ncross_entropy\n";
	const struct gpu_row copies = {.copy_gb_s = 1, .product_tflop_s = 1e9};
	const struct gpu_row computes = {.copy_gb_s = 1e9, .product_tflop_s = 1e-9};
	const enum tensor_type types[] = {TENSOR_BF16, TENSOR_FP32};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(types); i++) {
		CLEANUP(plan_freep) struct plan *plan = NULL;
		const struct plan_options options = {.budget = 0};
		struct plan_lab lab = {0};
		struct problem problem = {0};
		bool is_16_bit = types[i] == TENSOR_BF16;

		assert_int_equal(model_parse("times", model, strlen(model), &lab.model, &problem),
				 0);
		assert_int_equal(graph_build(lab.model, 8, types[i], true, &lab.graph, &problem),
				 0);
		assert_int_equal(plan_make(lab.graph, &options, &plan, &problem), 0);
		struct step_time time = step_time(lab.graph, plan, &copies);

		if (is_16_bit)
			assert_int_equal((int)time.bytes, 208 + 160 + 192 + 208);
		assert_int_equal((int)(time.ms * 1e6 + 0.5), is_16_bit ? (int)time.bytes : 0);
		assert_true(step_time(lab.graph, plan, NULL).ms <= 0);
		/* 2 x 8 x 6 x 4 operations, twice: a millisecond each */
		time = step_time(lab.graph, plan, &computes);
		assert_true(is_16_bit ? time.ms >= 2 * 384 : time.ms <= 0);
		plan_lab_done(&lab);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arena),         cmocka_unit_test(equals_brute_force),
		cmocka_unit_test(random_graphs), cmocka_unit_test(golden),
		cmocka_unit_test(check_finds),   cmocka_unit_test(workspace),
		cmocka_unit_test(digests),       cmocka_unit_test(times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
