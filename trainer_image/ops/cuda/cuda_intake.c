#include "trainer_image/ops/cuda/cuda_intake.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/error.h"

#include "trainer_image/loader/augment_pixel.h"

enum { CUDA_INTAKE_BATCH_MAX = 65535 }; /* blocks of a grid along z: one a picture */

struct cuda_intake_place {
	void *memory;                  /* of the device, kind.room bytes */
	cudaEvent_t uploaded;          /* the host's memory was read */
	cudaEvent_t used;              /* the kernels have read `memory` */
	struct ops_intake_batch batch; /* that is there; its memory is the host's */
};

struct ops_intake {
	struct cuda_device *device;
	const struct cuda_launch *launch;
	struct ops_intake_kind kind;
	size_t picture; /* bytes of one, as it comes out */
	void *table;
	cudaStream_t stream; /* of uploads */
	struct cuda_intake_place places[OPS_INTAKE_PLACES];
};

void *cuda_intake_host_take(size_t bytes)
{
	void *memory = NULL;

	if (cudaMallocHost(&memory, bytes) != cudaSuccess) {
		(void)cudaGetLastError(); /* a lack of memory is no fault of the device */
		return NULL;
	}
	return memory;
}

void cuda_intake_host_give(void *memory)
{
	(void)cudaFreeHost(memory);
}

/* --- the begin and the end --- */

static int cuda_intake_event(struct cuda_device *device, cudaEvent_t *ret)
{
	return cuda_device_told(device, (int)cudaEventCreateWithFlags(ret, cudaEventDisableTiming));
}

static int cuda_intake_make(struct ops_intake *intake, const struct ops_intake_kind *kind)
{
	struct cuda_device *device = intake->device;
	size_t table = (size_t)3 * 256 * tensor_type_size(kind->type);
	int rc = cuda_device_told(
		device, (int)cudaStreamCreateWithFlags(&intake->stream, cudaStreamNonBlocking));

	for (size_t i = 0; i < OPS_INTAKE_PLACES && rc == 0; i++) {
		struct cuda_intake_place *place = &intake->places[i];

		rc = cuda_intake_event(device, &place->uploaded);
		if (rc == 0)
			rc = cuda_intake_event(device, &place->used);
		if (rc == 0)
			place->memory = cuda_device_take(device, kind->room);
		if (rc == 0 && !place->memory)
			rc = E_LIMIT;
		/* Its zeros come before the first batch. */
		if (rc == 0)
			rc = cuda_device_told(device,
					      (int)cudaEventRecord(place->used, device->stream));
	}
	if (rc == 0)
		intake->table = cuda_device_take(device, table);
	if (rc == 0)
		rc = intake->table ? cuda_device_in(device, intake->table, kind->table, table)
				   : E_LIMIT;
	return rc;
}

int cuda_intake_open(struct cuda_device *device, const struct cuda_launch *launch,
		     const struct ops_intake_kind *kind, struct ops_intake **ret)
{
	struct ops_intake *intake;
	int rc;

	if (kind->batch == 0 || kind->width == 0 || kind->height == 0 ||
	    (kind->channels != 1 && kind->channels != 3) || kind->room == 0)
		return E_INVALID;
	if (kind->batch > CUDA_INTAKE_BATCH_MAX)
		return E_LIMIT;
	intake = calloc(1, sizeof(*intake));
	if (!intake)
		return -ENOMEM;
	*intake = (struct ops_intake){.device = device, .launch = launch, .kind = *kind};
	intake->kind.table = NULL;
	intake->picture =
		(size_t)kind->width * kind->height * kind->channels * tensor_type_size(kind->type);
	rc = cuda_intake_make(intake, kind);
	if (rc != 0) {
		cuda_intake_close(intake);
		return rc;
	}
	*ret = intake;
	return 0;
}

void cuda_intake_close(struct ops_intake *intake)
{
	if (!intake)
		return;
	cuda_device_use(intake->device);
	if (intake->stream)
		(void)cudaStreamSynchronize(intake->stream);
	for (size_t i = 0; i < OPS_INTAKE_PLACES; i++) {
		struct cuda_intake_place *place = &intake->places[i];

		if (place->memory)
			cuda_device_give(intake->device, place->memory);
		if (place->uploaded)
			(void)cudaEventDestroy(place->uploaded);
		if (place->used)
			(void)cudaEventDestroy(place->used);
	}
	if (intake->table)
		cuda_device_give(intake->device, intake->table);
	if (intake->stream)
		(void)cudaStreamDestroy(intake->stream);
	free(intake);
}

/* --- a batch --- */

