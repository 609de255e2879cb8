// links: trainer_graph
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "tests/support/cmocka.h"
#include "trainer_image/graph/graph.h"
#include "trainer_image/graph/model_text.h"

#define HEAD "model m\ninput x 8 8 4\nlabel y 10\n"

static struct model *model_test_load(const char *name)
{
	char path[300];
	struct model *model = NULL;
	struct problem problem = {0};

	(void)snprintf(path, sizeof(path), "%s/../trainer_image/model/%s.model", TEST_SOURCE_DIR,
		       name);
	int rc = model_load(path, &model, &problem);

	assert_string_equal(problem.message, "");
	assert_int_equal(rc, 0);
	return model;
}

/* Parameters; GMAC of the forward pass for one picture, as published. */
static const struct {
	const char *name;
	int64_t parameters;
	double gmacs;
} model_test_published[] = {
	{"lenet", 61706, 0.000417},
	{"resnet18", 11689512, 1.814},
	{"resnet50", 25557032, 4.09},
	{"resnet152", 60192808, 11.51},
	{"vgg16", 138357544, 15.47},
	{"inception", 6998552, 1.58},
	{"unet", 0, 0},
	{"words", 136960, 0.00734},
	{"segment", 27651, 0.00484},
	{"transformer", 0, 0},
};

static void published(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(model_test_published); i++) {
		struct model *model = model_test_load(model_test_published[i].name);
		struct problem problem = {0};
		struct graph *graph = NULL;

		assert_int_equal(graph_build(model, 2, TENSOR_BF16, true, &graph, &problem), 0);
		if (model_test_published[i].parameters > 0)
			assert_int_equal(graph_elements(graph, GRAPH_PARAMETER),
					 model_test_published[i].parameters);
		assert_int_equal(graph_elements(graph, GRAPH_PARAMETER),
				 graph_elements(graph, GRAPH_GRADIENT));
		if (model_test_published[i].gmacs > 0)
			assert_true(graph_forward_macs(graph) >
					    model_test_published[i].gmacs * 0.99e9 &&
				    graph_forward_macs(graph) <
					    model_test_published[i].gmacs * 1.01e9);
		graph_free(graph);
		model_free(model);
	}
}

static bool model_test_equal(const struct model *a, const struct model *b)
{
	for (size_t i = 0; i < a->count; i++) {
		struct model_op first = a->ops[i];
		struct model_op second = b->ops[i];

		first.line = second.line = 0;
		if (strcmp(first.name, second.name) != 0 || first.kind != second.kind ||
		    first.in_count != second.in_count ||
		    memcmp(first.in, second.in, sizeof(first.in)) != 0 ||
		    memcmp(&first.attributes, &second.attributes, sizeof(first.attributes)) != 0 ||
		    !tensor_shape_equal(&first.shape, &second.shape))
			return false;
	}
	return a->count == b->count;
}

static void printed(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(model_test_published); i++) {
		struct model *model = model_test_load(model_test_published[i].name);
		struct model *again = NULL;
		struct problem problem = {0};
		struct text text = {0};

		model_print(model, &text);
		int rc = model_parse("again", text_get(&text), text.size, &again, &problem);

		assert_string_equal(problem.message, "");
		assert_int_equal(rc, 0);
		assert_true(model_test_equal(model, again));
		text_done(&text);
		model_free(again);
		model_free(model);
	}
}

