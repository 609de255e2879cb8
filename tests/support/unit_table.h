/* The units of one program: the build writes the table from the files of tests/unit and tests/fuzz. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct unit_row {
	const char *name; /* unit_X or fuzz_X; NULL ends the table */
	int (*run)(void); /* main() of a unit test, or NULL */
	int (*fuzz)(const uint8_t *data, size_t size);
	const char *corpus;
};

extern const struct unit_row unit_table[];

/* Replays the files and folders of argv, or the corpus when there are none. Returns the exit status. */
int fuzz_replay(int (*fuzz)(const uint8_t *data, size_t size), const char *corpus, int argc,
		char **argv);
