/* The life of a node: power, firmware, loader, iPXE, kernel, and what its disk starts. Every change
 * of phase goes through fleet_enter. */
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"

#include "tests/sim/fleet/fleet.h"

#define PANIC_MS             2000
#define IPXE_HOLD_MS         30000 /* "sleep 30" of the script that stops a node */
#define FLEET_LIFE_RETRY_MS  1000
#define FLEET_LIFE_TRIES_MAX 8
#define SEL_MAX              500

const char *const fleet_phase_words[FLEET_PHASES] = {
	[FLEET_OFF] = "off",
	[FLEET_POST] = "post",
	[FLEET_FIRMWARE_DHCP] = "firmware_dhcp",
	[FLEET_LOADER] = "loader",
	[FLEET_IPXE_DHCP] = "ipxe_dhcp",
	[FLEET_SCRIPT] = "script",
	[FLEET_KERNEL] = "kernel",
	[FLEET_RAMDISK] = "ramdisk",
	[FLEET_AGENT_DHCP] = "agent_dhcp",
	[FLEET_POLL] = "poll",
	[FLEET_WORK] = "work",
	[FLEET_REPORT] = "report",
	[FLEET_OS_DHCP] = "os_dhcp",
	[FLEET_CALLBACK] = "callback",
	[FLEET_OS] = "os",
	[FLEET_STOPPED] = "stopped",
	[FLEET_HUNG] = "hung",
};

/* provisioning.md G1, G3: every architecture that the product has a loader for. */
static const struct fleet_model fleet_life_models[] = {
	{0, "bios", "x86_64", "PXEClient:Arch:00000:UNDI:002001", false, false, 1456},
	{7, "uefi", "x86_64", "PXEClient:Arch:00007:UNDI:003000", false, true, 1468},
	{16, "uefi", "x86_64", "HTTPClient:Arch:00016:UNDI:003000", true, false, 0},
	{11, "uefi", "arm64", "PXEClient:Arch:00011:UNDI:003000", false, true, 1468},
	{19, "uefi", "arm64", "HTTPClient:Arch:00019:UNDI:003000", true, false, 0},
};

const struct fleet_model *fleet_model(const struct fleet_node *node)
{
	return &fleet_life_models[(size_t)node->index % COUNT_OF(fleet_life_models)];
}

/* --- timers, holds --- */

static void fleet_life_timer_due(void *context)
{
	struct fleet_node *node = context;

	node->on_timer(node);
}

void fleet_arm(struct fleet_node *node, int64_t after_ms, void (*fn)(struct fleet_node *node))
{
	node->on_timer = fn;
	loop_timer_arm(node->timer, after_ms);
}

int64_t fleet_delay(struct fleet_node *node, int64_t ms)
{
	uint64_t roll = fleet_chance(node->fleet, node->index, FLEET_FAULTS, node->boots);

	return ms / 2 + (int64_t)(roll % 1000) * ms / 1000;
}

bool fleet_hold(struct fleet_node *node, enum fleet_place place,
		void (*fn)(struct fleet_node *node))
{
	if (!node->fleet->holding || node->index % FLEET_PLACES != (int)place)
		return false;
	node->held = fn;
	return true;
}

void fleet_hold_lift(struct fleet *fleet)
{
	fleet->holding = false;
	for (int i = 0; i < fleet->options.count; i++) {
		struct fleet_node *node = &fleet->nodes[i];
		void (*fn)(struct fleet_node *) = node->held;

		node->held = NULL;
		if (fn)
			fn(node);
	}
}

void fleet_enter(struct fleet_node *node, enum fleet_phase phase)
{
	node->phase = phase;
	node->phase_ms = clock_monotonic_ms();
	node->held = NULL;
	node->retries = 0;
	loop_timer_disarm(node->timer);
}

void fleet_hang(struct fleet_node *node)
{
	fleet_http_cancel(node);
	fleet_agent_done(node);
	fleet_renew_stop(node);
	fleet_enter(node, FLEET_HUNG);
}

/* --- what starts --- */

static void start_disk(struct fleet_node *node)
{
	if (!node->disk.bootable) {
		fleet_hang(node); /* "no bootable device" */
		return;
	}
	fleet_enter(node, FLEET_OS_DHCP);
	fleet_dhcp_start(node, FLEET_DHCP_OS);
}

static void start_network(struct fleet_node *node)
{
	fleet_enter(node, FLEET_FIRMWARE_DHCP);
	fleet_dhcp_start(node, FLEET_DHCP_FIRMWARE);
}

