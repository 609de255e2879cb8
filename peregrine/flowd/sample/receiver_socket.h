/* The sockets that receivers read: one each, of one UDP port. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/flowd/sample/receiver.h"

/* Bound to options->address and `port` (0 = any); a read ends after 50 ms without a datagram. The
 * caller closes it. */
MUST_USE int receiver_socket_open(const struct receiver_options *options, uint16_t port,
				  int *ret_fd, struct problem *problem);
/* Of the first of `count` sockets of one port, when all are bound. Datagrams of one address go to
 * one of them. So the sequence numbers of an agent that changes its port are looked at in one
 * place. */
MUST_USE int receiver_socket_spread(int fd, unsigned count);
/* 0 = not bound */
uint16_t receiver_socket_port(int fd);
/* The bytes that the kernel grants, which are not what was asked for without privilege. */
int receiver_socket_buffer(int fd);
