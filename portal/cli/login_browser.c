#include "portal/cli/login_browser.h"

#include <fcntl.h>
#include <sodium.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/http/server.h"

#define BROWSER_WAIT_MS  300000
#define BROWSER_TEXT_MAX 300
#define LOOPBACK         0x7f000001U

/* One login: what came, and who waits for it. */
struct login_browser_wait {
	struct haasctl *haasctl;
	struct login_browser *login;
	char challenge[LOGIN_BROWSER_WORD];
	char error[BROWSER_TEXT_MAX], hint[BROWSER_TEXT_MAX]; /* "" = none came */
	bool came, late;
};

static void login_browser_words(struct login_browser_wait *wait)
{
	uint8_t bytes[32];

	randombytes_buf(bytes, sizeof(bytes));
	(void)sodium_bin2base64(wait->login->verifier, LOGIN_BROWSER_WORD, bytes, sizeof(bytes),
				sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	(void)crypto_hash_sha256(bytes, (const unsigned char *)wait->login->verifier,
				 strlen(wait->login->verifier));
	(void)sodium_bin2base64(wait->challenge, LOGIN_BROWSER_WORD, bytes, sizeof(bytes),
				sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(bytes, sizeof(bytes));
}

/* Text of a browser: anybody on this machine may have sent it. */
static void login_browser_keep(char ret[BROWSER_TEXT_MAX], const char *text)
{
	(void)text_copy(ret, BROWSER_TEXT_MAX, text);
	text_blank_controls(ret, strlen(ret));
}

static void login_browser_on_request(void *context, struct http_request *request)
{
	static const char done[] = "The login goes on in the terminal. You can close this page.\n";
	struct login_browser_wait *wait = context;
	const char *path = http_request_param(request, "challenge");
	const char *code = http_request_query(request, "code");
	const char *error = http_request_query(request, "error");
	const char *hint = http_request_query(request, "hint");

	if (wait->came || !path || strcmp(path, wait->challenge) != 0 || (!code && !error)) {
		http_answer(request, 404, "text/plain", "no\n", 3);
		return;
	}
	if (!code || !context_secret_is_good(code) ||
	    !text_copy(wait->login->code, sizeof(wait->login->code), code)) {
		login_browser_keep(wait->error, error ? error : "the server has sent no code");
		login_browser_keep(wait->hint, hint ? hint : "");
	}
	wait->came = true;
	http_answer_header(request, "Cache-Control", "no-store");
	http_answer_header(request, "Connection", "close");
	http_answer(request, 200, "text/plain", done, sizeof(done) - 1);
}

static void login_browser_on_answered(void *context, const struct http_request *request, int status,
				      int64_t elapsed_us)
{
	struct login_browser_wait *wait = context;

	(void)request;
	(void)status;
	(void)elapsed_us;
	if (wait->came)
		loop_stop(haasctl_loop(wait->haasctl));
}

static void login_browser_on_late(void *context)
{
	struct login_browser_wait *wait = context;

	wait->late = true;
	loop_stop(haasctl_loop(wait->haasctl));
}

/* BROWSER, or xdg-open where there is a desktop. None is no failure: the address is shown. */
static void login_browser_open(const char *url)
{
	static char usual[] = "xdg-open";
	CLEANUP(freep) char *where = strdup(url);
	char *browser = getenv("BROWSER");
	bool desktop = getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
	bool named = browser && browser[0];
	char *argv[] = {named ? browser : usual, where, NULL};
	posix_spawn_file_actions_t actions;
	pid_t child;

	if (!where || (!named && !desktop))
		return;
	if (posix_spawn_file_actions_init(&actions) != 0)
		return;
	(void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, 0, 1);
	(void)posix_spawn_file_actions_adddup2(&actions, 0, 2);
	(void)posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
}

static int login_browser_wait(struct login_browser_wait *wait)
{
	struct loop_timer *timer = NULL;
	struct problem problem;

	if (loop_timer_new(haasctl_loop(wait->haasctl), login_browser_on_late, wait, &timer) == 0)
		loop_timer_arm(timer, BROWSER_WAIT_MS);
	while (!wait->came && !wait->late && !haasctl_interrupted(wait->haasctl))
		loop_run(haasctl_loop(wait->haasctl));
	loop_timer_free(timer);
	if (haasctl_interrupted(wait->haasctl))
		return EXIT_INTERRUPTED;
	if (wait->came && wait->error[0] == '\0')
		return EXIT_OK;
	(void)problem_set(&problem, E_DENIED, "%s",
			  wait->came ? wait->error : "no browser has come within five minutes");
	problem_hint(&problem, "%s", wait->came ? wait->hint : "begin it again");
	haasctl_problem(&problem);
	return EXIT_DENIED;
}

/* The one that is asked for, or the only one. */
static int login_browser_provider(struct haasctl *haasctl, const struct command_input *input,
				  const char *wanted, char ret[64])
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	const json_t *items;
	int status;

	if (wanted)
		return text_copy(ret, 64, wanted) ? EXIT_OK
						  : haasctl_usage("--provider is too long");
	status = haasctl_call(haasctl, input,
			      &(struct haasctl_call){.method = "GET",
						     .target = "/login/providers",
						     .by_itself = true},
			      &reply);
	if (status != EXIT_OK)
		return status;
	items = json_object_get(reply.json, "items");
	if (json_array_size(items) == 0)
		return haasctl_usage("nobody logs in by a browser at this server");
	if (json_array_size(items) > 1)
		return haasctl_usage("this server has several; say --provider %s",
				     haasctl_word(json_array_get(items, 0), "name"));
	return text_copy(ret, 64, haasctl_word(json_array_get(items, 0), "name")) ? EXIT_OK
										  : EXIT_FAILED;
}

static int login_browser_serve(struct login_browser_wait *wait, const char *provider)
{
	static const struct http_route routes[] = {
		{HTTP_GET, "/{challenge}", login_browser_on_request},
	};
	CLEANUP(text_done) struct text url = {0};
	CLEANUP(text_done) struct text path = {0};
	struct http_server *server = NULL;
	struct problem problem = {0};
	int status = EXIT_FAILED;
	int rc = http_server_new(haasctl_loop(wait->haasctl),
				 &(struct http_server_options){.routes = routes,
							       .route_count = COUNT_OF(routes),
							       .context = wait,
							       .connection_limit = 16,
							       .after = login_browser_on_answered},
				 &server);

	if (rc == 0)
		rc = http_server_listen_tcp(server, LOOPBACK, 0, &problem);
	if (rc == 0) {
		haasctl_path(&path, "/login/oidc/", provider, "");
		text_addf(&url, "%s" HAASCTL_API "%s?challenge=%s&port=%u",
			  haasctl_context(wait->haasctl)->url, text_get(&path), wait->challenge,
			  http_server_port(server));
		fprintf(stderr, "Log in with the browser of this machine:\n%s\n", text_get(&url));
		login_browser_open(text_get(&url));
		status = login_browser_wait(wait);
	} else {
		haasctl_problem(&problem);
	}
	http_server_free(server);
	return status;
}

int login_browser_run(struct haasctl *haasctl, const struct command_input *input,
		      const char *provider, struct login_browser *ret)
{
	struct login_browser_wait wait = {.haasctl = haasctl, .login = ret};
	char name[64];
	int status = login_browser_provider(haasctl, input, provider, name);

	if (status != EXIT_OK)
		return status;
	login_browser_words(&wait);
	return login_browser_serve(&wait, name);
}
