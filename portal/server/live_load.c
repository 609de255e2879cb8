#include "portal/server/live_load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/http/client.h"
#include "common/http/json_reader.h"

#include "portal/server/looker_book.h"
#include "portal/server/word_table.h"

#define ASK_MS      1000
#define TIMEOUT_MS  2000
#define WINDOW_TEXT "5" /* seconds */
#define LIMIT       ((size_t)8 << 20)
#define LINKS_MAX   512 /* the busiest */

struct live_load {
	struct portal *portal;
	struct value_book *book;
	loop_fn changed;
	void *context;
	struct http_client *client;
	struct http_call *call;
	struct looker_book lookers;
	char asked[LOOKER_BOOK_ID_SIZE]; /* whose answer comes next */
	int64_t asked_ms;
};

struct link_load {
	char name[160];
	double bytes;
};

int live_load_new(struct portal *portal, struct value_book *book, loop_fn changed, void *context,
		  struct live_load **ret)
{
	struct live_load *load = calloc(1, sizeof(*load));
	char url[256];
	int rc = load ? 0 : -ENOMEM;

	if (rc == 0 && !text_format(url, sizeof(url), "unix:%s", portal->conf->flowd_socket))
		rc = -ENAMETOOLONG;
	if (rc == 0)
		rc = http_client_new(portal->loop, url, &load->client);
	if (rc != 0) {
		free(load);
		return rc;
	}
	load->portal = portal;
	load->book = book;
	load->changed = changed;
	load->context = context;
	*ret = load;
	return 0;
}

void live_load_free(struct live_load *load)
{
	if (!load)
		return;
	if (load->call)
		http_call_cancel(load->call);
	http_client_free(load->client);
	free(load);
}

/* --- an answer --- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct link_load *)a)->name, ((const struct link_load *)b)->name);
}

static int by_bytes(const void *a, const void *b)
{
	double left = ((const struct link_load *)a)->bytes;
	double right = ((const struct link_load *)b)->bytes;

	return (left < right) - (left > right);
}

/* Rows of all minutes; their number. *ret is NULL without any. */
static size_t gather_links(const json_t *minutes, struct link_load **ret, double *ret_seconds)
{
	struct link_load *links = NULL;
	size_t count = 0;
	size_t room = 0;
	size_t i;
	json_t *minute;

	*ret_seconds = 0;
	json_array_foreach(minutes, i, minute) room +=
		json_array_size(json_object_get(minute, "rows"));
	links = room > 0 ? calloc(room, sizeof(*links)) : NULL;
	json_array_foreach(minutes, i, minute)
	{
		size_t j;
		json_t *row;

		*ret_seconds += json_number_value(json_object_get(minute, "seconds"));
		json_array_foreach(json_object_get(minute, "rows"), j, row)
		{
			const char *name = json_string_value(json_object_get(row, "k1"));
			const char *port = json_string_value(json_object_get(row, "k2"));
			struct link_load *link = links && count < room ? &links[count] : NULL;

			if (!link || !name || !port ||
			    !text_format(link->name, sizeof(link->name), "%s:%s", name, port))
				continue;
			link->bytes = json_number_value(json_object_get(row, "bytes"));
			count++;
		}
	}
	*ret = links;
	return count;
}

/* One row a link, the busiest first. */
static size_t live_load_join(struct link_load *links, size_t count)
{
	size_t joined = 0;

	if (count == 0)
		return 0;
	qsort(links, count, sizeof(*links), by_name);
	for (size_t i = 0; i < count; i++) {
		if (joined > 0 && strcmp(links[joined - 1].name, links[i].name) == 0)
			links[joined - 1].bytes += links[i].bytes;
		else
			links[joined++] = links[i];
	}
	qsort(links, joined, sizeof(*links), by_bytes);
	return joined;
}

/* Two digits: what is about the same is not told again. */
static int64_t live_load_rounded(double value)
{
	double unit = 1;

	while (value / unit >= 100)
		unit *= 10;
	return (int64_t)((double)(int64_t)(value / unit + 0.5) * unit);
}

