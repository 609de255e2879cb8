#include "trainer_image/train/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/conf.h"

#include "trainer_image/comm/transport.h"
#include "trainer_image/loader/augment_table.h"
#include "trainer_image/loader/loader.h"
#include "trainer_image/ops/ops.h"
#include "trainer_image/plan/plan_report.h"

LEAKS_LEFT_TO_SANITIZER

#define AT(member)      offsetof(struct job, member)
#define ROW(name, kind) .key = (name), .type = (kind)

static const char *const job_devices[] = {
	[JOB_CPU] = "cpu", [JOB_CUDA] = "cuda", [JOB_CUDA + 1] = NULL};
static const char *const job_sums[] = {[JOB_SUM_AUTO] = "auto",
				       [JOB_SUM_HOST] = "host",
				       [JOB_SUM_NCCL] = "nccl",
				       [JOB_SUM_NCCL + 1] = NULL};
static const char *const job_types[] = {"fp32", "bf16", "fp16", NULL};
static const char *const job_optimizers[] = {
	[OPS_SGD] = "sgd", [OPS_ADAMW] = "adamw", [OPS_LARS] = "lars", [OPS_LARS + 1] = NULL};
static const char *const job_transports[] = {
	[JOB_SHARED] = "shared", [JOB_TCP] = "tcp", [JOB_TCP + 1] = NULL};
static const char *const job_codecs[] = {
	[JOB_CODEC_NONE] = "none", [JOB_CODEC_BF16] = "bf16", [JOB_CODEC_FP16] = "fp16",
	[JOB_CODEC_INT8] = "int8", [JOB_CODEC_AUTO] = "auto", [JOB_CODEC_AUTO + 1] = NULL};

