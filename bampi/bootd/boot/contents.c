#include "bampi/bootd/boot/contents.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/db/array.h"
#include "common/io/log.h"
#include "common/io/worker.h"
#include "common/net/ipv4.h"

#include "bampi/bootd/boot/content_fetch.h"
#include "bampi/bootd/boot/contents_sql.h"

LEAKS_LEFT_TO_SANITIZER

#define CONTENTS_PERIOD_MS 3000
#define CONTENTS_REST_MS   60000 /* of one that failed: others first */
#define CONTENTS_AGAIN_MS  1000  /* after a connection that broke */
#define CONTENTS_NEWS_MS   10000 /* in so long every bampi-bootd has told of a new image */
#define CONTENTS_PATH_SIZE 512
#define CONTENTS_ASKED     32
#define CONTENTS_SUBJECT   "images"

/* Not here, and known to the database. */
struct content_lack {
	char digest[DIGEST_TEXT_SIZE];
	char url[CONTENT_URL_SIZE]; /* of one that has it and is heard; "" = none */
	uint64_t size;
	int64_t rest_until_ms;
};

/* Which one nodes asked for, so that it comes first; the oldest gives way. */
struct content_asked {
	char digest[DIGEST_TEXT_SIZE];
	int64_t first_ms, last_ms;
};

/* One look into both folders and at the interfaces, by a worker. */
struct contents_look {
	struct contents *contents;
	struct text addresses, here, copies; /* array literals */
	char **gone;                         /* copies that nobody may install any more */
	size_t gone_count;
	/* Copies that may still come: other partial ones go. NULL = not known yet. */
	char (*coming)[DIGEST_TEXT_SIZE];
	size_t coming_count;
	bool ran;
};

struct contents {
	struct loop *loop;
	struct contents_options options;
	struct worker *worker;
	struct loop_timer *timer;
	struct content_lack *lacks;
	size_t lack_count;
	struct content_asked asked[CONTENTS_ASKED];
	char **gone;
	size_t gone_count;
	char host[65];
	char url[CONTENT_URL_SIZE];
	int64_t asked_ms;            /* when the database was asked last */
	int64_t answered_ms;         /* when it was asked what it has answered; 0 = never */
	bool looking;                /* a look, or its statement, is on its way */
	struct content_fetch *fetch; /* under way */
	atomic_bool stop;
	struct log_limit lines;
};

static bool contents_copies(const struct contents *contents)
{
	return contents->options.copy_dir[0] && contents->options.tls_files;
}

static bool contents_has(const char *folder, const char *digest)
{
	char path[CONTENTS_PATH_SIZE];

	return text_format(path, sizeof(path), "%s/%s", folder, digest) && access(path, R_OK) == 0;
}

static bool contents_is_digest(const char *name)
{
	uint8_t bytes[DIGEST_SIZE];

	return strlen(name) == DIGEST_TEXT_SIZE - 1 && hex_decode(name, bytes, sizeof(bytes)) == 0;
}

const char *contents_folder(const struct contents *contents, const char *digest)
{
	const struct contents_options *options = &contents->options;

	if (!contents_is_digest(digest))
		return NULL;
	if (contents_has(options->image_dir, digest))
		return options->image_dir;
	return contents_copies(contents) && contents_has(options->copy_dir, digest)
		       ? options->copy_dir
		       : NULL;
}

/* --- what is here, by a worker --- */

/* Uploaded here meanwhile: the copy is one too many. */
static bool contents_is_double(const struct contents *contents, const char *folder,
			       const char *digest)
{
	return folder == contents->options.copy_dir &&
	       contents_has(contents->options.image_dir, digest);
}

/* A partial copy that nobody goes on with: its image was deleted, or uploaded here. */
static bool contents_is_left(const struct contents_look *look, const char *name)
{
	const char *digest = name + strlen(CONTENT_PARTIAL);

	if (!look->coming || strncmp(name, CONTENT_PARTIAL, strlen(CONTENT_PARTIAL)) != 0 ||
	    !contents_is_digest(digest))
		return false;
	for (size_t i = 0; i < look->coming_count; i++) {
		if (strcmp(look->coming[i], digest) == 0)
			return false;
	}
	return true;
}

static void contents_sweep(const struct contents_look *look, int folder, const char *name)
{
	if (contents_is_left(look, name) && unlinkat(folder, name, 0) == 0)
		log_info(CONTENTS_SUBJECT, "half a copy that nobody waits for is removed: %s",
			 name);
}

