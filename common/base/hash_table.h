/* Hash tables of structures (uthash), outside hot paths. The default hash function falls through its
 * cases, which clang reports. */
#pragma once

#define HASH_FUNCTION HASH_FNV
#include <uthash.h>