static const struct conf_row job_rows[] = {
	{ROW("model", CONF_TEXT), .offset = AT(model), .help = "model file"},
	{ROW("device", CONF_ENUM), .offset = AT(device), .default_text = "cpu",
	 .words = job_devices, .help = "where ops run; cuda: a GPU for each rank"},
	{ROW("type", CONF_ENUM), .offset = AT(type), .default_text = "fp32", .words = job_types,
	 .help = "what ops compute in; master weights are FP32 always"},
	{ROW("batch", CONF_INT), .offset = AT(batch), .default_text = "64", .min = 1,
	 .max = LOADER_BATCH_MAX, .help = "samples of a rank at a time"},
	{ROW("accumulate", CONF_INT), .offset = AT(accumulate), .default_text = "1", .min = 1,
	 .max = 65536, .help = "batches of a step: their gradients are added up"},
	{ROW("epochs", CONF_INT), .offset = AT(epochs), .default_text = "10", .min = 1,
	 .max = 1000000, .help = "times that each sample is seen"},
	{ROW("seed", CONF_INT), .offset = AT(seed), .default_text = "1", .min = 0, .max = INT64_MAX,
	 .help = "of first weights, order, augmentation and dropout"},
	{ROW("threads", CONF_INT), .offset = AT(threads), .default_text = "0", .min = 0, .max = 256,
	 .help = "that compute, of each rank; 0 = processors / ranks"},
	{ROW("memory", CONF_STRING), .offset = AT(memory), .default_text = "",
	 .help = "for all of a rank, as \"11GiB\" (trainer plan); empty = as much as it takes"},
	{ROW("metrics", CONF_STRING), .offset = AT(metrics), .default_text = "",
	 .help = "file of what each step gave; empty = none"},
	{ROW("target", CONF_REAL), .offset = AT(target), .default_text = "0", .min = 0, .max = 1,
	 .help = "accuracy that the last evaluation must reach, else the exit status is 6"},
	{ROW("data.train", CONF_TEXT), .offset = AT(data.train), .help = "record file"},
	{ROW("data.evaluate", CONF_STRING), .offset = AT(data.evaluate), .default_text = "",
	 .help = "record file, read after each epoch; empty = none"},
	{ROW("data.augment", CONF_STRING), .offset = AT(data.augment), .default_text = "",
	 .help = "ops of training, as \"random_crop width=24 height=24; flip\""},
	{ROW("data.evaluate_augment", CONF_STRING), .offset = AT(data.evaluate_augment),
	 .default_text = "", .help = "ops of evaluation"},
	{ROW("data.threads", CONF_INT), .offset = AT(data.threads), .default_text = "0", .min = 0,
	 .max = 64, .help = "that decode and augment, each; 0 = tuned while training"},
	{ROW("data.transfer", CONF_INT), .offset = AT(data.transfer), .default_text = "-1",
	 .min = -1, .max = 2,
	 .help = "cuda: what the GPU gets: 0 pictures, 1 bytes, 2 numbers; -1 = tuned"},
	{ROW("optimizer.kind", CONF_ENUM), .offset = AT(optimizer.kind), .default_text = "sgd",
	 .words = job_optimizers, .help = "of the update"},
	{ROW("optimizer.rate", CONF_REAL), .offset = AT(optimizer.rate), .default_text = "0.05",
	 .min = 0, .max = 1000, .help = "learning rate behind the warm-up"},
	{ROW("optimizer.momentum", CONF_REAL), .offset = AT(optimizer.momentum),
	 .default_text = "0.9", .min = 0, .max = 1, .help = "of adamw: of the first moment"},
	{ROW("optimizer.momentum2", CONF_REAL), .offset = AT(optimizer.momentum2),
	 .default_text = "0.999", .min = 0, .max = 1, .help = "adamw: of the second moment"},
	{ROW("optimizer.epsilon", CONF_REAL), .offset = AT(optimizer.epsilon),
	 .default_text = "1e-8", .min = 0, .max = 1, .help = "adamw"},
	{ROW("optimizer.decay", CONF_REAL), .offset = AT(optimizer.decay), .default_text = "0",
	 .min = 0, .max = 1, .help = "of weights; biases and norms have none"},
	{ROW("optimizer.trust", CONF_REAL), .offset = AT(optimizer.trust), .default_text = "0.001",
	 .min = 0, .max = 1, .help = "lars"},
	{ROW("optimizer.nesterov", CONF_BOOL), .offset = AT(optimizer.nesterov),
	 .default_text = "false", .help = "sgd"},
	{ROW("schedule.kind", CONF_ENUM), .offset = AT(schedule.kind), .default_text = "constant",
	 .words = schedule_words, .help = "how the rate changes"},
	{ROW("schedule.warmup", CONF_REAL), .offset = AT(schedule.warmup), .default_text = "0",
	 .min = 0, .max = 1000000, .unit = "epochs",
	 .help = "in which the rate rises to its value"},
	{ROW("schedule.every", CONF_REAL), .offset = AT(schedule.every), .default_text = "30",
	 .min = 0, .max = 1000000, .unit = "epochs", .help = "steps: between two of them"},
	{ROW("schedule.factor", CONF_REAL), .offset = AT(schedule.factor), .default_text = "0.1",
	 .min = 0, .max = 1, .help = "steps: of the rate at each"},
	{ROW("schedule.last", CONF_REAL), .offset = AT(schedule.last), .default_text = "0",
	 .min = 0, .max = 1000, .help = "cosine, linear: rate at the end"},
	{ROW("checkpoint.folder", CONF_STRING), .offset = AT(checkpoint.folder), .default_text = "",
	 .help = "where training goes on from; empty = nowhere"},
	{ROW("checkpoint.every", CONF_INT), .offset = AT(checkpoint.every), .default_text = "0",
	 .min = 0, .max = INT32_MAX, .unit = "steps", .help = "0 = after each epoch"},
	{ROW("checkpoint.keep", CONF_INT), .offset = AT(checkpoint.keep), .default_text = "3",
	 .min = 1, .max = 1000, .help = "newest checkpoints that stay"},
	{ROW("ranks.count", CONF_INT), .offset = AT(ranks.count), .default_text = "1", .min = 1,
	 .max = COMM_RANKS_MAX, .help = "processes that share the work"},
	{ROW("ranks.transport", CONF_ENUM), .offset = AT(ranks.transport), .default_text = "shared",
	 .words = job_transports, .help = "shared: memory of one machine; tcp"},
	{ROW("ranks.addresses", CONF_STRINGS), .offset = AT(ranks.addresses), .default_text = "",
	 .help = "tcp: host:port of each rank, where they are on several machines"},
	{ROW("ranks.key", CONF_STRING), .offset = AT(ranks.key), .default_text = "",
	 .help = "with addresses: file of at least 32 random bytes, the same on all machines"},
	{ROW("ranks.codec", CONF_ENUM), .offset = AT(ranks.codec), .default_text = "none",
	 .words = job_codecs,
	 .help = "how gradients travel; int8 keeps what it loses; auto measures once"},
	{ROW("ranks.sum", CONF_ENUM), .offset = AT(ranks.sum), .default_text = "auto",
	 .words = job_sums,
	 .help = "who sums gradients; auto: nccl for cuda; both give the same bits"},
};

