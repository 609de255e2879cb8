#include "common/io/journal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/macros.h"
#include "common/base/text.h"

#define KEY_MAX 32

/* One "NAME=value" line, whole or not at all. */
static size_t add_field(char ret[JOURNAL_SIZE], size_t at, const char *name, const char *value,
			size_t length)
{
	int added = snprintf(ret + at, JOURNAL_SIZE - at, "%s=%.*s\n", name, (int)length, value);

	return added > 0 && (size_t)added < JOURNAL_SIZE - at ? at + (size_t)added : at;
}

/* "deployment" as "HAAS_DEPLOYMENT"; false for what is no name. */
static bool field_name(const char *key, size_t length, char ret[KEY_MAX])
{
	size_t used = strlen("HAAS_");

	if (length == 0 || length + used >= KEY_MAX)
		return false;
	memcpy(ret, "HAAS_", used);
	for (size_t i = 0; i < length; i++) {
		if (!isalnum((unsigned char)key[i]) && key[i] != '_')
			return false;
		ret[used++] = (char)toupper((unsigned char)key[i]);
	}
	ret[used] = '\0';
	return true;
}

/* The key=value words of "... (a=1 b=2)". A value ends at the blank before the next key, so that
 * it may hold blanks itself. */
static size_t add_pairs(char ret[JOURNAL_SIZE], size_t at, const char *text)
{
	size_t length = strlen(text);
	const char *open = length > 0 && text[length - 1] == ')' ? strrchr(text, '(') : NULL;
	const char *end;

	if (!open)
		return at;
	end = text + length - 1;
	for (const char *pair = open + 1; pair < end;) {
		const char *equals = memchr(pair, '=', (size_t)(end - pair));
		const char *next =
			equals ? memchr(equals + 1, '=', (size_t)(end - equals - 1)) : NULL;
		const char *stop = end;
		char name[KEY_MAX];

		if (!equals || !field_name(pair, (size_t)(equals - pair), name))
			return at;
		while (next && next > equals && *next != ' ')
			next--;
		if (next && next > equals)
			stop = next;
		at = add_field(ret, at, name, equals + 1, (size_t)(stop - equals - 1));
		pair = stop + 1;
	}
	return at;
}

size_t journal_format(char ret[JOURNAL_SIZE], int priority, const char *program,
		      const char *subject, const char *text)
{
	char level[2] = {(char)('0' + priority), '\0'};
	size_t at = add_field(ret, 0, "MESSAGE", text, strlen(text));

	at = add_field(ret, at, "PRIORITY", level, 1);
	at = add_field(ret, at, "SYSLOG_IDENTIFIER", program, strlen(program));
	at = add_field(ret, at, "HAAS_SUBJECT", subject, strlen(subject));
	return add_pairs(ret, at, text);
}

bool journal_send(const char *path, const char *datagram, size_t size)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && text_copy(address.sun_path, sizeof(address.sun_path), path) &&
	       sendto(fd, datagram, size, MSG_NOSIGNAL | MSG_DONTWAIT,
		      (const struct sockaddr *)&address, sizeof(address)) == (ssize_t)size;
}
