#include "bampi/bmc/sim_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/loop.h"

enum { CAPACITY_DEFAULT = 4096, CAPACITY_MAX = 1 << 20 };
#define SIM_MAGIC 0x73696d7261636b32ULL /* "simrack2" */

struct sim_memory {
	uint64_t magic;
	uint64_t capacity;
	uint64_t used;
	struct sim_node nodes[];
};

struct sim_rack {
	int fd;
	size_t size;
	struct sim_memory *memory;
	uint32_t latency_ms, power_delay_ms;
};

/* --- rack --- */

static size_t memory_size(uint64_t capacity)
{
	return sizeof(struct sim_memory) + capacity * sizeof(struct sim_node);
}

/* With the file locked: takes over what is there, or lays out a new one. */
static int rack_map(struct sim_rack *rack, size_t capacity)
{
	struct stat status;
	bool fresh;

	if (fstat(rack->fd, &status) < 0)
		return -errno;
	fresh = status.st_size == 0;
	rack->size = fresh ? memory_size(capacity) : (size_t)status.st_size;
	if (fresh && ftruncate(rack->fd, (off_t)rack->size) < 0)
		return -errno;
	if (rack->size < sizeof(struct sim_memory))
		return E_MALFORMED;
	rack->memory = mmap(NULL, rack->size, PROT_READ | PROT_WRITE, MAP_SHARED, rack->fd, 0);
	if (rack->memory == MAP_FAILED) {
		rack->memory = NULL;
		return -errno;
	}
	if (fresh) {
		rack->memory->capacity = capacity;
		rack->memory->magic = SIM_MAGIC;
	}
	if (rack->memory->magic != SIM_MAGIC || rack->memory->capacity > CAPACITY_MAX ||
	    memory_size(rack->memory->capacity) != rack->size ||
	    rack->memory->used > rack->memory->capacity)
		return E_MALFORMED;
	return 0;
}

int sim_rack_new(const struct sim_rack_options *options, struct sim_rack **ret)
{
	size_t capacity = options->capacity ? options->capacity : CAPACITY_DEFAULT;
	struct sim_rack *rack;
	int rc;

	if (capacity > CAPACITY_MAX)
		return -EINVAL;
	rack = calloc(1, sizeof(*rack));
	if (!rack)
		return -ENOMEM;
	rack->latency_ms = options->latency_ms;
	rack->power_delay_ms = options->power_delay_ms;
	rack->fd = options->path
			   ? open(options->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)
			   : memfd_create("sim-rack", MFD_CLOEXEC);
	if (rack->fd < 0) {
		rc = -errno;
		free(rack);
		return rc;
	}
	sim_rack_lock(rack);
	rc = rack_map(rack, capacity);
	sim_rack_unlock(rack);
	if (rc) {
		sim_rack_free(rack);
		return rc;
	}
	*ret = rack;
	return 0;
}

void sim_rack_free(struct sim_rack *rack)
{
	if (!rack)
		return;
	if (rack->memory)
		(void)munmap(rack->memory, rack->size);
	(void)close(rack->fd);
	free(rack);
}

void sim_rack_lock(struct sim_rack *rack)
{
	while (flock(rack->fd, LOCK_EX) < 0 && errno == EINTR)
		continue;
}

void sim_rack_unlock(struct sim_rack *rack)
{
	(void)flock(rack->fd, LOCK_UN);
}

/* The firmware looks once: a one-time boot device is used up by this boot. */
static void bmc_sim_driver_node_boot(struct sim_node *node)
{
	node->booted = node->boot;
	if (!node->boot.persistent) {
		node->boot = (struct bmc_boot){0};
		node->boot_valid = false;
	}
}

static void node_set_power(struct sim_node *node, bool on)
{
	if (on && !node->power_on) {
		node->power_ons++;
		bmc_sim_driver_node_boot(node);
	}
	if (!on && node->power_on)
		node->power_offs++;
	node->power_on = on;
}

static void node_catch_up(struct sim_node *node, int64_t now_ms)
{
	if (!node->power_pending || now_ms < node->power_at_ms)
		return;
	node->power_pending = false;
	node_set_power(node, node->power_wanted);
}

struct sim_node *sim_rack_each(struct sim_rack *rack, size_t index)
{
	if (index >= rack->memory->used)
		return NULL;
	node_catch_up(&rack->memory->nodes[index], clock_monotonic_ms());
	return &rack->memory->nodes[index];
}

struct sim_node *sim_rack_node(struct sim_rack *rack, const char *address, unsigned port)
{
	struct sim_memory *memory = rack->memory;
	struct sim_node *node;

