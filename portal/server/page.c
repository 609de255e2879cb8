#include "portal/server/page.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/io/file.h"

#include "portal/server/portal.h"

#define PAGE_FILES      256
#define PAGE_FILE_MAX   (2 << 20)
#define PAGE_WHY_MAX    255
#define PAGE_TAG_LENGTH 24
/* Only what this server sends runs, and it asks nobody else. */
#define PAGE_POLICY                                                                 \
	"default-src 'none'; script-src 'self'; style-src 'self'; "                 \
	"connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; "        \
	"base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; " \
	"trusted-types 'none'"

struct page_bytes {
	char *data;
	size_t size;
	char tag[PAGE_TAG_LENGTH + 3]; /* with its quotes */
};

struct page_file {
	char *name;
	const char *type;
	struct page_bytes plain, packed; /* packed.data NULL: only as it is */
};

struct page {
	struct page_file index;
	struct page_file assets[PAGE_FILES];
	size_t asset_count;
	char why[PAGE_WHY_MAX + 1]; /* there is no page; "" otherwise */
};

const char *const page_patterns[] = {
	"/",
	"/login",
	"/link",
	"/nodes",
	"/nodes/{node}",
	"/nodes/{node}/console",
	"/deployments",
	"/images",
	"/volumes",
	"/topology",
	"/switches",
	"/switches/{switch}",
	"/links",
	"/addresses",
	"/alerts",
	"/overview",
	"/tenants",
	"/usage",
	"/jobs",
	"/people",
	"/audit",
	"/certificates",
	"/rotations",
	"/webhooks",
	"/settings",
	"/account",
	"/pdcis",
	"/pdcis/{pdci}",
	"/drill",
	"/collector",
	"/cases",
	"/cases/{case}",
	"/captures",
	"/captures/{capture}",
	"/assets/{file}",
	NULL,
};

static const struct {
	const char *suffix, *type;
} page_types[] = {
	{".html", "text/html; charset=utf-8"},
	{".js", "text/javascript; charset=utf-8"},
	{".css", "text/css; charset=utf-8"},
	{".svg", "image/svg+xml"},
};

static const char *page_type(const char *name)
{
	const char *suffix = strrchr(name, '.');

	for (size_t i = 0; suffix && i < COUNT_OF(page_types); i++) {
		if (strcmp(suffix, page_types[i].suffix) == 0)
			return page_types[i].type;
	}
	return NULL;
}

/* --- reading --- */

static int page_read_bytes(const char *folder, const char *name, const char *suffix,
			   struct page_bytes *ret)
{
	char path[4096];
	char digest[DIGEST_TEXT_SIZE];
	int rc;

	if (!text_format(path, sizeof(path), "%s/%s%s", folder, name, suffix))
		return -ENAMETOOLONG;
	rc = file_read(path, PAGE_FILE_MAX, &ret->data, &ret->size);
	if (rc != 0)
		return rc;
	digest_text(ret->data, ret->size, digest);
	(void)text_format(ret->tag, sizeof(ret->tag), "\"%.*s\"", PAGE_TAG_LENGTH, digest);
	return 0;
}

static int page_read_file(const char *folder, const char *name, struct page_file *ret)
{
	int rc;

	ret->type = page_type(name);
	ret->name = strdup(name);
	rc = ret->name ? page_read_bytes(folder, name, "", &ret->plain) : -ENOMEM;
	if (rc == 0)
		rc = page_read_bytes(folder, name, ".gz", &ret->packed);
	return rc == -ENOENT && ret->plain.data ? 0 : rc;
}

static int page_is_asset(const struct dirent *entry)
{
	return page_type(entry->d_name) != NULL;
}

static int page_read_assets(struct page *page, const char *folder)
{
	CLEANUP(text_done) struct text path = {0};
	struct dirent **entries = NULL;
	int count;
	int rc = 0;

	text_addf(&path, "%s/assets", folder);
	if (path.failed)
		return -ENOMEM;
	count = scandir(text_get(&path), &entries, page_is_asset, alphasort);
	if (count < 0)
		return -errno;
	if (count > PAGE_FILES)
		rc = E_LIMIT;
	for (int i = 0; i < count; i++) {
		if (rc == 0)
			rc = page_read_file(text_get(&path), entries[i]->d_name,
					    &page->assets[page->asset_count++]);
		free(entries[i]);
	}
	free(entries);
	return rc;
}

