#include "bampi/bmc/libvirt_driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/bmc/bmc_blocking.h"
#include "bampi/bmc/libvirt_library.h"
#include "bampi/bmc/libvirt_xml.h"

enum { KEEP_ALIVE_S = 5, KEEP_ALIVE_COUNT = 2 }; /* a dead peer is noticed after so long */

struct domain {
	struct bmc_endpoint endpoint;
	char uri[128], name[64];
	bool loaded;
	struct libvirt_library library;
	virConnectPtr connection;
	/* A boot device for the next start only: what is set again after that start. */
	bool once;
	enum bmc_boot_device before;
	/* Of the call under way. */
	const struct bmc_request *request;
	bool changed; /* something was changed, or may have been */
};

/* --- what libvirt says --- */

static int libvirt_driver_failed(struct domain *domain, const char *what, struct problem *problem)
{
	const virError *error = domain->library.last_error();
	int code = error ? error->code : 0;
	int rc = E_PROTOCOL;

	if (code == VIR_ERR_NO_DOMAIN)
		rc = E_NOT_FOUND;
	else if (code == VIR_ERR_OPERATION_INVALID)
		rc = E_CONFLICT;
	else if (code == VIR_ERR_AUTH_FAILED || code == VIR_ERR_AUTH_CANCELLED)
		rc = E_AUTHENTICATION;
	else if (code == VIR_ERR_NO_SUPPORT || code == VIR_ERR_OPERATION_UNSUPPORTED)
		rc = E_UNSUPPORTED;
	else if (code == VIR_ERR_OPERATION_DENIED || code == VIR_ERR_ACCESS_DENIED)
		rc = E_DENIED;
	else if (code == VIR_ERR_RPC || code == VIR_ERR_SYSTEM_ERROR ||
		 code == VIR_ERR_NO_CONNECT || !domain->connection)
		rc = E_TIMEOUT;
	(void)problem_set(problem, rc, "node %s: libvirt cannot %s", domain->endpoint.node, what);
	problem_detail(problem, "%s", error && error->message ? error->message : "no reason given");
	if (rc == E_NOT_FOUND)
		problem_hint(problem, "name the domain after # in the URI");
	return rc;
}

/* Only ways that start no program: libvirt's ssh and ext take ?command=PROGRAM, and it would run as
 * us (libvirt.org/uri.html). */
static bool runs_no_program(const char *uri)
{
	static const char *const begins[] = {"qemu:///", "qemu+unix:///", "qemu+tls://",
					     "test:///"};

	for (size_t i = 0; i < COUNT_OF(begins); i++) {
		if (strncmp(uri, begins[i], strlen(begins[i])) == 0)
			return strpbrk(uri, "?&%\\ ") == NULL;
	}
	return false;
}

static int libvirt_driver_connect_to(struct domain *domain, struct problem *problem)
{
	const struct libvirt_library *lib = &domain->library;
	int rc;

	if (!runs_no_program(domain->uri)) {
		rc = problem_set(problem, E_DENIED, "node %s: the libvirt URI %s is not allowed",
				 domain->endpoint.node, domain->uri);
		problem_hint(problem,
			     "qemu:///system, qemu+unix:///system or qemu+tls://HOST/system, "
			     "without parameters");
		return rc;
	}
	rc = domain->loaded ? 0 : libvirt_library_load(&domain->library, problem);
	if (rc)
		return rc;
	domain->loaded = true;
	if (domain->connection && lib->is_alive(domain->connection) != 1) {
		(void)lib->close(domain->connection);
		domain->connection = NULL;
	}
	if (domain->connection)
		return 0;
	/* No callback for credentials: nothing may ask a person from in here. */
	domain->connection = lib->open_auth(domain->uri, NULL, 0);
	if (!domain->connection)
		return libvirt_driver_failed(domain, "be reached", problem);
	(void)lib->keep_alive(domain->connection, KEEP_ALIVE_S, KEEP_ALIVE_COUNT);
	return 0;
}

/* --- operations --- */

/* To be asked before each thing that changes the domain. */
static int libvirt_driver_may_change(const struct domain *domain, struct problem *problem)
{
	if (fence_holds(domain->request->fence))
		return 0;
	return bmc_lapsed(domain->endpoint.node, domain->request->op, domain->changed, problem);
}

static int is_on(struct domain *domain, virDomainPtr found, bool *ret, struct problem *problem)
{
	int state = 0;
	int reason = 0;

	if (domain->library.state(found, &state, &reason, 0) != 0)
		return libvirt_driver_failed(domain, "tell the power state", problem);
	*ret = state != VIR_DOMAIN_SHUTOFF && state != VIR_DOMAIN_CRASHED &&
	       state != VIR_DOMAIN_NOSTATE;
	return 0;
}

