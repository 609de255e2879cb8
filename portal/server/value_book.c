#include "portal/server/value_book.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash_table.h"
#include "common/base/json_text.h"

/* In a list with the newest first: a reader stops at what it has. */
struct value {
	UT_hash_handle hh;
	struct value *newer, *older;
	char *key; /* kind, whose view it is of, name */
	char *kind, *name, *tenant;
	bool site, gone;
	char *body; /* NULL: gone */
	uint64_t number, xid, round;
};

struct value_book {
	struct value *values; /* by key; those that are gone are in the list alone */
	struct value *newest, *oldest;
	uint64_t number, round;
	uint64_t forget;       /* what was gone up to this number is dropped next */
	uint64_t forgotten;    /* up to this number what was gone is not known any more */
	const char *by_change; /* the kind that is told by its changes */
	uint64_t floor;
	uint64_t xid, forget_xid; /* of the newest reading; of the newest as `forget` was set */
};

int value_book_new(struct value_book **ret)
{
	struct value_book *book = calloc(1, sizeof(*book));

	if (!book)
		return -ENOMEM;
	*ret = book;
	return 0;
}

static void value_free(struct value *value)
{
	free(value->key);
	free(value->kind);
	free(value->name);
	free(value->tenant);
	free(value->body);
	free(value);
}

void value_book_free(struct value_book *book)
{
	if (!book)
		return;
	HASH_CLEAR(hh, book->values);
	while (book->newest) {
		struct value *value = book->newest;

		book->newest = value->older;
		value_free(value);
	}
	free(book);
}

static void book_take_out(struct value_book *book, struct value *value)
{
	if (value->newer)
		value->newer->older = value->older;
	else
		book->newest = value->older;
	if (value->older)
		value->older->newer = value->newer;
	else
		book->oldest = value->newer;
}

static void book_put_first(struct value_book *book, struct value *value)
{
	value->number = ++book->number;
	value->newer = NULL;
	value->older = book->newest;
	if (book->newest)
		book->newest->newer = value;
	else
		book->oldest = value;
	book->newest = value;
}

/* The site and each tenant may have a value of the same name that is not the same value. */
static void value_key(const struct value_row *row, struct text *key)
{
	text_addf(key, "%s %s %s", row->kind, row->site ? "" : row->tenant, row->name);
}

static struct value *value_new(const struct value_row *row)
{
	struct value *value = calloc(1, sizeof(*value));
	struct text key = {0};

	if (!value)
		return NULL;
	value_key(row, &key);
	value->key = text_take(&key);
	value->kind = strdup(row->kind);
	value->name = strdup(row->name);
	value->tenant = strdup(row->tenant);
	value->site = row->site;
	if (value->key && value->kind && value->name && value->tenant)
		return value;
	value_free(value);
	return NULL;
}

/* It was shown to `tenant`, or to the site, and is not any more. */
static int book_tell_gone(struct value_book *book, const struct value *of, bool site)
{
	struct value *gone = value_new(&(struct value_row){
		.kind = of->kind, .name = of->name, .tenant = of->tenant, .site = site});

	if (!gone)
		return -ENOMEM;
	gone->gone = true;
	gone->xid = UINT64_MAX;
	book_put_first(book, gone);
	return 0;
}

void value_book_begin(struct value_book *book)
{
	book->round++;
}

static struct value *book_find(struct value_book *book, const struct value_row *row)
{
	CLEANUP(text_done) struct text key = {0};
	struct value *found = NULL;

	value_key(row, &key);
	if (!key.failed)
		HASH_FIND_STR(book->values, text_get(&key), found);
	return found;
}

static int book_add(struct value_book *book, const struct value_row *row, struct value **ret)
{
	struct value *value = value_new(row);

	if (!value)
		return -ENOMEM;
	HASH_ADD_KEYPTR(hh, book->values, value->key, strlen(value->key), value);
	book_put_first(book, value);
	*ret = value;
	return 0;
}

int value_book_put(struct value_book *book, const struct value_row *row, uint64_t xid)
{
	struct value *value = book_find(book, row);
	bool moved = value && strcmp(value->tenant, row->tenant) != 0;
	char *body;

	if (xid > book->xid)
		book->xid = xid;
	if (value)
		value->round = book->round;
	if (value && !moved && value->body && strcmp(value->body, row->body) == 0)
		return 0;
	body = strdup(row->body);
	if (!body)
		return -ENOMEM;
	if (moved && (value->tenant[0] != '\0' && book_tell_gone(book, value, false) != 0)) {
		free(body);
		return -ENOMEM;
	}
	if (moved) {
		char *tenant = strdup(row->tenant);

		if (!tenant) {
			free(body);
			return -ENOMEM;
		}
		free(value->tenant);
		value->tenant = tenant;
	}
	if (value) {
		book_take_out(book, value);
		book_put_first(book, value);
	} else if (book_add(book, row, &value) != 0) {
		free(body);
		return -ENOMEM;
	}
	free(value->body);
	value->body = body;
	value->xid = xid;
	value->round = book->round;
	return 0;
}

