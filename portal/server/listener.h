/* The ways in. On the local socket the kernel says who asks. Strangers come by TLS, or by the socket of a proxy
 * (the edge): no uid counts there, nothing about us is told, and their connections take no place of those on
 * the local socket. A socket may be handed over by the service manager, as "local", "tls" or "edge". */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/loop.h"

struct portal;
struct listeners;

/* With the privileges of the start. On failure *ret may be set, to be freed. */
MUST_USE int listeners_new(struct portal *portal, struct listeners **ret, struct problem *problem);
void listeners_free(struct listeners *listeners);
/* Who comes is taken. Before it they wait: for the database, but a few seconds at most. */
void listeners_begin(struct listeners *listeners);
/* SIGHUP: the certificate is read again; a bad one is logged, and the old one stays. */
void listeners_reload(struct listeners *listeners);
/* Takes nobody new. Calls `fn` when all is answered, or after a few seconds. */
void listeners_drain(struct listeners *listeners, loop_fn fn, void *context);
