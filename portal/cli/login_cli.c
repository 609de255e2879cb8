/* haasctl login, logout: a session of one's own on a server, kept as a context. Passwords and links
 * come from the terminal without echo, or from standard input; never from an argument. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/json_text.h"

#include "portal/cli/ask.h"
#include "portal/cli/haasctl_server.h"
#include "portal/cli/listing.h"
#include "portal/cli/login_browser.h"
#include "portal/cli/refusal.h"

#define LOGIN_PASSWORD_SIZE 258 /* 256 and NUL, and one more to see that it is too long */
#define LOGIN_PASSWORD_MIN  10
#define LOGIN_CODE_SIZE     34 /* a recovery code, and one more to see that it is too long */

struct login {
	struct haasctl *haasctl;
	const struct command_input *input;
	struct context context;
	char password[LOGIN_PASSWORD_SIZE], again[LOGIN_PASSWORD_SIZE];
	char link[CONTEXT_SECRET_SIZE];
	char code[LOGIN_CODE_SIZE]; /* of the second factor; "" = not wanted yet */
};

static void login_done(struct login *login)
{
	sodium_memzero(login, sizeof(*login));
}

/* --- words --- */

static int login_cli_ask(const struct login *login, const char *what, bool hidden, char *ret,
			 size_t room)
{
	if (command_option(login->input, "--password-stdin")) {
		if (ask_stdin(ret, room))
			return EXIT_OK;
		return haasctl_usage("the %s is missing on standard input, or too long", what);
	}
	if (!isatty(STDIN_FILENO))
		return haasctl_usage(
			"nobody can be asked for the %s here; --password-stdin reads it", what);
	if (!hidden) {
		fprintf(stderr, "%s: ", what);
		(void)fflush(stderr);
	}
	if (hidden ? ask_hidden(login->haasctl, what, ret, room)
		   : ask_line(login->haasctl, ret, room))
		return EXIT_OK;
	return haasctl_interrupted(login->haasctl) ? EXIT_INTERRUPTED : EXIT_FAILED;
}

static int login_cli_new_password(struct login *login)
{
	int status = login_cli_ask(login, "new password", true, login->password,
				   sizeof(login->password));

	if (status != EXIT_OK)
		return status;
	if (strlen(login->password) < LOGIN_PASSWORD_MIN)
		return haasctl_usage("a password has at least %d characters", LOGIN_PASSWORD_MIN);
	if (command_option(login->input, "--password-stdin"))
		return EXIT_OK;
	status = login_cli_ask(login, "the same again", true, login->again, sizeof(login->again));
	if (status == EXIT_OK && strcmp(login->password, login->again) != 0)
		return haasctl_usage("the two passwords differ");
	return status;
}

/* --- the server --- */

/* Does it answer as portald does? Its identity is proven here, before a password goes out. */
static int login_cli_probe(struct login *login, struct problem *problem)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	int status;

	haasctl_use(login->haasctl, &login->context);
	*problem = (struct problem){0};
	status = haasctl_call(login->haasctl, login->input,
			      &(struct haasctl_call){.method = "GET",
						     .target = "/whoami",
						     .by_itself = true,
						     .problem = problem},
			      &reply);
	/* Nobody is known without a login: that is portald. */
	return status == EXIT_DENIED && problem->code == EXIT_DENIED ? EXIT_OK : status;
}

