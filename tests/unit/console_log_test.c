// links: bampi_bmc common_io common_base
/* The log of consoles on disk: bounded, in order, and readable after whatever a crash has left. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bampi/bmc/console_log.h"
#include "tests/support/scratch.h"

struct seen {
	struct text text; /* output as it is, the rest as <kind> */
	size_t output;
	int64_t last_ms;
};

static void see(void *context, const struct console_log_record *record)
{
	struct seen *seen = context;

	assert_true(record->at_ms >= seen->last_ms);
	seen->last_ms = record->at_ms;
	if (record->kind == CONSOLE_LOG_OUTPUT) {
		text_add_bytes(&seen->text, record->bytes, record->size);
		seen->output += record->size;
	} else {
		text_addf(&seen->text, "<%s %.*s>", console_log_kind_text(record->kind),
			  (int)record->size, record->bytes);
	}
}

static void look(const char *folder, const char *want)
{
	struct seen seen = {0};

	assert_int_equal(console_log_each(folder, 7, see, &seen), 0);
	if (want)
		assert_string_equal(text_get(&seen.text), want);
	text_done(&seen.text);
}

static void add(struct console_log *log, const char *folder, enum console_log_kind kind,
		const char *bytes)
{
	static int64_t at_ms = 1;
	const struct console_log_record record = {
		.kind = kind, .at_ms = at_ms++, .bytes = bytes, .size = strlen(bytes)};

	assert_int_equal(console_log_append(log, folder, &record), 0);
}

static void kept_over_a_crash(void **state)
{
	struct console_log log = {.id = 7};
	char folder[SCRATCH_SIZE];
	char path[128];
	struct stat info;

	(void)state;
	scratch_make(folder, "consoles");
	assert_true(text_format(path, sizeof(path), "%s/deep/er", folder));
	look(path, ""); /* no folder yet */
	add(&log, path, CONSOLE_LOG_CONNECTED, "");
	add(&log, path, CONSOLE_LOG_OUTPUT, "Kernel panic\n");
	add(&log, path, CONSOLE_LOG_LOST, "no answer");
	look(path, "<connected >Kernel panic\n<lost no answer>");
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0700);
	/* A record that a crash has cut off: what came before is there, and what comes after. */
	assert_int_equal(shell("printf '\\305\\001\\000\\100abc' >>%s/7.log", path), 0);
	look(path, "<connected >Kernel panic\n<lost no answer>");
	log = (struct console_log){.id = 7};
	add(&log, path, CONSOLE_LOG_OUTPUT, "again");
	look(path, "<connected >Kernel panic\n<lost no answer>again");
	console_log_remove(path, 7);
	look(path, "");
	scratch_remove(folder);
}

static void bounded(void **state)
{
	struct console_log log = {.id = 7};
	struct seen seen = {0};
	char folder[SCRATCH_SIZE];
	char piece[10001];
	char path[128];
	struct stat info;

	(void)state;
	scratch_make(folder, "consoles");
	for (int i = 0; i < 100; i++) {
		memset(piece, 'a' + i % 26, sizeof(piece) - 1);
		piece[sizeof(piece) - 1] = '\0';
		add(&log, folder, CONSOLE_LOG_OUTPUT, piece);
		for (size_t j = 0; j < 2; j++) {
			assert_true(text_format(path, sizeof(path), "%s/7.%s", folder,
						j ? "old" : "log"));
			assert_true(stat(path, &info) < 0 ||
				    info.st_size < CONSOLE_LOG_KEPT / 8 * 9 + 5000);
		}
	}
	assert_int_equal(console_log_each(folder, 7, see, &seen), 0);
	assert_int_equal(seen.output, CONSOLE_LOG_KEPT);
	assert_int_equal(text_get(&seen.text)[seen.output - 1], 'a' + 99 % 26);
	assert_int_equal(text_get(&seen.text)[0], 'a' + 93 % 26);
	text_done(&seen.text);
	scratch_remove(folder);
}

/* A console that trickles: heads do not eat the room, and times stay right to a second. */
static void small_pieces_share_a_record(void **state)
{
	struct console_log log = {.id = 7};
	struct seen seen = {0};
	char folder[SCRATCH_SIZE];

	(void)state;
	scratch_make(folder, "consoles");
	for (int i = 0; i < 100000; i++) {
		const struct console_log_record record = {CONSOLE_LOG_OUTPUT, 1000 + i * 5, "x", 1};

		assert_int_equal(console_log_append(&log, folder, &record), 0);
	}
	assert_int_equal(console_log_each(folder, 7, see, &seen), 0);
	assert_int_equal(seen.output, CONSOLE_LOG_KEPT);
	assert_true(seen.last_ms > 1000 + 100000 * 5 - 1010);
	text_done(&seen.text);
	scratch_remove(folder);
}

static void refusals(void **state)
{
	struct console_log log = {.id = 7};
	const struct console_log_record record = {CONSOLE_LOG_CONNECTED, 1, "", 0};

	(void)state;
	assert_int_equal(console_log_append(&log, "/proc/no/folder", &record), -ENOENT);
	assert_int_equal(console_log_each("/dev/null", 7, see, NULL), -ENOTDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_over_a_crash),
		cmocka_unit_test(bounded),
		cmocka_unit_test(small_pieces_share_a_record),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
