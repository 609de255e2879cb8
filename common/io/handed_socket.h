/* Listening sockets that the service manager hands over (LISTEN_FDS, sd_listen_fds(3)), by name. They stay
 * open while we are started anew, so nobody who comes meanwhile is refused. */
#pragma once

#include <stdbool.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

enum handed_kind {
	HANDED_TCP, /* IPv4 */
	HANDED_UNIX,
};

/* True: a socket of that name is there. */
bool handed_socket_is_there(const char *name);
/* The socket of that name, for the caller; to be called once. -ENOENT: none. E_CONFLICT: it is of another kind, or
 * does not listen. */
MUST_USE int handed_socket_take(const char *name, enum handed_kind kind, int *ret_fd,
				struct problem *problem);
/* The first name that is not in `known` (NULL-ended); NULL: all are. Into `ret`. */
const char *handed_socket_unknown(const char *const *known, char *ret, size_t room);
