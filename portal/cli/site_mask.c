#include "portal/cli/site_mask.h"

#include <ctype.h>
#include <libconfig.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/hex.h"
#include "common/io/conf_edit.h"

LEAKS_LEFT_TO_SANITIZER

#define SITE_MASK_LEAST   6   /* a shorter line is a word of everyday text */
#define SITE_MASK_MOST    512 /* secrets that are kept */
#define SITE_MASK_TOKEN   32  /* digits of hex: boot tokens, nonces */
#define SITE_MASK_KEY_HEX 96  /* and more: signing keys. Digests have 64 */

/* --- known secrets --- */

void site_mask_done(struct site_mask *mask)
{
	for (size_t i = 0; i < mask->count; i++) {
		explicit_bzero(mask->secrets[i].bytes, mask->secrets[i].size);
		free(mask->secrets[i].bytes);
	}
	free(mask->secrets);
	*mask = (struct site_mask){0};
}

static void site_mask_keep(struct site_mask *mask, const char *bytes, size_t size)
{
	struct site_mask_secret *grown;
	char *copy;

	if (size < SITE_MASK_LEAST || mask->failed)
		return;
	for (size_t i = 0; i < mask->count; i++) {
		if (mask->secrets[i].size == size &&
		    memcmp(mask->secrets[i].bytes, bytes, size) == 0)
			return;
	}
	grown = mask->count < SITE_MASK_MOST
			? reallocarray(mask->secrets, mask->count + 1, sizeof(*grown))
			: NULL;
	if (grown)
		mask->secrets = grown;
	copy = grown ? malloc(size) : NULL;
	mask->failed = !copy;
	if (!copy)
		return;
	memcpy(copy, bytes, size);
	mask->begins[(unsigned char)bytes[0]] = true;
	mask->secrets[mask->count++] = (struct site_mask_secret){copy, size};
}

static bool site_mask_is_text(const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (!isprint((unsigned char)bytes[i]) && !isspace((unsigned char)bytes[i]))
			return false;
	}
	return true;
}

void site_mask_learn(struct site_mask *mask, const char *bytes, size_t size)
{
	if (!site_mask_is_text(bytes, size)) {
		char hex[2 * 4096 + 1];
		size_t some = size < 4096 ? size : 4096;

		hex_encode(bytes, some, hex);
		site_mask_keep(mask, hex, 2 * some);
		explicit_bzero(hex, sizeof(hex));
		return;
	}
	for (const char *end = bytes + size; bytes < end;) {
		const char *line_end = memchr(bytes, '\n', (size_t)(end - bytes));
		const char *from = bytes;
		const char *to = line_end ? line_end : end;

		while (from < to && isspace((unsigned char)*from))
			from++;
		while (to > from && isspace((unsigned char)to[-1]))
			to--;
		/* "-----BEGIN" of a PEM is no secret. */
		if (to - from < 5 || memcmp(from, "-----", 5) != 0)
			site_mask_keep(mask, from, (size_t)(to - from));
		bytes = line_end ? line_end + 1 : end;
	}
}

/* --- text --- */

/* A part of these in the name before "=" or ":" makes what is behind it a secret. */
static const char *const site_mask_names[] = {
	"password", "passwd",  "passphrase", "pass_",      "secret", "token",  "community",
	"private",  "api_key", "apikey",     "credential", "cookie", "psk",    "nonce",
	"chap",     "pin",     "auth_key",   "priv_key",   "bearer", "sealed", "authorization"};
/* The word behind these is one. */
static const char *const site_mask_words[] = {"bearer", "basic", "community", "identified by"};

struct site_mask_at {
	const char *at, *end;
};

static size_t site_mask_left(const struct site_mask_at *in)
{
	return (size_t)(in->end - in->at);
}

static bool site_mask_begins(const struct site_mask_at *in, const char *word)
{
	size_t size = strlen(word);

	return site_mask_left(in) >= size && strncasecmp(in->at, word, size) == 0;
}

static bool site_mask_is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* The longest known secret here. */
static size_t site_mask_known(const struct site_mask *mask, const struct site_mask_at *in)
{
	size_t longest = 0;

	if (!mask->begins[(unsigned char)*in->at])
		return 0;
	for (size_t i = 0; i < mask->count; i++) {
		const struct site_mask_secret *each = &mask->secrets[i];

		if (each->size > longest && each->size <= site_mask_left(in) &&
		    memcmp(each->bytes, in->at, each->size) == 0)
			longest = each->size;
	}
	return longest;
}