/* A key that nothing vouches for: a person compares it. */
static int login_cli_trust(struct login *login, const struct problem *problem)
{
	const char *pin = haasctl_shown_pin(login->haasctl);
	char answer[8] = "";

	if (problem->code != E_AUTHENTICATION || pin[0] == '\0' || login->context.pin[0] ||
	    !isatty(STDIN_FILENO) || command_option(login->input, "--password-stdin")) {
		refusal_tell_own(login->input, problem);
		return EXIT_DENIED;
	}
	fprintf(stderr,
		"No CA of this machine vouches for %s. Its key is\n  %s\n"
		"Ask the site for its pin by another way, and compare. Is it the same (y/N)? ",
		login->context.url, pin);
	(void)fflush(stderr);
	if (!ask_line(login->haasctl, answer, sizeof(answer)))
		return haasctl_interrupted(login->haasctl) ? EXIT_INTERRUPTED : EXIT_FAILED;
	if (strcmp(answer, "y") != 0 && strcmp(answer, "yes") != 0) {
		fprintf(stderr, "haasctl: nothing is done\n");
		return EXIT_FAILED;
	}
	(void)text_copy(login->context.pin, sizeof(login->context.pin), pin);
	return EXIT_OK;
}

/* Did something answer that is no portald? One that is too busy, or fails, says so itself. */
static bool login_cli_is_other(int status, const struct problem *problem)
{
	return status == EXIT_NOT_FOUND || problem->code == E_MALFORMED ||
	       problem->code == E_PROTOCOL;
}

static int login_cli_reach(struct login *login)
{
	struct problem problem;
	int status = login_cli_probe(login, &problem);

	if (status == EXIT_DENIED && problem.code == E_AUTHENTICATION) {
		status = login_cli_trust(login, &problem);
		if (status != EXIT_OK)
			return status;
		status = login_cli_probe(login, &problem);
	}
	if (status == EXIT_OK || !problem_is_set(&problem)) /* else it was told */
		return status;
	if (login_cli_is_other(status, &problem)) {
		(void)problem_set(&problem, E_PROTOCOL, "%s answers, but is no portal",
				  login->context.url);
		problem_hint(&problem, "is it the address that the site gave you?");
	}
	refusal_tell_own(login->input, &problem);
	return status;
}

static int login_cli_ca(struct login *login, const char *ca)
{
	char *path = realpath(ca, NULL);
	bool fits = path && text_copy(login->context.ca, sizeof(login->context.ca), path);

	free(path);
	return fits ? EXIT_OK : haasctl_usage("--ca %s is no file, or its path is too long", ca);
}

/* By --pin or --ca, which replace what was known. */
static int login_cli_ways(struct login *login)
{
	const char *pin = command_option(login->input, "--pin");
	const char *ca = command_option(login->input, "--ca");

	if ((pin || ca) && haasctl_server_is_here(&login->context))
		return haasctl_usage("--pin and --ca are for https");
	if (pin && ca)
		return haasctl_usage("--pin and --ca are two ways; leave one out");
	if (pin && !tls_pin_is_valid(pin))
		return haasctl_usage("--pin %s is none; it looks like sha256//BASE64", pin);
	if (pin || ca)
		login->context.pin[0] = login->context.ca[0] = '\0';
	if (pin)
		(void)text_copy(login->context.pin, sizeof(login->context.pin), pin);
	return ca ? login_cli_ca(login, ca) : EXIT_OK;
}

/* What is kept of this server, by --context or by the URL. */
static int login_cli_known(struct login *login, const char *url)
{
	CLEANUP(context_book_done) struct context_book book = {.lock = -1};
	const char *name = command_option(login->input, "--name");
	const struct context *known = NULL;
	struct problem problem;
	char fallback[CONTEXT_NAME_SIZE];

	if (context_book_read(&book, &problem) != 0) {
		haasctl_problem(&problem);
		return problem.code == E_DENIED ? EXIT_DENIED : EXIT_FAILED;
	}
	context_url_name(url, fallback);
	name = name ? name : fallback;
	known = context_find(&book, name);
	if (known && strcmp(known->url, url) != 0)
		return haasctl_usage("context %s leads to %s; choose another by --name", name,
				     known->url);
	if (known)
		login->context = *known;
	(void)text_copy(login->context.name, sizeof(login->context.name), name);
	(void)text_copy(login->context.url, sizeof(login->context.url), url);
	return EXIT_OK;
}