/* Without an override servers of a data centre ask the network first. */
static void post_over(struct fleet_node *node)
{
	struct fleet_bmc *bmc = &node->bmc;
	bool disk = bmc->valid && bmc->device == 2;

	if (bmc->valid && !bmc->persistent)
		bmc->valid = false; /* for one boot */
	if (fleet_fault(node, FLEET_BOOT_HANGS)) {
		fleet_hang(node);
		return;
	}
	if (disk || fleet_fault(node, FLEET_BOOT_ORDER))
		start_disk(node);
	else
		start_network(node);
}

static void power_up(struct fleet_node *node)
{
	node->boots++;
	if (node->bmc.sel_count < SEL_MAX)
		node->bmc.sel_count++;
	node->fleet->stats.boots++;
	fleet_enter(node, FLEET_POST);
	fleet_arm(node, fleet_delay(node, node->fleet->options.times.post_ms), post_over);
}

static void stop_all(struct fleet_node *node)
{
	fleet_http_cancel(node);
	fleet_agent_done(node);
	fleet_renew_stop(node);
	node->token[0] = '\0';
	fleet_enter(node, FLEET_OFF);
}

void fleet_power(struct fleet_node *node, bool on)
{
	if (node->bmc.on == on)
		return;
	node->bmc.on = on;
	stop_all(node);
	if (on)
		power_up(node);
}

void fleet_reset(struct fleet_node *node)
{
	if (!node->bmc.on)
		return;
	stop_all(node);
	power_up(node);
}

/* --- loader --- */

static void loader_got(struct fleet_node *node, int status, const char *body, size_t size)
{
	(void)body;
	fleet_loaded(node, status == 200 && size > 0);
}

static void loader_get(struct fleet_node *node, int status, const char *body, size_t size)
{
	const char *path = NULL;
	uint32_t address;
	uint16_t port;

	(void)body;
	(void)size;
	if (status != 200 || !fleet_http_url(node->boot_file, &address, &port, &path)) {
		fleet_loaded(node, false);
		return;
	}
	fleet_http_ask(node, &(struct fleet_ask){.method = "GET",
						 .target = path,
						 .address = address,
						 .port = port,
						 .on_done = loader_got});
}

/* EDK2's HTTP boot: HEAD for the size, then GET. */
static void loader_http(struct fleet_node *node)
{
	const char *path = NULL;
	uint32_t address;
	uint16_t port;

	if (!fleet_http_url(node->boot_file, &address, &port, &path)) {
		fleet_loaded(node, false);
		return;
	}
	fleet_http_ask(node, &(struct fleet_ask){.method = "HEAD",
						 .target = path,
						 .address = address,
						 .port = port,
						 .on_done = loader_get});
}

void fleet_loaded(struct fleet_node *node, bool ok)
{
	fleet_http_cancel(node); /* the loader is another program than what loaded it */
	if (!ok) {
		start_disk(node); /* the next of the boot order */
		return;
	}
	fleet_enter(node, FLEET_IPXE_DHCP);
	fleet_dhcp_start(node, FLEET_DHCP_IPXE);
}

/* --- iPXE --- */

static void script_ask(struct fleet_node *node);

static void ipxe_again(struct fleet_node *node)
{
	fleet_enter(node, FLEET_SCRIPT);
	script_ask(node);
}

/* ":failed" of the agent's script. */
static void ipxe_again_knowing(struct fleet_node *node)
{
	node->knows = true;
	ipxe_again(node);
}

static void agent_panics(struct fleet_node *node)
{
	fleet_reset(node);
}

static void ramdisk_got(struct fleet_node *node, int status, const char *body, size_t size);
static void ramdisk_ask(struct fleet_node *node);

static void fleet_life_fetch(struct fleet_node *node, const char *target,
			     void (*on_done)(struct fleet_node *, int, const char *, size_t))
{
	fleet_http_ask(node, &(struct fleet_ask){.method = "GET",
						 .target = target,
						 .address = node->http_address,
						 .port = node->http_port,
						 .on_done = on_done});
}

static void kernel_got(struct fleet_node *node, int status, const char *body, size_t size)
{
	(void)body;
	(void)size;
	if (status != 200) {
		fleet_enter(node, FLEET_STOPPED);
		fleet_arm(node, FLEET_LIFE_RETRY_MS, ipxe_again_knowing);
		return;
	}
	fleet_enter(node, FLEET_RAMDISK);
	ramdisk_ask(node);
}

static void ramdisk_ask(struct fleet_node *node)
{
	fleet_life_fetch(node, node->ramdisk, ramdisk_got);
}

