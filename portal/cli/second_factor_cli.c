/* haasctl totp: codes of an authenticator beside the password. The secret and the recovery
 * codes are told once: they stand alone on stdout, the talk on stderr. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/json_text.h"
#include "common/http/wipe.h"

#include "portal/cli/ask.h"
#include "portal/cli/listing.h"

#define FACTOR_PASSWORD_SIZE 258
#define FACTOR_CODE_SIZE     34

struct factor {
	char password[FACTOR_PASSWORD_SIZE], code[FACTOR_CODE_SIZE];
};

static void factor_done(struct factor *factor)
{
	sodium_memzero(factor, sizeof(*factor));
}

static int factor_ask(struct haasctl *haasctl, const struct command_input *input, const char *what,
		      bool hidden, char *ret, size_t room)
{
	if (command_option(input, "--password-stdin"))
		return ask_stdin(ret, room)
			       ? EXIT_OK
			       : haasctl_usage("the %s is missing on standard input, or too long",
					       what);
	if (!isatty(STDIN_FILENO))
		return haasctl_usage(
			"nobody can be asked for the %s here; --password-stdin reads it", what);
	if (!hidden)
		fprintf(stderr, "%s: ", what);
	if (hidden ? ask_hidden(haasctl, what, ret, room) : ask_line(haasctl, ret, room))
		return EXIT_OK;
	return haasctl_interrupted(haasctl) ? EXIT_INTERRUPTED : EXIT_FAILED;
}

/* A POST of what is secret; asked once: another secret would be made. */
static int factor_post(struct haasctl *haasctl, const struct command_input *input,
		       const char *target, const struct factor *factor, struct haasctl_reply *ret)
{
	CLEANUP(text_done) struct text body = {0};
	int status;

	json_begin_object(&body, NULL);
	if (factor->password[0])
		json_put_string(&body, "password", factor->password);
	if (factor->code[0])
		json_put_string(&body, "code", factor->code);
	json_end_object(&body);
	status = haasctl_call(
		haasctl, input,
		&(struct haasctl_call){
			.method = "POST", .target = target, .body = text_get(&body), .once = true},
		ret);
	if (body.data)
		wipe_borrowed(body.data, body.size);
	return status;
}

static void factor_tell_secret(const struct command_input *input, const json_t *json)
{
	fprintf(stderr, "Add this account to your authenticator, by its secret or by a QR code of "
			"the URI:\n");
	(void)fflush(stderr);
	if (!listing_json(input, json))
		printf("%s\n%s\n", haasctl_word(json, "secret"), haasctl_word(json, "uri"));
	(void)fflush(stdout);
}

static void factor_tell_codes(const struct command_input *input, const json_t *json)
{
	const json_t *code;
	size_t i;

	if (!listing_json(input, json)) {
		json_array_foreach(json_object_get(json, "recovery_codes"), i, code)
			printf("%s\n", json_string_value(code));
	}
	if (listing_for_people(input))
		haasctl_say_next(input,
				 "{account} shows a code at each login from now on\n"
				 "  next: keep the recovery codes elsewhere; each works once",
				 json);
}

static int second_factor_enable(void *context, const struct command_input *input)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply made = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	CLEANUP(factor_done) struct factor factor = {0};
	CLEANUP(factor_done) struct factor confirm = {0};
	int status = factor_ask(context, input, "password", true, factor.password,
				sizeof(factor.password));

	if (status == EXIT_OK)
		status = factor_post(context, input, "/second-factor", &factor, &made);
	if (status != EXIT_OK)
		return status;
	factor_tell_secret(input, made.json);
	status = factor_ask(context, input, "code that it shows", false, confirm.code,
			    sizeof(confirm.code));
	if (status == EXIT_OK)
		status = factor_post(context, input, "/second-factor/confirm", &confirm, &reply);
	if (status == EXIT_OK)
		factor_tell_codes(input, reply.json);
	return status;
}

static int second_factor_disable(void *context, const struct command_input *input)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	CLEANUP(factor_done) struct factor factor = {0};
	int status = factor_ask(context, input, "password", true, factor.password,
				sizeof(factor.password));

	if (status == EXIT_OK)
		status = factor_ask(context, input, "code, or a recovery code", false, factor.code,
				    sizeof(factor.code));
	if (status == EXIT_OK)
		status = factor_post(context, input, "/second-factor/disable", &factor, &reply);
	if (status == EXIT_OK && listing_for_people(input))
		printf("second factor disabled\n");
	return status;
}

static int second_factor_reset(void *context, const struct command_input *input)
{
	return haasctl_each(context, input, "DELETE", "/accounts/", "/second-factor");
}

static const struct option_row factor_options[] = {
	{"--password-stdin", 0, OPTION_FLAG, NULL, "lines of stdin: the password, the code"},
};

static const struct command second_factor_commands[] = {
	{"totp", "enable", "", "show a code of an authenticator at each login",
	 OPTIONS(factor_options), 0, 0, second_factor_enable, .example = "totp enable"},
	{"totp", "disable", "", "show a password alone again", OPTIONS(factor_options), 0, 0,
	 second_factor_disable, .example = "totp disable", .done = "second factor disabled"},
	{"totp", "reset", "ACCOUNT...", "take it from a person who has lost it", NO_OPTIONS, 1,
	 1000, second_factor_reset, .example = "totp reset ann",
	 .done = "second factor of {*} taken away"},
};
const struct command_group second_factor_group = {second_factor_commands,
						  COUNT_OF(second_factor_commands)};
