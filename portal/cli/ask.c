#include "portal/cli/ask.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define ASK_ANSWER_MAX 256
#define ASK_LOOK_MS    50 /* between two looks at the terminal: Ctrl-C ends it */

bool ask_line(struct haasctl *haasctl, char *ret, size_t room)
{
	size_t size = 0;

	while (size + 1 < room) {
		struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

		/* Ctrl-C may come in the middle of it: then read() would wait for a line. */
		if (poll(&in, 1, 0) <= 0) {
			if (!haasctl_sleep(haasctl, ASK_LOOK_MS))
				return false;
			continue;
		}
		if (read(STDIN_FILENO, &ret[size], 1) != 1)
			return false;
		if (ret[size] == '\n')
			break;
		size++;
	}
	ret[size] = '\0';
	return true;
}

int ask_to_go_on(struct haasctl *haasctl, const char *wanted)
{
	char answer[ASK_ANSWER_MAX];

	fprintf(stderr, "Type %s to go on, anything else to leave it: ", wanted);
	(void)fflush(stderr);
	if (ask_line(haasctl, answer, sizeof(answer)) && strcmp(answer, wanted) == 0)
		return EXIT_OK;
	if (haasctl_interrupted(haasctl))
		return EXIT_INTERRUPTED;
	fprintf(stderr, "haasctl: nothing is done\n");
	return EXIT_FAILED;
}

bool ask_hidden(struct haasctl *haasctl, const char *what, char *ret, size_t room)
{
	struct termios before;
	struct termios hidden;
	bool good;

	if (tcgetattr(STDIN_FILENO, &before) != 0)
		return false;
	hidden = before;
	hidden.c_lflag &= ~(tcflag_t)ECHO;
	if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) != 0)
		return false;
	fprintf(stderr, "%s: ", what); /* who types at once is not seen either */
	(void)fflush(stderr);
	good = ask_line(haasctl, ret, room);
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
	say_control(stderr, "\n");
	return good;
}

bool ask_stdin(char *ret, size_t room)
{
	size_t size = 0;
	ssize_t got = 0;

	while (size < room && (got = read(STDIN_FILENO, &ret[size], 1)) == 1 && ret[size] != '\n')
		size++;
	if (size == room || got < 0 || (got == 0 && size == 0))
		return false;
	if (size > 0 && ret[size - 1] == '\r')
		size--;
	ret[size] = '\0';
	return true;
}