static int job_complain(struct problem *problem, const char *path, const char *message,
			const char *hint)
{
	(void)problem_set(problem, E_INVALID, "%s: %s", path, message);
	problem_hint(problem, "%s", hint);
	return E_INVALID;
}

static size_t job_addresses(const struct job *job)
{
	size_t count = 0;

	while (job->ranks.addresses && job->ranks.addresses[count])
		count++;
	return count;
}

/* The crop to the model's size is added where it lacks: the size is not known here. */
static int job_check_augment(const char *path, const char *key, const char *said,
			     struct problem *problem)
{
	CLEANUP(text_done) struct text text = {0};
	struct augment augment;
	struct problem seen = {0};

	text_addf(&text, "%s%s", strstr(said, "_crop") ? "" : "centre_crop width=1 height=1; ",
		  said);
	if (text.failed)
		return problem_set(problem, -ENOMEM, "no memory");
	if (augment_parse(text_get(&text), &augment, &seen) == 0)
		return 0;
	(void)problem_set(problem, E_INVALID, "%s: %s is wrong", path, key);
	problem_detail(problem, "%s%s%s", seen.message, seen.detail[0] ? ": " : "", seen.detail);
	problem_hint(problem, "%s", seen.hint);
	return E_INVALID;
}

/* What no single key says. */
static int job_check(const struct job *job, const char *path, struct problem *problem)
{
	size_t addresses = job_addresses(job);
	int rc;

	if (job->memory[0] && plan_bytes_parse(job->memory) == 0)
		return job_complain(problem, path, "memory is no size", "11GiB, 800MiB, 1.5GB");
	if (job->optimizer.rate <= 0)
		return job_complain(problem, path, "optimizer.rate is 0",
				    "a rate above 0, such as 0.05");
	if (addresses > 0 && addresses != (size_t)job->ranks.count)
		return job_complain(problem, path, "ranks.addresses are not ranks.count",
				    "an address for each rank, or none");
	if (addresses > 0 && job->ranks.transport != JOB_TCP)
		return job_complain(problem, path, "ranks.addresses are for tcp",
				    "ranks.transport = \"tcp\"");
	if (addresses > 0 && !job->ranks.key[0])
		return job_complain(problem, path, "ranks.key is missing",
				    "head -c 32 /dev/urandom >job.key; copy it to all machines");
	if (job->ranks.sum == JOB_SUM_NCCL && job->device != JOB_CUDA)
		return job_complain(problem, path, "ranks.sum = \"nccl\" is for GPUs",
				    "device = \"cuda\", or ranks.sum = \"host\"");
	if (job->data.transfer >= 0 && job->device != JOB_CUDA)
		return job_complain(problem, path, "data.transfer is for GPUs",
				    "device = \"cuda\", or data.transfer = -1");
	if (job->target > 0 && !job->data.evaluate[0])
		return job_complain(problem, path, "target is given, data.evaluate is not",
				    "data.evaluate = \"test.rec\"");
	rc = job_check_augment(path, "data.augment", job->data.augment, problem);
	return rc != 0 ? rc
		       : job_check_augment(path, "data.evaluate_augment",
					   job->data.evaluate_augment, problem);
}

