/* Lines that a person types, or that a script gives on standard input. Secrets come this way, never as an argument. */
#pragma once

#include "portal/cli/haasctl.h"

/* One line of the terminal. False: it ended, or Ctrl-C. */
MUST_USE bool ask_line(struct haasctl *haasctl, char *ret, size_t room);
/* Does nothing but for who types `wanted`: EXIT_OK; EXIT_FAILED, and it says that nothing is done; EXIT_INTERRUPTED. */
MUST_USE int ask_to_go_on(struct haasctl *haasctl, const char *wanted);
/* The same as ask_line behind "WHAT: ", and nothing that is typed is shown. */
MUST_USE bool ask_hidden(struct haasctl *haasctl, const char *what, char *ret, size_t room);
/* The next line of standard input, whole. False: there is none, or it is longer than the room. */
MUST_USE bool ask_stdin(char *ret, size_t room);
