#include "common/base/macros.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void freep(void *pointer)
{
	void *block;

	memcpy(&block, pointer, sizeof(block)); /* any pointer type; no aliasing games */
	free(block);
}

void closep(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