static const struct {
	const char *text, *message, *hint;
} model_test_bad[] = {
	{"", "bad: the file has no lines", ""},
	{HEAD "flatten\nlinear out=10\n", "0 losses: a model ends in one cross_entropy", ""},
	{HEAD "a = relu\nb = max_pool x window=2\nadd a b\n", "line 6: add: 8x8x4 and 4x4x4 differ",
	 ""},
	{HEAD "conv out=4 window=3\n  convolve\n", "line 5: convolve is no op and no block above",
	 NULL},
	{HEAD "relu z\n", "line 4: z is no result",
	 "results are names before a \"=\" above, arguments of the block, the input and the label"},
	{HEAD "a = relu b\nb = relu a\n",
	 "line 4: b is the result of line 5, below: a model has no cycles", ""},
	{HEAD "a = relu\na = relu\n", "line 5: the name a is taken already", ""},
	{HEAD "a = relu\nflatten x\nlinear out=10\ncross_entropy\n",
	 "line 4: nothing uses the result a", ""},
	{HEAD "conv out=4\n",
	 "line 4: conv: window is missing, a number of at least 1, or "
	 "HEIGHTxWIDTH",
	 ""},
	{HEAD "conv out=four window=3\n", "line 4: conv: out=four is not a number of at least 1",
	 ""},
	{HEAD "conv out=4 window=3 rate=1\n", "line 4: conv: it has no rate",
	 "conv takes: out window stride pad bias"},
	{HEAD "conv out=4 out=4 window=3\n", "line 4: conv: out is there twice", ""},
	{HEAD "dropout rate=inf\n", "line 4: dropout: rate=inf is not a number from 0 to 1", ""},
	{HEAD "repeat 3\nrelu\n", "line 4: its \"end\" is missing", ""},
	{HEAD "end\n", "line 4: end: it ends no block and no repetition", ""},
	{HEAD "block a(x)\nblock b(x)\nend\nend\n",
	 "line 5: a block does not stand in another, nor in a repetition", ""},
	{HEAD "block a(x)\n a x\nend\na x\n", "line 5: the block a has not ended above", ""},
	{HEAD "block a(x, w=)\n conv x out=w window=1\nend\na x\n",
	 "line 7: a: the value w is missing", ""},
	{HEAD "block a(x, w=)\n conv x out=w window=1\nend\na x w=2 v=3\n",
	 "line 7: a: it has not all of these values, or one is twice", ""},
	{HEAD "block a(x, w=)\n conv x out=w window=1\nend\na x y w=2\n",
	 "line 7: a: 2 results, it takes 1", ""},
	{HEAD "repeat 10000\nrepeat 10000\nrelu\nend\nend\n", "line 6: more than 10000 ops", ""},
	{"model m\nrelu\n", "line 2: the lines \"input\" and \"label\" stand above ops", ""},
	{HEAD "cross_entropy x\nrelu\n", "line 4: cross_entropy: 8x8x4 and 1 do not go together",
	 ""},
	{HEAD "conv out=4 window=9\n", "line 4: conv: 8x8x4 is smaller than the window", ""},
	{HEAD "conv out=4 window=3 pad=\303\n", "line 4: a byte that is no letter of ASCII", ""},
};

static void refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(model_test_bad); i++) {
		struct model *model = NULL;
		struct problem problem = {0};
		int rc = model_parse("bad", model_test_bad[i].text, strlen(model_test_bad[i].text),
				     &model, &problem);

		assert_string_equal(problem.message, model_test_bad[i].message);
		assert_int_equal(rc, E_MALFORMED);
		if (model_test_bad[i].hint)
			assert_string_equal(problem.hint, model_test_bad[i].hint);
		assert_null(model);
	}
}

static void values_in_blocks(void **state)
{
	static const char text[] =
		HEAD "block in(x, w=1)\n conv x out=w window=1\nend\n"
		     "block out(x, w=)\n in x w=w\n in\n repeat 2\n in w=w\n end\nend\n"
		     "r = out w=7\nflatten r\nlinear out=10\ncross_entropy\n";
	static const int64_t channels[] = {7, 1, 7, 7};
	struct model *model = NULL;
	struct problem problem = {0};

	(void)state;
	(void)!model_parse("blocks", text, strlen(text), &model, &problem);
	assert_string_equal(problem.message, "");
	for (size_t i = 0; i < COUNT_OF(channels); i++)
		assert_int_equal(model->ops[i].out, channels[i]);
	assert_string_equal(model->ops[0].name, "r.in_1.conv_1");
	assert_string_equal(model->ops[3].name, "r.repeat_3.2.in_1.conv_1");
	model_free(model);
}

/* y = relu(conv(x)); add(y, relu(y)): y has two readers, ADD and FLATTEN copy nothing. */
static void gradients(void **state)
{
	static const char text[] = HEAD "conv out=4 window=1 bias=1\nv = relu\nw = relu\nadd w v\n"
					"flatten\nlinear out=10\ncross_entropy\n";
	static const char *const kinds[] = {"cross_entropy_back", "linear_weight",   "bias_back",
					    "linear_data",        "activation_back", "add",
					    "activation_back",    "conv_weight",     "bias_back"};
	struct model *model = NULL;
	struct graph *graph = NULL;
	struct problem problem = {0};

	(void)state;
	(void)!model_parse("gradients", text, strlen(text), &model, &problem);
	assert_string_equal(problem.message, "");
	assert_int_equal(graph_build(model, 3, TENSOR_FP32, true, &graph, &problem), 0);
	assert_int_equal(graph->op_count - graph->forward_count, COUNT_OF(kinds));
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		assert_string_equal(op_text(graph->ops[graph->forward_count + (int)i].kind),
				    kinds[i]);
	const struct graph_op *linear_data = &graph->ops[graph->forward_count + 3];
	const struct graph_op *sum = &graph->ops[graph->forward_count + 5];

	/* The gradient behind ADD is linear_data's memory in another shape. */
	assert_int_equal(graph->tensors[sum->in[0]].alias, linear_data->out[0]);
	assert_string_equal(graph_tensor_name(graph, graph->ops[0].in[1]), "conv_1.weight");
	for (int i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i].role == GRAPH_PARAMETER)
			assert_true(graph->tensors[i].gradient >= 0);
	graph_free(graph);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published), cmocka_unit_test(printed),
		cmocka_unit_test(refused),   cmocka_unit_test(values_in_blocks),
		cmocka_unit_test(gradients),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
