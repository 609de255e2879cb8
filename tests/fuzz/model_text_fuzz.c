// links: trainer_graph
/* Invariant: printing a parsed model and parsing it again gives the same print and the same graph; what
 * is refused says why. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "trainer_image/graph/graph.h"
#include "trainer_image/graph/model_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model *model = NULL;
	struct model *again = NULL;
	struct graph *graph = NULL;
	struct problem problem = {0};
	struct text first = {0};
	struct text second = {0};

	if (size > 1 << 14)
		return 0;
	if (model_parse("fuzz", (const char *)data, size, &model, &problem) < 0) {
		assert(problem.message[0] != '\0');
		return 0;
	}
	model_print(model, &first);
	int rc = model_parse("print", text_get(&first), first.size, &again, &problem);

	assert(rc == 0);
	model_print(again, &second);
	assert(strcmp(text_get(&first), text_get(&second)) == 0);
	/* Shapes that fit one sample may be too large for the batch, and are refused then. */
	if (graph_build(model, 2, TENSOR_BF16, true, &graph, &problem) < 0)
		assert(problem.message[0] != '\0');
	else
		assert(graph->op_count >= graph->forward_count);
	graph_free(graph);
	text_done(&first);
	text_done(&second);
	model_free(again);
	model_free(model);
	return 0;
}
