#include "trainer_image/plan/chain_policy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum {
	CHAIN_CELLS_MAX =
		4000000, /* that one choice visits, about: quanta of the budget times options */
	CHAIN_QUANTA_MAX = 8192,
	CHAIN_WORK_MAX = 2000000, /* ops of all options that are measured, about: half a second */
	CHAIN_SPAN_MAX = 6,       /* cuts that a segment may leap over */
	CHAIN_PRODUCTS_MAX = 64,  /* of a segment: levels */
};

static bool chain_is_product(enum op_kind kind)
{
	return kind == OP_CONV || kind == OP_LINEAR || kind == OP_ATTENTION;
}

static int chain_find_cuts(struct chain *chain)
{
	const struct graph *graph = chain->life->graph;
	CLEANUP(freep) int *last = calloc((size_t)graph->tensor_count, sizeof(last[0]));
	int crossing = 0;

	if (!last)
		return -ENOMEM;
	for (int i = 0; i < graph->op_count; i++)
		for (int k = 0; k < graph->ops[i].in_count; k++) {
			int root = graph->tensors[graph->ops[i].in[k]].alias;

			if (i < graph->forward_count)
				last[root] = i;
			else
				chain->read_later[root] = true;
		}
	chain->cuts[chain->cut_count++] = 0;
	for (int i = 0; i < graph->forward_count; i++) {
		const struct graph_op *op = &graph->ops[i];

		for (int k = 0; k < op->in_count; k++) {
			int root = graph->tensors[op->in[k]].alias;
			bool again = false;

			for (int j = 0; j < k; j++)
				again = again || graph->tensors[op->in[j]].alias == root;
			if (!again && last[root] == i && !graph_tensor_is_lasting(graph, root))
				crossing--;
		}
		crossing += last[op->out[0]] > i ? 1 : 0;
		if (crossing == 1 && last[op->out[0]] > i)
			chain->cuts[chain->cut_count++] = i + 1;
	}
	chain->cuts[chain->cut_count++] = graph->forward_count;
	return 0;
}

static double chain_worth(const struct graph *graph, int op)
{
	const struct graph_op *row = &graph->ops[op];

	return (double)graph_tensor_bytes(graph, row->out[0]) / (row->flops + 1);
}

/* The products of a segment that free the most bytes per operation: `level` of them in `ret`. */
static int chain_products(const struct chain *chain, int from, int to, int ret[CHAIN_PRODUCTS_MAX])
{
	const struct graph *graph = chain->life->graph;
	int count = 0;

	for (int i = from; i < to - 1; i++) {
		int at = count;

		if (!chain_is_product(graph->ops[i].kind))
			continue;
		while (at > 0 && chain_worth(graph, ret[at - 1]) < chain_worth(graph, i))
			at--;
		if (at >= CHAIN_PRODUCTS_MAX)
			continue;
		if (count < CHAIN_PRODUCTS_MAX)
			count++;
		memmove(ret + at + 1, ret + at, (size_t)(count - 1 - at) * sizeof(ret[0]));
		ret[at] = i;
	}
	return count;
}

/* Marks the ops of a segment that are not kept. Of the cheap ones those alone whose result is read
 * again: the statistics of a norm that nobody reads the result of cost less to keep. */
static void chain_apply(struct chain *chain, int from, int to, int level, bool dropped[])
{
	const struct graph *graph = chain->life->graph;
	int products[CHAIN_PRODUCTS_MAX];
	int count = chain_products(chain, from, to, products);

	if (level < 0)
		return;
	for (int i = 0; i < level && i < count; i++)
		dropped[products[i]] = true;
	for (int i = from; i < to; i++)
		chain->needed[graph->ops[i].out[0]] = false;
	for (int i = to - 2; i >= from; i--) {
		const struct graph_op *op = &graph->ops[i];
		bool read = chain->read_later[op->out[0]] || chain->needed[op->out[0]];

		if (chain_is_product(op->kind) ? !dropped[i] : !read)
			continue;
		dropped[i] = read;
		for (int k = 0; read && k < op->in_count; k++)
			chain->needed[graph->tensors[op->in[k]].alias] = true;
	}
}

