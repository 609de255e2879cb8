#include "portal/cli/certificate_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/http/json_reader.h"
#include "common/io/file.h"

#define CERTIFICATE_KEYS_FILE_LIMIT ((size_t)256)
#define CERTIFICATE_KEYS_LIST_LIMIT ((size_t)1 << 20)

int certificate_keys_read(struct certificate_keys *keys, const char *const *paths)
{
	for (; *paths && keys->count < CERTIFICATE_KEYS_MAX; paths++) {
		char **file = &keys->files[keys->count];
		int rc = file_read(*paths, CERTIFICATE_KEYS_FILE_LIMIT, file, NULL);

		if (rc < 0)
			return haasctl_cannot("read", *paths, rc);
		(*file)[strcspn(*file, "\r\n \t")] = '\0';
		keys->rows[keys->count++].public_key = *file;
	}
	return EXIT_OK;
}

static struct certificate_signer *certificate_keys_find(struct certificate_keys *keys,
							const char *public_key)
{
	for (size_t i = 0; i < keys->count; i++) {
		if (strcmp(keys->rows[i].public_key, public_key) == 0)
			return &keys->rows[i];
	}
	return NULL;
}

/* What is signed counts, not what stands beside it. NULL: the key before does not vouch for it. */
static json_t *certificate_keys_statement(const json_t *row)
{
	const char *text = haasctl_word(row, "statement");
	const char *follows = haasctl_word(row, "follows");
	struct problem problem = {0};
	json_t *statement = NULL;

	if (!certificate_key_vouched(text, haasctl_word(row, "signature"), follows) ||
	    json_read(text, strlen(text), JSON_LIMIT_DEFAULT, &statement, &problem) < 0)
		return NULL;
	if (strcmp(haasctl_word(statement, "format"), "haas-certificate-key-1") == 0 &&
	    strcmp(haasctl_word(statement, "follows"), follows) == 0 &&
	    strcmp(haasctl_word(statement, "public_key"), haasctl_word(row, "public_key")) == 0)
		return statement;
	json_decref(statement);
	return NULL;
}

static void certificate_keys_add(struct certificate_keys *keys, const json_t *row,
				 json_t *statement)
{
	const char *until = haasctl_word(row, "until");
	struct certificate_signer *signer =
		certificate_keys_find(keys, haasctl_word(row, "public_key"));

	if (!signer && keys->count == CERTIFICATE_KEYS_MAX) {
		json_decref(statement);
		return;
	}
	if (!signer) {
		keys->statements[keys->count] = statement;
		signer = &keys->rows[keys->count++];
		signer->public_key = haasctl_word(row, "public_key");
		signer->since = statement ? haasctl_word(statement, "since") : NULL;
	} else {
		json_decref(statement);
	}
	signer->until = *until ? until : NULL;
}

/* A key, if it is trusted by now; true: one more is. */
static bool certificate_keys_take_one(struct certificate_keys *keys, const json_t *row, bool all)
{
	const char *follows = haasctl_word(row, "follows");
	size_t before = keys->count;
	json_t *statement;

	if (certificate_keys_find(keys, haasctl_word(row, "public_key")) || (!*follows && all)) {
		certificate_keys_add(keys, row, NULL);
	} else if (*follows && certificate_keys_find(keys, follows)) {
		statement = certificate_keys_statement(row);
		if (statement)
			certificate_keys_add(keys, row, statement);
	}
	return keys->count > before;
}

int certificate_keys_take(struct certificate_keys *keys, json_t *list)
{
	bool all = keys->count == 0;
	bool more = true;
	const json_t *row;
	size_t i;

	if (!json_is_array(list))
		return haasctl_usage("that is no list of keys: haasctl certificate keys -o json");
	keys->list = json_incref(list);
	while (more) {
		more = false;
		json_array_foreach(list, i, row) more |= certificate_keys_take_one(keys, row, all);
	}
	return EXIT_OK;
}

int certificate_keys_read_list(struct certificate_keys *keys, const char *path)
{
	CLEANUP(freep) char *data = NULL;
	CLEANUP(json_decrefp) json_t *list = NULL;
	struct problem problem = {0};
	size_t size = 0;
	int rc = file_read(path, CERTIFICATE_KEYS_LIST_LIMIT, &data, &size);

	if (rc == 0)
		rc = json_read(data, size, CERTIFICATE_KEYS_LIST_LIMIT, &list, &problem);
	return rc < 0 ? haasctl_cannot("read", path, rc) : certificate_keys_take(keys, list);
}

static void certificate_keys_note(struct certificate_keys *keys, const char *public_key)
{
	for (size_t i = 0; i < keys->used_count; i++) {
		if (strcmp(keys->used[i], public_key) == 0)
			return;
	}
	if (keys->used_count < CERTIFICATE_KEYS_MAX)
		(void)text_copy(keys->used[keys->used_count++], sizeof(keys->used[0]), public_key);
}

int certificate_keys_next(struct certificate_keys *keys, struct certificate_chain *chain,
			  const json_t *row, const char *time, struct problem *problem)
{
	const char *text = haasctl_word(row, "body");
	CLEANUP(json_decrefp) json_t *body = NULL;
	struct problem unread = {0};
	int rc;

	(void)!json_read(text, strlen(text), JSON_LIMIT_DEFAULT, &body, &unread);
	const struct certificate next = {
		.body = text,
		.previous_hash = haasctl_word(row, "previous_hash"),
		.hash = haasctl_word(row, "hash"),
		.signature = haasctl_word(row, "signature"),
		.public_key = haasctl_word(row, "public_key"),
		.issued_at = haasctl_word(body, time),
	};

	rc = certificate_chain_next(chain, &next, keys->count > 0 ? keys->rows : NULL, problem);
	if (rc == 0)
		certificate_keys_note(keys, next.public_key);
	return rc;
}

void certificate_keys_tell(const struct certificate_keys *keys)
{
	for (size_t i = 0; i < keys->used_count; i++) {
		const struct certificate_signer *row = keys->rows;

		while (row->public_key && strcmp(row->public_key, keys->used[i]) != 0)
			row++;
		printf("signed by  %s%s%s%s%s%s\n", keys->used[i], row->since ? " from " : "",
		       row->since ? row->since : "", row->until ? " until " : "",
		       row->until ? row->until : "",
		       keys->count > 0 ? "" : " (not compared with a key you trust: --key FILE)");
	}
}

void certificate_keys_done(struct certificate_keys *keys)
{
	json_decref(keys->list);
	for (size_t i = 0; i < CERTIFICATE_KEYS_MAX; i++) {
		free(keys->files[i]);
		json_decref(keys->statements[i]);
	}
}
