#include "trainer_image/plan/plan_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/json_text.h"

#include "trainer_image/plan/engine_report.h"

static const char *const report_optimizers[] = {
	[PLAN_SGD] = "sgd", [PLAN_ADAMW] = "adamw", [PLAN_LARS] = "lars"};
/* FP32 numbers that an optimizer keeps for each parameter: momentum; both moments. */
int plan_optimizer_parse(const char *word)
{
	return enum_value(report_optimizers, COUNT_OF(report_optimizers), word);
}

int64_t plan_bytes_parse(const char *word)
{
	static const struct {
		const char *unit;
		double bytes;
	} units[] = {
		{"", 1},
		{"B", 1},
		{"kB", 1e3},
		{"MB", 1e6},
		{"GB", 1e9},
		{"KiB", 1024},
		{"MiB", 1048576},
		{"GiB", 1073741824.},
		{"TiB", 1099511627776.},
	};
	char *end = NULL;

	if (strspn(word, "0123456789.") == 0)
		return 0;
	double number = strtod(word, &end);

	for (size_t i = 0; i < COUNT_OF(units); i++)
		if (strcmp(end, units[i].unit) == 0) {
			double bytes = number * units[i].bytes;

			return bytes >= 1 && bytes < 1e18 ? (int64_t)bytes : 0;
		}
	return 0;
}

static const char *report_size(int64_t bytes, char ret[32])
{
	if (bytes >= INT64_C(10) << 30)
		(void)snprintf(ret, 32, "%.2f GiB", (double)bytes / 1073741824.);
	else
		(void)snprintf(ret, 32, "%.1f MiB", (double)bytes / 1048576.);
	return ret;
}

static int report_over(const struct plan_report *report, int64_t smallest, struct problem *problem)
{
	char has[32];
	char needs[32];
	int64_t lasting = plan_lasting_sum(&report->lasting);

	(void)problem_set(problem, E_LIMIT,
			  "%s are too few for a batch of %" PRId64 ": at least %s are needed",
			  report_size(report->request.memory, has), report->request.batch,
			  report_size(smallest + 1048576, needs));
	problem_detail(problem,
		       "%" PRId64 " bytes: parameters, gradients, optimizer and input "
		       "%" PRId64 ", activations at least %" PRId64,
		       smallest, lasting, smallest - lasting);
	problem_hint(problem, "say --memory %" PRId64 "MiB, or a smaller --batch",
		     smallest / 1048576 + 1);
	return E_LIMIT;
}

static int report_plan(struct plan_report *report, const struct plan_options *options,
		       struct problem *problem)
{
	if (report->request.source)
		return plan_engines_make(&report->engines, report->graph, options, &report->plan,
					 problem);
	return plan_make(report->graph, options, &report->plan, problem);
}

static int report_plans(struct plan_report *report, struct problem *problem)
{
	int64_t smallest = 0;
	struct plan_options options = {.beside = plan_lasting_sum(&report->lasting),
				       .ret_smallest = &smallest};
	int rc = 0;

	if (report->request.source)
		rc = plan_engines_init(&report->engines, report->request.source, report->graph,
				       problem);
	if (rc == 0)
		rc = report_plan(report, &options, problem);
	if (rc < 0)
		return rc;
	report->unplanned = options.beside + report->plan->arena;
	if (report->request.memory == 0 || report->unplanned <= report->request.memory)
		return 0;
	plan_free(report->plan);
	report->plan = NULL;
	options.budget = report->request.memory;
	rc = report_plan(report, &options, problem);
	return rc == E_LIMIT ? report_over(report, smallest, problem) : rc;
}

int plan_report_make(const struct model *model, const struct plan_request *request,
		     struct plan_report *ret, struct problem *problem)
{
	*ret = (struct plan_report){.request = *request, .model = model};
	int rc = graph_build(model, request->batch, request->type, true, &ret->graph, problem);

	if (rc < 0)
		return rc;
	const struct graph *graph = ret->graph;

