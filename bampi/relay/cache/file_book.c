#include "bampi/relay/cache/file_book.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"
#include "common/io/log.h"
#include "common/io/served_file.h"

#include "bampi/relay/cache/name_record_wire.h"

#define ENTRIES_MAX       1024
#define FRESH_HTTP_MS     1000  /* a rack asks for the same file in one second */
#define FRESH_TFTP_MS     10000 /* who has no time to wait takes it a little older */
#define MISSING_MS        15000 /* TFTP clients ask again within it, and hear the truth */
#define FILE_BOOK_SUBJECT "cache"

static_assert(NAME_RECORD_NAME == SERVED_NAME_MAX + 1, "every name that is served fits");

LEAKS_LEFT_TO_SANITIZER

struct file_entry {
	struct file_book *book;
	struct name_record record; /* digest "" = no content yet */
	int64_t checked_ms;        /* with the controller */
	int64_t missing_ms;        /* the controller said so; 0 = not */
	bool asking;               /* a HEAD is out */
	struct object *pin;        /* held, so that images do not push boot files out */
	struct object *filling;    /* what `next` will be */
	struct object_reader reader;
	struct name_record next;
	struct file_waiter *waiters;
	UT_hash_handle hh;
};

struct file_book {
	struct loop *loop;
	struct cache *cache;
	struct upstream *upstream;
	struct fetches *fetches;
	struct cache_counters *counters;
	struct file_entry *entries; /* by record.name */
	char folder[CACHE_PATH_MAX - 100];
};

int file_book_new(struct loop *loop, struct cache *cache, struct upstream *upstream,
		  struct fetches *fetches, struct cache_counters *counters, struct file_book **ret)
{
	struct file_book *book = calloc(1, sizeof(*book));

	if (!book)
		return -ENOMEM;
	*book = (struct file_book){.loop = loop,
				   .cache = cache,
				   .upstream = upstream,
				   .fetches = fetches,
				   .counters = counters};
	*ret = book;
	return 0;
}

static void drop_filling(struct file_entry *entry)
{
	struct object *object = TAKE(entry->filling);

	if (!object)
		return;
	object_detach(object, &entry->reader);
	object_unref(object);
}

static void file_book_pin(struct file_entry *entry, struct object *object)
{
	struct object *before = entry->pin;

	entry->pin = object;
	if (object)
		object_ref(object);
	if (before)
		object_unref(before);
}

static void entry_free(struct file_entry *entry)
{
	drop_filling(entry);
	file_book_pin(entry, NULL);
	HASH_DEL(entry->book->entries, entry);
	free(entry);
}

void file_book_free(struct file_book *book)
{
	struct file_entry *entry;
	struct file_entry *next;

	if (!book)
		return;
	HASH_ITER(hh, book->entries, entry, next)
	{
		entry_free(entry);
	}
	free(book);
}

static struct file_entry *entry_find(struct file_book *book, const char *name)
{
	struct file_entry *entry = NULL;

	HASH_FIND(hh, book->entries, name, strlen(name), entry);
	return entry;
}

static struct file_entry *entry_add(struct file_book *book, const char *name)
{
	struct file_entry *entry;
	struct file_entry *next;

	/* Names that nobody has are made up by clients; they make room for true ones. */
	HASH_ITER(hh, book->entries, entry, next)
	{
		if (HASH_COUNT(book->entries) < ENTRIES_MAX)
			break;
		if (!entry->record.digest[0] && !entry->asking && !entry->filling)
			entry_free(entry);
	}
	if (HASH_COUNT(book->entries) >= ENTRIES_MAX)
		return NULL;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->book = book;
	(void)text_copy(entry->record.name, sizeof(entry->record.name), name);
	HASH_ADD(hh, book->entries, record.name[0], strlen(entry->record.name), entry);
	return entry;
}

/* --- records --- */

static bool record_path(const struct file_book *book, const char *name, char ret[CACHE_PATH_MAX])
{
	char digest[DIGEST_TEXT_SIZE];

	digest_text(name, strlen(name), digest); /* a name may have slashes */
	return text_format(ret, CACHE_PATH_MAX, "%s/names/%s", book->folder, digest);
}

static void save_record(const struct file_entry *entry)
{
	char path[CACHE_PATH_MAX];
	char text[NAME_RECORD_MAX];
	size_t size;
	int rc = record_path(entry->book, entry->record.name, path) ? 0 : -ENAMETOOLONG;

	if (rc == 0)
		rc = name_record_encode(&entry->record, text, &size);
	if (rc == 0)
		rc = file_write_atomic(path, text, size, 0640);
	if (rc) /* it is fetched again after a restart */
		log_warn(FILE_BOOK_SUBJECT, "%s is not remembered: %s", entry->record.name,
			 error_text(rc));
}