static void contents_list(struct contents_look *look, const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;

	// NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream
	while (dir && (entry = readdir(dir))) {
		if (folder == look->contents->options.copy_dir)
			contents_sweep(look, dirfd(dir), entry->d_name);
		if (!contents_is_digest(entry->d_name))
			continue;
		if (contents_is_double(look->contents, folder, entry->d_name)) {
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
			continue;
		}
		array_add(&look->here, entry->d_name);
		if (folder == look->contents->options.copy_dir)
			array_add(&look->copies, entry->d_name);
	}
	if (dir)
		(void)closedir(dir);
}

/* Which of two controllers has the address that nodes boot from? Both, or none, is found so. */
static void contents_addresses(struct contents_look *look)
{
	struct ifaddrs *all = NULL;
	char text[IPV4_TEXT_SIZE];

	if (getifaddrs(&all) != 0)
		return;
	for (const struct ifaddrs *each = all; each; each = each->ifa_next) {
		struct sockaddr_in address;

		if (!each->ifa_addr || each->ifa_addr->sa_family != AF_INET)
			continue;
		memcpy(&address, each->ifa_addr, sizeof(address));
		array_add(&look->addresses, ipv4_text(ntohl(address.sin_addr.s_addr), text));
	}
	freeifaddrs(all);
}

static void contents_look_work(void *context)
{
	struct contents_look *look = context;
	const struct contents_options *options = &look->contents->options;
	char path[CONTENTS_PATH_SIZE];

	look->ran = true;
	for (size_t i = 0; i < look->gone_count; i++) {
		if (text_format(path, sizeof(path), "%s/%s", options->copy_dir, look->gone[i]) &&
		    unlink(path) == 0)
			log_info(CONTENTS_SUBJECT, "the copy of a deleted one is removed: %s",
				 look->gone[i]);
	}
	array_begin(&look->addresses);
	contents_addresses(look);
	array_end(&look->addresses);
	array_begin(&look->here);
	array_begin(&look->copies);
	contents_list(look, options->image_dir);
	if (contents_copies(look->contents))
		contents_list(look, options->copy_dir);
	array_end(&look->here);
	array_end(&look->copies);
}

/* --- what comes next --- */

static bool contents_is_asked(const struct contents *contents, const char *digest)
{
	for (size_t i = 0; i < CONTENTS_ASKED; i++) {
		if (strcmp(contents->asked[i].digest, digest) == 0)
			return true;
	}
	return false;
}

static struct content_lack *contents_next(struct contents *contents)
{
	int64_t now_ms = loop_now_ms(contents->loop);
	struct content_lack *next = NULL;

	for (size_t i = 0; i < contents->lack_count; i++) {
		struct content_lack *lack = &contents->lacks[i];

		if (!lack->url[0] || lack->rest_until_ms > now_ms)
			continue;
		if (contents_is_asked(contents, lack->digest))
			return lack;
		if (!next)
			next = lack;
	}
	return next;
}

static struct content_lack *contents_lack(struct contents *contents, const char *digest)
{
	for (size_t i = 0; i < contents->lack_count; i++) {
		if (strcmp(contents->lacks[i].digest, digest) == 0)
			return &contents->lacks[i];
	}
	return NULL;
}

static void contents_fetched(void *context);

static void contents_fetch_free(struct content_fetch *fetch)
{
	tls_free(fetch->tls);
	free(fetch);
}

/* A client's TLS of its own for each copy: certificates may have been renewed, and a thread uses it. */
static int contents_fetch_new(struct contents *contents, const struct content_lack *lack,
			      struct content_fetch **ret, struct problem *problem)
{
	struct content_fetch *fetch = calloc(1, sizeof(*fetch));
	int rc;

	if (!fetch)
		return problem_set(problem, -ENOMEM, "no memory");
	fetch->size = lack->size;
	fetch->folder = contents->options.copy_dir;
	fetch->stop = &contents->stop;
	(void)text_copy(fetch->url, sizeof(fetch->url), lack->url);
	(void)text_copy(fetch->digest, sizeof(fetch->digest), lack->digest);
	rc = tls_new(TLS_CLIENT, contents->options.tls_files, &fetch->tls, problem);
	if (rc)
		contents_fetch_free(fetch);
	else
		*ret = fetch;
	return rc;
}

static void contents_fetch_next(struct contents *contents)
{
	struct content_lack *lack = contents->fetch ? NULL : contents_next(contents);
	struct content_fetch *fetch = NULL;
	struct problem problem = {0};
	int rc;

	if (!lack)
		return;
	rc = contents_fetch_new(contents, lack, &fetch, &problem);
	if (rc == 0 && fetch) {
		fetch->contents = contents;
		rc = worker_submit(contents->worker, content_fetch_work, contents_fetched, fetch);
		if (rc == 0) {
			contents->fetch = fetch;
		} else {
			contents_fetch_free(fetch);
			(void)problem_set(&problem, rc, "%s", error_text(rc));
		}
	}
	if (rc) {
		lack->rest_until_ms = loop_now_ms(contents->loop) + CONTENTS_REST_MS;
		if (log_allowed(&contents->lines, loop_now_ms(contents->loop)))
			log_problem(LOG_LEVEL_WARN, CONTENTS_SUBJECT, &problem);
	}
}

