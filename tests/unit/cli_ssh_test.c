// links: peregrine_switch
/* The SSH stream against a server of libssh in another process: ways to log in, another host key, a
 * switch that ends the session, one that prints without end, no file descriptor left behind. */
#include <dirent.h>
#include <errno.h>
#include <libssh/libssh.h>
#include <libssh/server.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/loop.h"

#include "peregrine/switch/stream/switch_stream.h"
#include "tests/support/cmocka.h"

/* --- the server: one session, then it ends --- */

enum manner { PASSWORD, INTERACTIVE, NOTHING_ASKED, HANGS_UP, ENDLESS, REFUSES, OLD };

static bool answers_right(ssh_session session, ssh_message message)
{
	static const char *prompts[] = {"User:", "Password:"};
	static char echo[] = {1, 0};

	if (!ssh_message_auth_kbdint_is_response(message)) {
		ssh_message_auth_interactive_request(message, "", "", 2, prompts, echo);
		return false;
	}
	return ssh_userauth_kbdint_getnanswers(session) == 2 &&
	       strcmp(ssh_userauth_kbdint_getanswer(session, 0), "admin") == 0 &&
	       strcmp(ssh_userauth_kbdint_getanswer(session, 1), "geheim") == 0;
}

/* Deprecated in favour of callbacks, which would make this server twice as long. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static bool is_password(ssh_message message)
{
	return strcmp(ssh_message_auth_password(message), "geheim") == 0;
}
#pragma GCC diagnostic pop

static bool lets_in(ssh_session session, ssh_message message, enum manner manner)
{
	int way = ssh_message_subtype(message);

	if (manner == NOTHING_ASKED)
		return way == SSH_AUTH_METHOD_NONE;
	if (manner == INTERACTIVE)
		return way == SSH_AUTH_METHOD_INTERACTIVE && answers_right(session, message);
	return manner != REFUSES && way == SSH_AUTH_METHOD_PASSWORD &&
	       strcmp(ssh_message_auth_user(message), "admin") == 0 && is_password(message);
}

static bool log_in(ssh_session session, enum manner manner)
{
	for (ssh_message message; (message = ssh_message_get(session)); ssh_message_free(message)) {
		bool asked = ssh_message_type(message) == SSH_REQUEST_AUTH;

		if (asked && lets_in(session, message, manner)) {
			ssh_message_auth_reply_success(message, 0);
			ssh_message_free(message);
			return true;
		}
		if (asked && ssh_message_subtype(message) == SSH_AUTH_METHOD_INTERACTIVE &&
		    manner == INTERACTIVE && !ssh_message_auth_kbdint_is_response(message))
			continue; /* it was asked */
		if (asked)
			ssh_message_auth_set_methods(message, manner == INTERACTIVE
								      ? SSH_AUTH_METHOD_INTERACTIVE
								      : SSH_AUTH_METHOD_PASSWORD);
		ssh_message_reply_default(message);
	}
	return false;
}

static ssh_channel open_shell(ssh_session session)
{
	ssh_channel channel = NULL;

	for (ssh_message message; (message = ssh_message_get(session)); ssh_message_free(message)) {
		int type = ssh_message_type(message);
		int subtype = ssh_message_subtype(message);

		if (type == SSH_REQUEST_CHANNEL_OPEN) {
			channel = ssh_message_channel_request_open_reply_accept(message);
		} else if (type == SSH_REQUEST_CHANNEL && subtype == SSH_CHANNEL_REQUEST_PTY) {
			ssh_message_channel_request_reply_success(message);
		} else if (type == SSH_REQUEST_CHANNEL && subtype == SSH_CHANNEL_REQUEST_SHELL) {
			ssh_message_channel_request_reply_success(message);
			ssh_message_free(message);
			return channel;
		} else {
			ssh_message_reply_default(message);
		}
	}
	return NULL;
}

/* Greets, then repeats what it hears. */
static void talk(ssh_channel channel, enum manner manner)
{
	char bytes[1024];
	int got;

	ssh_channel_write(channel, "hello", 5);
	if (manner == HANGS_UP) {
		usleep(200000); /* libssh forgets what came together with the end */
		return;
	}
	memset(bytes, 'x', sizeof(bytes));
	while (manner == ENDLESS && ssh_channel_write(channel, bytes, sizeof(bytes)) > 0)
		;
	while ((got = ssh_channel_read(channel, bytes, sizeof(bytes), 0)) > 0)
		ssh_channel_write(channel, bytes, (uint32_t)got);
}