	for (size_t i = 0; i < memory->used; i++) {
		node = &memory->nodes[i];
		if (node->port == port && strcmp(node->address, address) == 0)
			return sim_rack_each(rack, i);
	}
	if (memory->used == memory->capacity)
		return NULL;
	node = &memory->nodes[memory->used];
	*node = (struct sim_node){
		.port = port,
		.latency_ms = rack->latency_ms,
		.power_delay_ms = rack->power_delay_ms,
		.soft_delay_ms = rack->power_delay_ms + 1,
	};
	(void)text_copy(node->address, sizeof(node->address), address);
	memory->used++;
	return node;
}

/* --- driver --- */

struct sim_session {
	struct sim_rack *rack;
	struct bmc_endpoint endpoint;
	struct loop_timer *latency;
	struct bmc_request request; /* the call under way */
	bmc_call_fn fn;             /* NULL: none is */
	void *context;
};

static void sim_answer(void *context);
static void bmc_sim_driver_sim_close(void *state);

static int bmc_sim_driver_sim_open(const struct bmc_endpoint *endpoint, const struct bmc_host *host,
				   void **ret_session, struct problem *problem)
{
	struct sim_session *session;

	if (!host->sim) {
		problem_set(problem, -EINVAL, "node %s: no simulated rack is configured",
			    endpoint->node);
		problem_hint(problem, "driver sim is for rehearsals; a real BMC has driver ipmi");
		return -EINVAL;
	}
	session = calloc(1, sizeof(*session));
	if (!session)
		return problem_set(problem, -ENOMEM, "no memory for a simulated BMC");
	session->rack = host->sim;
	session->endpoint = *endpoint;
	if (loop_timer_new(host->loop, sim_answer, session, &session->latency) != 0) {
		bmc_sim_driver_sim_close(session);
		return problem_set(problem, -ENOMEM, "no memory for a simulated BMC");
	}
	*ret_session = session;
	return 0;
}

static void bmc_sim_driver_sim_close(void *state)
{
	struct sim_session *session = state;

	if (!session)
		return;
	loop_timer_free(session->latency);
	sodium_memzero(&session->request, sizeof(session->request));
	bmc_endpoint_wipe(&session->endpoint);
	free(session);
}

static bool answer_is_lost(const struct sim_node *node, const struct bmc_request *request)
{
	return node->faults & SIM_FAULT_DEAD ||
	       (node->faults & SIM_FAULT_LOSES_ANSWERS && bmc_op_table[request->op].changes);
}

static int64_t sim_latency_ms(struct sim_session *session, const struct bmc_request *request)
{
	int64_t latency_ms = 0;
	struct sim_node *node;

	sim_rack_lock(session->rack);
	node = sim_rack_node(session->rack, session->endpoint.address, session->endpoint.port);
	if (node && answer_is_lost(node, request))
		latency_ms = session->endpoint.timeout_ms ? session->endpoint.timeout_ms : 5000;
	else if (node)
		latency_ms = node->latency_ms;
	/* No status shows it: a reset is answered when it is done. */
	if (node && request->op == BMC_POWER_RESET)
		latency_ms += node->power_delay_ms;
	sim_rack_unlock(session->rack);
	return latency_ms;
}

static void sim_power(struct sim_node *node, enum bmc_op op)
{
	uint32_t delay_ms = op == BMC_POWER_SOFT ? node->soft_delay_ms : node->power_delay_ms;

	if (node->faults & SIM_FAULT_IGNORES_POWER || (op == BMC_POWER_SOFT && delay_ms == 0))
		return;
	if (op == BMC_POWER_RESET) {
		node->resets++;
		bmc_sim_driver_node_boot(node);
		return;
	}
	node->power_pending = true;
	node->power_wanted = op == BMC_POWER_ON;
	node->power_at_ms = clock_monotonic_ms() + delay_ms;
	node_catch_up(node, clock_monotonic_ms());
}

static void sim_boot_set(struct sim_node *node, const struct bmc_boot *boot)
{
	node->boot = *boot;
	node->boot_valid = boot->device != BMC_BOOT_NONE;
	if (node->faults & SIM_FAULT_DROPS_BOOT_FLAGS) {
		node->boot = (struct bmc_boot){.device = boot->device};
		node->boot_valid = false;
	}
	if (node->faults & SIM_FAULT_WRONG_BOOT_DEVICE)
		node->boot.device = boot->device == BMC_BOOT_DISK ? BMC_BOOT_PXE : BMC_BOOT_DISK;
}

