#include "bampi/agent/write_image.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/http/json_reader.h"
#include "common/io/log.h"

#include "bampi/agent/disk.h"
#include "bampi/agent/disk_policy.h"
#include "bampi/agent/disk_writer.h"
#include "bampi/agent/download.h"
#include "bampi/agent/image_manifest.h"
#include "bampi/agent/image_stream.h"

#define AGENT_WRITE_IMAGE_SUBJECT "image"
#define TARGET_MAX                256

struct request {
	struct image_manifest manifest;
	const char *target; /* borrowed from the params */
	const char *disk;
};

struct pipe {
	struct task *task;
	const struct image_manifest *manifest;
	struct image_stream *stream;
	struct disk_writer *writer;
	const struct disk *disk;
};

/* It goes into a request line as it is. */
static bool is_plain_target(const char *target)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-";

	return target[0] == '/' && strlen(target) <= TARGET_MAX &&
	       target[strspn(target, plain)] == '\0';
}

static int agent_write_image_read_manifest(const struct task *task, struct json_reader *reader,
					   struct image_manifest *ret, struct problem *problem)
{
	json_t *manifest = json_object_get(task->params, "manifest");
	const char *signature = json_get_string(reader, "signature", false);
	struct public_keys keys;
	int rc;

	(void)json_get(reader, "manifest", true);
	if (problem_is_set(&reader->problem)) {
		*problem = reader->problem;
		return problem->code;
	}
	rc = public_keys_load(task->env, PUBLIC_KEYS_OF_IMAGES, &keys, problem);
	if (rc)
		return rc;
	if (keys.count == 0) {
		(void)problem_set(problem, E_DENIED,
				  "the agent holds no key to prove the image's signature with");
		problem_hint(problem, "build the ramdisk with --image-key");
		return problem->code;
	}
	return image_manifest_read(manifest, signature, &keys, ret, problem);
}

/* Whoever signed it said for which machines it is. */
static int check_arch(const struct image_manifest *manifest, struct problem *problem)
{
	struct utsname machine;

	if (uname(&machine) < 0 || strcmp(machine.machine, manifest->arch) == 0)
		return 0;
	(void)problem_set(problem, E_UNSUPPORTED, "the image is for %s, this node is %s",
			  manifest->arch, machine.machine);
	problem_hint(problem, "choose an image for this kind of node");
	return problem->code;
}

static int agent_write_image_read_request(const struct task *task, struct request *ret,
					  struct problem *problem)
{
	struct json_reader reader = json_reader(task->params);
	int rc = agent_write_image_read_manifest(task, &reader, &ret->manifest, problem);

	if (!rc)
		rc = check_arch(&ret->manifest, problem);
	if (rc)
		return rc;
	ret->target = json_get_string(&reader, "url", true);
	ret->disk = json_get_string(&reader, "disk", false);
	if (problem_is_set(&reader.problem)) {
		*problem = reader.problem;
		return problem->code;
	}
	if (!is_plain_target(ret->target))
		return problem_set(problem, E_MALFORMED, "the image's url is not a plain path");
	if (!ret->disk)
		ret->disk = "auto";
	return 0;
}

static int take_block(void *context, uint64_t offset, const void *data, size_t size,
		      struct problem *problem)
{
	struct pipe *pipe = context;
	int rc = disk_writer_block(pipe->writer, offset, data, size, problem);

	task_say(pipe->task, (int64_t)(offset + size), (int64_t)pipe->manifest->size_bytes,
		 "writing %s %s to %s", pipe->manifest->name, pipe->manifest->version,
		 pipe->disk->name);
	return rc;
}

static int agent_write_image_take_bytes(void *context, const void *data, size_t size,
					struct problem *problem)
{
	struct pipe *pipe = context;

	return image_stream_feed(pipe->stream, data, size, problem);
}