static int boot_define(struct domain *domain, virDomainPtr found, enum bmc_boot_device device,
		       enum bmc_boot_device *ret_before, struct problem *problem)
{
	CLEANUP(text_done) struct text changed = {0};
	CLEANUP(freep)
	char *xml = domain->library.xml(found, VIR_DOMAIN_XML_INACTIVE | VIR_DOMAIN_XML_SECURE);
	virDomainPtr defined;
	int rc;

	if (!xml)
		return libvirt_driver_failed(domain, "show the domain", problem);
	if (libvirt_boot_read(xml, ret_before) != 0 ||
	    libvirt_boot_write(xml, device, &changed) != 0)
		return problem_set(problem, E_PROTOCOL,
				   "node %s: libvirt's description of the domain is not understood",
				   domain->endpoint.node);
	rc = libvirt_driver_may_change(domain, problem);
	if (rc)
		return rc;
	domain->changed = true;
	defined = domain->library.define(domain->connection, changed.data);
	if (!defined)
		return libvirt_driver_failed(domain, "set the boot device", problem);
	(void)domain->library.release(defined);
	return 0;
}

/* One change of the power. */
static int libvirt_driver_change(struct domain *domain, virDomainPtr found, enum bmc_op op,
				 struct problem *problem)
{
	const struct libvirt_library *lib = &domain->library;
	int rc = libvirt_driver_may_change(domain, problem);

	if (rc)
		return rc;
	domain->changed = true;
	switch ((int)op) {
	case BMC_POWER_ON: rc = lib->create(found); break;
	case BMC_POWER_OFF: rc = lib->destroy(found); break;
	case BMC_POWER_SOFT: rc = lib->shutdown(found); break;
	default: rc = lib->reset(found, 0); break;
	}
	return rc ? libvirt_driver_failed(domain, bmc_op_text(op), problem) : 0;
}

/* libvirt's reset keeps the old description: stop and start, when something waits to be used. */
static int libvirt_driver_reset(struct domain *domain, virDomainPtr found, bool on,
				struct problem *problem)
{
	int rc;

	if (!domain->once || !on)
		return libvirt_driver_change(domain, found, BMC_POWER_RESET, problem);
	rc = libvirt_driver_change(domain, found, BMC_POWER_OFF, problem);
	return rc ? rc : libvirt_driver_change(domain, found, BMC_POWER_ON, problem);
}

static int libvirt_driver_run_power(struct domain *domain, virDomainPtr found, enum bmc_op op,
				    struct problem *problem)
{
	enum bmc_boot_device ignored;
	bool on = false;
	int rc = is_on(domain, found, &on, problem);

	if (rc)
		return rc;
	if (op == BMC_POWER_RESET)
		rc = libvirt_driver_reset(domain, found, on, problem);
	else if (on != (op == BMC_POWER_ON))
		rc = libvirt_driver_change(domain, found, op, problem);
	if (rc || !domain->once || (op != BMC_POWER_ON && op != BMC_POWER_RESET))
		return rc;
	/* The running domain keeps what it was started with. */
	rc = boot_define(domain, found,
			 domain->before == BMC_BOOT_PXE ? BMC_BOOT_PXE : BMC_BOOT_DISK, &ignored,
			 problem);
	if (rc == 0)
		domain->once = false;
	return rc;
}

static int libvirt_driver_run_boot_set(struct domain *domain, virDomainPtr found,
				       const struct bmc_boot *boot, struct problem *problem)
{
	enum bmc_boot_device wanted = boot->device == BMC_BOOT_PXE ? BMC_BOOT_PXE : BMC_BOOT_DISK;
	enum bmc_boot_device before = BMC_BOOT_NONE;
	int rc;

	if (boot->device == BMC_BOOT_NONE && domain->once)
		wanted = domain->before == BMC_BOOT_PXE ? BMC_BOOT_PXE : BMC_BOOT_DISK;
	else if (boot->device == BMC_BOOT_NONE)
		return 0;
	rc = boot_define(domain, found, wanted, &before, problem);
	if (rc)
		return rc;
	if (!domain->once)
		domain->before = before;
	domain->once = boot->device != BMC_BOOT_NONE && !boot->persistent;
	return 0;
}

/* Only an override for the next start is one; what the domain always does is its order. */
static int libvirt_driver_run_boot_get(struct domain *domain, virDomainPtr found,
				       struct bmc_result *ret, struct problem *problem)
{
	CLEANUP(freep) char *xml = domain->library.xml(found, VIR_DOMAIN_XML_INACTIVE);
	enum bmc_boot_device device;

