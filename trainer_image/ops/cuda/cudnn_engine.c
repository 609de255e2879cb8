#include "trainer_image/ops/cuda/cudnn_engine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

/* cuDNN 9.19 keeps some memory of each configuration that it makes: LeakSanitizer leaves that out. Nothing of our own is
 * allocated meanwhile. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define CUDNN_ENGINE_LEAKS_BEGIN() __lsan_disable()
#define CUDNN_ENGINE_LEAKS_END()   __lsan_enable()
#else
#define CUDNN_ENGINE_LEAKS_BEGIN() (void)0
#define CUDNN_ENGINE_LEAKS_END()   (void)0
#endif

enum {
	CUDNN_ENGINE_ASKED = 64, /* engines that cuDNN is asked for at once */
	CUDNN_ENGINE_KNOBS = 32,
	CUDNN_ENGINE_NOTES = 16,
};

struct cudnn_engine_search {
	const struct cudnn_target *target;
	const struct cudnn_shape *shape;
	int64_t limit;
	size_t most;
	struct cudnn_pool *pool; /* of the graph, and of `plan` */
	bool keeps;              /* the first plan, in `pool` */
	void *plan;
	struct cudnn_engines *engines;
};

static const struct {
	enum cudnn_numerical_note note;
	bool fp32_alone;
	enum cudnn_refusal refusal;
} cudnn_engine_rules[] = {
	{CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, false, CUDNN_REFUSED_NONDETERMINISTIC},
	{CUDNN_NUMERICAL_NOTE_TENSOR_CORE, true, CUDNN_REFUSED_PRECISION},
	{CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, false, CUDNN_REFUSED_PRECISION},
	{CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, false, CUDNN_REFUSED_PRECISION},
	{CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6, false, CUDNN_REFUSED_PRECISION},
	{CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13, false, CUDNN_REFUSED_PRECISION},
};

static int64_t cudnn_engine_number(struct cudnn_pool *pool, void *descriptor,
				   enum cudnn_attribute attribute)
{
	int64_t number = 0;
	int64_t count = 0;

	if (pool->status == CUDNN_STATUS_SUCCESS)
		pool->status = pool->library->get_attribute(descriptor, attribute, CUDNN_TYPE_INT64,
							    1, &count, &number);
	return number;
}

/* Notes are enums: ints. Returns how many there are. */
static int64_t cudnn_engine_notes(struct cudnn_pool *pool, void *engine,
				  enum cudnn_attribute attribute, enum cudnn_attribute_type type,
				  int ret[CUDNN_ENGINE_NOTES])
{
	int64_t count = 0;

	if (pool->status == CUDNN_STATUS_SUCCESS)
		pool->status = pool->library->get_attribute(engine, attribute, type,
							    CUDNN_ENGINE_NOTES, &count, ret);
	return count < CUDNN_ENGINE_NOTES ? count : CUDNN_ENGINE_NOTES;
}

/* Why the engine may not be taken; CUDNN_REFUSALS: it may. Sets ret->tensor_cores. */
static enum cudnn_refusal cudnn_engine_judge(struct cudnn_pool *pool, void *engine,
					     enum tensor_type type, struct cudnn_engine *ret)
{
	int notes[CUDNN_ENGINE_NOTES];
	int64_t count = cudnn_engine_notes(pool, engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
					   CUDNN_TYPE_NUMERICAL_NOTE, notes);