static void serve(ssh_bind bind, enum manner manner)
{
	ssh_session session = ssh_new();
	ssh_channel channel = NULL;

	alarm(120);
	if (ssh_bind_accept(bind, session) == SSH_OK &&
	    ssh_handle_key_exchange(session) == SSH_OK && log_in(session, manner))
		channel = open_shell(session);
	if (channel)
		talk(channel, manner);
	ssh_disconnect(session);
	_exit(0);
}

struct server {
	pid_t pid;
	uint16_t port;
	char host_key[80];
};

static struct server server_start(enum manner manner)
{
	struct server server = {.pid = -1};
	ssh_bind bind = ssh_bind_new();
	ssh_key key = NULL;
	unsigned char *hash = NULL;
	size_t size = 0;
	char *text;

	assert_int_equal(ssh_pki_generate(SSH_KEYTYPE_ED25519, 0, &key), SSH_OK);
	assert_int_equal(ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &size),
			 SSH_OK);
	text = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, size);
	text_copy(server.host_key, sizeof(server.host_key), text);
	ssh_string_free_char(text);
	ssh_clean_pubkey_hash(&hash);
	assert_int_equal(ssh_bind_options_set(bind, SSH_BIND_OPTIONS_BINDADDR, "127.0.0.1"), 0);
	assert_int_equal(ssh_bind_options_set(bind, SSH_BIND_OPTIONS_IMPORT_KEY, key), 0);
	if (manner == OLD) {
		assert_int_equal(ssh_bind_options_set(bind, SSH_BIND_OPTIONS_HMAC_C_S, "hmac-sha1"),
				 0);
		assert_int_equal(ssh_bind_options_set(bind, SSH_BIND_OPTIONS_HMAC_S_C, "hmac-sha1"),
				 0);
		assert_int_equal(
			ssh_bind_options_set(bind, SSH_BIND_OPTIONS_CIPHERS_C_S, "aes128-cbc"), 0);
		assert_int_equal(
			ssh_bind_options_set(bind, SSH_BIND_OPTIONS_CIPHERS_S_C, "aes128-cbc"), 0);
	}
	/* Several may be tested at once: the first port that is free. */
	for (unsigned port = 20000 + (unsigned)getpid() % 20000; !server.port; port++) {
		ssh_bind_options_set(bind, SSH_BIND_OPTIONS_BINDPORT, &port);
		if (ssh_bind_listen(bind) == SSH_OK)
			server.port = (uint16_t)port;
		assert_true(port < 65000);
	}
	server.pid = fork();
	assert_true(server.pid >= 0);
	if (server.pid == 0)
		serve(bind, manner);
	ssh_bind_free(bind);
	return server;
}

static void server_end(const struct server *server)
{
	kill(server->pid, SIGKILL);
	waitpid(server->pid, NULL, 0);
}

/* --- one stream --- */

struct heard {
	void *stream;
	bool opened, over;
	int rc;
	struct problem problem;
	struct text text;
	size_t bytes, close_at; /* closes itself from inside an event */
};

static void on_opened(void *context)
{
	((struct heard *)context)->opened = true;
}

static void on_data(void *context, const char *bytes, size_t size)
{
	struct heard *heard = context;

	heard->bytes += size;
	if (heard->text.size < 4096)
		text_add_bytes(&heard->text, bytes, size);
	if (heard->close_at && heard->bytes >= heard->close_at && heard->stream) {
		ssh_switch_stream.close(heard->stream);
		heard->stream = NULL;
	}
}

static void on_ended(void *context, int rc, const struct problem *problem)
{
	struct heard *heard = context;

	assert_false(heard->over);
	heard->over = true;
	heard->rc = rc;
	if (problem)
		heard->problem = *problem;
}

struct bench {
	struct loop *loop;
	struct server server;
	struct switch_endpoint endpoint;
	struct heard heard;
};

static size_t descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t count = 0;

	assert_non_null(dir);
	while (readdir(dir)) // NOLINT(concurrency-mt-unsafe)
		count++;
	closedir(dir);
	return count;
}

