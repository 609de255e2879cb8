#include "portal/cli/context.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/base/text.h"
#include "common/http/json_reader.h"
#include "common/io/file.h"
#include "common/io/key_file.h"

#define CONTEXT_FILE_LIMIT ((size_t)1 << 20)
#define CONTEXT_HINT       "chmod 600 the file; if others had it: haasctl logout, then log in again"

static const struct json_bounds context_bounds = {
	.size = CONTEXT_FILE_LIMIT, .depth = 4, .values = (size_t)20 * CONTEXT_COUNT_MAX};

/* The members of a context in the file, and where they go. */
static const struct {
	const char *key;
	size_t offset, room;
} context_members[] = {
	{"name", offsetof(struct context, name), CONTEXT_NAME_SIZE},
	{"url", offsetof(struct context, url), CONTEXT_URL_SIZE},
	{"account", offsetof(struct context, account), sizeof(((struct context *)0)->account)},
	{"secret", offsetof(struct context, secret), CONTEXT_SECRET_SIZE},
	{"pin", offsetof(struct context, pin), TLS_PIN_SIZE},
	{"ca", offsetof(struct context, ca), sizeof(((struct context *)0)->ca)},
};

/* --- words --- */

bool context_name_is_good(const char *name)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
	size_t length = strspn(name, letters);

	return length > 0 && length < CONTEXT_NAME_SIZE && name[length] == '\0' &&
	       isalnum((unsigned char)name[0]) && strcmp(name, "none") != 0;
}

bool context_secret_is_good(const char *secret)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	size_t length = strlen(secret);

	return strncmp(secret, "haas_", 5) == 0 && length < CONTEXT_SECRET_SIZE &&
	       strspn(secret, letters) == length;
}

/* Of "HOST[:PORT][/]"; 0: it is none. */
static unsigned context_split(const char *authority, char host[CONTEXT_URL_SIZE])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
	size_t length = strcspn(authority, ":/");
	const char *rest = authority + length;
	unsigned long port = 443;

	if (length == 0 || length > 253)
		return 0;
	for (size_t i = 0; i < length; i++)
		host[i] = (char)tolower((unsigned char)authority[i]);
	host[length] = '\0';
	if (strspn(host, letters) != length || !isalnum((unsigned char)host[0]))
		return 0;
	if (*rest == ':') {
		char *end = NULL;

		port = isdigit((unsigned char)rest[1]) ? strtoul(rest + 1, &end, 10) : 0;
		if (port == 0 || port > 65535)
			return 0;
		rest = end;
	}
	if (*rest == '/')
		rest++;
	return *rest == '\0' ? (unsigned)port : 0;
}

bool context_url_clean(const char *url, char ret[CONTEXT_URL_SIZE])
{
	char host[CONTEXT_URL_SIZE];
	unsigned port;

	if (strncmp(url, "unix:/", 6) == 0)
		return text_copy(ret, CONTEXT_URL_SIZE, url) && strpbrk(url, "\r\n") == NULL;
	if (strncasecmp(url, "https://", 8) != 0)
		return false;
	port = context_split(url + 8, host);
	if (port == 0)
		return false;
	return port == 443 ? text_format(ret, CONTEXT_URL_SIZE, "https://%s", host)
			   : text_format(ret, CONTEXT_URL_SIZE, "https://%s:%u", host, port);
}

unsigned context_url_host(const char *url, char ret[CONTEXT_URL_SIZE])
{
	ret[0] = '\0';
	return strncmp(url, "https://", 8) == 0 ? context_split(url + 8, ret) : 0;
}

void context_url_name(const char *url, char ret[CONTEXT_NAME_SIZE])
{
	char host[CONTEXT_URL_SIZE];
	unsigned port = context_url_host(url, host);

	if (port == 0)
		(void)text_copy(ret, CONTEXT_NAME_SIZE, "local");
	else if (port == 443)
		(void)text_copy(ret, CONTEXT_NAME_SIZE, host);
	else
		(void)text_format(ret, CONTEXT_NAME_SIZE, "%.50s-%u", host, port);
}

/* --- the file --- */

