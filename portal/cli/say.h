/* The one door of what haasctl prints with printf and fprintf. Names, reasons and complaints come
 * from others, a complaint out of a customer's mail: nothing that a terminal obeys gets through. A
 * control character is a space; new lines and tabs stay. Who steers the terminal itself says so:
 * say_control(). */
#pragma once

#include <stdarg.h>
#include <stdio.h>

#include "common/base/macros.h"

int say(FILE *out, const char *format, ...) PRINTF_LIKE(2, 3);
int say_list(FILE *out, const char *format, va_list arguments) PRINTF_LIKE(2, 0);
/* A sequence of our own, as it is. */
void say_control(FILE *out, const char *sequence);

/* A printing that was forgotten goes through the door as well. */
#undef printf
#undef fprintf
#define printf(...)       say(stdout, __VA_ARGS__)
#define fprintf(out, ...) say(out, __VA_ARGS__)