static void bench_begin(struct bench *bench, enum manner manner)
{
	*bench = (struct bench){.server = server_start(manner)};
	bench->endpoint = (struct switch_endpoint){
		.name = "leaf1",
		.address = "127.0.0.1",
		.ssh_user = "admin",
		.ssh_password = "geheim",
		.cli_port = bench->server.port,
	};
	text_copy(bench->endpoint.host_key, sizeof(bench->endpoint.host_key),
		  bench->server.host_key);
	assert_int_equal(loop_new(&bench->loop), 0);
}

static void bench_open(struct bench *bench)
{
	const struct switch_stream_events events = {on_opened, on_data, on_ended, &bench->heard};
	struct problem problem;

	assert_int_equal(ssh_switch_stream.open(bench->loop, &bench->endpoint, NULL, &events,
						&bench->heard.stream, &problem),
			 0);
}

static void bench_end(struct bench *bench)
{
	assert_null(strstr(bench->heard.problem.detail, "geheim"));
	ssh_switch_stream.close(bench->heard.stream);
	text_done(&bench->heard.text);
	loop_free(bench->loop);
	server_end(&bench->server);
}

/* Until the text ends so, or it is over. */
static void run_until(struct bench *bench, const char *end)
{
	int64_t limit = clock_monotonic_ms() + 60000;

	while (!bench->heard.over && bench->heard.stream &&
	       !strstr(text_get(&bench->heard.text), end)) {
		loop_run_once(bench->loop);
		assert_true(clock_monotonic_ms() < limit);
	}
}

static void test_ways_in(void **state)
{
	static const enum manner manners[] = {PASSWORD, INTERACTIVE, NOTHING_ASKED};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(manners); i++) {
		size_t before = descriptors();
		struct bench bench;

		bench_begin(&bench, manners[i]);
		bench_open(&bench);
		run_until(&bench, "hello");
		if (bench.heard.over)
			fail_msg("manner %zu: %s", i, bench.heard.problem.detail);
		assert_true(bench.heard.opened);
		assert_int_equal(ssh_switch_stream.write(bench.heard.stream, "and ", 4), 0);
		assert_int_equal(ssh_switch_stream.write(bench.heard.stream, "back\n", 5), 0);
		run_until(&bench, "and back\n");
		assert_false(bench.heard.over);
		bench_end(&bench);
		assert_int_equal(descriptors(), before);
	}
}

static void test_refused(void **state)
{
	struct bench bench;

	(void)state;
	bench_begin(&bench, REFUSES);
	bench_open(&bench);
	run_until(&bench, "never");
	assert_int_equal(bench.heard.rc, E_AUTHENTICATION);
	assert_non_null(strstr(bench.heard.problem.message, "refused the SSH user admin"));
	bench_end(&bench);

	bench_begin(&bench, INTERACTIVE);
	text_copy(bench.endpoint.ssh_password, sizeof(bench.endpoint.ssh_password), "falsch");
	bench_open(&bench);
	run_until(&bench, "never");
	assert_int_equal(bench.heard.rc, E_AUTHENTICATION);
	bench_end(&bench);
}

/* Nothing is sent to whom shows another key. */
static void test_host_keys(void **state)
{
	struct bench bench;

	(void)state;
	bench_begin(&bench, PASSWORD);
	text_copy(bench.endpoint.host_key, sizeof(bench.endpoint.host_key), "SHA256:other");
	bench_open(&bench);
	run_until(&bench, "never");
	assert_int_equal(bench.heard.rc, E_AUTHENTICATION);
	assert_non_null(strstr(bench.heard.problem.detail, bench.server.host_key));
	assert_false(bench.heard.opened);
	bench_end(&bench);

	bench_begin(&bench, PASSWORD);
	bench.endpoint.host_key[0] = '\0';
	bench_open(&bench);
	run_until(&bench, "never");
	assert_int_equal(bench.heard.rc, E_AUTHENTICATION);
	bench_end(&bench);

	/* "any" without one who keeps the key is no better. */
	bench_begin(&bench, PASSWORD);
	bench.endpoint.host_key[0] = '\0';
	bench.endpoint.host_key_any = true;
	bench_open(&bench);
	run_until(&bench, "never");
	assert_int_equal(bench.heard.rc, E_AUTHENTICATION);
	bench_end(&bench);
}

struct keeper {
	bool kept;
	unsigned asked;
	char key[80];
};

