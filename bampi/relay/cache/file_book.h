/* Boot files by name: which object has the content of each, checked with the controller before it
 * is served. While the controller is away a file is served as it was. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "bampi/relay/cache/cache.h"
#include "bampi/relay/cache/fetch.h"
#include "bampi/relay/cache/upstream.h"

#define FILE_BOOK_TARGET "/boot/file/"

struct file_book;

/* The path of a file at the controller, percent-encoded (RFC 3986). */
void file_book_target(const char *name, char ret[UPSTREAM_TARGET_MAX]);

/* What a name stands for now. */
struct file_answer {
	int rc; /* 0; E_NOT_FOUND: the controller has no such file; E_UNAVAILABLE: cannot be had now
		 */
	struct object *object; /* borrowed for the call */
	const char *type;
};

/* One who waits for an answer; lies in the waiter's own memory. fn is called once, perhaps within
 * file_book_ask. */
struct file_waiter {
	void (*fn)(void *context, const struct file_answer *answer);
	void *context;
	struct file_waiter *prev, *next;
};

MUST_USE int file_book_new(struct loop *loop, struct cache *cache, struct upstream *upstream,
			   struct fetches *fetches, struct cache_counters *counters,
			   struct file_book **ret);
/* Nobody waits any more. */
void file_book_free(struct file_book *book);
/* Reads what was remembered; after cache_open. Missing or broken records are forgotten. */
MUST_USE int file_book_open(struct file_book *book, const char *folder, struct problem *problem);

/* `name` went through served_file_name. */
void file_book_ask(struct file_book *book, const char *name, struct file_waiter *waiter);
void file_book_forget_waiter(struct file_book *book, const char *name, struct file_waiter *waiter);
/* The same without waiting, for TFTP: what is there and verified, checked a short while ago; else
 * -EAGAIN, and it is on its way. */
MUST_USE int file_book_peek(struct file_book *book, const char *name, struct object **ret);