/* A value that begins here: to its closing quote, else to the end of the word; `line`: of the line. */
static size_t site_mask_value(const struct site_mask_at *in, bool line)
{
	size_t size = 0;
	size_t left = site_mask_left(in);
	bool quoted = left > 0 && (*in->at == '"' || *in->at == '\'');
	char quote = (char)(quoted ? *in->at : '\0');

	if (quote) {
		for (size = 1; size < left && in->at[size] != quote && in->at[size] != '\n'; size++)
			size += in->at[size] == '\\' && size + 1 < left;
		return size + (size < left && in->at[size] == quote);
	}
	while (size < left && in->at[size] != '\n' &&
	       (line || !strchr(" \t\r,;)}]&\"'", in->at[size])))
		size++;
	return size;
}

static bool site_mask_name_is_secret(const char *name, size_t size, bool *ret_line)
{
	bool secret = false;

	for (size_t i = 0; i < sizeof(site_mask_names) / sizeof(site_mask_names[0]); i++) {
		size_t length = strlen(site_mask_names[i]);

		for (size_t at = 0; at + length <= size && !secret; at++) {
			secret = strncasecmp(name + at, site_mask_names[i], length) == 0;
			*ret_line = secret && strcmp(site_mask_names[i], "authorization") == 0;
		}
	}
	return secret;
}

/* Behind NAME, optional quote and blanks, and "=" or ":": adds all that, and the mask for the value. */
static bool site_mask_assignment(struct site_mask_at *in, struct text *ret)
{
	struct site_mask_at value = *in;
	bool line = false;
	size_t size = 0;

	while (size < site_mask_left(in) && site_mask_is_name(in->at[size]))
		size++;
	value.at += size;
	while (value.at < value.end && (*value.at == '"' || *value.at == '\'' || *value.at == ' '))
		value.at++;
	if (size == 0 || size > 128 || value.at == value.end ||
	    (*value.at != '=' && *value.at != ':') ||
	    !site_mask_name_is_secret(in->at, size, &line))
		return false;
	value.at++;
	while (value.at < value.end && (*value.at == ' ' || *value.at == '\t'))
		value.at++;
	size = site_mask_value(&value, line);
	if (size == 0)
		return false;
	text_add_bytes(ret, in->at, (size_t)(value.at - in->at));
	text_add(ret, SITE_MASK_TEXT);
	in->at = value.at + size;
	return true;
}

static bool site_mask_word(struct site_mask_at *in, struct text *ret)
{
	for (size_t i = 0; i < sizeof(site_mask_words) / sizeof(site_mask_words[0]); i++) {
		size_t size = strlen(site_mask_words[i]);
		struct site_mask_at value = *in;

		if (!site_mask_begins(in, site_mask_words[i]) || site_mask_left(in) <= size ||
		    in->at[size] != ' ')
			continue;
		value.at += size + 1;
		size_t masked = site_mask_value(&value, false);
		if (masked == 0)
			continue;
		text_add_bytes(ret, in->at, size + 1);
		text_add(ret, SITE_MASK_TEXT);
		in->at = value.at + masked;
		return true;
	}
	return false;
}

/* "://user:word@host" */
static bool site_mask_userinfo(struct site_mask_at *in, struct text *ret)
{
	size_t size = 3;

	if (*in->at != ':' || !site_mask_begins(in, "://"))
		return false;
	while (size < site_mask_left(in) && !strchr("@/ \t\r\n\"'", in->at[size]))
		size++;
	if (size == 3 || size == site_mask_left(in) || in->at[size] != '@')
		return false;
	text_add(ret, "://" SITE_MASK_TEXT);
	in->at += size;
	return true;
}

static bool site_mask_hex(struct site_mask_at *in, struct text *ret)
{
	size_t size = 0;

	while (size < site_mask_left(in) && isxdigit((unsigned char)in->at[size]))
		size++;
	if (size != SITE_MASK_TOKEN && size < SITE_MASK_KEY_HEX)
		return false;
	text_add(ret, SITE_MASK_TEXT);
	in->at += size;
	return true;
}

