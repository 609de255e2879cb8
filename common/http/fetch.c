#include "common/http/fetch.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"

LEAKS_LEFT_TO_SANITIZER

enum { CONNECTIONS = 1024, PER_PEER = 2, DRAIN_MS = 3000 };
#define PIN_PREFIX "sha256//"

struct fetcher {
	struct loop *loop;
	CURLM *multi;
	struct loop_timer *timer;
	struct fetch *running;
	unsigned count;
	char *ca_file;
	uint32_t drain_ms;
	bool closed; /* the drain is over: nothing begins any more */
};

struct fetch {
	struct fetcher *fetcher;
	CURL *easy;
	struct curl_slist *headers;
	struct text body;
	size_t limit;
	bool too_large, keep;
	struct fence *fence;
	char peer[96];
	char shown_pin[FETCH_PIN_SIZE]; /* what the peer's key is, when another was expected */
	char error[CURL_ERROR_SIZE];
	bool (*may_connect)(void *context, const struct sockaddr *address);
	void *may_connect_context;
	char refused[INET6_ADDRSTRLEN]; /* the last address that may not be connected to */
	fetch_fn fn;
	void *context;
	struct fetch *prev, *next;
};

/* A socket of libcurl's on our loop. */
struct socket_watch {
	struct fetcher *fetcher;
	int fd;
	struct loop_watch *watch;
};

/* --- ends of requests --- */

static const struct {
	CURLcode theirs;
	int ours;
	const char *text;
	const char *hint;
} failure_table[] = {
	{CURLE_OPERATION_TIMEDOUT, E_TIMEOUT, "did not answer in time", NULL},
	{CURLE_COULDNT_CONNECT, E_TIMEOUT, "cannot be reached",
	 "look at its power, cable, address and port"},
	{CURLE_COULDNT_RESOLVE_HOST, E_TIMEOUT, "has a name that is not known", NULL},
	{CURLE_GOT_NOTHING, E_TIMEOUT, "closed the connection without an answer", NULL},
	{CURLE_SEND_ERROR, E_TIMEOUT, "closed the connection", NULL},
	{CURLE_RECV_ERROR, E_TIMEOUT, "closed the connection", NULL},
	{CURLE_PARTIAL_FILE, E_PROTOCOL, "ended in the middle of its answer", NULL},
	{CURLE_SSL_CONNECT_ERROR, E_PROTOCOL, "does not speak our versions of TLS",
	 "is it plain HTTP, or a TLS older than 1.2?"},
	{CURLE_PEER_FAILED_VERIFICATION, E_PROTOCOL, "shows a certificate that is not trusted",
	 "set its fingerprint, or put its issuer into the CA file"},
	{CURLE_SSL_PINNEDPUBKEYNOTMATCH, E_PROTOCOL, "shows another key than its fingerprint says",
	 "if its certificate was renewed on purpose, set the new fingerprint"},
	{CURLE_ABORTED_BY_CALLBACK, E_LAPSED, "was not asked: the claim ran out", NULL},
	{CURLE_SSL_CACERT_BADFILE, E_PROTOCOL, "cannot be verified: the CA file is unreadable",
	 NULL},
};

static int http_fetch_explain(const struct fetch *fetch, CURLcode result, struct problem *ret)
{
	static const char other[] = "did not answer as HTTP";
	const char *text = other;
	const char *hint = NULL;
	int code = E_PROTOCOL;

	for (size_t i = 0; i < COUNT_OF(failure_table); i++) {
		if (failure_table[i].theirs != result)
			continue;
		code = failure_table[i].ours;
		text = failure_table[i].text;
		hint = failure_table[i].hint;
	}
	if (fetch->too_large) {
		code = E_LIMIT;
		text = "sends too large an answer";
		hint = NULL;
	}
	if (fetch->refused[0] && result == CURLE_COULDNT_CONNECT) {
		(void)problem_set(ret, E_DENIED, "%s is at an address that is closed to us",
				  fetch->peer);
		problem_detail(ret, "%s", fetch->refused);
		return E_DENIED;
	}
	(void)problem_set(ret, code, "%s %s", fetch->peer, text);
	if (fetch->too_large)
		problem_detail(ret, "more than %zu bytes", fetch->limit);
	else if (result == CURLE_SSL_PINNEDPUBKEYNOTMATCH && fetch->shown_pin[0])
		problem_detail(ret, "its key is %s", fetch->shown_pin);
	else
		problem_detail(ret, "%s",
			       fetch->error[0] ? fetch->error : curl_easy_strerror(result));
	if (hint)
		problem_hint(ret, "%s", hint);
	return code;
}

