#include "trainer_image/plan/plan_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

/* What lies in the arena: bytes [from, to) hold a tensor. */
struct check_region {
	int64_t from, to;
	int tensor;
};

/* What one step writes. */
struct check_written {
	struct check_region regions[OP_OUT_MAX + 1];
	int count;
};

struct check {
	const struct graph *graph;
	const struct plan *plan;
	struct check_region *regions;
	int region_count;
	bool *done; /* per op: it has run once */
	int step;
	struct problem *problem;
};

static int check_bad(const struct check *check, const char *what, int tensor)
{
	const struct plan_step *step = &check->plan->steps[check->step];

	return problem_set(check->problem, E_INVALID, "step %d, %s%s: %s (tensor %d)", check->step,
			   op_text(check->graph->ops[step->op].kind),
			   step->recompute ? " again" : "", what, tensor);
}

static bool check_holds(const struct check *check, int64_t from, int64_t to, int tensor)
{
	for (int i = 0; i < check->region_count; i++)
		if (check->regions[i].from == from && check->regions[i].to == to &&
		    check->regions[i].tensor == tensor)
			return true;
	return false;
}

static void check_remove(struct check *check, int64_t from, int64_t to)
{
	int kept = 0;

	for (int i = 0; i < check->region_count; i++)
		if (check->regions[i].to <= from || check->regions[i].from >= to)
			check->regions[kept++] = check->regions[i];
	check->region_count = kept;
}

static bool check_is_in_place(enum op_kind kind)
{
	return kind == OP_ACTIVATION || kind == OP_ACTIVATION_BACK || kind == OP_ADD ||
	       kind == OP_DROPOUT || kind == OP_DROPOUT_BACK;
}

static int64_t check_bytes(const struct check *check, int tensor)
{
	const struct op_tensor *is = &check->graph->tensors[tensor].is;

	return tensor_shape_count(&is->shape) * (int64_t)tensor_type_size(is->type);
}

static int check_reads(struct check *check, const struct graph_op *op, const struct plan_step *step)
{
	for (int i = 0; i < op->in_count; i++) {
		int root = check->graph->tensors[op->in[i]].alias;

		if (check->graph->tensors[root].role <= GRAPH_GRADIENT) {
			if (step->in[i] >= 0)
				return check_bad(check, "a lasting tensor is in the arena", root);
			continue;
		}
		if (step->in[i] < 0 || step->in[i] >= check->plan->value_count)
			return check_bad(check, "an input lies nowhere", root);
		const struct plan_value *value = &check->plan->values[step->in[i]];

		if (!check_holds(check, value->offset, value->offset + check_bytes(check, root),
				 root))
			return check_bad(check, "reads bytes that hold something else", root);
	}
	return 0;
}

/* Does [from, to) meet an input that the output may not lie over? */
static bool check_meets_input(const struct check *check, const struct graph_op *op,
			      const struct plan_step *step, int out, int64_t from, int64_t to)
{
	for (int i = 0; i < op->in_count; i++) {
		if (step->in[i] < 0)
			continue;
		int64_t start = check->plan->values[step->in[i]].offset;
		int64_t bytes = check_bytes(check, check->graph->tensors[op->in[i]].alias);

		if (start + bytes <= from || start >= to)
			continue;
		if (out != 0 || !check_is_in_place(op->kind) || start != from ||
		    start + bytes != to)
			return true;
	}
	return false;
}

/* One output, or the workspace behind the last: within the arena, apart from the others and from the
 * inputs. */
