#include "bampi/agent/boot_script.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/http/client.h"
#include "common/io/file.h"
#include "common/io/log.h"

#include "bampi/agent/boot_script_wire.h"
#include "bampi/agent/retry_policy.h"

#define BOOT_SCRIPT_SUBJECT "boot script"
#define ASK_TIMEOUT_MS      INT64_C(10000)
#define WAIT_MS             INT64_C(5000) /* as iPXE's script says */
#define GO_ON               (-1)

struct ask {
	struct loop *loop;
	struct options *options;
	struct http_client *client;
	struct loop_timer *timer;
	struct http_call *call;
	const char *target; /* "/boot/script?mac=.." */
	unsigned attempt;
	int status; /* of the program */
};

static void ask_end(struct ask *ask, int status)
{
	ask->status = status;
	loop_stop(ask->loop);
}

static void ask_later(struct ask *ask, int64_t delay_ms, const char *why)
{
	log_warn(BOOT_SCRIPT_SUBJECT, "%s: asking again in %lld ms (attempt=%u)", why,
		 (long long)delay_ms, ask->attempt + 1);
	ask->attempt++;
	loop_timer_arm(ask->timer, delay_ms);
}

/* An agent that is started again goes on with the same words: a boot asks once. */
static void ask_keep(const struct options *options)
{
	char path[300];
	char words[512];
	int rc = E_LIMIT;

	if (text_format(path, sizeof(path), "%s" OPTIONS_WORDS_PATH, options->root) &&
	    text_format(words, sizeof(words), "haas.url=%s haas.token=%s haas.mac=%s\n",
			options->url, options->token, options->mac))
		rc = file_write_atomic(path, words, strlen(words), 0600);
	sodium_memzero(words, sizeof(words));
	if (rc)
		log_warn(BOOT_SCRIPT_SUBJECT, "%s cannot be kept: %s", path, error_text(rc));
}

static void ask_decide(struct ask *ask, const struct boot_script *script)
{
	struct options *options = ask->options;

	switch (script->target) {
	case BOOT_SCRIPT_AGENT:
		(void)text_copy(options->url, sizeof(options->url), script->url);
		(void)text_copy(options->token, sizeof(options->token), script->token);
		(void)text_copy(options->mac, sizeof(options->mac), script->mac);
		ask_keep(options);
		ask_end(ask, GO_ON);
		return;
	case BOOT_SCRIPT_DISK:
		log_info(BOOT_SCRIPT_SUBJECT, "the node is to start its disk");
		ask_end(ask, BOOT_SCRIPT_EXIT_DISK);
		return;
	case BOOT_SCRIPT_STOP:
		log_info(BOOT_SCRIPT_SUBJECT, "there is nothing to start");
		ask_end(ask, BOOT_SCRIPT_EXIT_OFF);
		return;
	case BOOT_SCRIPT_WAIT: ask_later(ask, WAIT_MS, "the server does not know yet"); return;
	}
}

static void ask_done(void *context, int rc, const struct http_response *response,
		     const struct problem *problem)
{
	struct ask *ask = context;
	struct boot_script script = {0};
	int64_t delay_ms = retry_delay_ms(RETRY_AWAY, ask->attempt, randombytes_random());

	(void)problem;
	ask->call = NULL;
	if (rc) {
		ask_later(ask, delay_ms, error_text(rc));
		return;
	}
	if (response->status != 200) {
		ask_later(ask, delay_ms, "the server gives no script");
		return;
	}
	rc = boot_script_decode(response->body, response->size, &script);
	if (rc)
		ask_later(ask, WAIT_MS, "the script cannot be read");
	else
		ask_decide(ask, &script);
	sodium_memzero(&script, sizeof(script));
}

static void ask_send(void *context)
{
	struct ask *ask = context;
	struct http_call_options options = {
		.method = "GET",
		.target = ask->target,
		.timeout_ms = ASK_TIMEOUT_MS,
		.response_limit = BOOT_SCRIPT_LIMIT,
		.on_done = ask_done,
		.context = ask,
	};
	int rc = http_client_call(ask->client, &options, &ask->call);

	if (rc)
		ask_later(ask, WAIT_MS, error_text(rc));
}

/* "http://10.2.0.1:8080/boot/script?mac=.." -> its server, and what is asked there. */
static int boot_script_split(const char *url, char *server, size_t room, const char **ret_target)
{
	const char *host = strstr(url, "://");
	const char *path = host ? strchr(host + 3, '/') : NULL;

	if (!path)
		return E_MALFORMED;
	if (!text_format(server, room, "%.*s", (int)(path - url), url))
		return E_LIMIT;
	*ret_target = path;
	return 0;
}

int boot_script_ask(struct loop *loop, struct options *options, const struct tls *tls)
{
	struct ask ask = {.loop = loop, .options = options, .status = EXIT_FAILURE};
	char server[sizeof(options->script)];
	int rc = boot_script_split(options->script, server, sizeof(server), &ask.target);

	if (!rc)
		rc = http_client_new_tls(loop, server, tls, &ask.client);
	if (!rc)
		rc = loop_timer_new(loop, ask_send, &ask, &ask.timer);
	if (rc) {
		log_error(BOOT_SCRIPT_SUBJECT, "%s cannot be asked: %s", options->script,
			  error_text(rc));
	} else {
		ask_send(&ask);
		loop_run(loop);
	}
	if (ask.call)
		http_call_cancel(ask.call);
	loop_timer_free(ask.timer);
	http_client_free(ask.client);
	return ask.status;
}