	ret->parameter_count = graph_elements(graph, GRAPH_PARAMETER);
	ret->lasting = plan_lasting(graph, request->optimizer, true);
	if (request->sums)
		ret->lasting.sums = request->sums(request->context, graph);
	rc = report_plans(ret, problem);
	if (rc < 0)
		return rc;
	ret->workspace = ret->plan->workspace;
	ret->activations = ret->plan->arena - ret->workspace;
	ret->peak = plan_lasting_sum(&ret->lasting) + ret->plan->arena;
	ret->naive = plan_lasting_sum(&ret->lasting) + plan_naive_bytes(graph);
	ret->forward_flops = graph_flops(graph, false);
	ret->extra_flops = ret->plan->extra_flops;
	ret->time = step_time(graph, ret->plan, request->gpu);
	return 0;
}

void plan_report_done(struct plan_report *report)
{
	plan_engines_done(&report->engines);
	plan_free(report->plan);
	graph_free(report->graph);
}

/* Ops that run again: those that are dropped and read later. */
static void report_again(const struct plan_report *report, bool again[])
{
	for (int i = 0; i < report->plan->step_count; i++)
		if (report->plan->steps[i].recompute)
			again[report->plan->steps[i].op] = true;
}

static bool report_is_kept(const struct plan_report *report, int op)
{
	const struct plan *plan = report->plan;
	const struct plan_step *step = &plan->steps[op]; /* the forward pass comes first */

	return step->out[0] >= 0 && plan->values[step->out[0]].last >= plan->forward_count;
}

static void report_ops(const struct plan_report *report, const bool again[], struct text *text)
{
	char size[32];

	text_addf(text, "\n%-36s %-14s %-6s %12s %10s\n", "OP", "KIND", "", "SIZE", "MFLOP");
	for (int i = 0; i < report->graph->forward_count; i++) {
		const struct graph_op *op = &report->graph->ops[i];

		text_addf(text, "%-36s %-14s %-6s %12s %10.0f\n",
			  report->model->ops[op->source].name, op_text(op->kind),
			  again[i]                    ? "again"
			  : report_is_kept(report, i) ? "kept"
						      : "",
			  report_size(graph_tensor_bytes(report->graph, op->out[0]), size),
			  op->flops / 1e6);
	}
}

/* A line for each kind of op: "conv   53 ops: 41 kept, 12 computed again". */
static void report_kinds(const struct plan_report *report, const bool again[], struct text *text)
{
	text_add(text, "\nforward pass\n");
	for (enum op_kind kind = OP_CONV; kind < OP_KINDS; kind++) {
		int count = 0;
		int kept = 0;
		int more = 0;

		for (int i = 0; i < report->graph->forward_count; i++) {
			if (report->graph->ops[i].kind != kind)
				continue;
			count++;
			more += again[i] ? 1 : 0;
			kept += !again[i] && report_is_kept(report, i) ? 1 : 0;
		}
		if (count > 0)
			text_addf(text, "  %-14s %4d ops: %d kept, %d computed again\n",
				  op_text(kind), count, kept, more);
	}
}

static void report_row(struct text *text, const char *name, int64_t bytes, const char *what)
{
	char size[32];

	text_addf(text, "  %-14s %12s  %s\n", name, report_size(bytes, size), what);
}

static void report_time(const struct plan_report *report, struct text *text)
{
	text_addf(text, "  %-36s %9.1f GB\n", "moved by a step", report->time.bytes / 1e9);
	if (report->time.ms > 0)
		text_addf(text, "  %-36s %9.1f ms  (%.0f samples/s: a prediction)\n",
			  "at least, with each op alone", report->time.ms,
			  (double)report->request.batch * 1e3 / report->time.ms);
}