static int check_write(struct check *check, const struct graph_op *op, const struct plan_step *step,
		       int out, struct check_written *written)
{
	bool workspace = out == op->out_count;
	int at = workspace ? step->workspace : step->out[out];
	int tensor = workspace ? -1 : op->out[out];

	if (!workspace && (at < 0) != (check->graph->tensors[tensor].role <= GRAPH_GRADIENT))
		return check_bad(check, "an output lies at the wrong place", tensor);
	if (at < 0)
		return 0;
	const struct plan_value *value = &check->plan->values[at];
	int64_t from = value->offset;
	int64_t to = from + (workspace ? value->bytes : check_bytes(check, tensor));

	if (from < 0 || from % PLAN_ALIGNMENT != 0 || to > check->plan->arena)
		return check_bad(check, "writes outside of the arena", tensor);
	if (check_meets_input(check, op, step, out, from, to))
		return check_bad(check, "writes over an input", tensor);
	for (int k = 0; k < written->count; k++)
		if (written->regions[k].from < to && from < written->regions[k].to)
			return check_bad(check, "two outputs lie in the same bytes", tensor);
	written->regions[written->count++] = (struct check_region){from, to, tensor};
	return 0;
}

static int check_writes(struct check *check, const struct graph_op *op,
			const struct plan_step *step)
{
	struct check_written written = {.count = 0};
	int rc = 0;

	for (int i = 0; i <= op->out_count && rc == 0; i++)
		rc = check_write(check, op, step, i, &written);
	for (int k = 0; k < written.count; k++)
		check_remove(check, written.regions[k].from, written.regions[k].to);
	for (int k = 0; k < written.count; k++)
		if (written.regions[k].tensor >= 0)
			check->regions[check->region_count++] = written.regions[k];
	return rc;
}

/* What is freed is not there any more, unless an output has taken its bytes over. */
static int check_frees(struct check *check, const struct plan_step *step)
{
	for (int i = 0; i < step->free_count; i++) {
		int at = check->plan->frees[step->free_from + i];
		const struct plan_value *value = &check->plan->values[at];

		for (int k = 0; k < check->region_count; k++)
			if (check->regions[k].from == value->offset &&
			    check->regions[k].tensor == value->tensor &&
			    value->tensor != check->graph->loss) {
				check->regions[k] = check->regions[--check->region_count];
				break;
			}
	}
	return 0;
}

static int check_step(struct check *check)
{
	const struct plan_step *step = &check->plan->steps[check->step];

	if (step->op < 0 || step->op >= check->graph->op_count)
		return problem_set(check->problem, E_INVALID, "step %d is no op", check->step);
	const struct graph_op *op = &check->graph->ops[step->op];

	if (step->recompute != check->done[step->op])
		return check_bad(check, "is not the first, or not a second run", op->out[0]);
	if (step->recompute && op->backward)
		return check_bad(check, "a gradient is computed twice", op->out[0]);
	check->done[step->op] = true;
	int rc = check_reads(check, op, step);

	rc = rc < 0 ? rc : check_writes(check, op, step);
	return rc < 0 ? rc : check_frees(check, step);
}

int plan_check(const struct graph *graph, const struct plan *plan, struct problem *problem)
{
	size_t room = ((size_t)plan->step_count + 1) * OP_OUT_MAX;
	CLEANUP(freep) struct check_region *regions = calloc(room, sizeof(regions[0]));
	CLEANUP(freep) bool *done = calloc((size_t)graph->op_count + 1, sizeof(done[0]));
	struct check check = {graph, plan, regions, 0, done, 0, problem};
	int rc = 0;

	if (!regions || !done)
		return problem_set(problem, -ENOMEM, "no memory for the check");
	for (; check.step < plan->step_count && rc == 0; check.step++)
		rc = check_step(&check);
	for (int i = 0; i < graph->op_count && rc == 0; i++)
		if (!done[i])
			rc = problem_set(problem, E_INVALID, "op %d never runs", i);
	if (rc < 0)
		return rc;
	int64_t bytes = check_bytes(&check, graph->loss);

	for (int i = 0; i < check.region_count; i++)
		if (regions[i].tensor == graph->loss && regions[i].to - regions[i].from == bytes)
			return 0;
	return problem_set(problem, E_INVALID, "the loss is gone at the end");
}