static int login_cli_server(struct login *login)
{
	const struct command_input *input = login->input;
	const char *name = command_option(input, "--name");
	char url[CONTEXT_URL_SIZE];
	int status = EXIT_OK;

	if (name && !context_name_is_good(name))
		return haasctl_usage("--name %s is none: letters, digits, '.', '-' and '_'", name);
	if (input->word_count > 0 && !context_url_clean(input->words[0], url))
		return haasctl_usage("%s is no URL like https://haas.example or unix:/PATH",
				     input->words[0]);
	if (input->word_count > 0) {
		status = login_cli_known(login, url);
	} else {
		status = haasctl_choose(login->haasctl, input);
		if (status != EXIT_OK)
			return status;
		login->context = *haasctl_context(login->haasctl);
		if (login->context.name[0] == '\0' || name)
			status = login_cli_known(login, haasctl_context(login->haasctl)->url);
	}
	login->context.secret[0] = '\0';
	return status == EXIT_OK ? login_cli_ways(login) : status;
}

/* --- the login --- */

static int login_cli_post(struct login *login, const char *target, struct text *body,
			  struct problem *problem, struct haasctl_reply *ret)
{
	int status = haasctl_call(login->haasctl, login->input,
				  &(struct haasctl_call){.method = "POST",
							 .target = target,
							 .body = text_get(body),
							 .by_itself = true,
							 .once = true,
							 .problem = problem},
				  ret);

	if (body->data)
		sodium_memzero(body->data, body->size);
	return status;
}

/* The password is chosen; the answer says whose it is. */
static int login_cli_by_link(struct login *login)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	CLEANUP(text_done) struct text body = {0};
	int status = login_cli_ask(login, "one-time link", true, login->link, sizeof(login->link));

	if (status == EXIT_OK)
		status = login_cli_new_password(login);
	if (status != EXIT_OK)
		return status;
	json_begin_object(&body, NULL);
	json_put_string(&body, "link", login->link);
	json_put_string(&body, "password", login->password);
	json_end_object(&body);
	status = login_cli_post(login, "/links/use", &body, NULL, &reply);
	if (status == EXIT_OK)
		(void)text_copy(login->context.account, sizeof(login->context.account),
				haasctl_word(reply.json, "account"));
	return status;
}

static int login_cli_who(struct login *login)
{
	const char *account = command_option(login->input, "--account");
	char *room = login->context.account;
	int status = EXIT_OK;

	if (account && !text_copy(room, sizeof(login->context.account), account))
		return haasctl_usage("--account is too long");
	if (room[0] == '\0' && command_option(login->input, "--password-stdin"))
		return haasctl_usage("--account is missing");
	if (room[0] == '\0')
		status = login_cli_ask(login, "account", false, room,
				       sizeof(login->context.account));
	if (status != EXIT_OK)
		return status;
	if (!command_option(login->input, "--password-stdin"))
		fprintf(stderr, "%s at %s\n", room, login->context.url);
	return login_cli_ask(login, "password", true, login->password, sizeof(login->password));
}

static int login_cli_take_session(struct login *login, const json_t *answer)
{
	if (!context_secret_is_good(haasctl_word(answer, "secret")) ||
	    !text_copy(login->context.account, sizeof(login->context.account),
		       haasctl_word(answer, "account")))
		return haasctl_usage("the server has sent no session");
	(void)text_copy(login->context.secret, sizeof(login->context.secret),
			haasctl_word(answer, "secret"));
	return EXIT_OK;
}

static int login_cli_try(struct login *login, struct problem *problem)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	CLEANUP(text_done) struct text body = {0};
	int status;

	json_begin_object(&body, NULL);
	json_put_string(&body, "account", login->context.account);
	json_put_string(&body, "password", login->password);
	if (login->code[0])
		json_put_string(&body, "code", login->code);
	json_end_object(&body);
	*problem = (struct problem){0};
	status = login_cli_post(login, "/login", &body, problem, &reply);
	return status == EXIT_OK ? login_cli_take_session(login, reply.json) : status;
}

