#include "bampi/agent/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"

#include "bampi/agent/download_policy.h"

#define OPTIONS_EXIT_USAGE 2
#define GO_ON              (-1)
#define CMDLINE_SIZE       4096
#define TOKEN_SIZE         256

enum {
	OPTION_URL = 1000,
	OPTION_TOKEN_FILE,
	OPTION_MAC,
	OPTION_SCRIPT,
	OPTION_ROOT,
	OPTION_SILENCE,
	OPTION_SANDBOX,
	OPTION_HELP,
	OPTION_VERSION
};

static const char options_usage[] =
	"Usage: bampi-agent [OPTION...]\n"
	"Works on the node it runs on: asks bampi-bootd for tasks, does them, reports.\n"
	"Without options everything comes from the kernel command line (haas.url=, haas.token=, haas.mac=).\n"
	"\n"
	"  --url URL          where bampi-bootd is, https://ADDRESS:PORT or http:\n"
	"  --token-file FILE  holds the token of this boot\n"
	"  --mac MAC          the NIC this node was booted from\n"
	"  --script URL       asks there for the three above, as iPXE would: of a signed image\n"
	"  --root DIR         read DIR/sys, DIR/proc, DIR/dev, DIR/etc instead of the node's\n"
	"  --silence-ms N     an image that sends no byte for so long is asked for again (30000)\n"
	"  --sandbox          tests: regular files may be disks, power_off only ends the program\n"
	"  --help, --version\n";

int options_read_cmdline(const char *cmdline, struct options *options)
{
	const struct {
		const char *key;
		char *value;
		size_t room;
	} rows[] = {
		{"haas.url=", options->url, sizeof(options->url)},
		{"haas.token=", options->token, sizeof(options->token)},
		{"haas.mac=", options->mac, sizeof(options->mac)},
	};

	for (const char *word = cmdline; *word;) {
		size_t size = strcspn(word, " \t\n");

		for (size_t i = 0; i < COUNT_OF(rows); i++) {
			size_t key = strlen(rows[i].key);

			if (size < key || strncmp(word, rows[i].key, key) != 0)
				continue;
			if (size - key >= rows[i].room)
				return E_LIMIT;
			memcpy(rows[i].value, word + key, size - key);
			rows[i].value[size - key] = '\0';
		}
		word += size;
		word += strspn(word, " \t\n");
	}
	return 0;
}

static bool options_set(char *ret, size_t room, const char *value)
{
	if (text_copy(ret, room, value))
		return true;
	(void)fprintf(stderr, "bampi-agent: a value is too long: %s\n", value);
	return false;
}

static bool set_silence(const char *value, struct options *options)
{
	char *end = NULL;
	long silence_ms = strtol(value, &end, 10);

	if (end == value || *end || silence_ms < 1 || silence_ms > 3600000L) {
		(void)fprintf(stderr, "bampi-agent: --silence-ms: 1 to 3600000, not %s\n", value);
		return false;
	}
	options->silence_ms = silence_ms;
	return true;
}

static bool read_token(const char *path, struct options *options)
{
	CLEANUP(freep) char *content = NULL;
	size_t size = 0;
	int rc = file_read(path, TOKEN_SIZE, &content, &size);

	if (!rc) {
		content[strcspn(content, " \t\r\n")] = '\0';
		rc = text_copy(options->token, sizeof(options->token), content) ? 0 : E_LIMIT;
	}
	if (rc)
		(void)fprintf(stderr, "bampi-agent: %s: %s\n", path, error_text(rc));
	return rc == 0;
}

static bool options_take(int option, const char *value, struct options *options)
{
	switch (option) {
	case OPTION_URL: return options_set(options->url, sizeof(options->url), value);
	case OPTION_TOKEN_FILE: return read_token(value, options);
	case OPTION_MAC: return options_set(options->mac, sizeof(options->mac), value);
	case OPTION_SCRIPT: return options_set(options->script, sizeof(options->script), value);
	case OPTION_ROOT: return options_set(options->root, sizeof(options->root), value);
	case OPTION_SILENCE: return set_silence(value, options);
	case OPTION_SANDBOX: options->sandbox = true; return true;
	default: (void)fputs(options_usage, stderr); return false;
	}
}

static int read_arguments(int argc, char **argv, struct options *options)
{
	static const struct option rows[] = {
		{"url", required_argument, NULL, OPTION_URL},
		{"token-file", required_argument, NULL, OPTION_TOKEN_FILE},
		{"mac", required_argument, NULL, OPTION_MAC},
		{"script", required_argument, NULL, OPTION_SCRIPT},
		{"root", required_argument, NULL, OPTION_ROOT},
		{"silence-ms", required_argument, NULL, OPTION_SILENCE},
		{"sandbox", no_argument, NULL, OPTION_SANDBOX},
		{"help", no_argument, NULL, OPTION_HELP},
		{"version", no_argument, NULL, OPTION_VERSION},
		{NULL, 0, NULL, 0},
	};
	int option;

	/* Before the first thread. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while ((option = getopt_long(argc, argv, "", rows, NULL)) != -1) {
		if (option == OPTION_HELP) {
			(void)fputs(options_usage, stdout);
			return EXIT_SUCCESS;
		}
		if (option == OPTION_VERSION) {
			(void)puts("bampi-agent " HAAS_VERSION);
			return EXIT_SUCCESS;
		}
		if (!options_take(option, optarg, options))
			return OPTIONS_EXIT_USAGE;
	}
	if (optind < argc) {
		(void)fputs(options_usage, stderr);
		return OPTIONS_EXIT_USAGE;
	}
	return GO_ON;
}

/* What a file of words says; one that is absent says nothing. */
static bool options_read_words(const char *root, const char *name, struct options *options)
{
	CLEANUP(freep) char *words = NULL;
	char path[300];
	size_t size;

	(void)text_format(path, sizeof(path), "%s%s", root, name);
	if (file_read(path, CMDLINE_SIZE, &words, &size) || !options_read_cmdline(words, options))
		return true;
	(void)fprintf(stderr, "bampi-agent: a haas. value of %s is too long\n", path);
	return false;
}

int options_read(int argc, char **argv, struct options *ret)
{
	struct options given = {.silence_ms = DOWNLOAD_SILENCE_MS};
	struct options options = {0};
	int rc = read_arguments(argc, argv, &given);

	if (rc != GO_ON)
		return rc;
	if (!options_read_words(given.root, "/proc/cmdline", &options) ||
	    !options_read_words(given.root, OPTIONS_WORDS_PATH, &options))
		return OPTIONS_EXIT_USAGE;
	/* What was given by hand wins. */
	(void)text_copy(options.root, sizeof(options.root), given.root);
	options.sandbox = given.sandbox;
	options.silence_ms = given.silence_ms;
	if (given.url[0])
		(void)text_copy(options.url, sizeof(options.url), given.url);
	if (given.token[0])
		(void)text_copy(options.token, sizeof(options.token), given.token);
	if (given.mac[0])
		(void)text_copy(options.mac, sizeof(options.mac), given.mac);
	if (!options.url[0] || !options.token[0])
		(void)text_copy(options.script, sizeof(options.script), given.script);
	if (!options.script[0] && (!options.url[0] || !options.token[0])) {
		(void)fprintf(
			stderr,
			"bampi-agent: neither the kernel command line nor an option says haas.url and haas.token\n");
		return OPTIONS_EXIT_USAGE;
	}
	*ret = options;
	return GO_ON;
}
