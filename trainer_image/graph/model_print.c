#include <inttypes.h>

#include "trainer_image/graph/model_table.h"
#include "trainer_image/graph/model_text.h"

static const char *model_print_name(const struct model *model, int result)
{
	return result == MODEL_INPUT   ? model->input_name
	       : result == MODEL_LABEL ? model->label_name
				       : model->ops[result - MODEL_FIRST].name;
}

static void model_print_sizes(const struct tensor_shape *shape, struct text *text)
{
	for (int i = 0; i < shape->rank; i++)
		text_addf(text, " %" PRId64, shape->size[i]);
}

void model_print(const struct model *model, struct text *text)
{
	text_addf(text, "model %s\ninput %s", model->name, model->input_name);
	model_print_sizes(&model->input, text);
	if (model->words > 0)
		text_addf(text, " words=%" PRId64, model->words);
	text_addf(text, "\nlabel %s %" PRId64, model->label_name, model->classes);
	model_print_sizes(&model->label, text);
	text_add(text, "\n");
	for (size_t i = 0; i < model->count; i++) {
		const struct model_op *op = &model->ops[i];

		text_addf(text, "%s = %s", op->name,
			  op->kind == MODEL_FLATTEN ? "flatten" : op_text((enum op_kind)op->kind));
		for (int k = 0; k < op->in_count; k++)
			text_addf(text, " %s", model_print_name(model, op->in[k]));
		model_keys_print(op, text);
		text_add(text, "\n");
	}
}