static void live_load_put(struct live_load *load, const char *name, const struct text *body)
{
	const struct value_row row = {.kind = "load",
				      .name = name,
				      .tenant = load->asked,
				      .site = load->asked[0] == '\0',
				      .body = text_get(body)};

	if (!body->failed)
		(void)!value_book_put(load->book, &row, 0);
}

static void live_load_put_links(struct live_load *load, const json_t *answer)
{
	struct link_load *links;
	double seconds;
	size_t count = gather_links(json_object_get(answer, "minutes"), &links, &seconds);
	struct text body = {0};

	count = links ? live_load_join(links, count) : 0;
	for (size_t i = 0; i < count && i < LINKS_MAX && seconds > 0; i++) {
		text_clear(&body);
		json_begin_object(&body, NULL);
		json_put_int(&body, "bits_per_second",
			     live_load_rounded(links[i].bytes * 8 / seconds));
		json_end_object(&body);
		live_load_put(load, links[i].name, &body);
	}
	text_done(&body);
	free(links);
}

/* Nobody of it looks any more: to a reader that comes back its values are gone, and then all anew. */
static void live_load_drop(struct live_load *load, const char *tenant)
{
	value_book_begin(load->book);
	value_book_sweep(load->book, "load", tenant);
}

/* Links of an answer, and under no name whether there was one. */
static void live_load_tell(struct live_load *load, const json_t *answer, const char *problem)
{
	struct text body = {0};

	value_book_begin(load->book);
	if (answer)
		live_load_put_links(load, answer);
	json_begin_object(&body, NULL);
	if (problem)
		json_put_string(&body, "problem", problem);
	else
		json_put_null(&body, "problem");
	json_end_object(&body);
	live_load_put(load, "", &body);
	text_done(&body);
	value_book_sweep(load->book, "load", load->asked);
	if (!looker_book_hold(&load->lookers, load->asked))
		live_load_drop(load, load->asked);
	load->changed(load->context);
}

static void live_load_on_done(void *context, int rc, const struct http_response *response,
			      const struct problem *problem)
{
	struct live_load *load = context;
	CLEANUP(json_decrefp) json_t *answer = NULL;
	struct problem unread = {0};

	(void)problem;
	load->call = NULL;
	if (rc == 0 && response->status == 200 && response->body &&
	    json_read(response->body, response->size, LIMIT, &answer, &unread) == 0)
		live_load_tell(load, answer, NULL);
	else
		live_load_tell(load, NULL,
			       rc == 0 ? "peregrine-flowd refused"
				       : "peregrine-flowd does not answer");
}

/* --- whose turn it is --- */

static void live_load_ask(struct live_load *load)
{
	char target[96];
	struct http_call_options options = {.method = "GET",
					    .target = target,
					    .timeout_ms = TIMEOUT_MS,
					    .response_limit = LIMIT,
					    .on_done = live_load_on_done,
					    .context = load};
	bool site = load->asked[0] == '\0';

	(void)text_format(target, sizeof(target), "/drill?window=" WINDOW_TEXT "&path=%s%s",
			  site ? "" : "&scope=", load->asked);
	if (http_client_call(load->client, &options, &load->call) != 0) {
		load->call = NULL;
		live_load_tell(load, NULL, "peregrine-flowd cannot be reached");
	}
}

void live_load_look(struct live_load *load, const char *tenant)
{
	int64_t now_ms = loop_now_ms(load->portal->loop);
	char left[LOOKER_BOOK_ID_SIZE];
	const char *next;

	while (looker_book_leave(&load->lookers, now_ms, left))
		live_load_drop(load, left);
	(void)looker_book_look(&load->lookers, tenant, now_ms);
	if (load->call || now_ms - load->asked_ms < ASK_MS)
		return;
	next = looker_book_next(&load->lookers, now_ms);
	if (!next)
		return;
	memcpy(load->asked, next, sizeof(load->asked));
	load->asked_ms = now_ms;
	live_load_ask(load);
}
