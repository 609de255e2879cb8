// links: trainer_train
/* Metrics: frames come back; a torn tail is cut off, damage costs its own frames; a step counts once however often
 * training went back; kill -9 and a full disk cost the last frame at most. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/io/file.h"

#include "tests/support/scratch.h"
#include "trainer_image/train/metrics.h"

enum { COLUMNS = 3 };

static const char *const names[COLUMNS] = {"loss", "rate", "images_s"};
static char folder[SCRATCH_SIZE];
static char path[128];

static int folder_make(void **state)
{
	(void)state;
	scratch_make(folder, "metrics");
	assert_true(text_format(path, sizeof(path), "%s/metrics", folder));
	return 0;
}

static int folder_remove(void **state)
{
	(void)state;
	scratch_remove(folder);
	return 0;
}

static double value_of(uint64_t step, size_t column)
{
	return column == 2 && step % 5 == 0 ? (double)NAN : (double)step / 3 + (double)column;
}

/* Opens behind `step` and adds the steps up to `last`. */
static void steps_add(uint64_t step, uint64_t last)
{
	struct metrics *metrics = NULL;
	struct problem problem = {0};

	assert_int_equal(metrics_open(path, names, COLUMNS, step, &metrics, &problem), 0);
	for (uint64_t i = step + 1; i <= last; i++) {
		double value[COLUMNS];

		for (size_t k = 0; k < COLUMNS; k++)
			value[k] = value_of(i, k);
		assert_int_equal(metrics_add(metrics, i, value, &problem), 0);
	}
	assert_int_equal(metrics_sync(metrics, &problem), 0);
	metrics_close(metrics);
}

/* The frames that count are those of the steps 1 to `last`, once each, but for `missing` steps (0: none). */
static void steps_check(uint64_t last, const struct metrics_series *series, uint64_t missing)
{
	uint64_t wanted = 1;

	for (size_t i = 0; i < series->count; i++) {
		struct metrics_frame frame = metrics_series_frame(series, i);

		if (series->rows[i].is_void)
			continue;
		if (wanted == missing)
			wanted++;
		assert_int_equal(frame.step, wanted);
		assert_int_equal(series->rows[i].step, wanted);
		assert_true(frame.wall_us > 0);
		for (size_t k = 0; k < COLUMNS; k++) {
			double value = value_of(wanted, k);

			assert_true(isnan(value) ? isnan(frame.value[k]) : frame.value[k] == value);
		}
		wanted++;
	}
	assert_int_equal(wanted, last + 1);
}

static struct metrics_series series_read(void)
{
	struct metrics_series series;
	struct problem problem = {0};

	assert_int_equal(metrics_read(path, &series, &problem), 0);
	return series;
}

static void test_resume(void **state)
{
	struct metrics *metrics = NULL;
	struct metrics *second = NULL;
	struct problem problem = {0};

	(void)state;
	steps_add(0, 20);
	steps_add(20, 30); /* nothing is void: no frame says so */
	struct metrics_series series = series_read();
	assert_int_equal(series.columns.count, COLUMNS);
	assert_string_equal(series.columns.name[2], "images_s");
	assert_int_equal(series.count, 30);
	assert_int_equal(series.resumes, 0);
	steps_check(30, &series, 0);
	metrics_series_done(&series);
	steps_add(12, 18); /* back, twice, and the second time further */
	steps_add(7, 25);
	series = series_read();
	assert_int_equal(series.count, 30 + 6 + 18);
	assert_int_equal(series.voids, 18 + 11);
	assert_int_equal(series.resumes, 2);
	steps_check(25, &series, 0);
	metrics_series_done(&series);
	steps_add(0, 4); /* from the start */
	series = series_read();
	steps_check(4, &series, 0);
	metrics_series_done(&series);

	assert_int_equal(metrics_open(path, names, COLUMNS, 4, &metrics, &problem), 0);
	assert_int_equal(metrics_open(path, names, COLUMNS, 4, &second, &problem), E_CONFLICT);
	assert_int_equal(metrics_add(metrics, 4, (double[]){1, 2, 3}, &problem), E_STALE);
	assert_non_null(strstr(problem.message, "step 4 is not later than step 4"));
	metrics_close(metrics);
	static const char *const others[] = {"loss", "speed", "images_s"};
	assert_int_equal(metrics_open(path, others, 3, 4, &metrics, &problem), E_CONFLICT);
	assert_string_equal(problem.detail, "column 1 is rate there and speed here");
	assert_int_equal(metrics_open(path, others, 1, 4, &metrics, &problem), E_CONFLICT);
	assert_string_equal(problem.detail, "column 1 is rate there and missing here");
	static const char *const twice[] = {"loss", "loss"};
	assert_int_equal(metrics_open(path, twice, 2, 4, &metrics, &problem), E_INVALID);
	assert_int_equal(metrics_open("/dev/null/x", names, 3, 4, &metrics, &problem), -ENOTDIR);
}

