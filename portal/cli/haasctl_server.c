#include "portal/cli/haasctl_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/error.h"
#include "common/io/file.h"
#include "common/io/key_file.h"

#include "portal/cli/haasctl.h"

/* An option, else what the environment says; NULL: neither. */
static const char *haasctl_server_word(const struct command_input *input, const char *option,
				       const char *variable)
{
	const char *word = command_option(input, option);

	if (!word)
		word = getenv(variable); // NOLINT(concurrency-mt-unsafe): one thread
	return word && word[0] ? word : NULL;
}

void haasctl_server_done(struct haasctl_server *server)
{
	tls_free(server->tls);
	sodium_memzero(server, sizeof(*server));
}

static int haasctl_server_at(const char *socket, struct haasctl_server *ret)
{
	if (text_format(ret->context.url, sizeof(ret->context.url), "unix:%s", socket))
		return EXIT_OK;
	return haasctl_usage("the path of the socket is too long: %s", socket);
}

/* The context of a name, or the one in use; the socket of this machine when there is none. */
static int haasctl_server_of_context(const char *name, struct haasctl_server *ret)
{
	CLEANUP(context_book_done) struct context_book book = {.lock = -1};
	const struct context *context;
	struct problem problem;

	if (context_book_read(&book, &problem) != 0) {
		/* Who has no home has no contexts: a daemon, a unit of systemd. */
		if (!name && problem.code == E_INVALID)
			return haasctl_server_at(HAASCTL_DEFAULT_SOCKET, ret);
		haasctl_problem(&problem);
		return problem.code == E_DENIED ? EXIT_DENIED : EXIT_FAILED;
	}
	if (!name && !book.current[0])
		return haasctl_server_at(HAASCTL_DEFAULT_SOCKET, ret);
	context = context_find(&book, name ? name : book.current);
	if (!context) {
		(void)problem_set(&problem, E_NOT_FOUND, "there is no context %s", name);
		problem_hint(&problem, "haasctl context list shows them; haasctl login makes one");
		haasctl_problem(&problem);
		return EXIT_NOT_FOUND;
	}
	ret->context = *context;
	return EXIT_OK;
}

int haasctl_server_token(const struct command_input *input, char ret[CONTEXT_SECRET_SIZE])
{
	const char *path = haasctl_server_word(input, "--token-file", "HAAS_TOKEN_FILE");
	CLEANUP(freep) char *text = NULL;
	struct problem problem = {0};
	size_t size = 0;
	int rc;

	ret[0] = '\0';
	if (!path)
		return EXIT_OK;
	rc = key_file_private(path, "token in", "chmod 600 it; if others had it: haasctl token end",
			      &problem);
	if (rc == 0)
		rc = file_read(path, 4096, &text, &size);
	if (rc == 0) {
		text[strcspn(text, "\r\n \t")] = '\0';
		if (!context_secret_is_good(text)) {
			rc = problem_set(&problem, E_MALFORMED, "the file %s holds no token", path);
			problem_hint(&problem, "one line is wanted: haas_ID_SECRET");
		}
	}
	if (rc == 0)
		(void)text_copy(ret, CONTEXT_SECRET_SIZE, text);
	if (text)
		sodium_memzero(text, size);
	if (rc == 0)
		return EXIT_OK;
	if (!problem_is_set(&problem))
		(void)problem_set(&problem, rc, "cannot read the token file %s: %s", path,
				  error_text(rc));
	haasctl_problem(&problem);
	return rc == E_DENIED ? EXIT_DENIED : EXIT_FAILED;
}

int haasctl_server_choose_session(const struct command_input *input, struct haasctl_server *ret)
{
	const char *socket = command_option(input, "--socket");
	const char *name = command_option(input, "--context");

	*ret = (struct haasctl_server){0};
	if (socket && name)
		return haasctl_usage("--socket and --context name two servers; leave one out");
	if (!socket && !name) {
		name = haasctl_server_word(input, "--context", "HAAS_CONTEXT");
		socket = name ? NULL : haasctl_server_word(input, "--socket", "HAAS_SOCKET");
	}
	return socket ? haasctl_server_at(socket, ret) : haasctl_server_of_context(name, ret);
}

static int haasctl_server_by_token(const struct command_input *input, struct haasctl_server *server)
{
	char token[CONTEXT_SECRET_SIZE];
	int status = haasctl_server_token(input, token);

	if (status == EXIT_OK && token[0])
		(void)text_copy(server->context.secret, sizeof(server->context.secret), token);
	sodium_memzero(token, sizeof(token));
	return status;
}

int haasctl_server_choose(const struct command_input *input, struct haasctl_server *ret)
{
	int status = haasctl_server_choose_session(input, ret);

	return status == EXIT_OK ? haasctl_server_by_token(input, ret) : status;
}

