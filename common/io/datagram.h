/* Sockets of datagrams and frames, as DHCP, TFTP, RMCP+ and sFlow need them. */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"

/* Asks for a queue of `bytes` that the kernel fills while we are busy. Past the system's limit
 * (net.core.rmem_max) while we are privileged, else as much as it allows. */
void datagram_receive_room(int fd, int bytes);
/* The same of what we send (net.core.wmem_max). */
void datagram_send_room(int fd, int bytes);

/* A packet socket for sending frames (packet(7), SOCK_DGRAM): the kernel writes the Ethernet header,
 * and nothing is heard. -errno with a problem. */
MUST_USE int datagram_open_frames(int *ret_fd, struct problem *problem);