static void load_record(struct file_book *book, const char *file)
{
	CLEANUP(freep) char *text = NULL;
	char path[CACHE_PATH_MAX];
	char clean[SERVED_NAME_MAX + 1];
	struct name_record record;
	struct file_entry *entry;
	struct object *object = NULL;
	size_t size;
	int rc = text_format(path, sizeof(path), "%s/names/%s", book->folder, file)
			 ? file_read(path, NAME_RECORD_MAX, &text, &size)
			 : -ENAMETOOLONG;

	if (rc == 0)
		rc = name_record_decode(text, &record);
	/* Its name is taken as a client's would be: nothing else was ever written. */
	if (rc == 0 && served_file_name(record.name, clean) == 0 && strcmp(clean, record.name) == 0)
		object = cache_find(book->cache, record.digest);
	if (!object) {
		(void)unlink(path);
		return;
	}
	entry = entry_find(book, record.name) ? NULL : entry_add(book, record.name);
	if (entry) {
		entry->record = record;
		file_book_pin(entry, object);
	}
}

static int load_records(struct file_book *book)
{
	char path[CACHE_PATH_MAX];
	const struct dirent *each;
	DIR *names;
	int rc = text_format(path, sizeof(path), "%s/names", book->folder) ? 0 : -ENAMETOOLONG;

	if (rc == 0)
		rc = file_make_folder(path, 0750);
	if (rc)
		return rc;
	names = opendir(path);
	if (!names)
		return -errno;
	// NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream
	while ((each = readdir(names))) {
		if (each->d_name[0] != '.')
			load_record(book, each->d_name);
	}
	(void)closedir(names);
	return 0;
}

int file_book_open(struct file_book *book, const char *folder, struct problem *problem)
{
	int rc = text_copy(book->folder, sizeof(book->folder), folder) ? load_records(book)
								       : -ENAMETOOLONG;

	return rc ? problem_set(problem, rc, "the names of the cache cannot be read: %s",
				error_text(rc))
		  : 0;
}

/* --- answers --- */

static void file_book_tell(struct file_entry *entry, int rc, struct object *object,
			   const char *type)
{
	const struct file_answer answer = {.rc = rc, .object = object, .type = type};
	struct file_waiter *waiter = TAKE(entry->waiters);

	while (waiter) {
		struct file_waiter *next = waiter->next; /* fn frees it */

		waiter->fn(waiter->context, &answer);
		waiter = next;
	}
}

static struct object *content_of(const struct file_entry *entry)
{
	return entry->record.digest[0] ? cache_find(entry->book->cache, entry->record.digest)
				       : NULL;
}

static void serve_current(struct file_entry *entry, uint64_t *counter)
{
	struct object *object = content_of(entry);

	for (struct file_waiter *each = entry->waiters; each; each = each->next)
		(*(object ? counter : &entry->book->counters->file_missing))++;
	file_book_tell(entry, object ? 0 : E_UNAVAILABLE, object, entry->record.type);
}

/* The object of `next` changed. */
static void on_object(void *context)
{
	struct file_entry *entry = context;
	struct object *object = entry->filling;

	if (object->state == OBJECT_READY) {
		entry->record = entry->next;
		(void)text_copy(entry->record.digest, sizeof(entry->record.digest), object->digest);
		entry->checked_ms = loop_now_ms(entry->book->loop);
		file_book_pin(entry, object);
		save_record(entry);
		drop_filling(entry);
	} else if (object->state == OBJECT_FAILED) {
		drop_filling(entry);
	}
}

static void begin_filling(struct file_entry *entry, const struct upstream_head *head)
{
	static const struct upstream_asker ourselves = {0};
	struct file_book *book = entry->book;
	char target[UPSTREAM_TARGET_MAX];
	const struct fetch_options options = {
		.target = target, .asker = &ourselves, .tag = head->tag};
	struct object *object;

	if (cache_begin(book->cache, "", head->size, &object)) {
		log_warn(FILE_BOOK_SUBJECT, "no room for %s (bytes=%llu)", entry->record.name,
			 (unsigned long long)head->size);
		return;
	}
	entry->next = (struct name_record){.size = head->size};
	(void)text_copy(entry->next.name, sizeof(entry->next.name), entry->record.name);
	(void)text_copy(entry->next.tag, sizeof(entry->next.tag), head->tag);
	(void)text_copy(entry->next.type, sizeof(entry->next.type), head->type);
	entry->filling = object;
	entry->reader = (struct object_reader){.fn = on_object, .context = entry};
	object_attach(object, &entry->reader);
	file_book_target(entry->record.name, target);
	fetch_start(book->fetches, object, &options);
}

static bool file_book_is_same(const struct name_record *record, const struct upstream_head *head)
{
	return head->tag[0] && record->size == head->size && strcmp(record->tag, head->tag) == 0;
}

