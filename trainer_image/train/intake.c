#include "trainer_image/train/intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "trainer_image/loader/augment_number.h"

struct intake {
	struct ops *ops;
	struct ops_intake *device;
	uint32_t k_least, k_most;
	size_t room;                /* bytes of a batch */
	double byte_ns;             /* of an upload */
	void *memory[LOADER_DEPTH]; /* of batches */
	unsigned taken;             /* of them, by the loader */
	struct {
		struct loader_batch batch;
		bool lent; /* by the loader */
	} places[OPS_INTAKE_PLACES];
	unsigned next; /* the place of the batch that is put next, counted on */
};

static void intake_give_memory(struct intake *intake)
{
	for (size_t i = 0; i < LOADER_DEPTH; i++) {
		if (intake->memory[i])
			intake->ops->backend->intake->host_give(intake->ops, intake->memory[i]);
		intake->memory[i] = NULL;
	}
}

/* Memory for the stages from k_least to k_most. E_LIMIT: there is none. */
static int intake_open(struct intake *intake, const struct intake_options *options,
		       const void *table)
{
	static const enum tensor_type types[] = {[AUGMENT_FP32] = TENSOR_FP32,
						 [AUGMENT_BF16] = TENSOR_BF16,
						 [AUGMENT_FP16] = TENSOR_FP16};
	const struct augment *augment = options->augment;
	const struct ops_intake_face *face = intake->ops->backend->intake;
	struct ops_intake_kind kind = {
		.width = augment_width(augment),
		.height = augment_height(augment),
		.channels = augment_channels(augment),
		.type = types[augment_type(augment)],
		.batch = options->batch,
		.room = loader_side_room(augment, options->batch, intake->k_least, intake->k_most),
		.table = table,
	};
	int rc = 0;

	intake->room = kind.room;
	for (size_t i = 0; i < LOADER_DEPTH && rc == 0; i++) {
		intake->memory[i] = face->host_take(intake->ops, kind.room);
		rc = intake->memory[i] ? 0 : E_LIMIT;
	}
	if (rc == 0)
		rc = face->open(intake->ops, &kind, &intake->device);
	if (rc != 0)
		intake_give_memory(intake);
	return rc;
}

/* How long a byte is on its way: the second of two whole batches, of which nobody takes a picture. */
static int intake_measure(struct intake *intake, const struct augment *augment, uint32_t count)
{
	const uint32_t k = intake->k_most;
	const size_t bytes = count * augment_elements(augment) *
			     (k == 1 ? 1 : augment_type_size(augment_type(augment)));
	const struct ops_intake_batch batch = {intake->memory[0], bytes, count, k};
	bool is_read;
	int rc = 0;

	if (intake->k_least == intake->k_most) /* there is nothing to choose */
		return 0;
	memset(intake->memory[0], 0, bytes);
	for (int i = 0; i < 2 && rc == 0; i++) {
		uint64_t begin = clock_monotonic_ns();

		rc = ops_intake_upload(intake->ops, intake->device, 0, &batch);
		if (rc == 0)
			rc = ops_intake_is_read(intake->ops, intake->device, 0, true, &is_read);
		intake->byte_ns = (double)(clock_monotonic_ns() - begin) / (double)bytes;
	}
	return rc;
}

/* Pictures take the most memory, then numbers. */
static int intake_open_some(struct intake *intake, const struct intake_options *options,
			    const void *table)
{
	for (;;) {
		int rc = intake_open(intake, options, table);

		if (rc != E_LIMIT || intake->k_least == intake->k_most)
			return rc;
		if (intake->k_least == 0)
			intake->k_least = 1;
		else
			intake->k_most--;
	}
}

