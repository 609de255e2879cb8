/* Sensor data records in memory. FreeIPMI wants them in a file: they become one only for as long as
 * it opens it, so that a thousand BMCs need no thousand descriptors. */
#pragma once

#include <freeipmi/freeipmi.h>
#include <stddef.h>

#include "common/base/macros.h"

void ipmi_sdr_freep(ipmi_sdr_ctx_t *sdr);
void ipmi_fd_closep(const int *fd);

enum { IPMI_FD_PATH_SIZE = 32 };
/* A name for what is open as `fd`. */
void ipmi_fd_path(int fd, char ret[IPMI_FD_PATH_SIZE]);
/* What the file `fd` holds, as a copy. -ENOMEM, errno. */
MUST_USE int ipmi_sdr_copy(int fd, void **ret, size_t *ret_size);
/* Opens a copy for reading. With `context` the BMC is asked whether it is still right. -ENOMEM;
 * E_UNAVAILABLE: it is not, or no such records. */
MUST_USE int ipmi_sdr_open_copy(const void *copy, size_t size, ipmi_ctx_t context,
				ipmi_sdr_ctx_t *ret);
