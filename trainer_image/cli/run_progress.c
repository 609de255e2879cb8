#include "trainer_image/cli/run_progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/json_text.h"
#include "common/base/text.h"

enum { RUN_LIVE_MS = 200, RUN_NOTES = 20, RUN_COLUMNS = 79 };

void run_progress_clear(struct run_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = false;
}

/* One JSON object a line; it is there at once for whoever reads it. */
static void run_progress_print(struct text *text)
{
	puts(text_get(text));
	(void)fflush(stdout);
}

static void run_progress_event(struct text *text, const char *event, uint64_t step)
{
	json_begin_object(text, NULL);
	json_put_string(text, "event", event);
	json_put_int(text, "step", (int64_t)step);
}

static void run_progress_begun(void *context, const struct train_begun *is)
{
	struct run_progress *progress = context;
	CLEANUP(text_done) struct text text = {0};

	progress->begun = *is;
	progress->begun_ms = progress->told_ms = clock_monotonic_ms();
	progress->first_step = is->step;
	if (progress->json) {
		run_progress_event(&text, "begin", is->step);
		json_put_int(&text, "steps", (int64_t)is->steps);
		json_put_int(&text, "samples", (int64_t)is->samples);
		if (is->length > 0)
			json_put_int(&text, "length", (int64_t)is->length);
		json_put_int(&text, "parameters", is->parameters);
		json_put_int(&text, "arena_bytes", is->arena);
		json_put_int(&text, "ranks", is->ranks);
		json_put_int(&text, "machines", is->machines);
		json_put_bool(&text, "resumed", is->resumed);
		json_end_object(&text);
		run_progress_print(&text);
		return;
	}
	char words[40] = "samples";

	if (is->length > 0)
		(void)text_format(words, sizeof(words), "sequences of %" PRIu64 " words",
				  is->length);
	printf("%" PRId64 " parameters, %" PRIu64 " %s, %" PRIu64 " steps in %" PRId64
	       " epoch%s, %.1f MiB for activations\n",
	       is->parameters, is->samples, words, is->steps, is->epochs,
	       is->epochs == 1 ? "" : "s", (double)is->arena / 1048576);
	if (is->machines > 1)
		printf("%d ranks on %d machines: sums within each machine, then over all\n",
		       is->ranks, is->machines);
	if (is->resumed)
		printf("goes on behind step %" PRIu64 "\n", is->step);
	(void)fflush(stdout);
}

/* What the consumer waited for most, since the last line. */
static const char *run_progress_stall(const struct run_progress *progress, double *ret_share)
{
	static const char *const causes[LOADER_STALLS] = {"read", "decode", "augment"};
	uint64_t most = 0;
	size_t cause = 0;

	for (size_t i = 0; i < LOADER_STALLS; i++) {
		uint64_t ns = progress->last.counts.stall_ns[i] - progress->counts.stall_ns[i];

		if (ns > most) {
			most = ns;
			cause = i;
		}
	}
	*ret_share = progress->all_us > 0
			     ? 100 * (double)progress->data_us / (double)progress->all_us
			     : 0;
	return most > 0 ? causes[cause] : "none";
}

static double run_progress_left_s(const struct run_progress *progress, int64_t now_ms)
{
	uint64_t done = progress->last.step - progress->first_step;
	uint64_t left = progress->begun.steps - progress->last.step;

	return done == 0
		       ? 0
		       : (double)(now_ms - progress->begun_ms) / 1e3 / (double)done * (double)left;
}

/* The loader's threads by stage, and where its data crosses to the device. */
static void run_progress_setting(struct text *text, const struct tune_setting *setting)
{
	static const char *const names[TUNE_STAGES] = {"read_threads", "decode_threads",
						       "augment_threads"};

	for (size_t i = 0; i < TUNE_STAGES; i++)
		json_put_int(text, names[i], setting->threads[i]);
	json_put_int(text, "transfer", setting->k);
}

static void run_progress_json(const struct run_progress *progress, double rate, int64_t now_ms)
{
	CLEANUP(text_done) struct text text = {0};
	double stall;
	const char *cause = run_progress_stall(progress, &stall);

	run_progress_event(&text, "step", progress->last.step);
	json_put_int(&text, "epoch", (int64_t)progress->last.epoch);
	json_put_double(&text, "loss", progress->loss / (double)progress->steps);
	json_put_double(&text, "rate", progress->last.rate);
	json_put_double(&text, "loss_scale", progress->last.scale);
	json_put_double(&text, progress->begun.length > 0 ? "words_s" : "images_s", rate);
	json_put_double(&text, "stall_percent", stall);
	json_put_string(&text, "stall_cause", cause);
	run_progress_setting(&text, &progress->last.counts.setting);
	json_put_double(&text, "sync_percent",
			100 * (double)progress->sync_us / (double)progress->all_us);
	json_put_int(&text, "skipped", (int64_t)progress->last.skipped);
	json_put_double(&text, "left_s", run_progress_left_s(progress, now_ms));
	json_end_object(&text);
	run_progress_print(&text);
}

/* A line that is longer than the terminal is wide could not be written over. */
static int run_progress_columns(void)
{
	struct winsize size = {0};

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2)
		return RUN_COLUMNS;
	return size.ws_col - 1;
}

