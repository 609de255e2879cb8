/* The agent tasks that were handed out, in memory, so that a progress report needs no query. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/hash_table.h"
#include "common/base/hex.h"
#include "common/base/macros.h"
#include "common/base/text.h"

struct task_entry {
	int64_t id; /* agent_task.id */
	int64_t deployment_id;
	char token[TOKEN_TEXT_SIZE];
	bool unwanted; /* dropped, or its netboot attempt is over */
	int64_t seen_ms;
	UT_hash_handle hh;
};

/* Zero bytes are an empty book. */
struct task_book {
	struct task_entry *entries; /* by id */
};

/* NULL when it is not there. Borrowed until it is removed. */
struct task_entry *task_book_find(struct task_book *book, int64_t id);
/* The same, but only if it was given to this token (compared in constant time). */
struct task_entry *task_book_find_of(struct task_book *book, int64_t id, const char *token);
/* Adds or renews. NULL without memory. */
struct task_entry *task_book_put(struct task_book *book, int64_t id, int64_t deployment_id,
				 const char *token, int64_t now_ms);
void task_book_remove(struct task_book *book, int64_t id);
/* Removes what nobody reported on since. */
void task_book_forget(struct task_book *book, int64_t before_ms);
/* Their ids as an array of the database. */
void task_book_ids(const struct task_book *book, struct text *ret);
void task_book_done(struct task_book *book);