void value_book_sweep(struct value_book *book, const char *kind, const char *tenant)
{
	struct value *value;
	struct value *next;

	HASH_ITER(hh, book->values, value, next)
	{
		if (value->round == book->round || strcmp(value->kind, kind) != 0 ||
		    (tenant && strcmp(value->tenant, tenant) != 0))
			continue;
		/* From now on it is the word that it is gone, to all who saw it. */
		HASH_DEL(book->values, value);
		book_take_out(book, value);
		free(value->body);
		value->body = NULL;
		value->gone = true;
		value->xid = UINT64_MAX;
		book_put_first(book, value);
	}
}

static bool value_is_by_change(const struct value_book *book, const struct value *value)
{
	return book->by_change && strcmp(value->kind, book->by_change) == 0;
}

void value_book_forget(struct value_book *book)
{
	for (struct value *value = book->oldest; value && value->number <= book->forget;) {
		struct value *newer = value->newer;

		if (value->gone) {
			/* Whoever read before then has it still, and is not told any more. */
			if (value_is_by_change(book, value) && book->floor < book->forget_xid)
				book->floor = book->forget_xid;
			book_take_out(book, value);
			value_free(value);
		}
		value = newer;
	}
	book->forgotten = book->forget;
	book->forget = book->number;
	book->forget_xid = book->xid;
}

uint64_t value_book_number(const struct value_book *book)
{
	return book->number;
}

void value_book_set_floor(struct value_book *book, const char *kind, uint64_t xid)
{
	book->by_change = kind;
	book->floor = xid;
}

static bool value_shows(const struct value *value, const char *tenant)
{
	return tenant[0] != '\0' ? strcmp(value->tenant, tenant) == 0 : value->site;
}

static void value_write(const struct value *value, struct text *out)
{
	json_begin_object(out, NULL);
	json_put_string(out, "kind", value->kind);
	json_put_string(out, "name", value->name);
	json_put_raw(out, "value", value->body ? value->body : "null");
	json_end_object(out);
}

/* Is it news to a reader that comes anew? `known`: it has read what is told by changes. */
static bool value_is_news(const struct value_book *book, const struct value *value,
			  const struct value_reader *reader)
{
	if (value->number > reader->until)
		return true;
	if (value_is_by_change(book, value))
		return reader->known && value->xid > reader->xid;
	return !value->gone;
}

/* The oldest that the reader does not have. */
static const struct value *book_next(const struct value_book *book,
				     const struct value_reader *reader)
{
	const struct value *value = book->newest;

	if (reader->number == 0)
		return book->oldest;
	while (value && value->number > reader->number)
		value = value->older;
	return value ? value->newer : book->oldest;
}

/* Nothing was told to it, or what is not known any more might have been news to it. While it comes anew it stands at old numbers, but
 * what was gone up to `until` is none: of what is told by changes neither, when it read that late enough. */
static bool reader_is_void(const struct value_book *book, const struct value_reader *reader)
{
	if (reader->number == 0)
		return true;
	return reader->number < book->forgotten &&
	       (reader->until < book->forgotten || (reader->known && reader->xid < book->floor));
}

bool value_book_write(struct value_book *book, struct value_reader *reader, struct text *out)
{
	bool all = reader_is_void(book, reader);
	size_t begin = out->size;
	bool any = all;
	bool more = false;

	if (!all && book->number == reader->number)
		return false;
	if (all) {
		reader->known =
			reader->number == 0 && reader->xid != 0 && reader->xid >= book->floor;
		reader->number = 0;
		reader->until = book->number;
	}
	json_begin_object(out, NULL);
	json_put_bool(out, "all", all);
	if (all && !reader->known && book->by_change) {
		json_begin_array(out, "again");
		json_put_string(out, NULL, book->by_change);
		json_end_array(out);
	}
	json_begin_array(out, "items");
	/* The newest of a name comes last. */
	for (const struct value *value = book_next(book, reader); value && !more;
	     value = value->newer) {
		reader->number = value->number;
		more = out->size - begin > VALUE_BOOK_EVENT && value->newer;
		if (!value_shows(value, reader->tenant) || !value_is_news(book, value, reader))
			continue;
		value_write(value, out);
		any = true;
	}
	json_end_array(out);
	json_put_bool(out, "more", more);
	json_end_object(out);
	if (!more)
		reader->number = book->number;
	return any || more;
}