/* From "-----BEGIN ... PRIVATE KEY-----" to its end, or to the end of all. */
static bool site_mask_pem(struct site_mask_at *in, struct text *ret)
{
	static const char begin[] = "-----BEGIN ";
	static const char end[] = "-----END ";
	const char *line_end;
	const char *last;

	if (*in->at != '-' || !site_mask_begins(in, begin))
		return false;
	line_end = memchr(in->at, '\n', site_mask_left(in));
	if (!line_end)
		line_end = in->end;
	if (!memmem(in->at, (size_t)(line_end - in->at), "PRIVATE KEY", 11))
		return false;
	last = memmem(line_end, (size_t)(in->end - line_end), end, sizeof(end) - 1);
	text_add(ret, SITE_MASK_TEXT);
	if (last)
		last = memchr(last, '\n', (size_t)(in->end - last));
	in->at = last ? last : in->end;
	return true;
}

/* Adds the mask, and moves behind what it stands for; false: nothing is to be masked here. */
static bool site_mask_here(const struct site_mask *mask, struct site_mask_at *in, bool inside,
			   struct text *ret)
{
	size_t known = site_mask_known(mask, in);

	if (known > 0) {
		text_add(ret, SITE_MASK_TEXT);
		in->at += known;
		return true;
	}
	return (!inside && (site_mask_assignment(in, ret) || site_mask_word(in, ret) ||
			    site_mask_hex(in, ret))) ||
	       site_mask_userinfo(in, ret) || site_mask_pem(in, ret);
}

void site_mask_add(const struct site_mask *mask, const char *bytes, size_t size, struct text *ret)
{
	struct site_mask_at in = {bytes, bytes + size};
	CLEANUP(text_done) struct text masked = {0};
	const char *plain = bytes; /* what is not added yet */
	bool inside = false;       /* of a word */

	while (in.at < in.end) {
		const char *at = in.at;

		text_clear(&masked);
		if (site_mask_here(mask, &in, inside, &masked)) {
			text_add_bytes(ret, plain, (size_t)(at - plain));
			text_add_bytes(ret, text_get(&masked), masked.size);
			ret->failed |= masked.failed;
			plain = in.at;
			inside = false;
			continue;
		}
		inside = site_mask_is_name(*in.at);
		in.at++;
	}
	text_add_bytes(ret, plain, (size_t)(in.end - plain));
}

/* --- settings --- */

enum site_mask_kind { SITE_MASK_PUBLIC, SITE_MASK_URL, SITE_MASK_CONNINFO };

/* Texts that a person has set are shown only when they have a row, by the end of their name. */
static const struct {
	const char *ending;
	enum site_mask_kind kind;
} site_mask_settings[] = {
	{"interfaces", SITE_MASK_PUBLIC}, {"prefixes", SITE_MASK_PUBLIC},
	{"relays", SITE_MASK_PUBLIC},     {"servers", SITE_MASK_PUBLIC},
	{"address", SITE_MASK_PUBLIC},    {"_dir", SITE_MASK_PUBLIC},
	{"uplink", SITE_MASK_PUBLIC},     {"storage", SITE_MASK_PUBLIC},
	{"webhook.url", SITE_MASK_URL},   {"alertmanager.url", SITE_MASK_URL},
	{"controller", SITE_MASK_URL},    {"database", SITE_MASK_CONNINFO},
};

/* The texts in a value of libconfig: "a", or ["a", "b"]. */
static void site_mask_keep_quoted(struct site_mask *mask, const char *value)
{
	while ((value = strchr(value, '"'))) {
		const char *from = ++value;

		while (*value && *value != '"')
			value += *value == '\\' && value[1] ? 2 : 1;
		site_mask_keep(mask, from, (size_t)(value - from));
		value += *value == '"';
	}
}

/* Scheme, host and port: the path of a webhook is often its secret. */
static void site_mask_url(struct site_mask *mask, const char *value, struct text *ret)
{
	const char *scheme = strstr(value, "://");
	const char *host = scheme ? scheme + 3 : value;
	size_t length = strcspn(host, "/?#\"");
	const char *user = memchr(host, '@', length);
	const char *path = host + length;

	if (user)
		site_mask_keep(mask, host, (size_t)(user - host));
	site_mask_keep(mask, path, strcspn(path, "\""));
	if (*path == '/')
		site_mask_keep(mask, path + 1, strcspn(path + 1, "\""));
	if (!scheme) {
		site_mask_keep_quoted(mask, value);
		text_add(ret, SITE_MASK_TEXT);
		return;
	}
	text_add_bytes(ret, value, (size_t)(host - value));
	if (user) {
		length -= (size_t)(user + 1 - host);
		host = user + 1;
		text_add(ret, SITE_MASK_TEXT "@");
	}
	text_add_bytes(ret, host, length);
	text_add(ret,
		 host[length] == '/' && host[length + 1] != '"' ? "/" SITE_MASK_TEXT "\"" : "\"");
}

