/* Words in lines of 80 columns: help and hints. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Prints `first`, then the words of `words`, and breaks lines between words; later lines begin with
 * `indent` blanks. `first` is as it is, its last blanks too. */
void wrap_print(FILE *out, const char *first, size_t indent, const char *words);
