#include "trainer_image/record/convert.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"

#include "trainer_image/record/folder_list.h"
#include "trainer_image/record/jpeg_shrink.h"
#include "trainer_image/record/mask.h"
#include "trainer_image/record/record.h"

enum { CONVERT_RING = 64, CONVERT_THREADS_MAX = 64, CONVERT_ORDER_KEY = 1, CONVERT_VERSION = 1 };

/* A file on its way: a thread fills it, the writer empties it, in the order of places. */
struct convert_slot {
	uint64_t place;
	bool full;
	int rc;
	struct problem why;
	uint8_t *data; /* owned */
	size_t size;
	uint64_t read;                /* bytes of the file */
	struct jpeg_shrink_made made; /* its data are in `data` */
	uint8_t *mask;                /* a PNG; owned */
	size_t mask_size;
};

struct convert {
	const char *folder;
	const struct convert_options *options;
	struct folder_list list;
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	uint64_t next;    /* place that a thread takes next */
	uint64_t written; /* places before it are done */
	bool stop;
	struct convert_slot slot[CONVERT_RING];
	pthread_t thread[CONVERT_THREADS_MAX];
	unsigned threads;
};

static const struct folder_file *convert_file(const struct convert *convert, uint64_t place)
{
	uint64_t count = convert->list.file_count;
	uint64_t index =
		convert->options->sorted ? place : shuffle_permute(place, count, CONVERT_ORDER_KEY);

	return &convert->list.files[index];
}

/* ---- The threads ---- */

static int convert_read(const char *folder, const char *name, size_t limit, uint8_t **ret,
			size_t *ret_size)
{
	struct text path = {0};
	char *data = NULL;

	text_addf(&path, "%s/%s", folder, name);
	int rc = path.failed ? -ENOMEM : file_read(text_get(&path), limit, &data, ret_size);
	text_done(&path);
	*ret = (uint8_t *)data;
	return rc;
}

/* Looks through the mask in `slot`, and makes it as small as its picture became. */
static int convert_mask_try(const struct convert *convert, struct convert_slot *slot,
			    struct mask mask[2], struct problem *problem)
{
	const struct jpeg_shrink_made *made = &slot->made;
	int rc = mask_read(slot->mask, slot->mask_size, made->whole_width, made->whole_height,
			   &mask[0], problem);

	if (rc == 0)
		rc = mask_check(&mask[0], convert->options->classes, problem);
	if (rc != 0 || (made->width == made->whole_width && made->height == made->whole_height))
		return rc;
	rc = mask_shrink(&mask[0], made->width, made->height, &mask[1]);
	if (rc != 0)
		return problem_set(problem, rc, "%s", error_text(rc));
	free(slot->mask);
	slot->mask = NULL;
	return mask_write(&mask[1], &slot->mask, &slot->mask_size, problem);
}

static int convert_mask(const struct convert *convert, const struct folder_file *file,
			struct convert_slot *slot)
{
	CLEANUP(text_done) struct text name = {0};
	struct mask mask[2] = {0};
	struct problem problem = {0};

	text_addf(&name, "%.*s.png", (int)(strrchr(file->name, '.') - file->name), file->name);
	int rc = name.failed ? -ENOMEM
			     : convert_read(convert->options->masks, text_get(&name),
					    MASK_BYTES_MAX, &slot->mask, &slot->mask_size);

	slot->read += slot->mask_size;
	if (rc == 0)
		rc = convert_mask_try(convert, slot, mask, &problem);
	else
		(void)problem_set(&problem, rc, "%s", error_text(rc));
	mask_done(&mask[0]);
	mask_done(&mask[1]);
	return rc == 0 ? 0
		       : problem_set(&slot->why, rc, "its mask %s: %s", text_get(&name),
				     problem.message);
}

static void convert_fill(const struct convert *convert, struct convert_slot *slot)
{
	const struct folder_file *file = convert_file(convert, slot->place);

	slot->rc = convert_read(convert->folder, file->name, JPEG_SHRINK_BYTES_MAX, &slot->data,
				&slot->size);
	if (slot->rc < 0) {
		(void)problem_set(&slot->why, slot->rc, "%s", error_text(slot->rc));
		return;
	}
	slot->read = slot->size;
	struct jpeg_shrink_ask ask = {.data = slot->data,
				      .size = slot->size,
				      .side = convert->options->side,
				      .quality = convert->options->quality};
	slot->rc = jpeg_shrink(&ask, &slot->made, &slot->why);
	if (slot->rc == 0 && slot->made.data) {
		free(slot->data);
		slot->data = slot->made.data;
		slot->size = slot->made.size;
	}
	if (slot->rc == 0 && convert->options->masks)
		slot->rc = convert_mask(convert, file, slot);
}