int intake_new(const struct intake_options *options, struct intake **ret, struct problem *problem)
{
	CLEANUP(freep) void *table = malloc(augment_number_size(options->augment));
	struct intake *intake = calloc(1, sizeof(*intake));
	int rc = table && intake ? 0 : -ENOMEM;

	if (rc == 0) {
		*intake = (struct intake){.ops = options->ops,
					  .k_least = options->k_least,
					  .k_most = options->k_most};
		augment_number_table(options->augment, table);
		rc = intake_open_some(intake, options, table);
	}
	if (rc == 0)
		rc = intake_measure(intake, options->augment, options->batch);
	if (rc == 0) {
		*ret = intake;
		return 0;
	}
	(void)ops_fault_tell(options->ops, rc, problem, "batches cannot be handed over");
	if (rc == E_LIMIT) {
		problem_detail(problem, "%d times %zu bytes of the host, %d of the device",
			       LOADER_DEPTH, intake->room, OPS_INTAKE_PLACES);
		problem_hint(problem, "a smaller batch, or data.transfer = 1, wants less");
	}
	if (intake && intake->ops)
		intake_free(intake);
	else
		free(intake);
	return rc;
}

void intake_close(struct intake *intake)
{
	if (!intake)
		return;
	if (intake->device)
		intake->ops->backend->intake->close(intake->device);
	intake->device = NULL;
}

void intake_free(struct intake *intake)
{
	if (!intake)
		return;
	intake_close(intake);
	intake_give_memory(intake);
	free(intake);
}

/* --- memory of the loader's batches --- */

static void *intake_take(void *context, size_t bytes)
{
	struct intake *intake = context;

	return intake->taken < LOADER_DEPTH && bytes <= intake->room
		       ? intake->memory[intake->taken++]
		       : NULL;
}

static void intake_give(void *context, void *memory)
{
	(void)context, (void)memory; /* intake_free() gives it to the device */
}

struct loader_side intake_side(struct intake *intake)
{
	return (struct loader_side){.k_least = intake->k_least,
				    .k_most = intake->k_most,
				    .take = intake_take,
				    .give = intake_give,
				    .context = intake,
				    .byte_ns = intake->byte_ns};
}

/* --- batches --- */

/* A batch that the device has read goes back to the loader. */
static int intake_settle(struct intake *intake, struct loader *loader, unsigned place, bool waits)
{
	bool is_read = false;
	int rc;

	if (!intake->places[place].lent)
		return 0;
	rc = ops_intake_is_read(intake->ops, intake->device, place, waits, &is_read);
	if (rc != 0 || !is_read)
		return rc;
	intake->places[place].lent = false;
	return loader_give_back(loader, &intake->places[place].batch);
}

int intake_fetch(struct intake *intake, struct loader *loader, bool waits, struct problem *problem)
{
	unsigned place = intake->next % OPS_INTAKE_PLACES;
	struct loader_batch *batch = &intake->places[place].batch;
	int rc = intake_settle(intake, loader, place, true);

	for (unsigned i = 0; i < OPS_INTAKE_PLACES && rc == 0; i++)
		rc = intake_settle(intake, loader, i, false);
	if (rc != 0)
		return ops_fault_tell(intake->ops, rc, problem, "a batch cannot be uploaded");
	rc = waits ? loader_next(loader, batch, problem) : loader_try_next(loader, batch, problem);
	if (rc != 1)
		return rc;
	const struct ops_intake_batch is = {
		.memory = batch->data, .bytes = batch->bytes, .count = batch->count, .k = batch->k};

	intake->places[place].lent = true;
	rc = ops_intake_upload(intake->ops, intake->device, place, &is);
	return rc == 0 ? 1 : ops_fault_tell(intake->ops, rc, problem, "a batch cannot be uploaded");
}

const struct loader_batch *intake_batch(const struct intake *intake)
{
	return &intake->places[intake->next % OPS_INTAKE_PLACES].batch;
}

int intake_put(struct intake *intake, struct loader *loader, void *to, uint32_t all)
{
	unsigned place = intake->next++ % OPS_INTAKE_PLACES;
	int rc = ops_intake_put(intake->ops, intake->device, place, to, all);

	return rc == 0 ? intake_settle(intake, loader, place, false) : rc;
}
