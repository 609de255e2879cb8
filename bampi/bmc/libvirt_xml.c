#include "bampi/bmc/libvirt_xml.h"

#include <errno.h>
#include <string.h>

#include "common/base/error.h"

/* libvirt writes this XML itself: no comments, no CDATA, "<tag" as it is. */
static const char *os_begin(const char *xml)
{
	const char *at = strstr(xml, "<os>");

	return at ? at : strstr(xml, "<os ");
}

int libvirt_boot_read(const char *xml, enum bmc_boot_device *ret)
{
	const char *os = os_begin(xml);
	const char *end = os ? strstr(os, "</os>") : NULL;
	const char *boot = end ? strstr(os, "<boot dev='") : NULL;
	enum bmc_boot_device device = BMC_BOOT_NONE;

	if (!end)
		return E_MALFORMED;
	if (boot && boot < end) {
		boot += strlen("<boot dev='");
		if (strncmp(boot, "network'", 8) == 0)
			device = BMC_BOOT_PXE;
		else
			device = strncmp(boot, "hd'", 3) == 0 ? BMC_BOOT_DISK : BMC_BOOT_OTHER;
	}
	*ret = device;
	return 0;
}

bool libvirt_is_uefi(const char *xml)
{
	return strstr(xml, "firmware='efi'") || strstr(xml, "type='pflash'");
}

/* Copies without the <boot .../> elements that start with `element`. */
static int copy_without(const char *from, const char *end, const char *element, struct text *ret)
{
	const char *at;

	while ((at = strstr(from, element)) && at < end) {
		const char *close = strstr(at, "/>");

		if (!close || close > end)
			return E_MALFORMED;
		text_add_bytes(ret, from, (size_t)(at - from));
		from = close + 2;
	}
	text_add_bytes(ret, from, (size_t)(end - from));
	return 0;
}

int libvirt_boot_write(const char *xml, enum bmc_boot_device device, struct text *ret)
{
	const char *os = os_begin(xml);
	const char *end = os ? strstr(os, "</os>") : NULL;
	const char *first = device == BMC_BOOT_PXE ? "network" : "hd";
	const char *second = device == BMC_BOOT_PXE ? "hd" : "network";
	int rc;

	if (!end)
		return E_MALFORMED;
	text_add_bytes(ret, xml, (size_t)(os - xml));
	rc = copy_without(os, end, "<boot dev='", ret);
	text_addf(ret, "<boot dev='%s'/><boot dev='%s'/>", first, second);
	if (rc == 0)
		rc = copy_without(end, end + strlen(end), "<boot order='", ret);
	return rc ? rc : ret->failed ? -ENOMEM : 0;
}