/* HOME, unless it is another user's that we may not look into: setpriv and runuser leave root's. NULL: there is none. */
static const char *context_home(void)
{
	const char *home = getenv("HOME"); // NOLINT(concurrency-mt-unsafe): one thread
	const struct passwd *user;

	if (!home || home[0] != '/' || faccessat(AT_FDCWD, home, X_OK, AT_EACCESS) == 0 ||
	    errno != EACCES)
		return home;
	user = getpwuid(geteuid()); // NOLINT(concurrency-mt-unsafe): one thread
	return user ? user->pw_dir : NULL;
}

static int context_path(char ret[PATH_MAX], struct problem *problem)
{
	const char *base = getenv("XDG_CONFIG_HOME"); // NOLINT(concurrency-mt-unsafe): one thread
	const char *home = context_home();
	bool fits;

	/* "All paths set in these environment variables must be absolute." (XDG Base Directory) */
	if (base && base[0] == '/')
		fits = text_format(ret, PATH_MAX, "%s/haas/contexts.json", base);
	else if (home && home[0] == '/')
		fits = text_format(ret, PATH_MAX, "%s/.config/haas/contexts.json", home);
	else
		fits = false;
	if (fits)
		return 0;
	(void)problem_set(problem, E_INVALID, "there is no folder for contexts");
	problem_hint(problem, "set HOME or XDG_CONFIG_HOME to an absolute path");
	return E_INVALID;
}

static int context_take(const json_t *row, struct context *ret)
{
	char url[CONTEXT_URL_SIZE];

	for (size_t i = 0; i < COUNT_OF(context_members); i++) {
		const json_t *value = json_object_get(row, context_members[i].key);
		const char *text = json_string_value(value);
		char *room = (char *)ret + context_members[i].offset;

		if (value && (!text || !text_copy(room, context_members[i].room, text)))
			return E_MALFORMED;
	}
	if (!context_name_is_good(ret->name) || !context_url_clean(ret->url, url) ||
	    (ret->secret[0] && !context_secret_is_good(ret->secret)) ||
	    (ret->pin[0] && !tls_pin_is_valid(ret->pin)))
		return E_MALFORMED;
	(void)text_copy(ret->url, sizeof(ret->url), url);
	return 0;
}

static int context_take_all(struct context_book *book, const json_t *json)
{
	const char *current = json_string_value(json_object_get(json, "current"));
	const json_t *rows = json_object_get(json, "contexts");
	const json_t *row;
	int rc = json_is_array(rows) ? 0 : E_MALFORMED;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		struct context context = {0};

		if (rc == 0)
			rc = context_take(row, &context);
		if (rc == 0)
			rc = context_put(book, &context);
		sodium_memzero(&context, sizeof(context));
	}
	if (rc == 0 && current && context_find(book, current))
		(void)text_copy(book->current, sizeof(book->current), current);
	return rc;
}

static int context_parse(struct context_book *book, char *data, size_t size,
			 struct problem *problem)
{
	json_t *json = NULL;
	int rc = json_read_bounded(data, size, &context_bounds, &json, problem);

	if (rc == 0)
		rc = context_take_all(book, json);
	json_decref(json);
	sodium_memzero(data, size);
	if (rc == 0)
		return 0;
	(void)problem_set(problem, rc, "the file of contexts cannot be understood");
	problem_detail(problem, "%s", book->path);
	problem_hint(problem, "move it away, and log in again: haasctl login URL");
	return rc;
}

static int context_load(struct context_book *book, struct problem *problem)
{
	CLEANUP(freep) char *data = NULL;
	size_t size = 0;
	int rc = key_file_private(book->path, "file of contexts", CONTEXT_HINT, problem);

	if (rc == -ENOENT)
		return 0;
	if (rc == 0)
		rc = file_read(book->path, CONTEXT_FILE_LIMIT, &data, &size);
	if (rc == 0)
		return context_parse(book, data, size, problem);
	if (!problem_is_set(problem))
		(void)problem_set(problem, rc, "the file of contexts %s cannot be read: %s",
				  book->path, error_text(rc));
	return rc;
}