static void serve_found(struct file_entry *entry, const struct upstream_head *head)
{
	struct cache_counters *counters = entry->book->counters;

	if (file_book_is_same(&entry->record, head) && content_of(entry)) {
		serve_current(entry, &counters->file_hits);
		return;
	}
	if (entry->filling && !file_book_is_same(&entry->next, head))
		drop_filling(entry); /* who follows it goes on, and gets the older one */
	if (!entry->filling)
		begin_filling(entry, head);
	for (struct file_waiter *each = entry->waiters; each; each = each->next)
		counters->file_misses++;
	file_book_tell(entry, entry->filling ? 0 : E_UNAVAILABLE, entry->filling, head->type);
}

static void file_book_on_head(void *context, int rc, const struct upstream_head *head)
{
	struct file_entry *entry = context;
	struct file_book *book = entry->book;

	entry->asking = false;
	if (rc == 0 && head->status < 500)
		entry->checked_ms = loop_now_ms(book->loop);
	entry->missing_ms = 0;
	if (rc == 0 && head->status == 200) {
		serve_found(entry, head);
	} else if (rc == 0 && head->status < 500) {
		entry->missing_ms = loop_now_ms(book->loop);
		for (struct file_waiter *each = entry->waiters; each; each = each->next)
			book->counters->refused++;
		entry->record.digest[0] = '\0';
		file_book_pin(entry, NULL);
		file_book_tell(entry, E_NOT_FOUND, NULL, NULL);
	} else {
		serve_current(entry, &book->counters->file_stale);
	}
}

static bool is_fresh(const struct file_entry *entry, int64_t age_ms)
{
	return entry->checked_ms && loop_now_ms(entry->book->loop) - entry->checked_ms < age_ms;
}

static void file_book_ask_upstream(struct file_entry *entry)
{
	static const struct upstream_asker ourselves = {0};
	char target[UPSTREAM_TARGET_MAX];

	if (entry->asking)
		return;
	file_book_target(entry->record.name, target);
	entry->asking = upstream_head(entry->book->upstream, target, &ourselves, file_book_on_head,
				      entry) == 0;
	if (!entry->asking)
		serve_current(entry, &entry->book->counters->file_stale);
}

void file_book_ask(struct file_book *book, const char *name, struct file_waiter *waiter)
{
	struct file_entry *entry = entry_find(book, name);

	if (!entry)
		entry = entry_add(book, name);
	if (!entry) {
		waiter->fn(waiter->context, &(struct file_answer){.rc = E_UNAVAILABLE});
		return;
	}
	DL_APPEND(entry->waiters, waiter);
	if (entry->asking)
		return;
	if (entry->filling && is_fresh(entry, FRESH_HTTP_MS)) {
		book->counters->file_misses++;
		file_book_tell(entry, 0, entry->filling, entry->next.type);
	} else if (is_fresh(entry, FRESH_HTTP_MS) && content_of(entry)) {
		serve_current(entry, &book->counters->file_hits);
	} else if (upstream_is_away(book->upstream)) {
		serve_current(entry, &book->counters->file_stale);
	} else {
		file_book_ask_upstream(entry);
	}
}

void file_book_forget_waiter(struct file_book *book, const char *name, struct file_waiter *waiter)
{
	struct file_entry *entry = entry_find(book, name);

	if (entry)
		DL_DELETE(entry->waiters, waiter);
}

int file_book_peek(struct file_book *book, const char *name, struct object **ret)
{
	struct file_entry *entry = entry_find(book, name);
	struct object *object;

	if (!entry)
		entry = entry_add(book, name);
	if (!entry)
		return E_UNAVAILABLE;
	if (entry->missing_ms && loop_now_ms(book->loop) - entry->missing_ms < MISSING_MS)
		return E_NOT_FOUND;
	if (!is_fresh(entry, FRESH_TFTP_MS) && !upstream_is_away(book->upstream))
		file_book_ask_upstream(entry);
	object = entry->filling ? NULL : content_of(entry);
	if (!object || object->state != OBJECT_READY)
		return -EAGAIN;
	*ret = object;
	return 0;
}

void file_book_target(const char *name, char ret[UPSTREAM_TARGET_MAX])
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
	size_t size = strlen(FILE_BOOK_TARGET);

	memcpy(ret, FILE_BOOK_TARGET, size + 1);
	for (; *name && size + 4 < UPSTREAM_TARGET_MAX; name++) {
		unsigned char c = (unsigned char)*name;

		if (strchr(plain, c))
			(void)text_format(ret + size, 4, "%c", c);
		else
			(void)text_format(ret + size, 4, "%%%02X", c);
		size += strlen(ret + size);
	}
}
