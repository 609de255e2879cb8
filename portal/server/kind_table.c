#include "portal/server/kind_table.h"

#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/net/ipv4.h"
#include "common/net/mac.h"

#include "portal/server/query_policy.h"
#include "portal/server/word_table.h"

static bool kind_is_id(const char *value)
{
	return query_is_id(value);
}

static bool kind_is_name(const char *value)
{
	return strlen(value) < NAME_SIZE;
}

static bool kind_is_mac(const char *value)
{
	struct mac mac;

	return mac_parse(value, &mac) == 0;
}

static bool kind_is_address(const char *value)
{
	uint32_t address;

	return ipv4_parse(value, &address) == 0;
}

static const struct kind_row {
	const char *name; /* as {name} of a pattern */
	bool (*fits)(const char *value);
	const char *words; /* before the name in the sentence */
	const char *list;  /* the command that lists them */
} kind_rows[] = {
	/* clang-format off */
	{"address", kind_is_address, "the lease of", "haasctl lease list"},
	{"alert", kind_is_id, "alert", "haasctl alert list --all"},
	{"archive", kind_is_name, "archive", "haasctl archive list"},
	{"capture", kind_is_id, "capture", "haasctl capture list --all"},
	{"case", kind_is_id, "case", "haasctl case list --all"},
	{"certificate", kind_is_id, "certificate", "haasctl certificate list"},
	{"circuit", kind_is_id, "circuit", "haasctl circuit unknown"},
	{"deployment", kind_is_id, "deployment", "haasctl deployment list"},
	{"fabric", kind_is_name, "fabric", "haasctl fabric list"},
	{"grant", kind_is_id, "grant", "haasctl grant list"},
	{"image", kind_is_name, "image", "haasctl image list"},
	{"job", kind_is_id, "job", "haasctl job list"},
	{"mac", kind_is_mac, "the reservation of", "haasctl reservation list"},
	{"network", kind_is_name, "network", "haasctl network list"},
	{"node", kind_is_name, "node", "haasctl node list"},
	{"package", kind_is_name, "package", "haasctl package list"},
	{"pdci", kind_is_name, "PDCI", "haasctl pdci list"},
	{"rule", kind_is_name, "rule", "haasctl circuit list"},
	{"silence", kind_is_id, "silence", "haasctl alert silences"},
	{"storage", kind_is_name, "storage", "haasctl storage list"},
	{"subnet", kind_is_name, "subnet", "haasctl subnet list"},
	{"switch", kind_is_name, "switch", "haasctl switch list"},
	{"tenant", kind_is_name, "tenant", "haasctl tenant list"},
	{"version", kind_is_name, "version", "haasctl image list"},
	{"volume", NULL, "volume", "haasctl volume list"},
	/* clang-format on */
};

/* The next {name} of a pattern; `at` is behind the one before. NULL row: there is none left, or it is
 * not in the table. */
static const char *kind_next(const char *at, const struct kind_row **ret)
{
	const char *open = strchr(at, '{');
	size_t length = open ? strcspn(open, "}") : 0;

	*ret = NULL;
	if (!open)
		return NULL;
	for (size_t i = 0; i < COUNT_OF(kind_rows); i++) {
		if (strncmp(open + 1, kind_rows[i].name, length - 1) == 0 &&
		    kind_rows[i].name[length - 1] == '\0')
			*ret = &kind_rows[i];
	}
	return open + length;
}

static void kind_tell(const struct http_request *request, const struct kind_row *row,
		      struct problem *ret_problem)
{
	const char *version = strcmp(row->name, "image") == 0 || strcmp(row->name, "package") == 0
				      ? http_request_param(request, "version")
				      : NULL;

	(void)problem_set(ret_problem, E_NOT_FOUND, "%s %.64s%s%.64s does not exist", row->words,
			  http_request_param(request, row->name), version ? ":" : "",
			  version ? version : "");
	problem_hint(ret_problem, "%s shows those that exist", row->list);
}

bool kind_path_check(const struct http_request *request, const char *pattern,
		     struct problem *ret_problem)
{
	const struct kind_row *row;

	for (const char *at = kind_next(pattern, &row); at; at = kind_next(at, &row)) {
		if (!row || !row->fits || row->fits(http_request_param(request, row->name)))
			continue;
		kind_tell(request, row, ret_problem);
		return false;
	}
	return true;
}

void kind_not_found(const struct http_request *request, const char *pattern,
		    struct problem *ret_problem)
{
	const struct kind_row *row = NULL;

	if (pattern)
		(void)kind_next(pattern, &row);
	if (row) {
		kind_tell(request, row, ret_problem);
		return;
	}
	(void)problem_set(ret_problem, E_NOT_FOUND, "there is nothing of this kind");
	problem_hint(ret_problem, "look at the words of the request: a name may be misspelled");
}