static void http_fetch_free(struct fetch *fetch)
{
	struct fetcher *fetcher = fetch->fetcher;

	DL_DELETE(fetcher->running, fetch);
	fetcher->count--;
	(void)curl_multi_remove_handle(fetcher->multi, fetch->easy);
	curl_easy_cleanup(fetch->easy);
	curl_slist_free_all(fetch->headers);
	text_done(&fetch->body);
	fence_unref(fetch->fence);
	free(fetch);
}

static void fetch_ended(struct fetch *fetch, CURLcode result)
{
	struct fetch_answer answer = {
		.body = text_get(&fetch->body), .size = fetch->body.size, .fetch = fetch};
	struct problem problem = {0};
	long status = 0;
	int rc = 0;

	(void)curl_easy_getinfo(fetch->easy, CURLINFO_RESPONSE_CODE, &status);
	answer.status = (int)status;
	if (fetch->body.failed)
		rc = problem_set(&problem, -ENOMEM, "no memory for an answer");
	else if (result != CURLE_OK)
		rc = http_fetch_explain(fetch, result, &problem);
	if (fetch->fn)
		fetch->fn(fetch->context, rc, rc ? NULL : &answer, rc ? &problem : NULL);
	http_fetch_free(fetch);
}

static void hear_ends(struct fetcher *fetcher)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(fetcher->multi, &left))) {
		CURLcode result = message->data.result;
		char *fetch = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &fetch);
		fetch_ended((struct fetch *)(void *)fetch, result);
	}
}

/* --- libcurl on the loop --- */

static void http_fetch_on_ready(void *context, int events)
{
	struct socket_watch *watch = context;
	struct fetcher *fetcher = watch->fetcher;
	int what = (events & LOOP_READ ? CURL_CSELECT_IN : 0) |
		   (events & LOOP_WRITE ? CURL_CSELECT_OUT : 0);
	int running;

	(void)curl_multi_socket_action(fetcher->multi, watch->fd, what, &running);
	hear_ends(fetcher);
}

static void http_fetch_on_timer(void *context)
{
	struct fetcher *fetcher = context;
	int running;

	(void)curl_multi_socket_action(fetcher->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	hear_ends(fetcher);
}

static int set_timer(CURLM *multi, long after_ms, void *context)
{
	struct fetcher *fetcher = context;

	(void)multi;
	if (after_ms < 0)
		loop_timer_disarm(fetcher->timer);
	else
		loop_timer_arm(fetcher->timer, after_ms);
	return 0;
}

static int set_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *socket_context)
{
	static const int events[] = {
		[CURL_POLL_NONE] = 0,
		[CURL_POLL_IN] = LOOP_READ,
		[CURL_POLL_OUT] = LOOP_WRITE,
		[CURL_POLL_INOUT] = LOOP_READ | LOOP_WRITE,
	};
	struct fetcher *fetcher = context;
	struct socket_watch *watch = socket_context;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (watch)
			loop_watch_free(watch->watch);
		free(watch);
		return 0;
	}
	if (watch) {
		loop_watch_set(watch->watch, events[what]);
		return 0;
	}
	watch = calloc(1, sizeof(*watch));
	if (!watch)
		return -1;
	*watch = (struct socket_watch){.fetcher = fetcher, .fd = fd};
	if (loop_watch_new(fetcher->loop, fd, events[what], http_fetch_on_ready, watch,
			   &watch->watch) != 0) {
		free(watch);
		return -1;
	}
	(void)curl_multi_assign(fetcher->multi, fd, watch);
	return 0;
}