void plan_report_text(const struct plan_report *report, bool all, struct text *text)
{
	CLEANUP(freep) bool *again = calloc((size_t)report->graph->op_count + 1, sizeof(bool));
	const struct plan_request *request = &report->request;
	char size[32];
	char words[80];

	if (!again) {
		text->failed = true;
		return;
	}
	report_again(report, again);
	text_addf(text, "%s, batch %" PRId64 ", %s%s%s\n\nmemory of a step\n", report->model->name,
		  request->batch, tensor_type_text(request->type), request->gpu ? ", " : "",
		  request->gpu ? request->gpu->title : "");
	(void)snprintf(words, sizeof(words), "%" PRId64, report->parameter_count);
	report_row(text, "parameters", report->lasting.parameters, words);
	report_row(text, "gradients", report->lasting.gradients, "and their sums in fp32");
	(void)snprintf(words, sizeof(words), "%s in fp32%s", report_optimizers[request->optimizer],
		       tensor_type_size(request->type) < 4 ? ", and parameters in fp32" : "");
	report_row(text, "optimizer", report->lasting.optimizer, words);
	report_row(text, "statistics", report->lasting.statistics, "");
	report_row(text, "input", report->lasting.input, "and batches on their way");
	if (request->sums)
		report_row(text, "sums", report->lasting.sums, "over ranks; NCCL takes more");
	report_row(text, "activations", report->activations, "");
	report_row(text, "workspace", report->workspace,
		   request->source ? "the largest of an op" : "not known without engines");
	(void)snprintf(words, sizeof(words), "%s%s", request->memory > 0 ? "of " : "",
		       request->memory > 0 ? report_size(request->memory, size) : "");
	report_row(text, "peak", report->peak, words);
	text_addf(text, "\n  %-36s %12s\n", "without computing anything again",
		  report_size(report->unplanned, size));
	text_addf(text, "  %-36s %12s\n", "when every result is kept",
		  report_size(report->naive, size));
	text_addf(text, "  %-36s %11.2fx  (%.1f of %.1f GFLOP more)\n", "work of the forward pass",
		  1 + report->extra_flops / report->forward_flops, report->extra_flops / 1e9,
		  report->forward_flops / 1e9);
	report_time(report, text);
	report_kinds(report, again, text);
	text_add(text, "\n");
	engine_report_text(report, all, text);
	if (all)
		report_ops(report, again, text);
}

static void report_json_ops(const struct plan_report *report, const bool again[], struct text *text)
{
	json_begin_array(text, "ops");
	for (int i = 0; i < report->graph->forward_count; i++) {
		const struct graph_op *op = &report->graph->ops[i];

		json_begin_object(text, NULL);
		json_put_string(text, "name", report->model->ops[op->source].name);
		json_put_string(text, "op", op_text(op->kind));
		json_put_int(text, "bytes", graph_tensor_bytes(report->graph, op->out[0]));
		json_put_double(text, "flops", op->flops);
		json_put_bool(text, "kept", !again[i] && report_is_kept(report, i));
		json_put_bool(text, "again", again[i]);
		json_put_string(text, "engine", engine_report_name(report, i));
		json_end_object(text);
	}
	json_end_array(text);
}

void plan_report_json(const struct plan_report *report, struct text *text)
{
	CLEANUP(freep) bool *again = calloc((size_t)report->graph->op_count + 1, sizeof(bool));
	const struct {
		const char *key;
		int64_t value;
	} rows[] = {
		{"batch", report->request.batch},
		{"memory_bytes", report->request.memory},
		{"parameters", report->parameter_count},
		{"parameter_bytes", report->lasting.parameters},
		{"gradient_bytes", report->lasting.gradients},
		{"optimizer_bytes", report->lasting.optimizer},
		{"statistic_bytes", report->lasting.statistics},
		{"input_bytes", report->lasting.input},
		{"sum_bytes", report->lasting.sums},
		{"activation_bytes", report->activations},
		{"workspace_bytes", report->workspace},
		{"peak_bytes", report->peak},
		{"arena_bytes", report->plan->arena},
		{"arena_floor_bytes", report->plan->floor},
		{"unplanned_bytes", report->unplanned},
		{"naive_bytes", report->naive},
	};

	if (!again) {
		text->failed = true;
		return;
	}
	report_again(report, again);
	json_begin_object(text, NULL);
	json_put_string(text, "model", report->model->name);
	json_put_string(text, "type", tensor_type_text(report->request.type));
	json_put_string(text, "optimizer", report_optimizers[report->request.optimizer]);
	json_put_string(text, "gpu", report->request.gpu ? report->request.gpu->name : NULL);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		json_put_int(text, rows[i].key, rows[i].value);
	json_put_double(text, "forward_flops", report->forward_flops);
	json_put_double(text, "extra_flops", report->extra_flops);
	json_put_double(text, "moved_bytes", report->time.bytes);
	if (report->time.ms > 0)
		json_put_double(text, "predicted_ms", report->time.ms);
	else
		json_put_null(text, "predicted_ms");
	json_put_bool(text, "exact", report->plan->exact);
	engine_report_json(report, text);
	report_json_ops(report, again, text);
	json_end_object(text);
	text_add(text, "\n");
}
