/* Memory for large tables: zeros, at the begin of a page, in large pages where the kernel has any.
 * With small ones each row of a table that is read in no order is a miss of the TLB as well. */
#pragma once

#include <stddef.h>

/* NULL = no memory. What is not touched costs nothing. */
void *pages_new(size_t size);
/* The size that it was made with; NULL is nothing. */
void pages_free(void *pages, size_t size);
