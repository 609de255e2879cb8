/* The boot device in a domain's XML (libvirt.org/formatdomain.html): <boot dev='...'/> of <os>, as
 * text; per-device <boot order='...'/>, which libvirt does not allow beside it, goes. */
#pragma once

#include <stdbool.h>

#include "common/base/macros.h"
#include "common/base/text.h"

#include "bampi/bmc/bmc_driver.h"

/* Where the domain boots from first: hd is DISK, network PXE, none told NONE. E_MALFORMED. */
MUST_USE int libvirt_boot_read(const char *xml, enum bmc_boot_device *ret);
/* Is the firmware UEFI? (<os firmware='efi'> or a pflash <loader>) */
bool libvirt_is_uefi(const char *xml);
/* The same domain booting `device` first and the other after it. E_MALFORMED, -ENOMEM. */
MUST_USE int libvirt_boot_write(const char *xml, enum bmc_boot_device device, struct text *ret);