/* The file cut at each byte: whole frames stay, and the next run goes on behind them. */
static void test_torn(void **state)
{
	char *data = NULL;
	size_t size = 0;
	size_t header = 0;
	struct metrics_columns columns;
	struct problem problem = {0};
	struct metrics_series series;

	(void)state;
	steps_add(0, 3);
	assert_int_equal(file_read(path, 1 << 20, &data, &size), 0);
	assert_int_equal(metrics_header_decode(data, size, &columns, &header), 0);
	size_t frame = (size - header) / 3;
	for (size_t cut = 0; cut <= size; cut++) {
		uint64_t whole = cut < header ? 0 : (cut - header) / frame;

		assert_int_equal(file_write_atomic(path, data, cut, 0600), 0);
		int rc = metrics_read(path, &series, &problem);
		assert_int_equal(rc, cut < header ? E_MALFORMED : 0);
		if (rc == 0) {
			assert_int_equal(series.count, whole);
			assert_int_equal(series.torn, (cut - header) % frame);
			assert_int_equal(series.damaged, 0);
			metrics_series_done(&series);
		}
		steps_add(whole, 5);
		series = series_read();
		assert_int_equal(series.torn + series.damaged + series.voids, 0);
		steps_check(5, &series, 0);
		metrics_series_done(&series);
	}
	/* What is no file of metrics is left alone. */
	assert_int_equal(file_write_atomic(path, "something else", 14, 0600), 0);
	struct metrics *metrics = NULL;
	assert_int_equal(metrics_open(path, names, COLUMNS, 0, &metrics, &problem), E_MALFORMED);
	free(data);
}

/* Each byte changed: a changed header is refused, a changed frame is left out and the next ones are found. */
static void test_damage(void **state)
{
	char *data = NULL;
	size_t size = 0;
	size_t header = 0;
	struct metrics_columns columns;
	struct problem problem = {0};
	struct metrics_series series;

	(void)state;
	steps_add(0, 4);
	assert_int_equal(file_read(path, 1 << 20, &data, &size), 0);
	assert_int_equal(metrics_header_decode(data, size, &columns, &header), 0);
	size_t frame = (size - header) / 4;
	for (size_t i = 0; i < size; i++) {
		data[i] ^= (char)(1 << i % 8);
		assert_int_equal(file_write_atomic(path, data, size, 0600), 0);
		data[i] ^= (char)(1 << i % 8);
		int rc = metrics_read(path, &series, &problem);
		if (i < header) {
			assert_true(rc == E_MALFORMED || rc == E_DIGEST || rc == E_UNSUPPORTED);
			continue;
		}
		assert_int_equal(rc, 0);
		uint64_t missing = 1 + (i - header) / frame;
		assert_int_equal(series.damaged, missing < 4 ? frame : 0);
		assert_int_equal(series.torn, missing < 4 ? 0 : frame);
		steps_check(missing < 4 ? 4 : 3, &series, missing);
		metrics_series_done(&series);
	}
	free(data);
}

/* kill -9 while frames are added as fast as it goes. */
static void test_killed(void **state)
{
	uint64_t step = 0;

	(void)state;
	for (unsigned round = 0; round < 30; round++) {
		uint64_t said = 0;
		int ends[2];
		int status;

		assert_int_equal(pipe(ends), 0);
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			struct metrics *metrics = NULL;
			struct problem problem = {0};

			if (metrics_open(path, names, COLUMNS, step, &metrics, &problem) < 0)
				_exit(1);
			for (uint64_t i = step + 1; i < step + 1000000; i++) {
				double value[COLUMNS] = {value_of(i, 0), value_of(i, 1),
							 value_of(i, 2)};

				if (metrics_add(metrics, i, value, &problem) < 0 ||
				    write(ends[1], &i, sizeof(i)) < 0)
					_exit(2);
			}
			_exit(3);
		}
		(void)close(ends[1]);
		assert_int_equal(read(ends[0], &said, sizeof(said)), sizeof(said));
		(void)usleep(round * 57 % 900);
		(void)kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		while (read(ends[0], &said, sizeof(said)) == (ssize_t)sizeof(said))
			;
		(void)close(ends[0]);
		struct metrics_series series = series_read();
		uint64_t last = 0;
		for (size_t i = 0; i < series.count; i++)
			last = series.rows[i].is_void ? last : series.rows[i].step;
		assert_true(last >= said);
		steps_check(last, &series, 0);
		metrics_series_done(&series);
		step = last > 10 ? last - 7 : 0; /* the checkpoint was earlier */
	}
}

/* A file that may not grow is a disk that is full in the middle of a frame. */
static void test_full(void **state)
{
	int status;

	(void)state;
	steps_add(0, 10);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct rlimit limit = {.rlim_cur = 650, .rlim_max = RLIM_INFINITY};
		struct metrics *metrics = NULL;
		struct problem problem = {0};
		uint64_t step = 11;

		(void)signal(SIGXFSZ, SIG_IGN);
		if (setrlimit(RLIMIT_FSIZE, &limit) != 0 ||
		    metrics_open(path, names, COLUMNS, 10, &metrics, &problem) < 0)
			_exit(1);
		while (metrics_add(
			       metrics, step,
			       (double[]){value_of(step, 0), value_of(step, 1), value_of(step, 2)},
			       &problem) == 0)
			step++;
		if (problem.code != -EFBIG || !strstr(problem.message, path))
			_exit(2);
		limit.rlim_cur = RLIM_INFINITY;
		if (setrlimit(RLIMIT_FSIZE, &limit) != 0 ||
		    metrics_add(metrics, step,
				(double[]){value_of(step, 0), value_of(step, 1), value_of(step, 2)},
				&problem) != 0)
			_exit(3);
		_exit((int)step);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) > 10);
	struct metrics_series series = series_read();
	assert_int_equal(series.damaged + series.torn, 0);
	steps_check((uint64_t)WEXITSTATUS(status), &series, 0);
	metrics_series_done(&series);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_resume, folder_make, folder_remove),
		cmocka_unit_test_setup_teardown(test_torn, folder_make, folder_remove),
		cmocka_unit_test_setup_teardown(test_damage, folder_make, folder_remove),
		cmocka_unit_test_setup_teardown(test_killed, folder_make, folder_remove),
		cmocka_unit_test_setup_teardown(test_full, folder_make, folder_remove),
	};

	return cmocka_run_group_tests_name("trainer_metrics", tests, NULL, NULL);
}