/* The code is asked for when the server says that it wants one: the one conflict of a login. */
static int login_cli_by_password(struct login *login)
{
	struct problem problem;
	int status = login_cli_try(login, &problem);

	if (status == EXIT_CONFLICT && problem.code == EXIT_CONFLICT) {
		status = login_cli_ask(login, "code of the second factor", false, login->code,
				       sizeof(login->code));
		if (status == EXIT_OK)
			status = login_cli_try(login, &problem);
		else
			problem = (struct problem){0}; /* told */
	}
	if (status != EXIT_OK && problem_is_set(&problem))
		refusal_tell_own(login->input, &problem);
	return status;
}

/* The provider says who it is; a one-time link, whose account that is from now on. */
static int login_cli_by_browser(struct login *login)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	CLEANUP(text_done) struct text body = {0};
	struct login_browser browser = {0};
	bool link = command_option(login->input, "--link") != NULL;
	int status = EXIT_OK;

	if (haasctl_server_is_here(&login->context))
		return haasctl_usage("--browser wants the https URL of a server: haasctl login "
				     "https://haas.example --browser");
	if (link)
		status = login_cli_ask(login, "one-time link", true, login->link,
				       sizeof(login->link));
	if (status == EXIT_OK)
		status = login_browser_run(login->haasctl, login->input,
					   command_option(login->input, "--provider"), &browser);
	if (status != EXIT_OK)
		return status;
	json_begin_object(&body, NULL);
	json_put_string(&body, "code", browser.code);
	json_put_string(&body, "verifier", browser.verifier);
	if (link)
		json_put_string(&body, "link", login->link);
	json_end_object(&body);
	sodium_memzero(&browser, sizeof(browser));
	status = login_cli_post(login, "/login/code", &body, NULL, &reply);
	return status == EXIT_OK ? login_cli_take_session(login, reply.json) : status;
}

/* A token is its own proof. */
static int login_cli_by_token(struct login *login, const char *token)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	int status;

	(void)text_copy(login->context.secret, sizeof(login->context.secret), token);
	haasctl_use(login->haasctl, &login->context);
	status = haasctl_get(login->haasctl, login->input, "/whoami", &reply);
	if (status == EXIT_OK)
		(void)text_copy(login->context.account, sizeof(login->context.account),
				haasctl_word(reply.json, "account"));
	return status;
}

static int login_cli_keep(const struct login *login)
{
	CLEANUP(context_book_done) struct context_book book = {.lock = -1};
	struct problem problem;
	int rc = context_book_open(&book, &problem);

	if (rc == 0) {
		rc = context_put(&book, &login->context);
		if (rc)
			(void)problem_set(&problem, rc, "there are too many contexts already");
	}
	if (rc == 0) {
		(void)text_copy(book.current, sizeof(book.current), login->context.name);
		rc = context_book_save(&book, &problem);
	}
	if (rc == 0)
		return EXIT_OK;
	haasctl_problem(&problem);
	return rc == E_DENIED ? EXIT_DENIED : EXIT_FAILED;
}

/* Who says nothing about a person logs in by the token of --token-file or HAAS_TOKEN_FILE. */
static int login_cli_prove(struct login *login)
{
	const struct command_input *input = login->input;
	char token[CONTEXT_SECRET_SIZE] = "";
	int status = EXIT_OK;

	if (command_option(input, "--browser"))
		return login_cli_by_browser(login);
	if (!command_option(input, "--link") && !command_option(input, "--account") &&
	    !command_option(input, "--password-stdin"))
		status = haasctl_server_token(input, token);
	if (status == EXIT_OK && token[0]) {
		status = login_cli_by_token(login, token);
		sodium_memzero(token, sizeof(token));
		return status;
	}
	if (status == EXIT_OK)
		status = command_option(input, "--link") ? login_cli_by_link(login)
							 : login_cli_who(login);
	return status == EXIT_OK ? login_cli_by_password(login) : status;
}