static bool keep_first(void *context, const struct switch_endpoint *endpoint, const char *key)
{
	struct keeper *keeper = context;

	assert_string_equal(endpoint->name, "leaf1");
	keeper->asked++;
	text_copy(keeper->key, sizeof(keeper->key), key);
	return keeper->kept;
}

/* The first key of a switch where any is taken: kept before a password is sent, and the only one
 * from then on. */
static void test_first_key(void **state)
{
	struct keeper keeper = {0};
	const struct switch_host_keys keys = {keep_first, &keeper};
	struct bench bench;

	(void)state;
	for (int kept = 0; kept < 2; kept++) {
		keeper = (struct keeper){.kept = kept};
		bench_begin(&bench, PASSWORD);
		bench.endpoint.host_key[0] = '\0';
		bench.endpoint.host_key_any = true;
		bench.endpoint.host_keys = &keys;
		bench_open(&bench);
		if (kept) {
			run_until(&bench, "hello");
		} else {
			while (!keeper.asked)
				loop_run_once(bench.loop);
		}
		assert_int_equal(keeper.asked, 1);
		assert_string_equal(keeper.key, bench.server.host_key);
		assert_int_equal(bench.heard.opened, kept);
		assert_false(bench.heard.over);
		bench_end(&bench);
	}

	/* Another one is nobody's first. */
	keeper = (struct keeper){.kept = true};
	bench_begin(&bench, PASSWORD);
	text_copy(bench.endpoint.host_key, sizeof(bench.endpoint.host_key), "SHA256:other");
	bench.endpoint.host_key_any = true;
	bench.endpoint.host_keys = &keys;
	bench_open(&bench);
	run_until(&bench, "never");
	assert_int_equal(bench.heard.rc, E_AUTHENTICATION);
	assert_int_equal(keeper.asked, 0);
	bench_end(&bench);
}

/* SHA-1 and CBC by the operator's word alone. */
static void test_old(void **state)
{
	struct bench bench;

	(void)state;
	bench_begin(&bench, OLD);
	bench_open(&bench);
	run_until(&bench, "never");
	assert_int_equal(bench.heard.rc, E_UNAVAILABLE);
	assert_non_null(strstr(bench.heard.problem.hint, "--ssh-insecure yes"));
	bench_end(&bench);

	bench_begin(&bench, OLD);
	bench.endpoint.ssh_insecure = true;
	bench_open(&bench);
	run_until(&bench, "hello");
	assert_true(bench.heard.opened && !bench.heard.over);
	bench_end(&bench);
}

static void test_ends(void **state)
{
	size_t before = descriptors();
	struct bench bench;

	(void)state;
	bench_begin(&bench, HANGS_UP);
	bench_open(&bench);
	run_until(&bench, "never");
	assert_int_equal(bench.heard.rc, E_UNAVAILABLE);
	assert_string_equal(text_get(&bench.heard.text), "hello");
	bench_end(&bench);

	/* Closed from inside of an event, while more is there. */
	bench_begin(&bench, ENDLESS);
	bench.heard.close_at = 1000000;
	bench_open(&bench);
	run_until(&bench, "never");
	assert_null(bench.heard.stream);
	assert_false(bench.heard.over);
	assert_in_range(bench.heard.bytes, 1000000, 1100000);
	bench_end(&bench);

	/* Nobody there. */
	bench_begin(&bench, PASSWORD);
	server_end(&bench.server);
	bench_open(&bench);
	run_until(&bench, "never");
	assert_int_equal(bench.heard.rc, E_UNAVAILABLE);
	bench_end(&bench);
	assert_int_equal(descriptors(), before);
}

/* At any moment of the way in. */
static void test_closed_early(void **state)
{
	size_t before = descriptors();

	(void)state;
	for (int turns = 0; turns < 12; turns++) {
		struct bench bench;

		bench_begin(&bench, PASSWORD);
		bench_open(&bench);
		for (int i = 0; i < turns && !bench.heard.over; i++) {
			loop_run_once(bench.loop);
			usleep(2000);
		}
		bench_end(&bench);
		if (descriptors() != before)
			fail_msg("closed after %d turns: %zu descriptors, were %zu", turns,
				 descriptors(), before);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ways_in),      cmocka_unit_test(test_refused),
		cmocka_unit_test(test_host_keys),    cmocka_unit_test(test_first_key),
		cmocka_unit_test(test_old),          cmocka_unit_test(test_ends),
		cmocka_unit_test(test_closed_early),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
