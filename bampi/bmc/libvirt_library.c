#include "bampi/bmc/libvirt_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#define FUNCTION(member) offsetof(struct libvirt_library, member)
static const struct {
	const char *name;
	size_t at;
} libvirt_library_functions[] = {
	{"virInitialize", FUNCTION(initialize)},
	{"virConnectOpenAuth", FUNCTION(open_auth)},
	{"virConnectClose", FUNCTION(close)},
	{"virConnectSetKeepAlive", FUNCTION(keep_alive)},
	{"virConnectIsAlive", FUNCTION(is_alive)},
	{"virDomainLookupByName", FUNCTION(find)},
	{"virDomainFree", FUNCTION(release)},
	{"virDomainGetState", FUNCTION(state)},
	{"virDomainCreate", FUNCTION(create)},
	{"virDomainDestroy", FUNCTION(destroy)},
	{"virDomainReset", FUNCTION(reset)},
	{"virDomainShutdown", FUNCTION(shutdown)},
	{"virDomainGetXMLDesc", FUNCTION(xml)},
	{"virDomainDefineXML", FUNCTION(define)},
	{"virDomainGetUUIDString", FUNCTION(uuid)},
	{"virGetLastError", FUNCTION(last_error)},
	{"virSetErrorFunc", FUNCTION(set_error_func)},
};

/* libvirt would print each error to stderr. */
static void be_silent(void *context, virErrorPtr error)
{
	(void)context;
	(void)error;
}

/* glibc keeps it per thread. */
static const char *libvirt_library_reason(void)
{
	return dlerror(); /* NOLINT(concurrency-mt-unsafe) */
}

static int libvirt_library_absent(const char *why, struct problem *problem)
{
	(void)problem_set(problem, E_UNSUPPORTED, "libvirt is not there");
	problem_detail(problem, "%s", why ? why : "?");
	problem_hint(problem, "install libvirt0 where bampid runs");
	return E_UNSUPPORTED;
}

/* ISO C has no cast from void * to a function; POSIX says that the bytes fit. */
static void put_function(struct libvirt_library *library, size_t at, const void *function)
{
	memcpy((char *)library + at, (const void *)&function, sizeof(function));
}

int libvirt_library_load(struct libvirt_library *ret, struct problem *problem)
{
	struct libvirt_library library = {0};
	void *handle = dlopen("libvirt.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	for (size_t i = 0; i < COUNT_OF(libvirt_library_functions) && handle; i++) {
		void *function = dlsym(handle, libvirt_library_functions[i].name);

		if (!function)
			return libvirt_library_absent(libvirt_library_reason(), problem);
		put_function(&library, libvirt_library_functions[i].at, function);
	}
	if (!handle)
		return libvirt_library_absent(libvirt_library_reason(), problem);
	library.set_error_func(NULL, be_silent);
	if (library.initialize() != 0)
		return libvirt_library_absent("virInitialize failed", problem);
	*ret = library;
	return 0;
}