static void *convert_thread(void *context)
{
	struct convert *convert = context;

	pthread_mutex_lock(&convert->lock);
	for (;;) {
		while (!convert->stop && convert->next < convert->list.file_count &&
		       convert->next >= convert->written + CONVERT_RING)
			pthread_cond_wait(&convert->emptied, &convert->lock);
		if (convert->stop || convert->next >= convert->list.file_count)
			break;
		struct convert_slot *slot = &convert->slot[convert->next % CONVERT_RING];
		*slot = (struct convert_slot){.place = convert->next++};
		pthread_mutex_unlock(&convert->lock);
		convert_fill(convert, slot);
		pthread_mutex_lock(&convert->lock);
		slot->full = true;
		pthread_cond_signal(&convert->filled);
	}
	pthread_mutex_unlock(&convert->lock);
	return NULL;
}

static int convert_start(struct convert *convert)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned wanted = convert->options->threads;

	if (wanted == 0)
		wanted = processors > 0 ? (unsigned)processors : 1;
	if (wanted > CONVERT_THREADS_MAX)
		wanted = CONVERT_THREADS_MAX;
	for (; convert->threads < wanted; convert->threads++) {
		int error = pthread_create(&convert->thread[convert->threads], NULL, convert_thread,
					   convert);

		if (error)
			return convert->threads > 0 ? 0 : -error;
	}
	return 0;
}

static void convert_stop(struct convert *convert)
{
	pthread_mutex_lock(&convert->lock);
	convert->stop = true;
	pthread_cond_broadcast(&convert->emptied);
	pthread_mutex_unlock(&convert->lock);
	for (unsigned i = 0; i < convert->threads; i++)
		pthread_join(convert->thread[i], NULL);
	for (unsigned i = 0; i < CONVERT_RING; i++) {
		free(convert->slot[i].data);
		free(convert->slot[i].mask);
	}
}

/* ---- The writer ---- */

static void convert_skip(const struct convert *convert, const struct folder_file *file,
			 const char *why)
{
	if (convert->options->skipped)
		convert->options->skipped(convert->options->context, file->name, why);
}

/* 0 also for a picture that is left out; an error of the disk ends it all. */
static int convert_write(const struct convert *convert, struct record_writer *writer,
			 const struct convert_slot *slot, struct problem *problem)
{
	const struct folder_file *file = convert_file(convert, slot->place);
	const struct record_value fields[] = {
		{.data = file->name, .size = strlen(file->name)},
		{.data = slot->mask, .size = slot->mask_size},
	};
	struct record_sample sample = {
		.label = convert->options->masks ? -1 : file->label,
		.format = RECORD_JPEG,
		.height = slot->made.height,
		.width = slot->made.width,
		.channels = slot->made.channels,
		.data = slot->data,
		.size = slot->size,
	};

	if (slot->rc == -ENOMEM || slot->rc == -EMFILE || slot->rc == -ENFILE)
		return problem_set(problem, slot->rc, "cannot read %s/%s: %s", convert->folder,
				   file->name, error_text(slot->rc));
	record_writer_mark(writer, slot->place + 1);
	if (slot->rc < 0) {
		convert_skip(convert, file, slot->why.message);
		return 0;
	}
	int rc = record_writer_add(writer, &sample, fields, problem);
	if (rc != E_LIMIT)
		return rc;
	convert_skip(convert, file, "it is larger than a page (--page-size, --resize-max)");
	return 0;
}

static int convert_all(struct convert *convert, struct record_writer *writer,
		       struct problem *problem)
{
	uint64_t bytes = 0;

