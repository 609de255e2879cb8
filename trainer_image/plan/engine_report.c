#include "trainer_image/plan/engine_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/json_text.h"

/* The ops of one shape, or of one kind: they have the same engine, or not. */
struct engine_group {
	int first; /* op; -1 = none */
	int count;
	int slower; /* whose engine is not the first, for its workspace */
};

static bool engine_report_is_slower(const struct plan_engine_op *op)
{
	return op->engine.workspace != op->first_workspace;
}

static void engine_report_add(struct engine_group *group, const struct plan_report *report, int op)
{
	group->first = group->count == 0 ? op : group->first;
	group->count++;
	group->slower += engine_report_is_slower(&report->engines.ops[op]) ? 1 : 0;
}

/* A group for each shape. NULL when there is no memory. The caller frees. */
static struct engine_group *engine_report_shapes(const struct plan_report *report, int *ret_count)
{
	const struct plan_engines *engines = &report->engines;
	int count = 0;

	for (int i = 0; i < engines->op_count; i++)
		count = engines->ops[i].engine.shape >= count ? engines->ops[i].engine.shape + 1
							      : count;
	struct engine_group *groups = calloc((size_t)count + 1, sizeof(groups[0]));

	for (int i = 0; groups && i < engines->op_count; i++)
		if (engines->ops[i].engine.shape >= 0)
			engine_report_add(&groups[engines->ops[i].engine.shape], report, i);
	*ret_count = count;
	return groups;
}

static const char *engine_report_size(int64_t bytes, char ret[32])
{
	if (bytes == 0)
		(void)snprintf(ret, 32, "none");
	else if (bytes < 1024)
		(void)snprintf(ret, 32, "%d B", (int)bytes);
	else if (bytes < 1 << 20)
		(void)snprintf(ret, 32, "%.1f KiB", (double)bytes / 1024);
	else
		(void)snprintf(ret, 32, "%.1f MiB", (double)bytes / 1048576);
	return ret;
}

const char *engine_report_name(const struct plan_report *report, int op)
{
	if (!report->request.source || report->engines.ops[op].engine.shape < 0)
		return NULL;
	return report->engines.ops[op].engine.name;
}

static void engine_report_shape_rows(const struct plan_report *report,
				     const struct engine_group groups[], int count,
				     struct text *text)
{
	const struct plan_engine_source *source = report->request.source;
	char size[32];

	text_addf(text, "\n  %-40s %4s %7s %12s\n", "PRODUCT", "OPS", "ENGINE", "WORKSPACE");
	for (int i = 0; i < count; i++) {
		if (groups[i].count == 0)
			continue;
		const struct plan_engine *engine = &report->engines.ops[groups[i].first].engine;

		text_addf(text, "  %-40s %4d %7" PRId64 " %12s%s\n",
			  source->shape_text(source->context, i), groups[i].count, engine->id,
			  engine_report_size(engine->workspace, size),
			  groups[i].slower > 0 ? "  not first" : "");
	}
}

/* A line for each kind of op that has engines: how many, which, and its largest workspace. */
static void engine_report_kind(const struct plan_report *report, enum op_kind kind,
			       struct text *text)
{
	enum { ENGINES_NAMED = 6 };
	int64_t ids[ENGINES_NAMED];
	int named = 0;
	int count = 0;
	bool more = false;
	int64_t most = 0;
	char size[32];

	for (int i = 0; i < report->graph->op_count; i++) {
		const struct plan_engine_op *op = &report->engines.ops[i];
		bool known = false;

		if (report->graph->ops[i].kind != kind || op->engine.shape < 0)
			continue;
		count++;
		most = op->engine.workspace > most ? op->engine.workspace : most;
		for (int k = 0; k < named; k++)
			known = known || ids[k] == op->engine.id;
		more = more || (!known && named == ENGINES_NAMED);
		if (!known && named < ENGINES_NAMED)
			ids[named++] = op->engine.id;
	}
	if (count == 0)
		return;
	text_addf(text, "  %-14s %4d ops: workspace %s, engine%s", op_text(kind), count,
		  engine_report_size(most, size), named == 1 ? "" : "s");
	for (int k = 0; k < named; k++)
		text_addf(text, " %" PRId64, ids[k]);
	text_add(text, more ? " ..\n" : "\n");
}

static void engine_report_limit(const struct plan_report *report, int slower, struct text *text)
{
	char size[32];

	if (slower == 0)
		text_add(text,
			 "  each product has the engine that is expected to be the fastest\n");
	else
		text_addf(text,
			  "  %d products have another engine than the fastest expected: at most\n"
			  "  %s of workspace leave room for activations\n",
			  slower, engine_report_size(report->engines.limit, size));
}