static void contents_fetch_failed(struct contents *contents, const struct content_fetch *fetch)
{
	struct content_lack *lack = contents_lack(contents, fetch->digest);
	bool again = fetch->rc == E_TIMEOUT || fetch->rc == E_UNAVAILABLE ||
		     fetch->rc == E_PROTOCOL || (fetch->rc == E_DIGEST && fetch->resumed);

	contents->options.counters->contents_failed++;
	if (lack)
		lack->rest_until_ms = loop_now_ms(contents->loop) +
				      (again ? CONTENTS_AGAIN_MS : CONTENTS_REST_MS);
	if (log_allowed(&contents->lines, loop_now_ms(contents->loop)))
		log_warn(CONTENTS_SUBJECT, "%.12s is not copied from %s: %s (%s)", fetch->digest,
			 fetch->url, fetch->problem.message, fetch->problem.detail);
}

static void contents_fetched(void *context)
{
	struct content_fetch *fetch = context;
	struct contents *contents = fetch->contents;

	contents->fetch = NULL;
	if (fetch->ran && fetch->rc == 0) {
		contents->options.counters->contents_copied++;
		log_info(CONTENTS_SUBJECT, "%.12s is copied from %s (bytes=%" PRIu64 ")",
			 fetch->digest, fetch->url, fetch->size);
	} else if (fetch->ran && fetch->rc != -ECANCELED) {
		contents_fetch_failed(contents, fetch);
	}
	contents_fetch_free(fetch);
	if (!atomic_load(&contents->stop))
		loop_timer_arm(contents->timer, 0);
}

/* --- what the database says --- */

static void contents_forget_gone(char ***gone, size_t *count)
{
	for (size_t i = 0; i < *count; i++)
		free((*gone)[i]);
	free((void *)*gone);
	*gone = NULL;
	*count = 0;
}

static void contents_read_row(struct contents *contents, struct content_lack *lacks, size_t *count,
			      const PGresult *result, int row)
{
	const char *digest = db_text(result, row, CONTENT_PUT_DIGEST, "");
	const struct content_lack *before = contents_lack(contents, digest);
	struct content_lack *lack = &lacks[*count];

	if (db_bool(result, row, CONTENT_PUT_GONE)) {
		char *gone = strdup(digest);

		if (gone)
			contents->gone[contents->gone_count++] = gone;
		return;
	}
	lack->size = (uint64_t)db_int(result, row, CONTENT_PUT_SIZE_BYTES, 0);
	lack->rest_until_ms = before ? before->rest_until_ms : 0;
	if (text_copy(lack->digest, sizeof(lack->digest), digest) &&
	    text_copy(lack->url, sizeof(lack->url), db_text(result, row, CONTENT_PUT_URL, "")))
		(*count)++;
}

static void contents_read(struct contents *contents, const PGresult *result)
{
	size_t rows = (size_t)PQntuples(result);
	struct content_lack *lacks = calloc(rows + 1, sizeof(*lacks));
	size_t count = 0;

	contents_forget_gone(&contents->gone, &contents->gone_count);
	contents->gone = calloc(rows + 1, sizeof(char *));
	for (size_t i = 0; lacks && contents->gone && i < rows; i++)
		contents_read_row(contents, lacks, &count, result, (int)i);
	free(contents->lacks);
	contents->lacks = lacks;
	contents->lack_count = count;
	contents->options.counters->contents_lacking = count;
}

static void contents_on_answer(void *context, int rc, const PGresult *result,
			       const struct problem *problem)
{
	struct contents *contents = context;

	contents->looking = false;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_WARN, CONTENTS_SUBJECT, problem);
	if (rc || atomic_load(&contents->stop))
		return;
	contents->answered_ms = contents->asked_ms;
	contents_read(contents, result);
	if (contents_copies(contents))
		contents_fetch_next(contents);
}

static void contents_look_free(struct contents_look *look)
{
	contents_forget_gone(&look->gone, &look->gone_count);
	text_done(&look->addresses);
	text_done(&look->here);
	text_done(&look->copies);
	free(look->coming);
	free(look);
}

