/* A library in the place of cuDNN: keeps what is set, offers the engines that the test says, and runs nothing. */
#include "tests/support/cudnn_fake/cudnn_fake.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/macros.h"

#include "trainer_image/ops/cuda/cudnn_abi.h"

enum { FAKE_VALUES = 16, FAKE_VALUE_BYTES = 1024, FAKE_FAILED = 3007, FAKE_BAD = 2000 };

struct fake_value {
	unsigned attribute;
	int64_t count;
	unsigned char bytes[FAKE_VALUE_BYTES];
};

struct fake_descriptor {
	unsigned type;
	bool finalized;
	struct fake_value values[FAKE_VALUES];
	int count;
	const struct cudnn_fake_engine *engine; /* of configurations, engines and plans */
};

static struct cudnn_fake fake_state = {.version = 91900};

struct cudnn_fake *cudnn_fake_state(void);
struct cudnn_fake *cudnn_fake_state(void)
{
	return &fake_state;
}

size_t cudnnGetVersion(void);
size_t cudnnGetVersion(void)
{
	return fake_state.version;
}

size_t cudnnGetCudartVersion(void);
size_t cudnnGetCudartVersion(void)
{
	return (fake_state.cuda > 0 ? fake_state.cuda : 99) * 1000 + 10;
}

void cudnnGetLastErrorString(char *message, size_t room);
void cudnnGetLastErrorString(char *message, size_t room)
{
	strncpy(message, "the fake says why", room - 1);
}

int cudnnCreate(void **handle);
int cudnnCreate(void **handle)
{
	if (fake_state.no_gpu)
		return 1001;
	fake_state.handles++;
	*handle = &fake_state;
	return 0;
}

int cudnnDestroy(void *handle);
int cudnnDestroy(void *handle)
{
	fake_state.handles--;
	return handle == &fake_state ? 0 : FAKE_BAD;
}

int cudnnSetStream(void *handle, void *stream);
int cudnnSetStream(void *handle, void *stream)
{
	fake_state.stream = stream;
	return handle == &fake_state ? 0 : FAKE_BAD;
}

int cudnnBackendCreateDescriptor(unsigned type, void **ret);
int cudnnBackendCreateDescriptor(unsigned type, void **ret)
{
	struct fake_descriptor *descriptor = calloc(1, sizeof(*descriptor));

	if (!descriptor)
		return 4003;
	descriptor->type = type;
	fake_state.live++;
	*ret = descriptor;
	return 0;
}

int cudnnBackendDestroyDescriptor(void *descriptor);
int cudnnBackendDestroyDescriptor(void *descriptor)
{
	free(descriptor);
	fake_state.live--;
	return 0;
}

