/* The page: files that portal/web made, read once and sent from memory. No path of a request reaches
 * the disk: a name is one of those that were read, or it is not there. */
#pragma once

#include <stdbool.h>

#include "common/base/macros.h"
#include "common/http/server.h"

struct page;

/* Where the page's screens are, and its assets; NULL-ended. All are GET. */
extern const char *const page_patterns[];
size_t page_count(void);
/* Whether the request is for one of them. */
bool page_is_asked(const struct http_request *request);

/* Reads `folder`: index.html, assets/NAME, and NAME.gz beside each. A folder without a page is no
 * failure: the API works without one, and the answer says what is missing. */
MUST_USE int page_new(const char *folder, struct page **ret);
void page_free(struct page *page);
/* The http_handler of page_patterns; `context` is struct portal. */
void page_answer(void *context, struct http_request *request);