int context_book_read(struct context_book *ret, struct problem *problem)
{
	*ret = (struct context_book){.lock = -1};
	*problem = (struct problem){0};
	int rc = context_path(ret->path, problem);
	if (rc == 0)
		rc = context_load(ret, problem);
	if (rc)
		context_book_done(ret);
	return rc;
}

/* The folder is made for its owner alone; its lock is held until the book is done. */
static int context_lock(struct context_book *book)
{
	CLEANUP(freep) char *folder = strdup(book->path);
	char *slash = folder ? strrchr(folder, '/') : NULL;

	if (!slash)
		return -ENOMEM;
	*slash = '\0';
	int rc = file_make_folder(folder, 0700);
	if (rc)
		return rc;
	book->lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return book->lock >= 0 && flock(book->lock, LOCK_EX) == 0 ? 0 : -errno;
}

int context_book_open(struct context_book *ret, struct problem *problem)
{
	*ret = (struct context_book){.lock = -1};
	*problem = (struct problem){0};
	int rc = context_path(ret->path, problem);
	if (rc == 0) {
		rc = context_lock(ret);
		if (rc)
			(void)problem_set(problem, rc, "the folder of %s cannot be used: %s",
					  ret->path, error_text(rc));
	}
	if (rc == 0)
		rc = context_load(ret, problem);
	if (rc)
		context_book_done(ret);
	return rc;
}

static void context_write(struct text *out, const struct context *context)
{
	json_begin_object(out, NULL);
	for (size_t i = 0; i < COUNT_OF(context_members); i++) {
		const char *value = (const char *)context + context_members[i].offset;

		if (value[0])
			json_put_string(out, context_members[i].key, value);
	}
	json_end_object(out);
}

int context_book_save(const struct context_book *book, struct problem *problem)
{
	/* Of its full size at once: a text that grows leaves copies of secrets behind. */
	CLEANUP(text_done)
	struct text out = {.room = (book->count + 1) * 2 * sizeof(struct context)};

	out.data = malloc(out.room);
	json_begin_object(&out, NULL);
	if (book->current[0])
		json_put_string(&out, "current", book->current);
	json_begin_array(&out, "contexts");
	for (size_t i = 0; i < book->count; i++)
		context_write(&out, &book->rows[i]);
	json_end_array(&out);
	json_end_object(&out);
	text_add(&out, "\n");
	int rc = out.failed ? -ENOMEM : file_write_atomic(book->path, out.data, out.size, 0600);
	if (out.data)
		sodium_memzero(out.data, out.size);
	return rc ? problem_set(problem, rc, "the file of contexts %s cannot be written: %s",
				book->path, error_text(rc))
		  : 0;
}

void context_book_done(struct context_book *book)
{
	if (book->rows)
		sodium_memzero(book->rows, book->count * sizeof(*book->rows));
	free(book->rows);
	if (book->lock >= 0)
		close(book->lock);
	*book = (struct context_book){.lock = -1};
}

/* --- rows --- */

struct context *context_find(const struct context_book *book, const char *name)
{
	for (size_t i = 0; i < book->count; i++) {
		if (strcmp(book->rows[i].name, name) == 0)
			return &book->rows[i];
	}
	return NULL;
}

int context_put(struct context_book *book, const struct context *context)
{
	struct context *row = context_find(book, context->name);

	if (!row && book->count == CONTEXT_COUNT_MAX)
		return E_LIMIT;
	if (!row && !book->rows) { /* never moved: the rows hold secrets */
		book->rows = calloc(CONTEXT_COUNT_MAX, sizeof(*book->rows));
		if (!book->rows)
			return -ENOMEM;
	}
	if (!row)
		row = &book->rows[book->count++];
	*row = *context;
	return 0;
}

bool context_drop(struct context_book *book, const char *name)
{
	struct context *row = context_find(book, name);

	if (!row)
		return false;
	*row = book->rows[--book->count];
	sodium_memzero(&book->rows[book->count], sizeof(*row));
	if (strcmp(book->current, name) == 0)
		book->current[0] = '\0';
	return true;
}