static bool cuda_intake_place_fits(const struct ops_intake *intake,
				   const struct ops_intake_batch *batch,
				   const struct augment_place *place)
{
	size_t heads = batch->count * sizeof(*place);
	size_t most = AUGMENT_SHRINK_MAX;
	uint64_t pixels = (uint64_t)place->width * place->height;

	return place->offset % 4 == 0 && place->offset >= heads && place->offset <= batch->bytes &&
	       pixels > 0 && pixels <= (batch->bytes - place->offset) / 4 && place->left >= 0 &&
	       place->top >= 0 && place->region_width > 0 && place->region_height > 0 &&
	       place->left + place->region_width <= place->width &&
	       place->top + place->region_height <= place->height &&
	       place->region_width <= (double)(most * intake->kind.width) &&
	       place->region_height <= (double)(most * intake->kind.height);
}

/* Kernels look at no bound: it is done here. */
static bool cuda_intake_fits(const struct ops_intake *intake, const struct ops_intake_batch *batch)
{
	const struct augment_place *places = batch->memory;
	size_t pixels = (size_t)intake->kind.width * intake->kind.height * intake->kind.channels;

	if (batch->count == 0 || batch->count > intake->kind.batch ||
	    batch->bytes > intake->kind.room)
		return false;
	if (batch->k > 0)
		return batch->k <= 2 &&
		       batch->bytes == batch->count * (batch->k == 1 ? pixels : intake->picture);
	if (batch->bytes < batch->count * sizeof(*places))
		return false;
	for (uint32_t i = 0; i < batch->count; i++)
		if (!cuda_intake_place_fits(intake, batch, &places[i]))
			return false;
	return true;
}

int cuda_intake_upload(struct ops_intake *intake, unsigned nth,
		       const struct ops_intake_batch *batch)
{
	struct cuda_intake_place *place = &intake->places[nth % OPS_INTAKE_PLACES];
	int error;

	if (!cuda_intake_fits(intake, batch))
		return E_INVALID;
	cuda_device_use(intake->device);
	error = (int)cudaStreamWaitEvent(intake->stream, place->used, 0);
	if (error == 0)
		error = (int)cudaMemcpyAsync(place->memory, batch->memory, batch->bytes,
					     cudaMemcpyHostToDevice, intake->stream);
	if (error == 0)
		error = (int)cudaEventRecord(place->uploaded, intake->stream);
	place->batch = *batch;
	return cuda_device_told(intake->device, error);
}

int cuda_intake_is_read(struct ops_intake *intake, unsigned nth, bool waits, bool *ret)
{
	struct cuda_intake_place *place = &intake->places[nth % OPS_INTAKE_PLACES];
	cudaError_t error =
		waits ? cudaEventSynchronize(place->uploaded) : cudaEventQuery(place->uploaded);

	if (error != cudaSuccess && error != cudaErrorNotReady)
		return cuda_device_told(intake->device, (int)error);
	*ret = error == cudaSuccess;
	return 0;
}

/* Numbers are there already: once, and again where the batch is short. */
static int cuda_intake_copy(struct ops_intake *intake, const struct cuda_intake_place *place,
			    void *to, uint32_t all)
{
	uint32_t count = place->batch.count;
	int rc = 0;

	for (uint32_t at = 0; at < all && rc == 0; at += count)
		rc = cuda_device_within(intake->device, (char *)to + at * intake->picture,
					place->memory,
					(all - at < count ? all - at : count) * intake->picture);
	return rc;
}

int cuda_intake_put(struct ops_intake *intake, unsigned nth, void *to, uint32_t all)
{
	struct cuda_intake_place *place = &intake->places[nth % OPS_INTAKE_PLACES];
	struct cuda_device *device = intake->device;
	const struct cuda_augment augment = {
		.memory = place->memory,
		.table = intake->table,
		.width = intake->kind.width,
		.height = intake->kind.height,
		.channels = intake->kind.channels,
		.type = intake->kind.type,
		.count = place->batch.count,
		.all = all,
		.to = to,
	};
	int rc;

	if (place->batch.count == 0 || place->batch.count > all || all > intake->kind.batch)
		return E_INVALID;
	cuda_device_use(device);
	rc = cuda_device_told(device, (int)cudaStreamWaitEvent(device->stream, place->uploaded, 0));
	if (rc == 0 && place->batch.k == 2)
		rc = cuda_intake_copy(intake, place, to, all);
	else if (rc == 0)
		rc = cuda_device_told(device,
				      place->batch.k == 1
					      ? cuda_augment_bytes(intake->launch, &augment)
					      : cuda_augment_pictures(intake->launch, &augment));
	if (rc == 0)
		rc = cuda_device_told(device, (int)cudaEventRecord(place->used, device->stream));
	return rc;
}