	if (!xml)
		return libvirt_driver_failed(domain, "show the domain", problem);
	if (libvirt_boot_read(xml, &device) != 0)
		return problem_set(problem, E_PROTOCOL,
				   "node %s: libvirt's description of the domain is not understood",
				   domain->endpoint.node);
	ret->boot.flags.device = device;
	ret->boot.flags.persistent = !domain->once;
	ret->boot.flags.firmware = libvirt_is_uefi(xml) ? BMC_FIRMWARE_UEFI : BMC_FIRMWARE_BIOS;
	ret->boot.valid = device != BMC_BOOT_NONE;
	return 0;
}

static int run_found(struct domain *domain, virDomainPtr found, const struct bmc_request *request,
		     struct bmc_result *ret, struct problem *problem)
{
	switch ((int)request->op) {
	case BMC_POWER_STATUS: return is_on(domain, found, &ret->power.on, problem);
	case BMC_POWER_ON:
	case BMC_POWER_OFF:
	case BMC_POWER_RESET:
	case BMC_POWER_SOFT: return libvirt_driver_run_power(domain, found, request->op, problem);
	case BMC_BOOT_GET: return libvirt_driver_run_boot_get(domain, found, ret, problem);
	case BMC_BOOT_SET:
		return libvirt_driver_run_boot_set(domain, found, &request->boot, problem);
	case BMC_INFO:
		if (domain->library.uuid(found, ret->info.guid) != 0)
			return libvirt_driver_failed(domain, "tell the UUID", problem);
		return 0;
	default: break;
	}
	return problem_set(problem, E_UNSUPPORTED, "node %s: a domain of libvirt has no %s",
			   domain->endpoint.node, bmc_op_text(request->op));
}

static int domain_run(void *state, const struct bmc_request *request, int64_t deadline_ms,
		      struct bmc_result *ret, struct problem *problem)
{
	struct domain *domain = state;
	struct bmc_result result = {.op = request->op};
	virDomainPtr found;
	int rc = libvirt_driver_connect_to(domain, problem);

	(void)deadline_ms; /* libvirt has none but its keep-alive */
	if (rc)
		return rc;
	found = domain->library.find(domain->connection, domain->name);
	if (!found)
		return libvirt_driver_failed(domain, "find the domain", problem);
	domain->request = request;
	domain->changed = false;
	rc = run_found(domain, found, request, &result, problem);
	domain->request = NULL;
	(void)domain->library.release(found);
	if (rc == 0)
		*ret = result;
	return rc;
}

static void domain_close(void *state)
{
	struct domain *domain = state;

	if (domain->connection)
		(void)domain->library.close(domain->connection);
	bmc_endpoint_wipe(&domain->endpoint);
	free(domain);
}

/* --- the face --- */

static const struct bmc_blocking_face libvirt_driver_face = {.run = domain_run,
							     .close = domain_close};

static int libvirt_driver_open(const struct bmc_endpoint *endpoint, const struct bmc_host *host,
			       void **ret_session, struct problem *problem)
{
	const char *fragment = strchr(endpoint->address, '#');
	struct domain *domain = calloc(1, sizeof(*domain));
	struct bmc_blocking *blocking = NULL;

	if (!domain)
		return problem_set(problem, -ENOMEM, "node %s: no memory for its domain",
				   endpoint->node);
	domain->endpoint = *endpoint;
	(void)text_copy(domain->uri, sizeof(domain->uri), endpoint->address);
	domain->uri[strcspn(domain->uri, "#")] = '\0';
	(void)text_copy(domain->name, sizeof(domain->name),
			fragment && fragment[1] ? fragment + 1 : endpoint->node);
	if (bmc_blocking_new(host, &libvirt_driver_face, domain, &blocking) != 0) {
		domain_close(domain);
		return problem_set(problem, -ENOMEM, "node %s: no memory for its domain",
				   endpoint->node);
	}
	*ret_session = blocking;
	return 0;
}

static bool libvirt_driver_blocks(void *session, const struct bmc_request *request)
{
	(void)session;
	(void)request;
	return true;
}

static int libvirt_driver_start(void *session, const struct bmc_request *request,
				int64_t deadline_ms, bmc_call_fn fn, void *context)
{
	return bmc_blocking_start(session, request, deadline_ms, fn, context);
}

static void libvirt_driver_close(void *session)
{
	bmc_blocking_free(session);
}

const struct bmc_driver libvirt_driver = {
	.name = "libvirt",
	.open = libvirt_driver_open,
	.blocks = libvirt_driver_blocks,
	.start = libvirt_driver_start,
	.close = libvirt_driver_close,
};
