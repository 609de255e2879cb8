/* Who is on the other end of the Unix socket: the kernel says the uid (SO_PEERCRED), the group file
 * says what that user may do. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/base/macros.h"
#include "common/http/server.h"

struct access_cache;

struct access {
	bool operator; /* root, or a member of the operators' group */
	char name[64]; /* of the user; the number when it has none */
};

/* `group` is borrowed and need not exist (then only root is an operator). */
MUST_USE int access_new(const char *group, struct access_cache **ret);
void access_free(struct access_cache *cache);
/* Answers of the group file are kept for 30 s. */
struct access access_of(struct access_cache *cache, const struct http_peer *peer, int64_t now_ms);