static void site_mask_conninfo(struct site_mask *mask, const char *quoted, struct text *ret)
{
	static const char *const shown[] = {
		"host", "hostaddr", "port", "dbname", "user", "sslmode", "target_session_attrs"};
	CLEANUP(text_done) struct text value = {0};
	PQconninfoOption *options;

	for (const char *at = quoted + 1; at[0] && at[1]; at++) {
		at += *at == '\\' && at[1] && at[2];
		text_add_bytes(&value, at, 1);
	}
	options = PQconninfoParse(text_get(&value), NULL);
	if (!options) {
		text_add(ret, SITE_MASK_TEXT);
		return;
	}
	text_add(ret, "\"");
	for (const PQconninfoOption *each = options; each->keyword; each++) {
		bool known = false;

		for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
			known |= strcmp(each->keyword, shown[i]) == 0;
		if (each->val && !known)
			site_mask_keep(mask, each->val, strlen(each->val));
		if (each->val && each->val[0])
			text_addf(ret, "%s%s=%s", ret->data[ret->size - 1] == '"' ? "" : " ",
				  each->keyword, known ? each->val : SITE_MASK_TEXT);
	}
	text_add(ret, "\"");
	PQconninfoFree(options);
}

static void site_mask_string(struct site_mask *mask, const char *path, const char *value,
			     struct text *ret)
{
	size_t length = strlen(path);

	for (size_t i = 0; i < sizeof(site_mask_settings) / sizeof(site_mask_settings[0]); i++) {
		const char *ending = site_mask_settings[i].ending;
		size_t size = strlen(ending);

		if (length < size || strcmp(path + length - size, ending) != 0)
			continue;
		switch (site_mask_settings[i].kind) {
		case SITE_MASK_PUBLIC: text_add(ret, value); break;
		case SITE_MASK_URL: site_mask_url(mask, value, ret); break;
		case SITE_MASK_CONNINFO: site_mask_conninfo(mask, value, ret); break;
		}
		return;
	}
	site_mask_keep_quoted(mask, value);
	text_add(ret, SITE_MASK_TEXT);
}

/* `path` is that of `group`, with a dot at its end; "" at the top. */
// NOLINTNEXTLINE(misc-no-recursion): libconfig bounds how deep groups nest
static void site_mask_group(struct site_mask *mask, const char *conf, const char *sample,
			    const config_setting_t *group, const char *path, struct text *ret)
{
	for (int i = 0; i < config_setting_length(group); i++) {
		const config_setting_t *each = config_setting_get_elem(group, (unsigned)i);
		CLEANUP(text_done) struct text value = {0};
		CLEANUP(text_done) struct text usual = {0};
		struct problem problem = {0};
		char name[160];

		if (!config_setting_name(each) ||
		    !text_format(name, sizeof(name), "%s%s", path, config_setting_name(each)))
			continue;
		if (config_setting_is_group(each)) {
			char below[168];

			(void)text_format(below, sizeof(below), "%s.", name);
			site_mask_group(mask, conf, sample, each, below, ret);
			continue;
		}
		if (conf_edit_get(conf, name, &value, &problem) || value.size == 0)
			continue;
		if (conf_edit_get(sample, name, &usual, &problem))
			text_clear(&usual); /* nothing is known to be usual */
		text_addf(ret, "%s = ", name);
		if (!strchr(text_get(&value), '"') ||
		    strcmp(text_get(&value), text_get(&usual)) == 0)
			text_add(ret, text_get(&value));
		else
			site_mask_string(mask, name, text_get(&value), ret);
		text_add(ret, ";\n");
	}
}

void site_mask_conf(struct site_mask *mask, const char *conf, const char *sample, struct text *ret)
{
	config_t config;

	config_init(&config);
	/* What another file says would be read here. */
	if (!strstr(conf, "@include") && config_read_string(&config, conf) == CONFIG_TRUE)
		site_mask_group(mask, conf, sample, config_root_setting(&config), "", ret);
	else
		text_add(ret, "(it cannot be read, so nothing of it is shown)\n");
	config_destroy(&config);
}
