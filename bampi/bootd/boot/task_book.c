#include "bampi/bootd/boot/task_book.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/db/array.h"

struct task_entry *task_book_find(struct task_book *book, int64_t id)
{
	struct task_entry *entry = NULL;

	HASH_FIND(hh, book->entries, &id, sizeof(id), entry);
	return entry;
}

struct task_entry *task_book_find_of(struct task_book *book, int64_t id, const char *token)
{
	struct task_entry *entry = task_book_find(book, id);

	if (!entry || strlen(token) != TOKEN_TEXT_SIZE - 1)
		return NULL;
	return sodium_memcmp(entry->token, token, TOKEN_TEXT_SIZE - 1) == 0 ? entry : NULL;
}

struct task_entry *task_book_put(struct task_book *book, int64_t id, int64_t deployment_id,
				 const char *token, int64_t now_ms)
{
	struct task_entry *entry = task_book_find(book, id);

	if (!entry) {
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			return NULL;
		entry->id = id;
		HASH_ADD(hh, book->entries, id, sizeof(entry->id), entry);
	}
	entry->deployment_id = deployment_id;
	(void)text_copy(entry->token, sizeof(entry->token), token);
	entry->unwanted = false;
	entry->seen_ms = now_ms;
	return entry;
}

static void remove_entry(struct task_book *book, struct task_entry *entry)
{
	HASH_DEL(book->entries, entry);
	free(entry);
}

void task_book_remove(struct task_book *book, int64_t id)
{
	struct task_entry *entry = task_book_find(book, id);

	if (entry)
		remove_entry(book, entry);
}

void task_book_forget(struct task_book *book, int64_t before_ms)
{
	struct task_entry *entry;
	struct task_entry *next;

	HASH_ITER(hh, book->entries, entry, next)
	{
		if (entry->seen_ms < before_ms)
			remove_entry(book, entry);
	}
}

void task_book_ids(const struct task_book *book, struct text *ret)
{
	array_begin(ret);
	for (const struct task_entry *entry = book->entries; entry; entry = entry->hh.next)
		array_add_int(ret, entry->id);
	array_end(ret);
}

void task_book_done(struct task_book *book)
{
	struct task_entry *entry;
	struct task_entry *next;

	HASH_ITER(hh, book->entries, entry, next)
	{
		remove_entry(book, entry);
	}
}