static void run_progress_people(struct run_progress *progress, double rate, int64_t now_ms)
{
	double stall;
	const char *cause = run_progress_stall(progress, &stall);
	int64_t left = (int64_t)run_progress_left_s(progress, now_ms);
	char line[240];

	(void)text_format(line, sizeof(line),
			  "step %" PRIu64 "/%" PRIu64 "  epoch %" PRIu64 "/%" PRId64
			  "  loss %.4f  %.0f %s/s  stall %.1f%% %s  sync %.1f%%  %" PRId64
			  ":%02d left",
			  progress->last.step, progress->begun.steps, progress->last.epoch,
			  progress->begun.epochs, progress->loss / (double)progress->steps, rate,
			  progress->begun.length > 0 ? "words" : "images", stall, cause,
			  100 * (double)progress->sync_us / (double)progress->all_us, left / 60,
			  (int)(left % 60));
	if (progress->live) {
		fprintf(stderr, "\r%.*s\033[K", run_progress_columns(), line);
		progress->shown = true;
		return;
	}
	puts(line);
	(void)fflush(stdout);
}

static void run_progress_line(struct run_progress *progress)
{
	int64_t now_ms = clock_monotonic_ms();
	double seconds = (double)(now_ms - progress->told_ms) / 1e3 + 1e-6;
	uint64_t length = progress->begun.length > 0 ? progress->begun.length : 1;
	double rate = (double)(progress->samples * length) / seconds;

	if (progress->steps == 0)
		return;
	if (progress->json)
		run_progress_json(progress, rate, now_ms);
	else
		run_progress_people(progress, rate, now_ms);
	progress->told_ms = now_ms;
	progress->samples = progress->steps = 0;
	progress->loss = 0;
	progress->data_us = progress->sync_us = progress->all_us = 0;
	progress->counts = progress->last.counts;
}

static void run_progress_step(void *context, const struct train_step *is)
{
	struct run_progress *progress = context;
	int64_t every_ms = progress->live && !progress->json ? RUN_LIVE_MS : progress->interval_ms;

	progress->last = *is;
	progress->samples += is->samples;
	progress->steps++;
	progress->loss += is->loss;
	progress->data_us += is->data_us;
	progress->sync_us += is->sync_us;
	progress->all_us += is->all_us;
	if (clock_monotonic_ms() - progress->told_ms >= every_ms)
		run_progress_line(progress);
}

static void run_progress_evaluated(void *context, const struct train_evaluation *is)
{
	struct run_progress *progress = context;
	CLEANUP(text_done) struct text text = {0};
	const char *unit = progress->begun.length > 0 ? "words"
			   : progress->begun.masks    ? "pixels"
						      : "";

	run_progress_clear(progress);
	if (progress->json) {
		run_progress_event(&text, "evaluation", is->step);
		json_put_int(&text, "epoch", (int64_t)is->epoch);
		json_put_double(&text, "loss", is->loss);
		json_put_double(&text, "accuracy", is->accuracy);
		json_put_int(&text, "samples", (int64_t)is->samples);
		if (unit[0])
			json_put_int(&text, unit, (int64_t)is->counted);
		json_end_object(&text);
		run_progress_print(&text);
		return;
	}
	printf("epoch %" PRIu64 ": loss %.4f, %.2f %% of %" PRIu64 "%s%s right\n", is->epoch,
	       is->loss, 100 * is->accuracy, is->counted, unit[0] ? " " : "", unit);
	(void)fflush(stdout);
}

static void run_progress_saved(void *context, uint64_t step)
{
	struct run_progress *progress = context;
	CLEANUP(text_done) struct text text = {0};

	if (!progress->json)
		return;
	run_progress_event(&text, "saved", step);
	json_end_object(&text);
	run_progress_print(&text);
}

static void run_progress_note(void *context, const char *line)
{
	struct run_progress *progress = context;

	if (progress->notes++ >= RUN_NOTES)
		return;
	run_progress_clear(progress);
	fprintf(stderr, "trainer: %s%s\n", line,
		progress->notes == RUN_NOTES ? " (no more of these are told)" : "");
}

void run_progress_init(struct run_progress *progress, bool json, int64_t interval_ms)
{
	*progress = (struct run_progress){
		.json = json, .live = isatty(STDERR_FILENO) == 1, .interval_ms = interval_ms};
	progress->hooks = (struct train_hooks){
		.context = progress,
		.begun = run_progress_begun,
		.step = run_progress_step,
		.evaluated = run_progress_evaluated,
		.saved = run_progress_saved,
		.note = run_progress_note,
	};
}

void run_progress_end(struct run_progress *progress, const struct train_result *result)
{
	CLEANUP(text_done) struct text text = {0};
	char digest[20];

	run_progress_clear(progress);
	(void)text_format(digest, sizeof(digest), "%016" PRIx64, result->digest);
	if (progress->json) {
		run_progress_event(&text, result->stopped ? "stopped" : "end", result->step);
		json_put_string(&text, "weights", digest);
		json_put_bool(&text, "saved", result->saved);
		json_put_bool(&text, "nothing_to_do", result->nothing);
		json_end_object(&text);
		run_progress_print(&text);
	} else if (result->nothing) {
		printf("the job is complete: nothing to do; weights %s\n", digest);
	} else {
		printf("%s behind step %" PRIu64 ", weights %s%s\n",
		       result->stopped ? "stopped" : "done", result->step, digest,
		       result->saved ? ", saved" : "");
	}
}