/* The type and the number of values of each attribute, as cudnn_graph.h documents them. */
static const struct fake_attribute {
	unsigned attribute, type;
	int64_t least, most; /* values, or room for them */
} fake_attributes[] = {
	{CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1},
	{CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, 1},
	{CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, 2},
	{CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, 2},
	{CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, 2},
	{CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, 2},
	{CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, 1},
	{CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, 1},
	{CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
	{CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1000},
	{CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
	{CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
	{CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1000},
	{CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, 1},
	{CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, 1},
	{CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
	{CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, 1},
	{CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
	{CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, 1},
	{CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, 1},
	{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, 1},
	{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, 1},
	{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
	{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
	{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
	{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
	{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, 1, 1},
	{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, 1, 1},
	{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
	{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
	{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
	{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
	{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_TYPE_FLOAT, 1, 1},
	{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT, 1, 1},
	{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
	 1},
	{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
	{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
	{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
	{CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, 1},
	{CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
	{CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, 1},
	{CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1},
	{CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, 4},
	{CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, 4},
	{CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, 1},
	{CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, 3},
	{CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, 3},
	{CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, 1},
	{CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, 1},
	{CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, 1, 1000},
	{CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, 1, 1000},
	{CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 2, FAKE_VALUE_BYTES},
};

static bool fake_takes(unsigned attribute, unsigned type, int64_t count)
{
	for (size_t i = 0; i < COUNT_OF(fake_attributes); i++) {
		const struct fake_attribute *row = &fake_attributes[i];

		if (row->attribute == attribute)
			return type == row->type && count >= row->least && count <= row->most;
	}
	return false;
}

static size_t fake_size(unsigned type)
{
	switch (type) {
	case CUDNN_TYPE_CHAR: return 1;
	case CUDNN_TYPE_INT64:
	case CUDNN_TYPE_HANDLE:
	case CUDNN_TYPE_VOID_PTR:
	case CUDNN_TYPE_BACKEND_DESCRIPTOR: return 8;
	default: return 4;
	}
}

int cudnnBackendSetAttribute(void *to, unsigned attribute, unsigned type, int64_t count,
			     const void *values);
int cudnnBackendSetAttribute(void *to, unsigned attribute, unsigned type, int64_t count,
			     const void *values)
{
	struct fake_descriptor *descriptor = to;
	size_t bytes = fake_size(type) * (size_t)count;

	if (!descriptor || descriptor->finalized || descriptor->count == FAKE_VALUES ||
	    !fake_takes(attribute, type, count) || bytes > FAKE_VALUE_BYTES)
		return FAKE_BAD;
	struct fake_value *value = &descriptor->values[descriptor->count++];

	value->attribute = attribute;
	value->count = count;
	memcpy(value->bytes, values, bytes);
	return 0;
}

/* Copies the value into `ret` and says whether there is one. */
static bool fake_read(const struct fake_descriptor *descriptor, unsigned attribute, void *ret,
		      size_t bytes)
{
	for (int i = 0; descriptor && i < descriptor->count; i++)
		if (descriptor->values[i].attribute == attribute) {
			memcpy(ret, descriptor->values[i].bytes, bytes);
			return true;
		}
	return false;
}

static struct fake_descriptor *fake_read_descriptor(const struct fake_descriptor *descriptor,
						    unsigned attribute)
{
	struct fake_descriptor *ret = NULL;

	(void)fake_read(descriptor, attribute, &ret, sizeof(void *));
	return ret && ret->finalized ? ret : NULL;
}

/* The attributes of an operation: those of its window, x, w, y and beta. */
static bool fake_operation(const struct fake_descriptor *operation)
{
	static const unsigned names[3][5] = {
		{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
		{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
		{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
	};
	const unsigned *name =
		names[operation->type - CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR];
	const struct fake_descriptor *window = fake_read_descriptor(operation, name[0]);
	bool good = fake_read(window, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, fake_state.pad, 16) &&
		    fake_read(window, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, fake_state.step, 16) &&
		    fake_read(operation, name[4], &fake_state.beta, sizeof(float));

	for (int i = 0; i < 3; i++) {
		const struct fake_descriptor *tensor = fake_read_descriptor(operation, name[i + 1]);
		int64_t id = 0;

		good = good && fake_read(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, &id, sizeof(id)) &&
		       id == i + 1 &&
		       fake_read(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, fake_state.sizes[i], 32) &&
		       fake_read(tensor, CUDNN_ATTR_TENSOR_STRIDES, fake_state.strides[i], 32) &&
		       fake_read(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, &fake_state.data_types[i],
				 sizeof(int));
	}
	fake_state.operation = (int)operation->type;
	return good;
}

static int fake_finalize_plan(struct fake_descriptor *plan)
{
	const struct fake_descriptor *config =
		fake_read_descriptor(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
	void *handle = NULL;
	bool on = fake_read(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, &handle, sizeof(handle));

	if (!config ||
	    on == (fake_read_descriptor(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP) != NULL))
		return FAKE_BAD;
	plan->engine = config->engine;
	return plan->engine->fails ? FAKE_FAILED : 0;
}

int cudnnBackendFinalize(void *of);
int cudnnBackendFinalize(void *of)
{
	struct fake_descriptor *descriptor = of;
	void *handle = NULL;
	int status = 0;

	if (!descriptor || descriptor->finalized)
		return FAKE_BAD;
	if (descriptor->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
		const struct fake_descriptor *operation =
			fake_read_descriptor(descriptor, CUDNN_ATTR_OPERATIONGRAPH_OPS);

		fake_state.with_handle = fake_read(descriptor, CUDNN_ATTR_OPERATIONGRAPH_HANDLE,
						   &handle, sizeof(handle));
		status = operation && fake_operation(operation) ? 0 : FAKE_BAD;
	}
	if (descriptor->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
		status = fake_finalize_plan(descriptor);
	descriptor->finalized = status == 0;
	return status;
}

static int fake_offer(const struct fake_descriptor *heuristic, int64_t room, int64_t *ret_count,
		      void **configs)
{
	const struct fake_descriptor *device =
		fake_read_descriptor(heuristic, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
	const struct cudnn_fake_engine *engines = fake_state.first;
	int mode = 0;

	fake_state.questions++;
	fake_state.device[0] = '\0';
	(void)fake_read(device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, fake_state.device,
			sizeof(fake_state.device));
	if (!fake_read(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, &mode, sizeof(mode)) ||
	    (device == NULL) != fake_state.with_handle)
		return FAKE_BAD;
	if (mode == CUDNN_HEUR_MODE_FALLBACK)
		engines = fake_state.others;
	*ret_count = 0;
	for (int64_t i = 0; i < room && i < CUDNN_FAKE_ENGINES && engines[i].id != 0; i++) {
		struct fake_descriptor *config = configs[i];

		config->engine = &engines[i];
		config->finalized = true;
		*ret_count = i + 1;
	}
	return fake_state.heuristics;
}

static int64_t fake_notes(const int notes[], int room, int *ret)
{
	int64_t count = 0;

	for (int i = 0; i < room && notes[i] > 0; i++)
		ret[count++] = notes[i] - 1;
	return count;
}

int cudnnBackendGetAttribute(void *of, unsigned attribute, unsigned type, int64_t room,
			     int64_t *count, void *values);
int cudnnBackendGetAttribute(void *of, unsigned attribute, unsigned type, int64_t room,
			     int64_t *count, void *values)
{
	struct fake_descriptor *descriptor = of;
	const struct cudnn_fake_engine *engine = descriptor->engine;

	if (!fake_takes(attribute, type, room))
		return FAKE_BAD;
	*count = 1;
	switch (attribute) {
	case CUDNN_ATTR_ENGINEHEUR_RESULTS: return fake_offer(descriptor, room, count, values);
	case CUDNN_ATTR_ENGINECFG_ENGINE:
		(*(struct fake_descriptor **)values)->engine = engine;
		return 0;
	case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE: *(int64_t *)values = engine->workspace; return 0;
	case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES: return 0; /* one */
	case CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE: *(int *)values = 2; return 0;
	case CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE: *(int64_t *)values = 5; return 0;
	case CUDNN_ATTR_ENGINE_GLOBAL_INDEX: *(int64_t *)values = engine->id; return 0;
	case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
		*count = fake_notes(engine->numerical, 3, values);
		return 0;
	case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
		*count = fake_notes(engine->behavior, 2, values);
		return 0;
	case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
		*(int64_t *)values = engine->workspace + engine->more;
		return 0;
	default: return FAKE_BAD;
	}
}

#ifndef CUDNN_FAKE_LACKS
int cudnnBackendExecute(void *handle, void *plan, void *pack);
int cudnnBackendExecute(void *handle, void *plan, void *pack)
{
	const struct fake_descriptor *of_plan = plan;
	const struct fake_descriptor *of_pack = pack;
	int64_t ids[3] = {0};

	if (handle != &fake_state || !of_plan->finalized || !of_pack->finalized ||
	    !fake_read(of_pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids, sizeof(ids)) ||
	    !fake_read(of_pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, fake_state.memory,
		       sizeof(fake_state.memory)) ||
	    !fake_read(of_pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, &fake_state.workspace,
		       sizeof(void *)) ||
	    ids[0] != 1 || ids[1] != 2 || ids[2] != 3)
		return FAKE_BAD;
	fake_state.runs++;
	fake_state.ran = of_plan->engine->id;
	return fake_state.run;
}
#endif