	for (uint64_t place = convert->written; place < convert->list.file_count; place++) {
		struct convert_slot *slot = &convert->slot[place % CONVERT_RING];

		pthread_mutex_lock(&convert->lock);
		while (!slot->full || slot->place != place)
			pthread_cond_wait(&convert->filled, &convert->lock);
		pthread_mutex_unlock(&convert->lock);
		int rc = convert_write(convert, writer, slot, problem);
		if (rc < 0)
			return rc;
		bytes += slot->read;
		pthread_mutex_lock(&convert->lock);
		free(slot->data);
		free(slot->mask);
		*slot = (struct convert_slot){0};
		convert->written = place + 1;
		pthread_cond_broadcast(&convert->emptied);
		pthread_mutex_unlock(&convert->lock);
		if (convert->options->progress)
			convert->options->progress(convert->options->context, place + 1,
						   convert->list.file_count, bytes);
	}
	return record_writer_end(writer, problem);
}

/* Pictures of any folder; the classes are numbers. The origin also depends on the names and sizes of the masks. */
static int convert_list_masks(struct convert *convert, const char *folder, struct problem *problem)
{
	struct folder_list *list = &convert->list;
	struct folder_list masks = {0};
	uint32_t classes = convert->options->classes;
	int rc = folder_list_masks(convert->options->masks, &masks, problem);
	uint64_t digest = masks.digest;

	folder_list_done(&masks);
	if (rc == 0)
		rc = folder_list_pictures(folder, list, problem);
	if (rc != 0)
		return rc;
	list->digest = shuffle_key(list->digest, digest, classes);
	list->class_name = calloc(classes, sizeof(*list->class_name));
	for (; list->class_name && list->class_count < classes; list->class_count++)
		if (asprintf(&list->class_name[list->class_count], "%zu", list->class_count) < 0)
			return problem_set(problem, -ENOMEM, "no memory");
	return list->class_name ? 0 : problem_set(problem, -ENOMEM, "no memory");
}

static int convert_open(struct convert *convert, const char *path, struct record_writer **ret,
			struct problem *problem)
{
	const struct convert_options *options = convert->options;
	uint64_t how = (uint64_t)options->side << 16 |
		       (options->side > 0 ? (uint64_t)options->quality << 1 : 0) | options->sorted;
	struct record_header header = {
		.page_size = options->page_size,
		.origin = shuffle_key(convert->list.digest, how, CONVERT_VERSION),
		.field = {{"name", RECORD_TEXT}, {MASK_FIELD, RECORD_BYTES}},
		.field_count = options->masks ? 2 : 1,
		.class_name = convert->list.class_name,
		.class_count = convert->list.class_count,
	};

	return record_writer_resume(path, &header,
				    options->sync_pages ? RECORD_SYNC_PAGE : RECORD_SYNC_END, ret,
				    problem);
}

int convert_folder(const char *folder, const char *path, const struct convert_options *options,
		   struct convert_result *ret, struct problem *problem)
{
	struct convert *convert = calloc(1, sizeof(*convert));
	struct record_writer *writer = NULL;

	if (!convert)
		return problem_set(problem, -ENOMEM, "cannot read %s: %s", folder,
				   error_text(-ENOMEM));
	convert->folder = folder;
	convert->options = options;
	pthread_mutex_init(&convert->lock, NULL);
	pthread_cond_init(&convert->filled, NULL);
	pthread_cond_init(&convert->emptied, NULL);
	int rc = options->masks ? convert_list_masks(convert, folder, problem)
				: folder_list_read(folder, &convert->list, problem);
	if (rc == 0)
		rc = convert_open(convert, path, &writer, problem);
	if (rc == 0) {
		convert->next = convert->written = record_writer_marked(writer);
		ret->before = convert->next;
		rc = convert_start(convert);
		if (rc < 0)
			problem_set(problem, rc, "cannot start a thread: %s", error_text(rc));
		else
			rc = convert_all(convert, writer, problem);
		convert_stop(convert);
		ret->files = convert->list.file_count;
		ret->samples = record_writer_samples(writer);
		ret->skipped = ret->files - ret->samples;
		ret->others = convert->list.others;
		ret->classes = convert->list.class_count;
	}
	record_writer_free(writer);
	folder_list_done(&convert->list);
	pthread_cond_destroy(&convert->emptied);
	pthread_cond_destroy(&convert->filled);
	pthread_mutex_destroy(&convert->lock);
	free(convert);
	return rc;
}