/* Measures an option with all other segments kept. Whether the result that enters a segment is kept
 * depends on the segment, so it counts as its own, and the one that leaves it as the next one's. */
static int chain_measure(struct chain *chain, int from_cut, int to_cut, int level)
{
	struct liveness *life = chain->life;
	int from = chain->cuts[from_cut];
	int to = chain->cuts[to_cut];
	int end = to < life->graph->forward_count ? to - 1 : to;
	struct chain_option option = {.from = from_cut, .to = to_cut, .level = level};
	int64_t live = 0;

	memset(chain->dropped, 0, (size_t)life->graph->forward_count);
	chain_apply(chain, from, to, level, chain->dropped);
	liveness_run(life, chain->dropped);
	option.flops = life->extra_flops;
	memset(life->live, 0, ((size_t)life->step_count + 1) * sizeof(life->live[0]));
	for (int i = 0; i < life->value_count; i++) {
		const struct plan_value *value = &life->values[i];
		int first = value->first + (value->place != i ? 1 : 0);

		if (value->first < from - 1)
			continue;
		life->live[first] += value->bytes;
		life->live[value->last + 1] -= value->bytes;
		if (value->first < end && value->last >= life->turn)
			option.kept += value->bytes;
	}
	for (int i = 0; i < life->step_count; i++) {
		int op = life->steps[i].op;

		live += life->live[i];
		op = life->forward_of[op];
		if (op >= from && op < to && live > option.work)
			option.work = live;
	}
	if (chain->option_count == chain->option_room) {
		size_t room = chain->option_room > 0 ? chain->option_room * 2 : 256;
		struct chain_option *more = realloc(chain->options, room * sizeof(more[0]));

		if (!more)
			return -ENOMEM;
		chain->options = more;
		chain->option_room = room;
	}
	chain->options[chain->option_count++] = option;
	return 0;
}

static int chain_levels(const struct chain *chain, int from_cut, int to_cut)
{
	int products[CHAIN_PRODUCTS_MAX];

	return chain_products(chain, chain->cuts[from_cut], chain->cuts[to_cut], products) + 1;
}

static int chain_measure_all(struct chain *chain)
{
	int span = CHAIN_SPAN_MAX;

	for (; span > 1; span--) {
		int64_t measures = 0;

		for (int to = 1; to < chain->cut_count; to++)
			for (int from = to > span ? to - span : 0; from < to; from++)
				measures += chain_levels(chain, from, to) + 1;
		if (measures * chain->life->graph->op_count <= CHAIN_WORK_MAX)
			break;
	}
	for (int to = 1; to < chain->cut_count; to++)
		for (int from = to > span ? to - span : 0; from < to; from++) {
			int levels = chain_levels(chain, from, to);

			for (int level = -1; level < levels; level++)
				if (chain_measure(chain, from, to, level) < 0)
					return -ENOMEM;
		}
	return 0;
}

int chain_init(struct chain *chain, struct liveness *life)
{
	size_t ops = (size_t)life->graph->forward_count;
	size_t tensors = (size_t)life->graph->tensor_count;

	*chain = (struct chain){.life = life};
	chain->cuts = calloc(ops + 2, sizeof(chain->cuts[0]));
	chain->read_later = calloc(tensors + 1, sizeof(bool));
	chain->needed = calloc(tensors + 1, sizeof(bool));
	chain->dropped = calloc(ops + 1, sizeof(bool));
	if (!chain->cuts || !chain->read_later || !chain->needed || !chain->dropped)
		return -ENOMEM;
	int rc = chain_find_cuts(chain);

	return rc < 0 ? rc : chain_measure_all(chain);
}

void chain_done(struct chain *chain)
{
	free(chain->cuts);
	free(chain->options);
	free(chain->read_later);
	free(chain->needed);
	free(chain->dropped);
}

static void chain_apply_option(struct chain *chain, const struct chain_option *option,
			       bool dropped[])
{
	chain_apply(chain, chain->cuts[option->from], chain->cuts[option->to], option->level,
		    dropped);
}