static void kernel_starts(struct fleet_node *node)
{
	if (fleet_fault(node, FLEET_AGENT_PANICS)) {
		fleet_arm(node, PANIC_MS, agent_panics);
		return;
	}
	fleet_enter(node, FLEET_AGENT_DHCP);
	fleet_dhcp_start(node, FLEET_DHCP_AGENT);
}

static void ramdisk_got(struct fleet_node *node, int status, const char *body, size_t size)
{
	(void)body;
	(void)size;
	if (status != 200) {
		fleet_enter(node, FLEET_STOPPED);
		fleet_arm(node, FLEET_LIFE_RETRY_MS, ipxe_again_knowing);
		return;
	}
	fleet_http_cancel(node); /* iPXE is gone */
	node->agent_boots++;
	fleet_arm(node, fleet_delay(node, node->fleet->options.times.load_ms), kernel_starts);
}

/* The value of name=value in a kernel command line; "" when absent. */
static void fleet_life_argument(const char *line, size_t size, const char *name, char *ret,
				size_t room)
{
	size_t name_size = strlen(name);

	ret[0] = '\0';
	for (size_t i = 0; i + name_size < size; i++) {
		size_t length = 0;

		if (line[i] != ' ' || strncmp(line + i + 1, name, name_size) != 0)
			continue;
		i += 1 + name_size;
		while (i + length < size && line[i + length] != ' ' && length + 1 < room)
			length++;
		memcpy(ret, line + i, length);
		ret[length] = '\0';
		return;
	}
}

/* The path of the first word after the command, an URL of ours. */
static bool url_path(struct fleet_node *node, const char *line, size_t size, char ret[128])
{
	char url[160];
	const char *path = NULL;
	size_t length = 0;

	while (length < size && line[length] != ' ' && length + 1 < sizeof(url))
		length++;
	memcpy(url, line, length);
	url[length] = '\0';
	return fleet_http_url(url, &node->http_address, &node->http_port, &path) &&
	       text_copy(ret, 128, path);
}

/* What the script does, in the order of its lines. */
static void run_script(struct fleet_node *node, const char *script, size_t size)
{
	char ramdisk[128] = "";
	char kernel[128] = "";
	int64_t hold_ms = IPXE_HOLD_MS;

	for (const char *line = script; line < script + size;) {
		size_t length = strcspn(line, "\n");

		if (strncmp(line, "kernel ", 7) == 0) {
			if (!url_path(node, line + 7, length - 7, kernel))
				break;
			fleet_life_argument(line, length, "haas.token=", node->token,
					    sizeof(node->token));
		} else if (strncmp(line, "initrd ", 7) == 0) {
			if (!url_path(node, line + 7, length - 7, ramdisk))
				break;
		} else if (strncmp(line, "boot", 4) == 0) {
			(void)text_copy(node->kernel, sizeof(node->kernel), kernel);
			(void)text_copy(node->ramdisk, sizeof(node->ramdisk), ramdisk);
			fleet_enter(node, FLEET_KERNEL);
			fleet_life_fetch(node, node->kernel, kernel_got);
			return;
		} else if (strncmp(line, "sanboot ", 8) == 0 || strncmp(line, "exit 1", 6) == 0) {
			fleet_http_cancel(node);
			start_disk(node);
			return;
		} else if (strncmp(line, "sleep ", 6) == 0) {
			hold_ms = strtol(line + 6, NULL, 10) * 1000;
		} else if (strncmp(line, "poweroff", 8) == 0) {
			fleet_http_cancel(node); /* usual builds have no such command */
			fleet_enter(node, FLEET_STOPPED);
			fleet_arm(node, IPXE_HOLD_MS, ipxe_again);
			return;
		}
		line += length + (line[length] == '\n');
	}
	fleet_enter(node, FLEET_STOPPED);
	fleet_arm(node, hold_ms, ipxe_again);
}

static void script_got(struct fleet_node *node, int status, const char *body, size_t size)
{
	if (status == 200) {
		node->knows = false;
		run_script(node, body, size);
		return;
	}
	if (++node->retries >= FLEET_LIFE_TRIES_MAX)
		start_disk(node);
	else
		fleet_arm(node, FLEET_LIFE_RETRY_MS, script_ask);
}

static void script_ask(struct fleet_node *node)
{
	const char *path = NULL;
	char target[192];

	if (fleet_hold(node, FLEET_AT_SCRIPT, script_ask))
		return;
	if (!fleet_http_url(node->boot_file, &node->http_address, &node->http_port, &path)) {
		start_disk(node);
		return;
	}
	(void)text_format(target, sizeof(target), "%s%s%s", path, node->knows ? "&again=" : "",
			  node->knows ? node->token : "");
	fleet_life_fetch(node, target, script_got);
}