/* Tensor cores of 16-bit types want channels in multiples of 8. cuDNN pads others where there is workspace for it. */
static bool engine_report_is_odd(const struct plan_report *report, int op)
{
	const struct graph *graph = report->graph;
	const struct graph_op *row = &graph->ops[op];
	bool odd = tensor_shape_channels(&graph->tensors[row->out[0]].is.shape) % 8 != 0;

	for (int i = 0; i < row->in_count; i++)
		odd = odd || tensor_shape_channels(&graph->tensors[row->in[i]].is.shape) % 8 != 0;
	return odd && tensor_type_size(graph->tensors[row->out[0]].is.type) == 2 &&
	       !report->engines.ops[op].engine.tensor_cores;
}

static void engine_report_odd(const struct plan_report *report, struct text *text)
{
	int count = 0;

	for (int i = 0; i < report->engines.op_count; i++)
		if (report->engines.ops[i].engine.shape >= 0 && engine_report_is_odd(report, i))
			count++;
	if (count > 0)
		text_addf(
			text,
			"  products without tensor cores: %d; channels in multiples of 8 have them\n",
			count);
}

void engine_report_text(const struct plan_report *report, bool all, struct text *text)
{
	int count = 0;
	int products = 0;
	int slower = 0;
	int shapes = 0;

	if (!report->request.source) {
		text_addf(text, "engines: not known: %s\n", report->request.no_source);
		return;
	}
	CLEANUP(freep) struct engine_group *groups = engine_report_shapes(report, &count);

	if (!groups) {
		text->failed = true;
		return;
	}
	for (int i = 0; i < count; i++) {
		shapes += groups[i].count > 0 ? 1 : 0;
		products += groups[i].count;
		slower += groups[i].slower;
	}
	text_addf(text, "engines of %s: %d products of %d shapes, %d ops by own kernels\n",
		  report->request.source->library, products, shapes,
		  report->graph->op_count - products);
	for (enum op_kind kind = OP_CONV; kind < OP_KINDS; kind++)
		engine_report_kind(report, kind, text);
	engine_report_limit(report, slower, text);
	engine_report_odd(report, text);
	if (all)
		engine_report_shape_rows(report, groups, count, text);
}

static void engine_report_json_shape(const struct plan_report *report, int shape,
				     const struct engine_group *group, struct text *text)
{
	const struct plan_engine_source *source = report->request.source;
	const struct plan_engine_op *op = &report->engines.ops[group->first];

	json_begin_object(text, NULL);
	json_put_string(text, "shape", source->shape_text(source->context, shape));
	json_put_string(text, "op", op_text(report->graph->ops[group->first].kind));
	json_put_int(text, "count", group->count);
	json_put_int(text, "engine", op->engine.id);
	json_put_string(text, "name", op->engine.name);
	json_put_int(text, "workspace_bytes", op->engine.workspace);
	json_put_int(text, "first_workspace_bytes", op->first_workspace);
	json_put_bool(text, "first", group->slower == 0);
	json_put_bool(text, "tensor_cores", op->engine.tensor_cores);
	json_end_object(text);
}

static void engine_report_json_kernels(const struct plan_report *report, struct text *text)
{
	json_begin_object(text, "own_kernels");
	for (enum op_kind kind = OP_CONV; kind < OP_KINDS; kind++) {
		int count = 0;

		for (int i = 0; i < report->graph->op_count; i++)
			count += report->graph->ops[i].kind == kind &&
						 report->engines.ops[i].engine.shape < 0
					 ? 1
					 : 0;
		if (count > 0)
			json_put_int(text, op_text(kind), count);
	}
	json_end_object(text);
}

void engine_report_json(const struct plan_report *report, struct text *text)
{
	int count = 0;

	if (!report->request.source) {
		json_put_null(text, "engines");
		json_put_string(text, "engines_unknown", report->request.no_source);
		return;
	}
	CLEANUP(freep) struct engine_group *groups = engine_report_shapes(report, &count);

	if (!groups) {
		text->failed = true;
		return;
	}
	json_begin_object(text, "engines");
	json_put_string(text, "library", report->request.source->library);
	json_put_int(text, "workspace_limit_bytes", report->engines.limit);
	json_begin_array(text, "shapes");
	for (int i = 0; i < count; i++)
		if (groups[i].count > 0)
			engine_report_json_shape(report, i, &groups[i], text);
	json_end_array(text);
	engine_report_json_kernels(report, text);
	json_end_object(text);
}
