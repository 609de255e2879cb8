/* JSON-RPC 1.0 as Open vSwitch speaks it on Unix sockets: one blocking call at a time. */
#pragma once

#include <jansson.h>

#include "common/base/macros.h"

struct switch_rpc {
	char path[108];
	int fd; /* -1: not connected; the next call connects */
	char *data;
	size_t size, room;
	int id;
};

MUST_USE int switch_rpc_init(struct switch_rpc *rpc, const char *path);
void switch_rpc_done(struct switch_rpc *rpc);
/* Consumes `params`. *ret_result is a new reference. -errno, E_TIMEOUT, E_PROTOCOL for an error of
 * the peer. After a failure the connection is new; a call that found an old one dead tries once
 * more. */
MUST_USE int switch_rpc_call(struct switch_rpc *rpc, const char *method, json_t *params,
			     json_t **ret_result);