/* "a/job.conf" and "set.rec" are "a/set.rec". */
static int job_resolve(const char *path, char **name)
{
	const char *slash = strrchr(path, '/');
	struct text text = {0};

	if (!slash || !(*name)[0] || (*name)[0] == '/')
		return 0;
	text_add_bytes(&text, path, (size_t)(slash - path) + 1);
	text_add(&text, *name);
	char *whole = text_take(&text);

	if (!whole)
		return -ENOMEM;
	free(*name);
	*name = whole;
	return 0;
}

int job_load(const char *path, struct job *ret, struct problem *problem)
{
	struct job job = {0};
	int rc = conf_load(path, job_rows, COUNT_OF(job_rows), &job, problem);

	if (rc != 0)
		return rc;
	rc = job_check(&job, path, problem);
	char **const paths[] = {&job.model,   &job.data.train, &job.data.evaluate,
				&job.metrics, &job.ranks.key,  &job.checkpoint.folder};

	for (size_t i = 0; i < COUNT_OF(paths) && rc == 0; i++)
		if (job_resolve(path, paths[i]) != 0)
			rc = problem_set(problem, -ENOMEM, "no memory");
	if (rc != 0) {
		job_done(&job);
		return rc;
	}
	*ret = job;
	return 0;
}

void job_done(struct job *job)
{
	conf_done(job_rows, COUNT_OF(job_rows), job);
}

void job_print(FILE *out)
{
	conf_print(job_rows, COUNT_OF(job_rows), out);
}

enum tensor_type job_tensor_type(const struct job *job)
{
	static const enum tensor_type types[] = {TENSOR_FP32, TENSOR_BF16, TENSOR_FP16};

	return types[job->type];
}

int job_codec_parse(const char *word)
{
	return enum_value(job_codecs, COUNT_OF(job_codecs) - 1, word);
}

bool job_sums_on_device(const struct job_ranks *ranks, bool can)
{
	return can && ranks->sum != JOB_SUM_HOST;
}

/* "10.0.0.1:4000" and "10.0.0.1:4001" are of one machine. */
static bool job_is_same_machine(const char *a, const char *b)
{
	const char *a_port = strrchr(a, ':');
	const char *b_port = strrchr(b, ':');

	return a_port && b_port && a_port - a == b_port - b &&
	       strncmp(a, b, (size_t)(a_port - a)) == 0;
}

void job_machines(const struct job_ranks *ranks, int ret_machine_of[])
{
	for (int i = 0; i < ranks->count; i++) {
		int first = 0;

		while (ranks->addresses && ranks->addresses[0] && first < i &&
		       !job_is_same_machine(ranks->addresses[first], ranks->addresses[i]))
			first++;
		ret_machine_of[i] = first;
	}
}

/* Ranks [0, end) that are on the machine of `rank`. */
static int job_beside(const struct job *job, int rank, int end)
{
	int machine_of[COMM_RANKS_MAX];
	int count = 0;

	job_machines(&job->ranks, machine_of);
	for (int i = 0; i < end; i++)
		count += machine_of[i] == machine_of[rank] ? 1 : 0;
	return count;
}

int job_device_index(const struct job *job, int rank)
{
	return job_beside(job, rank, rank);
}

int job_machine_ranks(const struct job *job, int rank)
{
	return job_beside(job, rank, (int)job->ranks.count);
}