static int login_run(void *context, const struct command_input *input)
{
	CLEANUP(login_done) struct login login = {.haasctl = context, .input = input};
	int status = login_cli_server(&login);

	if (status == EXIT_OK)
		status = login_cli_reach(&login);
	if (status == EXIT_OK)
		status = login_cli_prove(&login);
	if (status == EXIT_OK)
		status = login_cli_keep(&login);
	if (status == EXIT_OK && listing_for_people(input))
		printf("logged in to %s as %s; context %s is in use\n", login.context.url,
		       login.context.account, login.context.name);
	return status;
}

/* --- logout --- */

/* The secret goes whatever the server says: who wants to be out, is. */
static int login_cli_forget(const char *name)
{
	CLEANUP(context_book_done) struct context_book book = {.lock = -1};
	struct problem problem;
	struct context *context;
	int rc = context_book_open(&book, &problem);

	context = rc == 0 ? context_find(&book, name) : NULL;
	if (context) {
		sodium_memzero(context->secret, sizeof(context->secret));
		rc = context_book_save(&book, &problem);
	}
	if (rc == 0)
		return EXIT_OK;
	haasctl_problem(&problem);
	return EXIT_FAILED;
}

static int logout_run(void *context, const struct command_input *input)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	/* Its own session ends, and no token of HAAS_TOKEN_FILE stands in its place. */
	int status = haasctl_use_session(context, input);
	const struct context *mine = haasctl_context(context);
	bool session;
	int kept;

	if (status != EXIT_OK)
		return status;
	if (mine->name[0] == '\0' || mine->secret[0] == '\0')
		return haasctl_usage("nobody is logged in here; haasctl context list shows it");
	/* A token stays good for the programs that have it. */
	session = strncmp(mine->secret, "haas_s_", 7) == 0;
	if (session)
		status = haasctl_call(context, input,
				      &(struct haasctl_call){.method = "POST",
							     .target = "/logout",
							     .untold = EXIT_DENIED,
							     .by_itself = true,
							     .harmless = true},
				      &reply);
	kept = login_cli_forget(mine->name);
	if (status == EXIT_DENIED) /* it had ended before */
		status = EXIT_OK;
	if (status != EXIT_OK)
		fprintf(stderr,
			"haasctl: the session is forgotten here, and may still be open there\n");
	else if (kept == EXIT_OK && listing_for_people(input))
		printf(session ? "logged out of %s\n"
			       : "token of %s forgotten here; haasctl token end makes it void\n",
		       mine->name);
	return kept == EXIT_OK ? status : kept;
}

static const struct option_row login_options[] = {
	{"--account", 0, OPTION_VALUE, "ACCOUNT", "who you are: ann, globex/ann"},
	{"--name", 0, OPTION_VALUE, "NAME", "name of the context (default: the host's)"},
	{"--link", 0, OPTION_FLAG, NULL, "choose a password (or a browser) by a one-time link"},
	{"--browser", 0, OPTION_FLAG, NULL, "by the site's provider of OpenID Connect"},
	{"--provider", 0, OPTION_VALUE, "NAME", "which one, if there are several"},
	{"--password-stdin", 0, OPTION_FLAG, NULL, "lines of stdin: link if any, password, code"},
	{"--pin", 0, OPTION_VALUE, "PIN", "the server has this key, sha256//BASE64"},
	{"--ca", 0, OPTION_VALUE, "FILE", "this CA vouches for the server (PEM)"},
};

static const struct command login_cli_commands[] = {
	{"login", "", "[URL]", "log in to a server, and use it from now on", OPTIONS(login_options),
	 0, 1, login_run, .example = "login https://haas.example --account ann",
	 .done = "logged in"},
	{"logout", "", "", "end the session of the context in use", NO_OPTIONS, 0, 0, logout_run,
	 .example = "logout", .done = "logged out"},
};
const struct command_group login_group = {login_cli_commands, COUNT_OF(login_cli_commands)};
