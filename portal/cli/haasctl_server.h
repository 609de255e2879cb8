/* Which portald is asked, and by whose word: a context, --token-file, or the socket of this machine, where the kernel tells who we are. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>

#include "common/cli/command.h"
#include "common/http/client.h"

#include "portal/cli/context.h"

#define SERVER_ADDRESSES 8

struct haasctl_server {
	struct context context; /* name "" = none; secret: what is shown */
	struct tls *tls;        /* of https */
	char addresses[SERVER_ADDRESSES][INET_ADDRSTRLEN];
	size_t address_count, at; /* of the host; the one that is asked */
};
void haasctl_server_done(struct haasctl_server *server);

/* What the options, the environment and the context in use say. EXIT_OK, or the error told. */
MUST_USE int haasctl_server_choose(const struct command_input *input, struct haasctl_server *ret);
/* The same by the context's own session, whatever token the options and the environment name. */
MUST_USE int haasctl_server_choose_session(const struct command_input *input,
					   struct haasctl_server *ret);
/* The portald of this machine, whatever context is in use; --context is an error. EXIT_OK, or told. */
MUST_USE int haasctl_server_here(const struct command_input *input, struct haasctl_server *ret);
/* The file of --token-file or HAAS_TOKEN_FILE into the room; "" = neither is said. EXIT_OK, or the error told. */
MUST_USE int haasctl_server_token(const struct command_input *input, char ret[CONTEXT_SECRET_SIZE]);
/* Another address of its name from now on; false: there is no more. */
bool haasctl_server_move(struct haasctl_server *server);
/* A client of it, at the address in use: all clients of a server ask the same machine. EXIT_OK, or the error told. */
MUST_USE int haasctl_server_client(struct haasctl_server *server, struct loop *loop,
				   struct http_client **ret);
/* The path of its socket; NULL: it is not on this machine. */
const char *haasctl_server_socket(const struct haasctl_server *server);
bool haasctl_server_is_here(const struct context *context);
/* Why TLS did not come about, with the next step. */
void haasctl_server_distrust(const struct haasctl_server *server, struct problem *problem);