/* --- the installed OS --- */

static void callback_ask(struct fleet_node *node);

static void callback_got(struct fleet_node *node, int status, const char *body, size_t size)
{
	(void)body;
	(void)size;
	if (status == 204) {
		node->fleet->stats.callbacks++;
		(void)text_copy(node->disk.called_nonce, sizeof(node->disk.called_nonce),
				node->disk.nonce);
		fleet_http_cancel(node);
		fleet_enter(node, FLEET_OS);
		return;
	}
	node->fleet->stats.refused_callbacks += status == 404;
	/* The program in the image asks until it is answered. */
	if (++node->retries < 60)
		fleet_arm(node, status == 503 ? 2 * FLEET_LIFE_RETRY_MS : FLEET_LIFE_RETRY_MS,
			  callback_ask);
	else
		fleet_enter(node, FLEET_OS);
}

static void callback_ask(struct fleet_node *node)
{
	char target[256];
	char mac[MAC_TEXT_SIZE];
	const char *path = NULL;

	if (fleet_hold(node, FLEET_AT_CALLBACK, callback_ask))
		return;
	if (!fleet_http_url(node->disk.callback, &node->http_address, &node->http_port, &path)) {
		fleet_enter(node, FLEET_OS);
		return;
	}
	(void)text_format(target, sizeof(target), "%s?mac=%s", path, mac_text(node->mac, mac));
	if (fleet_fault(node, FLEET_OLD_CALLBACK))
		target[strlen(path) - 1] = target[strlen(path) - 1] == '0' ? '1' : '0';
	fleet_life_fetch(node, target, callback_got);
}

static void os_starts(struct fleet_node *node)
{
	fleet_enter(node, FLEET_CALLBACK);
	if (fleet_fault(node, FLEET_NO_CALLBACK))
		return;
	callback_ask(node);
}

/* --- after DHCP --- */

void fleet_addressed(struct fleet_node *node)
{
	switch (node->phase) {
	case FLEET_FIRMWARE_DHCP:
		fleet_enter(node, FLEET_LOADER);
		if (!node->boot_file[0])
			start_disk(node);
		else if (fleet_model(node)->http)
			loader_http(node);
		else
			fleet_tftp_start(node, node->next_server, node->boot_file);
		break;
	case FLEET_IPXE_DHCP:
		node->knows = false;
		fleet_enter(node, FLEET_SCRIPT);
		script_ask(node);
		break;
	case FLEET_AGENT_DHCP: fleet_agent_start(node); break;
	case FLEET_OS_DHCP:
		fleet_enter(node, FLEET_CALLBACK);
		fleet_arm(node, fleet_delay(node, node->fleet->options.times.start_ms), os_starts);
		break;
	case FLEET_OFF:
	case FLEET_POST:
	case FLEET_LOADER:
	case FLEET_SCRIPT:
	case FLEET_KERNEL:
	case FLEET_RAMDISK:
	case FLEET_POLL:
	case FLEET_WORK:
	case FLEET_REPORT:
	case FLEET_CALLBACK:
	case FLEET_OS:
	case FLEET_STOPPED:
	case FLEET_HUNG:
	case FLEET_PHASES: break;
	}
}

void fleet_unaddressed(struct fleet_node *node)
{
	enum fleet_phase phase = node->phase;

	if (phase == FLEET_FIRMWARE_DHCP || phase == FLEET_IPXE_DHCP) {
		start_disk(node);
		return;
	}
	/* The agent's ramdisk and an OS ask for ever. */
	fleet_dhcp_start(node, phase == FLEET_AGENT_DHCP ? FLEET_DHCP_AGENT : FLEET_DHCP_OS);
}

/* --- a node --- */

void fleet_node_init(struct fleet *fleet, int index, struct fleet_node *node)
{
	*node = (struct fleet_node){.fleet = fleet, .index = index};
	node->mac = fleet_mac(index);
	if (index > 0 && fleet_fault_always(node, FLEET_DUPLICATE_MAC))
		node->mac = fleet_mac(index - 1);
	if (loop_timer_new(fleet->loop, fleet_life_timer_due, node, &node->timer))
		abort();
	fleet_redfish_init(node);
}

void fleet_node_done(struct fleet_node *node)
{
	fleet_http_cancel(node);
	fleet_agent_done(node);
	fleet_bmc_done(node);
	fleet_redfish_done(node);
	loop_timer_free(node->timer);
}
