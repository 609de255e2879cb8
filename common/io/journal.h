/* journald's own protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL): a line with its fields, so that
 * `journalctl HAAS_DEPLOYMENT=12` finds all lines of deployment 12. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define JOURNAL_SIZE   4096
#define JOURNAL_SOCKET "/run/systemd/journal/socket"

/* "info node n17: offer 10.4.2.17 (deployment=12)" as MESSAGE, PRIORITY, SYSLOG_IDENTIFIER,
 * HAAS_SUBJECT and one HAAS_KEY for each key=value of the last parentheses. `text` holds no control
 * characters. Returns the length in `ret`; what does not fit is left out from the end. */
size_t journal_format(char ret[JOURNAL_SIZE], int priority, const char *program,
		      const char *subject, const char *text);
/* Sends it to journald's socket; false: nobody took it. */
bool journal_send(const char *path, const char *datagram, size_t size);