int haasctl_server_here(const struct command_input *input, struct haasctl_server *ret)
{
	const char *socket = haasctl_server_word(input, "--socket", "HAAS_SOCKET");
	int status;

	*ret = (struct haasctl_server){0};
	if (command_option(input, "--context"))
		return haasctl_usage("%s %s acts on this machine: leave --context out",
				     input->command->noun, input->command->verb);
	status = haasctl_server_at(socket ? socket : HAASCTL_DEFAULT_SOCKET, ret);
	/* HAAS_TOKEN_FILE is of a server elsewhere. */
	return status == EXIT_OK && command_option(input, "--token-file")
		       ? haasctl_server_by_token(input, ret)
		       : status;
}

bool haasctl_server_is_here(const struct context *context)
{
	return strncmp(context->url, "unix:", 5) == 0;
}

const char *haasctl_server_socket(const struct haasctl_server *server)
{
	return haasctl_server_is_here(&server->context) ? server->context.url + 5 : NULL;
}

/* --- https --- */

static int haasctl_server_unknown(const char *host, int code)
{
	struct problem problem;

	(void)problem_set(&problem, E_UNAVAILABLE, "the name %s leads to no address", host);
	problem_detail(&problem, "%s",
		       code == EAI_SYSTEM ? error_text(-errno) : gai_strerror(code));
	problem_hint(&problem, "is it spelled right? haasctl context list shows what is kept");
	haasctl_problem(&problem);
	return EXIT_UNREACHABLE;
}

/* Before the first connection; the name is asked for once. */
static int haasctl_server_resolve(struct haasctl_server *server, const char *host)
{
	const struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	int code = getaddrinfo(host, NULL, &wanted, &found);

	if (code != 0)
		return haasctl_server_unknown(host, code);
	for (const struct addrinfo *at = found; at && server->address_count < SERVER_ADDRESSES;
	     at = at->ai_next) {
		struct sockaddr_in address;

		memcpy(&address, at->ai_addr, sizeof(address));
		if (inet_ntop(AF_INET, &address.sin_addr, server->addresses[server->address_count],
			      INET_ADDRSTRLEN))
			server->address_count++;
	}
	freeaddrinfo(found);
	return server->address_count > 0 ? EXIT_OK : haasctl_server_unknown(host, EAI_NONAME);
}

static int haasctl_server_secure(struct haasctl_server *server)
{
	const struct context *context = &server->context;
	const struct tls_files files = {
		.ca = context->ca,
		.pin = context->pin,
		.system = !context->ca[0],
	};
	struct problem problem = {0};

	if (server->tls)
		return EXIT_OK;
	if (tls_new(TLS_CLIENT, &files, &server->tls, &problem) == 0)
		return EXIT_OK;
	haasctl_problem(&problem);
	return EXIT_FAILED;
}

bool haasctl_server_move(struct haasctl_server *server)
{
	if (server->at + 1 >= server->address_count)
		return false;
	server->at++;
	return true;
}

int haasctl_server_client(struct haasctl_server *server, struct loop *loop,
			  struct http_client **ret)
{
	char host[CONTEXT_URL_SIZE];
	bool secure = context_url_host(server->context.url, host) != 0;
	int status = EXIT_OK;
	int rc;

	if (secure && server->address_count == 0)
		status = haasctl_server_resolve(server, host);
	if (secure && status == EXIT_OK)
		status = haasctl_server_secure(server);
	if (status != EXIT_OK)
		return status;
	rc = http_client_new_to(
		loop,
		&(struct http_server_way){.url = server->context.url,
					  .tls = server->tls,
					  .address = secure ? server->addresses[server->at] : NULL,
					  .bearer = server->context.secret},
		ret);
	if (rc == 0)
		return EXIT_OK;
	(void)haasctl_cannot(secure ? "use the address" : "use the socket", server->context.url,
			     rc);
	return EXIT_UNREACHABLE;
}

void haasctl_server_distrust(const struct haasctl_server *server, struct problem *problem)
{
	const struct context *context = &server->context;
	const char *shown = tls_shown_pin(server->tls);
	char why[sizeof(problem->detail)];

	(void)text_copy(why, sizeof(why), problem->detail);
	if (context->pin[0] && shown[0] && strcmp(context->pin, shown) != 0) {
		(void)problem_set(problem, E_AUTHENTICATION,
				  "the key of %s is not the one that was pinned", context->url);
		problem_detail(problem, "pinned %s\n  shown  %s", context->pin, shown);
		problem_hint(problem, "ask the site; if its key is new: haasctl login --pin PIN");
		return;
	}
	(void)problem_set(problem, E_AUTHENTICATION, "no trusted connection to %s", context->url);
	problem_detail(problem, "%s", why);
	if (shown[0])
		problem_hint(problem,
			     "ask the site for its pin, then: haasctl login URL --pin PIN");
	else
		problem_hint(problem, "is %s the address of a portal, and --ca its CA?",
			     context->url);
}