static curl_socket_t http_fetch_open_socket(void *context, curlsocktype purpose,
					    struct curl_sockaddr *address)
{
	struct fetch *fetch = context;
	const void *at =
		address->family == AF_INET
			? (const void *)&((const struct sockaddr_in *)(const void *)&address->addr)
				  ->sin_addr
			: (const void *)&((const struct sockaddr_in6 *)(const void *)&address->addr)
				  ->sin6_addr;

	(void)purpose;
	if (fetch->may_connect && !fetch->may_connect(fetch->may_connect_context, &address->addr)) {
		if (!inet_ntop(address->family, at, fetch->refused, sizeof(fetch->refused)))
			(void)text_copy(fetch->refused, sizeof(fetch->refused), "?");
		return CURL_SOCKET_BAD;
	}
	return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* --- life of the fetcher --- */

int fetcher_new(struct loop *loop, const struct fetcher_options *options, struct fetcher **ret)
{
	struct fetcher *fetcher;
	int rc;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return -ENOMEM;
	fetcher = calloc(1, sizeof(*fetcher));
	if (!fetcher) {
		curl_global_cleanup();
		return -ENOMEM;
	}
	fetcher->loop = loop;
	fetcher->drain_ms = options->drain_ms ? options->drain_ms : DRAIN_MS;
	fetcher->multi = curl_multi_init();
	fetcher->ca_file =
		options->ca_file && options->ca_file[0] ? strdup(options->ca_file) : NULL;
	rc = loop_timer_new(loop, http_fetch_on_timer, fetcher, &fetcher->timer);
	if (rc || !fetcher->multi ||
	    (options->ca_file && options->ca_file[0] && !fetcher->ca_file)) {
		fetcher_free(fetcher);
		return rc ? rc : -ENOMEM;
	}
	(void)curl_multi_setopt(fetcher->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
	(void)curl_multi_setopt(fetcher->multi, CURLMOPT_SOCKETDATA, fetcher);
	(void)curl_multi_setopt(fetcher->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	(void)curl_multi_setopt(fetcher->multi, CURLMOPT_TIMERDATA, fetcher);
	(void)curl_multi_setopt(fetcher->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
	(void)curl_multi_setopt(fetcher->multi, CURLMOPT_MAXCONNECTS,
				(long)(options->connections ? options->connections : CONNECTIONS));
	(void)curl_multi_setopt(fetcher->multi, CURLMOPT_MAX_HOST_CONNECTIONS,
				(long)(options->per_peer ? options->per_peer : PER_PEER));
	*ret = fetcher;
	return 0;
}

/* Sessions that were just ended are told so before we go; the loop does not run any more. */
static void http_fetch_drain(struct fetcher *fetcher)
{
	int64_t end_ms = clock_monotonic_ms() + fetcher->drain_ms;
	int64_t left_ms;
	int running = 1;

	while (fetcher->running && (left_ms = end_ms - clock_monotonic_ms()) > 0) {
		if (curl_multi_perform(fetcher->multi, &running) != CURLM_OK)
			return;
		hear_ends(fetcher);
		if (fetcher->running)
			(void)curl_multi_poll(fetcher->multi, NULL, 0,
					      left_ms < 100 ? (int)left_ms : 100, NULL);
	}
}

void fetcher_free(struct fetcher *fetcher)
{
	struct fetch *fetch = NULL;
	struct fetch *next = NULL;

	if (!fetcher)
		return;
	DL_FOREACH_SAFE(fetcher->running, fetch, next)
	{
		if (fetch->fn && !fetch->keep)
			http_fetch_free(fetch);
	}
	if (fetcher->multi)
		http_fetch_drain(fetcher);
	fetcher->closed = true;
	while (fetcher->running) /* an owner that hears of an end may begin another */
		fetch_ended(fetcher->running, CURLE_OPERATION_TIMEDOUT);
	if (fetcher->multi)
		(void)curl_multi_cleanup(fetcher->multi);
	loop_timer_free(fetcher->timer);
	free(fetcher->ca_file);
	free(fetcher);
	curl_global_cleanup();
}

/* --- requests --- */

static size_t http_fetch_take_body(char *bytes, size_t size, size_t count, void *context)
{
	struct fetch *fetch = context;
	size_t more = size * count;

	if (more > fetch->limit - fetch->body.size) {
		fetch->too_large = true;
		return 0; /* libcurl ends the transfer */
	}
	text_add_bytes(&fetch->body, bytes, more);
	return fetch->body.failed ? 0 : more;
}

/* The one line that a person needs when a pin does not fit. Bytes of requests go by here, too, and
 * are not looked at. */
static int hear_pin(CURL *easy, curl_infotype kind, char *bytes, size_t size, void *context)
{
	static const char before[] = "public key hash: ";
	struct fetch *fetch = context;
	const char *at;

	(void)easy;
	if (kind != CURLINFO_TEXT)
		return 0;
	at = memmem(bytes, size, before, sizeof(before) - 1);
	if (at)
		(void)text_format(fetch->shown_pin, sizeof(fetch->shown_pin), "%.*s",
				  (int)(size - (size_t)(at - bytes) - (sizeof(before) - 1)),
				  at + sizeof(before) - 1);
	fetch->shown_pin[strcspn(fetch->shown_pin, "\r\n")] = '\0';
	return 0;
}

bool fetch_pin_is_valid(const char *pin)
{
	unsigned char key[33];
	size_t size = 0;

	return strlen(pin) == FETCH_PIN_SIZE - 1 &&
	       strncmp(pin, PIN_PREFIX, strlen(PIN_PREFIX)) == 0 &&
	       sodium_base642bin(key, sizeof(key), pin + strlen(PIN_PREFIX),
				 strlen(pin) - strlen(PIN_PREFIX), NULL, &size, NULL,
				 sodium_base64_VARIANT_ORIGINAL) == 0 &&
	       size == 32;
}

/* The connection is made, nothing is sent yet. libcurl asks again when it sends again. */
// NOLINTNEXTLINE(readability-non-const-parameter): the type is libcurl's
static int http_fetch_may_send(void *context, char *theirs, char *ours, int port, int our_port)
{
	const struct fetch *fetch = context;

	(void)theirs;
	(void)ours;
	(void)port;
	(void)our_port;
	return fence_holds(fetch->fence) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

static void set_tls(struct fetch *fetch, const struct fetch_request *request)
{
	bool pinned = request->pin && request->pin[0];
	long verify = !pinned && !request->unverified;

	(void)curl_easy_setopt(fetch->easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	(void)curl_easy_setopt(fetch->easy, CURLOPT_SSL_VERIFYPEER, verify);
	(void)curl_easy_setopt(fetch->easy, CURLOPT_SSL_VERIFYHOST, verify ? 2L : 0L);
	if (fetch->fetcher->ca_file)
		(void)curl_easy_setopt(fetch->easy, CURLOPT_CAINFO, fetch->fetcher->ca_file);
	if (!pinned)
		return;
	(void)curl_easy_setopt(fetch->easy, CURLOPT_PINNEDPUBLICKEY, request->pin);
	(void)curl_easy_setopt(fetch->easy, CURLOPT_VERBOSE, 1L);
	(void)curl_easy_setopt(fetch->easy, CURLOPT_DEBUGFUNCTION, hear_pin);
	(void)curl_easy_setopt(fetch->easy, CURLOPT_DEBUGDATA, fetch);
}

static int add_header(struct fetch *fetch, const char *line)
{
	struct curl_slist *list = curl_slist_append(fetch->headers, line);

	if (!list)
		return -ENOMEM;
	fetch->headers = list;
	return 0;
}

static int set_headers(struct fetch *fetch, const struct fetch_request *request)
{
	int rc = add_header(fetch, "Expect:"); /* BMCs do not know 100-continue */

	for (const char *const *line = request->headers; line && *line && rc == 0; line++)
		rc = add_header(fetch, *line);
	if (rc == 0 &&
	    curl_easy_setopt(fetch->easy, CURLOPT_HTTPHEADER, fetch->headers) != CURLE_OK)
		rc = -ENOMEM;
	return rc;
}

static int set_body(struct fetch *fetch, const struct fetch_request *request)
{
	if (!request->body)
		return 0;
	(void)curl_easy_setopt(fetch->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->size);
	return curl_easy_setopt(fetch->easy, CURLOPT_COPYPOSTFIELDS, request->body) == CURLE_OK
		       ? 0
		       : -ENOMEM;
}

static int set_up(struct fetch *fetch, const struct fetch_request *request)
{
	CURL *easy = fetch->easy;
	uint32_t deadline_ms = request->deadline_ms ? request->deadline_ms : FETCH_DEADLINE_MS;

	if (curl_easy_setopt(easy, CURLOPT_URL, request->url) != CURLE_OK ||
	    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method) != CURLE_OK)
		return -ENOMEM;
	(void)curl_easy_setopt(easy, CURLOPT_PRIVATE, fetch);
	(void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	(void)curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* whatever the environment says */
	(void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, http_fetch_open_socket);
	(void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, fetch);
	/* A connection that is open already would not be asked about. */
	(void)curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, request->may_connect ? 1L : 0L);
	(void)curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, request->may_connect ? 1L : 0L);
	(void)curl_easy_setopt(
		easy, CURLOPT_CONNECTTIMEOUT_MS,
		(long)(deadline_ms < FETCH_CONNECT_MS ? deadline_ms : FETCH_CONNECT_MS));
	(void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)deadline_ms);
	(void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, fetch->error);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, http_fetch_take_body);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, fetch);
	if (request->username) {
		(void)curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
		if (curl_easy_setopt(easy, CURLOPT_USERNAME, request->username) != CURLE_OK ||
		    curl_easy_setopt(easy, CURLOPT_PASSWORD,
				     request->password ? request->password : "") != CURLE_OK)
			return -ENOMEM;
	}
	if (fetch->fence) {
		(void)curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, http_fetch_may_send);
		(void)curl_easy_setopt(easy, CURLOPT_PREREQDATA, fetch);
	}
	set_tls(fetch, request);
	return 0;
}