/* The build leaves a word where it could not make one. */
static void page_tell_why(struct page *page, const char *folder, int rc)
{
	struct page_bytes said = {0};

	if (page_read_bytes(folder, "missing", "", &said) == 0)
		(void)text_format(page->why, sizeof(page->why), "%.*s",
				  (int)strcspn(said.data, "\n"), said.data);
	else
		(void)text_format(page->why, sizeof(page->why), "%.160s: %s", folder,
				  error_text(rc));
	free(said.data);
}

int page_new(const char *folder, struct page **ret)
{
	struct page *page = calloc(1, sizeof(*page));
	int rc;

	if (!page)
		return -ENOMEM;
	rc = page_read_file(folder, "index.html", &page->index);
	if (rc == 0)
		rc = page_read_assets(page, folder);
	if (rc != 0)
		page_tell_why(page, folder, rc);
	*ret = page;
	return 0;
}

static void page_file_done(struct page_file *file)
{
	free(file->name);
	free(file->plain.data);
	free(file->packed.data);
}

void page_free(struct page *page)
{
	if (!page)
		return;
	page_file_done(&page->index);
	for (size_t i = 0; i < page->asset_count; i++)
		page_file_done(&page->assets[i]);
	free(page);
}

/* --- answering --- */

size_t page_count(void)
{
	return COUNT_OF(page_patterns) - 1;
}

bool page_is_asked(const struct http_request *request)
{
	const char *route = http_request_route(request);

	for (const char *const *pattern = page_patterns; *pattern; pattern++) {
		if (strcmp(*pattern, route) == 0)
			return true;
	}
	return false;
}

static const struct page_file *page_find(const struct page *page, const char *name)
{
	for (size_t i = 0; i < page->asset_count; i++) {
		if (strcmp(page->assets[i].name, name) == 0)
			return &page->assets[i];
	}
	return NULL;
}

/* "gzip", but not "gzip;q=0" (RFC 9110 12.5.3). */
static bool page_takes_gzip(const struct http_request *request)
{
	const char *header = http_request_header(request, "Accept-Encoding");
	const char *at = header ? strstr(header, "gzip") : NULL;

	return at && at[strlen("gzip")] != ';';
}

static void page_refuse(struct http_request *request, const struct page *page)
{
	struct problem problem = {0};

	(void)problem_set(&problem, E_NOT_FOUND,
			  page->why[0] != '\0' ? "the page was not built"
					       : "the page has no such file");
	if (page->why[0] != '\0') {
		problem_detail(&problem, "%s", page->why);
		problem_hint(&problem,
			     "install nodejs and npm where this was built, then build again");
	} else {
		problem_hint(&problem, "load the page again: it was replaced by a newer one");
	}
	http_answer_header(request, "Cache-Control", "no-store");
	http_answer_problem(request, 404, &problem);
}

void page_answer(void *context, struct http_request *request)
{
	const struct portal *portal = context;
	const struct page *page = portal->page;
	const char *name = http_request_param(request, "file");
	const struct page_file *file = name ? page_find(page, name) : &page->index;
	const char *known = http_request_header(request, "If-None-Match");
	const struct page_bytes *bytes;

	if (page->why[0] != '\0' || !file) {
		page_refuse(request, page);
		return;
	}
	bytes = file->packed.data && page_takes_gzip(request) ? &file->packed : &file->plain;
	/* The name of an asset changes with its bytes. */
	http_answer_header(request, "Cache-Control",
			   name ? "public, max-age=31536000, immutable" : "no-cache");
	http_answer_header(request, "ETag", bytes->tag);
	http_answer_header(request, "Vary", "Accept-Encoding");
	http_answer_header(request, "Content-Security-Policy", PAGE_POLICY);
	http_answer_header(request, "Cross-Origin-Opener-Policy", "same-origin");
	http_answer_header(request, "X-Content-Type-Options", "nosniff");
	if (known && strstr(known, bytes->tag)) {
		http_answer(request, 304, NULL, NULL, 0);
		return;
	}
	if (bytes == &file->packed)
		http_answer_header(request, "Content-Encoding", "gzip");
	http_answer(request, 200, file->type, bytes->data, bytes->size);
}
