/* The functions of libvirt.so.0 that the driver uses, by dlopen: names and types as in
 * libvirt/libvirt-domain.h and virterror.h of 9.0, whose ABI has been kept since 0.1. */
#pragma once

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

struct libvirt_library {
	int (*initialize)(void);
	virConnectPtr (*open_auth)(const char *uri, virConnectAuthPtr auth, unsigned flags);
	int (*close)(virConnectPtr connection);
	int (*keep_alive)(virConnectPtr connection, int interval_s, unsigned count);
	int (*is_alive)(virConnectPtr connection);
	virDomainPtr (*find)(virConnectPtr connection, const char *name);
	int (*release)(virDomainPtr domain);
	int (*state)(virDomainPtr domain, int *state, int *reason, unsigned flags);
	int (*create)(virDomainPtr domain);
	int (*destroy)(virDomainPtr domain);
	int (*reset)(virDomainPtr domain, unsigned flags);
	int (*shutdown)(virDomainPtr domain);
	char *(*xml)(virDomainPtr domain, unsigned flags);
	virDomainPtr (*define)(virConnectPtr connection, const char *xml);
	int (*uuid)(virDomainPtr domain, char *ret);
	virErrorPtr (*last_error)(void);
	void (*set_error_func)(void *context, virErrorFunc fn);
};

/* Loads it, or finds it loaded; it stays for the life of the process, for it keeps threads of its
 * own. Any thread. E_UNSUPPORTED with a problem when there is none. */
MUST_USE int libvirt_library_load(struct libvirt_library *ret, struct problem *problem);
