/* One configuration value: text -> member of the program's struct, by the row's type. Private to
 * conf.c and conf_print.c. */
#pragma once

#include "common/io/conf.h"

/* Reads `text` as the row's type into the member; a bad one sets the problem's detail and hint. 0,
 * E_MALFORMED, -ENOMEM. */
MUST_USE int conf_value_set(const struct conf_row *row, const char *text, void *values,
			    struct problem *problem);
/* CONF_STRINGS: appends one string; NULL only makes sure that there is a list. */
MUST_USE int conf_value_append(const struct conf_row *row, const char *text, void *values);
void conf_value_done(const struct conf_row *row, void *values);
/* What is allowed, for people: "1..65535 seconds", "one of bios, uefi". `room` bytes with NUL. */
void conf_value_allowed(const struct conf_row *row, char *ret, size_t room);
/* The default of a number, address or word is nothing at all: the member stays zero. */
bool conf_value_is_empty(const struct conf_row *row);