/* Without memory nothing is swept this time. */
static void contents_look_coming(const struct contents *contents, struct contents_look *look)
{
	if (contents->answered_ms == 0)
		return;
	look->coming = calloc(contents->lack_count + 1, sizeof(*look->coming));
	if (!look->coming)
		return;
	for (size_t i = 0; i < contents->lack_count; i++)
		(void)text_copy(look->coming[look->coming_count++], DIGEST_TEXT_SIZE,
				contents->lacks[i].digest);
	if (contents->fetch)
		(void)text_copy(look->coming[look->coming_count++], DIGEST_TEXT_SIZE,
				contents->fetch->digest);
}

static void contents_looked(void *context)
{
	struct contents_look *look = context;
	struct contents *contents = look->contents;
	const char *params[] = {contents->host, contents->url, text_get(&look->addresses),
				text_get(&look->here), text_get(&look->copies)};

	contents->looking = look->ran && !look->addresses.failed && !look->here.failed &&
			    !look->copies.failed && !atomic_load(&contents->stop) &&
			    db_submit(contents->options.db, &content_put_query, params,
				      contents_on_answer, contents) == 0;
	contents->asked_ms = loop_now_ms(contents->loop);
	contents_look_free(look);
}

static void contents_due(void *context)
{
	struct contents *contents = context;
	struct contents_look *look;

	loop_timer_arm(contents->timer, CONTENTS_PERIOD_MS);
	if (contents->looking || !db_connected(contents->options.db))
		return;
	if (contents_copies(contents) && mkdir(contents->options.copy_dir, 0700) != 0 &&
	    errno != EEXIST && log_allowed(&contents->lines, loop_now_ms(contents->loop)))
		log_warn(CONTENTS_SUBJECT, "copy_dir cannot be made: %s (%s)", error_text(-errno),
			 contents->options.copy_dir);
	look = calloc(1, sizeof(*look));
	if (!look)
		return;
	look->contents = contents;
	look->gone = contents->gone;
	look->gone_count = contents->gone_count;
	contents->gone = NULL;
	contents->gone_count = 0;
	contents_look_coming(contents, look);
	contents->looking =
		worker_submit(contents->worker, contents_look_work, contents_looked, look) == 0;
	if (!contents->looking)
		contents_look_free(look);
}

/* --- who waits --- */

static int64_t contents_ask(struct contents *contents, const char *digest)
{
	int64_t now_ms = loop_now_ms(contents->loop);
	struct content_asked *place = &contents->asked[0];

	for (size_t i = 0; i < CONTENTS_ASKED; i++) {
		struct content_asked *each = &contents->asked[i];

		if (strcmp(each->digest, digest) == 0) {
			each->last_ms = now_ms;
			return each->first_ms;
		}
		if (each->last_ms < place->last_ms)
			place = each;
	}
	*place = (struct content_asked){.first_ms = now_ms, .last_ms = now_ms};
	(void)text_copy(place->digest, sizeof(place->digest), digest);
	return now_ms;
}

bool contents_coming(struct contents *contents, const char *digest)
{
	const struct content_lack *lack = contents_lack(contents, digest);
	int64_t first_ms;

	if (!contents_copies(contents) || !contents_is_digest(digest))
		return false;
	first_ms = contents_ask(contents, digest);
	return (lack && lack->url[0]) || contents->answered_ms < first_ms + CONTENTS_NEWS_MS;
}

/* --- life --- */

int contents_new(struct loop *loop, const struct contents_options *options, struct contents **ret)
{
	struct contents *contents = calloc(1, sizeof(*contents));
	char address[IPV4_TEXT_SIZE];
	int rc;

	if (!contents)
		return -ENOMEM;
	contents->loop = loop;
	contents->options = *options;
	contents->lines = (struct log_limit){.burst = 10, .per_minute = 10};
	atomic_init(&contents->stop, false);
	(void)gethostname(contents->host, sizeof(contents->host) - 1);
	if (options->address && options->tls_files)
		(void)text_format(contents->url, sizeof(contents->url), "https://%s:%u",
				  ipv4_text(options->address, address), options->https_port);
	rc = loop_timer_new(loop, contents_due, contents, &contents->timer);
	if (rc == 0)
		rc = worker_new(loop, 2, 4, &contents->worker); /* a look, a copy */
	if (rc) {
		contents_free(contents);
		return rc;
	}
	loop_timer_arm(contents->timer, 0);
	*ret = contents;
	return 0;
}

void contents_free(struct contents *contents)
{
	if (!contents)
		return;
	atomic_store(&contents->stop, true);
	worker_free(contents->worker);
	loop_timer_free(contents->timer);
	contents_forget_gone(&contents->gone, &contents->gone_count);
	free(contents->lacks);
	free(contents);
}
