#include "common/base/pages.h"

#include <sys/mman.h>

void *pages_new(size_t size)
{
	void *pages = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return NULL;
	(void)madvise(pages, size, MADV_HUGEPAGE); /* not on every kernel: then only slower */
	return pages;
}

void pages_free(void *pages, size_t size)
{
	if (pages)
		(void)munmap(pages, size ? size : 1);
}