struct chain_cell {
	double flops;       /* HUGE_VAL = not reached */
	int option, quanta; /* that led here, and how much was kept before it */
};

int chain_choose(struct chain *chain, int64_t budget, bool dropped[])
{
	int most_quanta = CHAIN_CELLS_MAX / (int)(chain->option_count + 1);
	int quanta = most_quanta < CHAIN_QUANTA_MAX ? most_quanta : CHAIN_QUANTA_MAX;
	size_t width = (size_t)quanta + 1;
	size_t cells = (size_t)chain->cut_count * width;
	CLEANUP(freep) struct chain_cell *table = malloc(cells * sizeof(table[0]));
	double unit = (double)budget / quanta;
	int at = chain->cut_count - 1;
	size_t best = 0;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < cells; i++)
		table[i] = (struct chain_cell){.flops = HUGE_VAL};
	table[0].flops = 0;
	for (size_t i = 0; i < chain->option_count; i++) {
		const struct chain_option *option = &chain->options[i];
		const struct chain_cell *from = &table[(size_t)option->from * width];
		struct chain_cell *to = &table[(size_t)option->to * width];
		int kept = (int)((double)option->kept / unit + 0.5);
		int most = (int)floor((double)(budget - option->work) / unit);

		if (option->work > budget || kept > quanta)
			continue;
		for (int k = 0; k <= most && k + kept <= quanta; k++)
			if (from[k].flops + option->flops < to[k + kept].flops)
				to[k + kept] = (struct chain_cell){from[k].flops + option->flops,
								   (int)i, k};
	}
	for (size_t k = 0; k < width; k++)
		if (table[(size_t)at * width + k].flops < table[(size_t)at * width + best].flops)
			best = k;
	if (isinf(table[(size_t)at * width + best].flops))
		return E_LIMIT;
	memset(dropped, 0, (size_t)chain->life->graph->forward_count);
	while (at > 0) {
		const struct chain_cell *cell = &table[(size_t)at * width + best];
		const struct chain_option *option = &chain->options[cell->option];

		chain_apply_option(chain, option, dropped);
		at = option->from;
		best = (size_t)cell->quanta;
	}
	return 0;
}

/* The least that can be kept at each cut when no step needs more than `budget`: what is kept only adds
 * to the steps behind, so the least is the best. */
static bool chain_fits(const struct chain *chain, int64_t budget, int64_t kept[], int option_of[])
{
	for (int i = 0; i < chain->cut_count; i++)
		kept[i] = i > 0 ? INT64_MAX : 0;
	for (size_t i = 0; i < chain->option_count; i++) {
		const struct chain_option *option = &chain->options[i];
		int64_t before = kept[option->from];

		if (before > budget - option->work || before + option->kept >= kept[option->to])
			continue;
		kept[option->to] = before + option->kept;
		option_of[option->to] = (int)i;
	}
	return kept[chain->cut_count - 1] < INT64_MAX;
}

int chain_smallest(struct chain *chain, bool dropped[])
{
	size_t cuts = (size_t)chain->cut_count;
	CLEANUP(freep) int64_t *kept = calloc(cuts, sizeof(kept[0]));
	CLEANUP(freep) int *option_of = calloc(cuts, sizeof(option_of[0]));
	int64_t low = 0;
	int64_t high = PLAN_ALIGNMENT;

	if (!kept || !option_of)
		return -ENOMEM;
	while (!chain_fits(chain, high, kept, option_of)) {
		low = high;
		high *= 2;
	}
	while (high - low > PLAN_ALIGNMENT && high - low > high / 100000) {
		int64_t middle = low + (high - low) / 2;

		if (chain_fits(chain, middle, kept, option_of))
			high = middle;
		else
			low = middle;
	}
	(void)chain_fits(chain, high, kept, option_of);
	memset(dropped, 0, (size_t)chain->life->graph->forward_count);
	for (int at = chain->cut_count - 1; at > 0;) {
		const struct chain_option *option = &chain->options[option_of[at]];

		chain_apply_option(chain, option, dropped);
		at = option->from;
	}
	return 0;
}
