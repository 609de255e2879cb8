/* Configuration files: libconfig syntax, one table of schema rows per program. An error names file,
 * line, key and the allowed values; an unknown key is an error that offers the nearest name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

enum conf_type {
	CONF_STRING,  /* char *, owned by the struct; conf_done frees */
	CONF_TEXT,    /* the same, never empty */
	CONF_INT,     /* int64_t; min..max */
	CONF_REAL,    /* double; min..max */
	CONF_BOOL,    /* bool */
	CONF_ENUM,    /* int; `words`, ended by NULL */
	CONF_ADDRESS, /* uint32_t IPv4, host order */
	CONF_PREFIX,  /* struct ipv4_prefix */
	CONF_STRINGS, /* char **, ended by NULL; a libconfig list or array of strings */
};

struct conf_row {
	const char *key; /* dotted path, "http.port" */
	enum conf_type type;
	size_t offset;            /* into the program's struct */
	const char *default_text; /* as it would stand in the file without quotes; NULL = required,
				     "" = empty */
	int64_t min, max;         /* CONF_INT, CONF_REAL; 0, 0 = any */
	const char *const *words; /* CONF_ENUM */
	const char *unit;         /* for people: "seconds", "bytes"; may be NULL */
	const char *help;         /* one line */
};

/* The configuration of a program. */
struct conf_table {
	const struct conf_row *rows;
	size_t count;
	size_t values_size; /* of the program's struct */
	/* Checks that look at several keys, after loading; may be NULL. 0, or a code with the
	 * problem set. */
	int (*check)(const void *values, struct problem *problem);
};

/* Fills `ret` (zeroed by the caller) from `path`, defaults included; path NULL = defaults only. */
MUST_USE int conf_load(const char *path, const struct conf_row rows[], size_t count, void *ret,
		       struct problem *problem);
void conf_done(const struct conf_row rows[], size_t count, void *values);
/* Rows of one group must stand together.
 * A commented sample of every key with its default, unit, range and help (--print-config of each
 * daemon). */
void conf_print(const struct conf_row rows[], size_t count, FILE *out);
