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
	const char *where; /* only in patterns that have this; NULL = in all */
} kind_rows[] = {
	/* clang-format off */
	{"account", NULL, "account", "haasctl account list", NULL},
	{"address", kind_is_address, "the lease of", "haasctl lease list", NULL},
	{"alert", kind_is_id, "alert", "haasctl alert list --all", NULL},
	{"archive", kind_is_name, "archive", "haasctl archive list", NULL},
	{"capture", kind_is_id, "capture", "haasctl capture list --all", NULL},
	{"case", kind_is_id, "case", "haasctl case list --all", NULL},
	{"certificate", kind_is_id, "certificate", "haasctl certificate list", NULL},
	{"circuit", kind_is_id, "circuit", "haasctl circuit unknown", NULL},
	{"delivery", kind_is_id, "delivery", "haasctl webhook deliveries WEBHOOK", NULL},
	{"deployment", kind_is_id, "deployment", "haasctl deployment list", NULL},
	{"fabric", kind_is_name, "fabric", "haasctl fabric list", NULL},
	{"grant", kind_is_id, "grant", "haasctl capture grants", "/capture-grants/"},
	{"grant", kind_is_id, "grant", "haasctl grant list", NULL},
	{"image", kind_is_name, "image", "haasctl image list", NULL},
	{"job", kind_is_id, "job", "haasctl job list", NULL},
	{"mac", kind_is_mac, "the reservation of", "haasctl reservation list", NULL},
	{"network", kind_is_name, "network", "haasctl network list", NULL},
	{"node", kind_is_name, "node", "haasctl node list", NULL},
	{"package", kind_is_name, "package", "haasctl package list", NULL},
	{"pdci", kind_is_name, "PDCI", "haasctl pdci list", NULL},
	{"rule", kind_is_name, "rule", "haasctl circuit list", NULL},
	{"session", kind_is_id, "session", "haasctl session list", NULL},
	{"silence", kind_is_id, "silence", "haasctl alert silences", NULL},
	{"storage", kind_is_name, "storage", "haasctl storage list", NULL},
	{"subnet", kind_is_name, "subnet", "haasctl subnet list", NULL},
	{"switch", kind_is_name, "switch", "haasctl switch list", NULL},
	{"tenant", kind_is_name, "tenant", "haasctl tenant list", NULL},
	{"token", kind_is_name, "token", "haasctl token list", NULL},
	{"version", kind_is_name, "version", "haasctl image list", NULL},
	{"volume", NULL, "volume", "haasctl volume list", NULL},
	{"webhook", kind_is_id, "webhook", "haasctl webhook list", NULL},
	/* clang-format on */
};

/* The next {name} of a pattern; `at` is behind the one before. NULL row: there is none left, or it is
 * not in the table. */
static const char *kind_next(const char *pattern, const char *at, const struct kind_row **ret)
{
	const char *open = strchr(at, '{');
	size_t length = open ? strcspn(open, "}") : 0;

	*ret = NULL;
	if (!open)
		return NULL;
	for (size_t i = 0; !*ret && i < COUNT_OF(kind_rows); i++) {
		const struct kind_row *row = &kind_rows[i];

		if (strncmp(open + 1, row->name, length - 1) == 0 &&
		    row->name[length - 1] == '\0' && (!row->where || strstr(pattern, row->where)))
			*ret = row;
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

	for (const char *at = kind_next(pattern, pattern, &row); at;
	     at = kind_next(pattern, at, &row)) {
		/* What a PUT makes has its name refused by its handler, as a value. */
		bool made = row && row->fits == kind_is_name &&
			    http_request_method(request) == HTTP_PUT;

		if (!row || !row->fits || made || row->fits(http_request_param(request, row->name)))
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
		(void)kind_next(pattern, pattern, &row);
	if (row) {
		kind_tell(request, row, ret_problem);
		return;
	}
	(void)problem_set(ret_problem, E_NOT_FOUND, "there is nothing of this kind");
	problem_hint(ret_problem, "look at the words of the request: a name may be misspelled");
}