	for (int64_t i = 0; i < count; i++)
		ret->tensor_cores =
			ret->tensor_cores || notes[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
	for (int64_t i = 0; i < count; i++)
		for (size_t k = 0; k < COUNT_OF(cudnn_engine_rules); k++)
			if (notes[i] == (int)cudnn_engine_rules[k].note &&
			    (type == TENSOR_FP32 || !cudnn_engine_rules[k].fp32_alone))
				return cudnn_engine_rules[k].refusal;
	count = cudnn_engine_notes(pool, engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
				   CUDNN_TYPE_BEHAVIOR_NOTE, notes);
	for (int64_t i = 0; i < count; i++)
		if (notes[i] == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION)
			return CUDNN_REFUSED_COMPILED;
	return CUDNN_REFUSALS;
}

static void cudnn_engine_name(struct cudnn_pool *pool, void *config, struct cudnn_engine *ret)
{
	void *knobs[CUDNN_ENGINE_KNOBS];
	int64_t count = 0;
	int at = snprintf(ret->name, sizeof(ret->name), "eng%" PRId64, ret->id);

	for (size_t i = 0; i < CUDNN_ENGINE_KNOBS; i++)
		knobs[i] = cudnn_pool_add(pool, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
	if (pool->status == CUDNN_STATUS_SUCCESS)
		pool->status = pool->library->get_attribute(
			config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
			CUDNN_ENGINE_KNOBS, &count, knobs);
	for (int64_t i = 0; i < count && i < CUDNN_ENGINE_KNOBS; i++) {
		int type = 0;
		int64_t types = 0;
		int64_t value =
			cudnn_engine_number(pool, knobs[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);

		if (pool->status == CUDNN_STATUS_SUCCESS)
			pool->status = pool->library->get_attribute(
				knobs[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1,
				&types, &type);
		if (at < (int)sizeof(ret->name))
			at += snprintf(ret->name + at, sizeof(ret->name) - (size_t)at,
				       "_k%d=%" PRId64, type, value);
	}
}

static void *cudnn_engine_make_plan(struct cudnn_pool *pool, const struct cudnn_target *target,
				    void *config)
{
	void *plan = cudnn_pool_add(pool, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);

	cudnn_pool_set_descriptor(pool, plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
	if (target->handle)
		cudnn_pool_set(pool, plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
			       &target->handle);
	else
		cudnn_pool_set_descriptor(pool, plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
					  target->description);
	cudnn_pool_finalize(pool, plan);
	return plan;
}

/* Less than all before it, and within the limit? */
static bool cudnn_engine_is_less(const struct cudnn_engine_search *search, int64_t workspace)
{
	const struct cudnn_engines *engines = search->engines;

	return workspace <= search->limit &&
	       (engines->count == 0 || workspace < engines->rows[engines->count - 1].workspace);
}

/* Takes the engine of a configuration or counts why not. `pool` is the candidate's own. */
static enum cudnn_refusal cudnn_engine_try(struct cudnn_engine_search *search,
					   struct cudnn_pool *pool, void *config)
{
	struct cudnn_engine found = {0};
	struct cudnn_pool *of_plan = search->keeps ? search->pool : pool;
	void *engine = cudnn_pool_add(pool, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
	int64_t count = 0;

	if (pool->status == CUDNN_STATUS_SUCCESS)
		pool->status = pool->library->get_attribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
							    CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
							    &count, &engine);
	enum cudnn_refusal refusal = cudnn_engine_judge(pool, engine, search->shape->type, &found);

	found.id = cudnn_engine_number(pool, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
	found.workspace = cudnn_engine_number(pool, config, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE);
	if (pool->status != CUDNN_STATUS_SUCCESS)
		return CUDNN_REFUSED_PLAN;
	if (refusal != CUDNN_REFUSALS)
		return refusal;
	if (!cudnn_engine_is_less(search, found.workspace))
		return CUDNN_REFUSED_WORKSPACE;
	cudnn_engine_name(pool, config, &found);
	void *plan = cudnn_engine_make_plan(of_plan, search->target, config);
	int64_t needs =
		cudnn_engine_number(of_plan, plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);

	/* A later search, within what is kept here, must not refuse it for what its configuration says. */
	found.workspace = needs > found.workspace ? needs : found.workspace;
	if (pool->status != CUDNN_STATUS_SUCCESS || of_plan->status != CUDNN_STATUS_SUCCESS) {
		of_plan->status = CUDNN_STATUS_SUCCESS; /* the next one may work */
		return CUDNN_REFUSED_PLAN;
	}
	if (!cudnn_engine_is_less(search, found.workspace))
		return CUDNN_REFUSED_WORKSPACE;
	if (search->engines->count == CUDNN_ENGINES_MAX) /* the least is the one that must stay */
		search->engines->count--;
	search->engines->rows[search->engines->count++] = found;
	search->plan = search->plan ? search->plan : plan;
	return CUDNN_REFUSALS;
}

static bool cudnn_engine_is_done(const struct cudnn_engine_search *search)
{
	const struct cudnn_engines *engines = search->engines;

	return (engines->count == search->most && search->most < CUDNN_ENGINES_MAX) ||
	       (engines->count > 0 && engines->rows[engines->count - 1].workspace == 0);
}

/* Asks one mode of the heuristics, and tries what it offers in turn. Returns the status of the question. */
static int cudnn_engine_ask(struct cudnn_engine_search *search, void *graph, int mode)
{
	const struct cudnn_library *library = search->target->library;
	struct cudnn_pool asked;
	struct cudnn_pool *of_configs = search->keeps ? search->pool : &asked;
	void *configs[CUDNN_ENGINE_ASKED];
	int64_t count = 0;

	cudnn_pool_init(&asked, library);
	void *heuristic = cudnn_pool_add(&asked, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);

	cudnn_pool_set_descriptor(&asked, heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
	cudnn_pool_set(&asked, heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1,
		       &mode);
	if (!search->target->handle)
		cudnn_pool_set_descriptor(&asked, heuristic, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
					  search->target->description);
	cudnn_pool_finalize(&asked, heuristic);
	for (size_t i = 0; i < CUDNN_ENGINE_ASKED; i++)
		configs[i] = cudnn_pool_add(of_configs, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	if (asked.status == CUDNN_STATUS_SUCCESS)
		asked.status = of_configs->status;
	if (asked.status == CUDNN_STATUS_SUCCESS)
		asked.status = library->get_attribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
						      CUDNN_TYPE_BACKEND_DESCRIPTOR,
						      CUDNN_ENGINE_ASKED, &count, configs);
	int status = asked.status;

	if (status != CUDNN_STATUS_SUCCESS || count > CUDNN_ENGINE_ASKED)
		count = 0;
	for (int64_t i = 0; i < count && !cudnn_engine_is_done(search); i++) {
		struct cudnn_pool pool;

		cudnn_pool_init(&pool, library);
		enum cudnn_refusal refusal = cudnn_engine_try(search, &pool, configs[i]);

		search->engines->offered++;
		if (refusal < CUDNN_REFUSALS)
			search->engines->refused[refusal]++;
		cudnn_pool_done(&pool);
	}
	cudnn_pool_done(&asked);
	return status;
}

static int cudnn_engine_none(const struct cudnn_engine_search *search, struct problem *problem)
{
	const struct cudnn_engines *engines = search->engines;
	char words[CUDNN_SHAPE_TEXT];

	(void)problem_set(problem, E_UNSUPPORTED, "no engine for %s in %s",
			  cudnn_shape_text(search->shape, words),
			  tensor_type_text(search->shape->type));
	if (engines->offered > 0)
		problem_detail(
			problem,
			"cuDNN offers %u; refused: %u not deterministic, %u not exact enough, "
			"%u compiled at run time, %u over %" PRId64
			" bytes of workspace, %u not possible on this GPU",
			engines->offered, engines->refused[CUDNN_REFUSED_NONDETERMINISTIC],
			engines->refused[CUDNN_REFUSED_PRECISION],
			engines->refused[CUDNN_REFUSED_COMPILED],
			engines->refused[CUDNN_REFUSED_WORKSPACE], search->limit,
			engines->refused[CUDNN_REFUSED_PLAN]);
	else
		problem_detail(problem, "cuDNN offers none on this GPU");
	if (engines->refused[CUDNN_REFUSED_WORKSPACE] > 0)
		problem_hint(problem, "more workspace, or a smaller batch");
	else
		problem_hint(problem, "another type of numbers or of GPU");
	return E_UNSUPPORTED;
}

/* Returns the first status that is neither success nor "not supported". */
static int cudnn_engine_ask_all(struct cudnn_engine_search *search, void *graph)
{
	static const int modes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK};
	int failed = CUDNN_STATUS_SUCCESS;

	CUDNN_ENGINE_LEAKS_BEGIN();
	for (size_t i = 0; i < COUNT_OF(modes) && !cudnn_engine_is_done(search); i++) {
		int status = cudnn_engine_ask(search, graph, modes[i]);

		if (status / 1000 != CUDNN_STATUS_NOT_SUPPORTED / 1000 &&
		    failed == CUDNN_STATUS_SUCCESS)
			failed = status;
	}
	CUDNN_ENGINE_LEAKS_END();
	return failed;
}

static int cudnn_engine_search(struct cudnn_engine_search *search, struct problem *problem)
{
	*search->engines = (struct cudnn_engines){0};
	void *graph = cudnn_graph_make(search->pool, search->shape, search->target->handle);

	if (!graph)
		return cudnn_library_problem(search->target->library, search->pool->status,
					     "the graph of a product", problem);
	int failed = cudnn_engine_ask_all(search, graph);

	if (search->engines->count > 0)
		return 0;
	if (failed != CUDNN_STATUS_SUCCESS)
		return cudnn_library_problem(search->target->library, failed,
					     "the question for engines", problem);
	return cudnn_engine_none(search, problem);
}

int cudnn_engines_find(const struct cudnn_target *target, const struct cudnn_shape *shape,
		       int64_t limit, size_t most, struct cudnn_engines *ret,
		       struct problem *problem)
{
	struct cudnn_pool pool;
	struct cudnn_engine_search search = {
		.target = target,
		.shape = shape,
		.limit = limit,
		.most = most < CUDNN_ENGINES_MAX ? most : CUDNN_ENGINES_MAX,
		.pool = &pool,
		.engines = ret,
	};

	cudnn_pool_init(&pool, target->library);
	int rc = cudnn_engine_search(&search, problem);

	cudnn_pool_done(&pool);
	return rc;
}

const struct cudnn_engine *cudnn_engines_choose(const struct cudnn_engines *engines, int64_t limit)
{
	for (size_t i = 0; i < engines->count; i++)
		if (engines->rows[i].workspace <= limit)
			return &engines->rows[i];
	return NULL;
}

int cudnn_plan_init(struct cudnn_plan *plan, const struct cudnn_target *target,
		    const struct cudnn_shape *shape, int64_t limit, struct problem *problem)
{
	struct cudnn_engines engines;
	struct cudnn_engine_search search = {
		.target = target,
		.shape = shape,
		.limit = limit,
		.most = 1,
		.pool = &plan->pool,
		.keeps = true,
		.engines = &engines,
	};

	cudnn_pool_init(&plan->pool, target->library);
	int rc = cudnn_engine_search(&search, problem);

	plan->engine = engines.rows[0];
	plan->plan = search.plan;
	return rc;
}

void cudnn_plan_done(struct cudnn_plan *plan)
{
	cudnn_pool_done(&plan->pool);
}
