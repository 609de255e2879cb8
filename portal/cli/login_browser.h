/* A login by a browser on this machine (RFC 8252): it is sent to the server, from there to the provider, and
 * comes back to a port of ours on 127.0.0.1 with a code. Only who made the verifier can use that. */
#pragma once

#include "portal/cli/context.h"
#include "portal/cli/haasctl.h"

#define LOGIN_BROWSER_WORD 44 /* 32 bytes in base64url, with NUL */

struct login_browser {
	char verifier[LOGIN_BROWSER_WORD];
	char code[CONTEXT_SECRET_SIZE];
};

/* Shows the address, opens a browser where there is one, and waits for it. EXIT_OK, or the failure
 * told. `provider` NULL: the only one that the server has. */
MUST_USE int login_browser_run(struct haasctl *haasctl, const struct command_input *input,
			       const char *provider, struct login_browser *ret);