static int sim_refuse(const struct sim_session *session, const struct sim_node *node,
		      const struct bmc_request *request, struct problem *problem)
{
	const char *name = session->endpoint.node;

	if (bmc_op_table[request->op].changes && !fence_holds(request->fence))
		return bmc_lapsed(name, request->op, false, problem);
	if (node->faults & SIM_FAULT_DEAD) {
		problem_set(problem, E_TIMEOUT, "node %s: the BMC does not answer", name);
		problem_detail(problem, "simulated BMC at %s", session->endpoint.address);
		return E_TIMEOUT;
	}
	if (node->faults & SIM_FAULT_REFUSES_PASSWORD ||
	    (node->password[0] && strcmp(node->password, session->endpoint.password) != 0)) {
		problem_set(problem, E_AUTHENTICATION, "node %s: the BMC refused the password",
			    name);
		problem_hint(problem, "check user name and password of the BMC");
		return E_AUTHENTICATION;
	}
	if (node->faults & SIM_FAULT_BUSY)
		return problem_set(problem, -EBUSY, "node %s: the BMC is busy", name);
	if (request->op == BMC_POWER_RESET && !node->power_on)
		return problem_set(problem, E_CONFLICT,
				   "node %s: the BMC refused %s: not possible in the present state",
				   name, bmc_op_text(request->op));
	return 0;
}

static int sim_execute(struct sim_node *node, const struct bmc_request *request,
		       struct bmc_result *ret, struct problem *problem)
{
	struct bmc_result result = {.op = request->op};

	switch (request->op) {
	case BMC_POWER_STATUS: result.power.on = node->power_on; break;
	case BMC_POWER_ON:
	case BMC_POWER_OFF:
	case BMC_POWER_RESET:
	case BMC_POWER_SOFT:
		sim_power(node, request->op);
		result.power.on = request->op == BMC_POWER_ON || request->op == BMC_POWER_RESET;
		result.power.changed = true;
		break;
	case BMC_BOOT_SET: sim_boot_set(node, &request->boot); break;
	case BMC_BOOT_GET:
		result.boot.flags = node->boot;
		result.boot.valid = node->boot_valid;
		break;
	case BMC_IDENTIFY:
	case BMC_INFO:
	case BMC_SENSORS:
	case BMC_SEL_LIST:
	case BMC_SEL_NEW:
	case BMC_SEL_CLEAR:
	case BMC_FRU: break; /* nothing to see: empty lists */
	case BMC_POWER_CYCLE:
	case BMC_USER_LIST:
	case BMC_USER_SET:
	case BMC_PASSWORD_SET:
	case BMC_LAN_GET:
	case BMC_RAW:
	case BMC_OP_COUNT:
		return problem_set(problem, E_UNSUPPORTED, "a simulated BMC does not support %s",
				   bmc_op_text(request->op));
	}
	*ret = result;
	return 0;
}

static int bmc_sim_driver_sim_run(struct sim_session *session, const struct bmc_request *request,
				  struct bmc_result *ret, struct problem *problem)
{
	struct sim_node *node;
	int rc;

	sim_rack_lock(session->rack);
	node = sim_rack_node(session->rack, session->endpoint.address, session->endpoint.port);
	if (!node) {
		sim_rack_unlock(session->rack);
		return problem_set(problem, E_LIMIT, "the simulated rack is full");
	}
	node->calls++;
	rc = sim_refuse(session, node, request, problem);
	if (rc == 0)
		rc = sim_execute(node, request, ret, problem);
	if (rc == 0 && answer_is_lost(node, request)) {
		bmc_result_done(ret);
		rc = problem_set(problem, E_TIMEOUT, "node %s: the BMC did not answer in time",
				 session->endpoint.node);
	}
	sim_rack_unlock(session->rack);
	return rc;
}

static void sim_answer(void *context)
{
	struct sim_session *session = context;
	bmc_call_fn fn = session->fn;
	struct bmc_result result = {0};
	struct problem problem = {0};
	int rc = bmc_sim_driver_sim_run(session, &session->request, &result, &problem);

	session->fn = NULL;
	fn(session->context, rc, rc ? NULL : &result, rc ? &problem : NULL);
}

static int bmc_sim_driver_sim_start(void *state, const struct bmc_request *request,
				    int64_t deadline_ms, bmc_call_fn fn, void *context)
{
	struct sim_session *session = state;

	(void)deadline_ms;
	session->request = *request;
	session->fn = fn;
	session->context = context;
	loop_timer_arm(session->latency, sim_latency_ms(session, request));
	return 0;
}

static bool sim_blocks(void *state, const struct bmc_request *request)
{
	struct sim_session *session = state;
	const struct sim_node *node;
	bool blocks;

	(void)request;
	sim_rack_lock(session->rack);
	node = sim_rack_node(session->rack, session->endpoint.address, session->endpoint.port);
	blocks = node && node->blocks;
	sim_rack_unlock(session->rack);
	return blocks;
}

static bool bmc_sim_driver_sim_cancel(void *state)
{
	struct sim_session *session = state;

	loop_timer_disarm(session->latency);
	session->fn = NULL;
	return true;
}

const struct bmc_driver sim_driver = {
	.name = "sim",
	.open = bmc_sim_driver_sim_open,
	.blocks = sim_blocks,
	.start = bmc_sim_driver_sim_start,
	.cancel = bmc_sim_driver_sim_cancel,
	.close = bmc_sim_driver_sim_close,
};