int fetch_start(struct fetcher *fetcher, const struct fetch_request *request, fetch_fn fn,
		void *context, struct fetch **ret)
{
	struct fetch *fetch;
	int rc;

	if ((strncmp(request->url, "http://", 7) != 0 &&
	     strncmp(request->url, "https://", 8) != 0) ||
	    (request->pin && request->pin[0] && !fetch_pin_is_valid(request->pin)))
		return -EINVAL;
	fetch = calloc(1, sizeof(*fetch));
	if (!fetch)
		return -ENOMEM;
	fetch->fetcher = fetcher;
	fetch->keep = request->keep;
	fetch->fence = fence_ref(request->fence);
	fetch->may_connect = request->may_connect;
	fetch->may_connect_context = request->may_connect_context;
	(void)text_copy(fetch->peer, sizeof(fetch->peer),
			request->peer ? request->peer : "the peer");
	fetch->fn = fn;
	fetch->context = context;
	fetch->limit = request->answer_limit ? request->answer_limit : FETCH_ANSWER_LIMIT;
	fetch->easy = curl_easy_init();
	rc = fetch->easy && !fetcher->closed ? set_up(fetch, request) : -ENOMEM;
	if (rc == 0)
		rc = set_body(fetch, request);
	if (rc == 0)
		rc = set_headers(fetch, request);
	DL_APPEND(fetcher->running, fetch);
	fetcher->count++;
	if (rc == 0 && curl_multi_add_handle(fetcher->multi, fetch->easy) != CURLM_OK)
		rc = -ENOMEM;
	if (rc) {
		http_fetch_free(fetch);
		return rc;
	}
	if (fn)
		*ret = fetch;
	return 0;
}

void fetch_cancel(struct fetch *fetch)
{
	if (fetch)
		http_fetch_free(fetch);
}

const char *fetch_header(const struct fetch_answer *answer, const char *name)
{
	struct curl_header *header = NULL;

	if (curl_easy_header(answer->fetch->easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
		return NULL;
	return header->value;
}
