/* trainer: makes sets of pictures, and trains models with them. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "common/base/error.h"

#include "trainer_image/cli/trainer_table.h"

int main(int argc, char **argv)
{
	struct command_set set;
	CLEANUP(freep) struct command *commands = trainer_table_new(&set);

	if (!commands) {
		fprintf(stderr, "trainer: cannot start: %s\n", error_text(-ENOMEM));
		return EXIT_FAILED;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	int status = command_main(&set, argc, argv);
	if (fflush(stdout) != 0 && status == EXIT_OK) {
		if (errno != EPIPE)
			fprintf(stderr, "trainer: cannot write stdout: %s\n", error_text(-errno));
		return EXIT_FAILED;
	}
	return status;
}