static int agent_write_image_transfer(struct pipe *pipe, const char *target,
				      struct problem *problem)
{
	int rc = disk_writer_begin(pipe->writer, problem);

	if (!rc)
		rc = download_run(pipe->task, target, pipe->manifest->stored_bytes,
				  agent_write_image_take_bytes, pipe, problem);
	if (!rc)
		rc = image_stream_finish(pipe->stream, problem);
	if (!rc)
		rc = disk_writer_flush(pipe->writer, problem);
	if (!rc && !task_wanted(pipe->task))
		rc = -ECANCELED;
	/* From here on the disk can boot. */
	if (!rc)
		rc = disk_writer_commit(pipe->writer, problem);
	if (!rc)
		log_info(AGENT_WRITE_IMAGE_SUBJECT, "%s %s is on %s (bytes=%llu zeroed=%llu)",
			 pipe->manifest->name, pipe->manifest->version, pipe->disk->name,
			 (unsigned long long)image_stream_raw_bytes(pipe->stream),
			 (unsigned long long)disk_writer_zeroed_bytes(pipe->writer));
	return rc;
}

static int write_to(struct task *task, const struct request *request, const struct disk *disk,
		    struct problem *problem)
{
	CLEANUP(disk_writer_freep) struct disk_writer *writer = NULL;
	CLEANUP(image_stream_freep) struct image_stream *stream = NULL;
	struct pipe pipe = {.task = task, .manifest = &request->manifest, .disk = disk};
	int rc;

	if (request->manifest.size_bytes % disk->sector_bytes != 0) {
		(void)problem_set(problem, E_UNSUPPORTED,
				  "the image does not fit the sectors of disk %s", disk->name);
		problem_detail(problem, "the drive's sectors have %u bytes", disk->sector_bytes);
		return problem->code;
	}
	rc = disk_writer_new(task->env, disk, &writer, problem);
	if (rc)
		return rc;
	rc = image_stream_new(&request->manifest, take_block, &pipe, &stream);
	if (rc)
		return rc;
	pipe.writer = writer;
	pipe.stream = stream;
	return agent_write_image_transfer(&pipe, request->target, problem);
}

static void agent_write_image_write_result(struct text *data, const struct request *request,
					   const struct disk *disk, double seconds)
{
	char digest[DIGEST_TEXT_SIZE];

	hex_encode(request->manifest.digest, DIGEST_SIZE, digest);
	json_begin_object(data, NULL);
	json_put_string(data, "disk", disk->name);
	json_put_string(data, "serial", disk->serial);
	json_put_string(data, "digest", digest);
	json_put_int(data, "bytes", (int64_t)request->manifest.size_bytes);
	json_put_double(data, "seconds", seconds);
	json_end_object(data);
}

int write_image_run(struct task *task, struct text *data, struct problem *problem)
{
	int64_t began_ms = clock_monotonic_ms();
	CLEANUP(freep) struct disk *disks = NULL;
	struct request request = {0};
	struct disk_choice choice = {0};
	size_t count = 0;
	int rc;

	task_say(task, 0, 0, "checking the manifest");
	rc = agent_write_image_read_request(task, &request, problem);
	if (!rc)
		rc = disk_list(task->env, &disks, &count);
	if (!rc)
		rc = disk_choose(disks, count, request.disk, request.manifest.size_bytes, &choice,
				 problem);
	if (rc)
		return rc;
	log_info(AGENT_WRITE_IMAGE_SUBJECT, "%s %s goes to %s: %s (serial=%s size=%llu)",
		 request.manifest.name, request.manifest.version, disks[choice.index].name,
		 choice.reason, disks[choice.index].serial,
		 (unsigned long long)disks[choice.index].size_bytes);
	rc = write_to(task, &request, &disks[choice.index], problem);
	if (rc)
		return rc;
	agent_write_image_write_result(data, &request, &disks[choice.index],
				       (double)(clock_monotonic_ms() - began_ms) / 1000.0);
	return 0;
}
