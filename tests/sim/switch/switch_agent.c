/* A switch's BRIDGE-MIB and writable Q-BRIDGE-MIB over AgentX (RFC 2741), its data plane an Open
 * vSwitch bridge. snmpd beside it is the master and has the rest: IF-MIB, SNMPv3, communities;
 * lldpd brings LLDP-MIB. With --cisco it has a Catalyst's MIBs instead, and a BRIDGE-MIB for each
 * VLAN in context vlan-N. `switch_agent --help` says what can be made to go wrong. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/text.h"

#include "tests/sim/switch/switch_cisco.h"
#include "tests/sim/switch/switch_device.h"
#include "tests/sim/switch/switch_dnos.h"
#include "tests/sim/switch/switch_like.h"
#include "tests/sim/switch/switch_mib.h"
#include "tests/sim/switch/switch_netsnmp.h"
#include "tests/sim/switch/switch_sflow.h"

#define CACHE_MS    300 /* a walk of many requests sees one state, mostly */
#define REQUEST_MAX 256

struct switch_agent {
	struct switch_device device;
	struct switch_mib mib;
	uint32_t shown;             /* the device's serial in `mib` */
	struct switch_mib vlan_mib; /* the bridge of `vlan`, at `vlan_shown` */
	uint32_t vlan_shown;
	uint16_t vlan;
	uint8_t contexts[SWITCH_VID_MAX + 1]; /* VLANs whose context snmpd knows */
	struct switch_save_object saves[SWITCH_SAVE_MAX];
	size_t save_count;
	struct switch_likeness likeness;
	int64_t health_ms; /* when spanning tree and bonds were looked at last */
	const char *database, *control, *agentx, *bridge;
};

/* Set by a signal handler, read by the loop. */
static volatile sig_atomic_t switch_agent_stopping;

static void switch_agent_on_signal(int number)
{
	(void)number;
	switch_agent_stopping = 1;
}

/* --- requests --- */

/* Spanning tree and bonds live beside the configuration. */
static void look_at_health(struct switch_agent *agent)
{
	struct switch_plane_health health;
	int64_t now_ms = clock_monotonic_ms();

	if (now_ms - agent->health_ms < CACHE_MS || agent->device.cisco)
		return;
	agent->health_ms = now_ms;
	if (switch_ovs_health(agent->device.ovs, &health) != 0 ||
	    // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): padding costs a serial
	    memcmp(&health, &agent->device.health, sizeof(health)) == 0)
		return;
	agent->device.health = health;
	agent->device.serial++;
}

static void switch_agent_show(struct switch_agent *agent)
{
	struct switch_mib mib;

	switch_device_refresh(&agent->device, CACHE_MS);
	look_at_health(agent);
	if (agent->mib.count > 0 && agent->shown == agent->device.serial)
		return;
	if (switch_mib_build(&agent->device, agent->saves, agent->save_count, &mib) != 0)
		return;
	switch_mib_done(&agent->mib);
	agent->mib = mib;
	agent->shown = agent->device.serial;
}

static void switch_agent_answer(const struct switch_mib *mib, const struct switch_mib_row *row,
				netsnmp_variable_list *varbind)
{
	u_long number = row->number;
	long integer = (long)row->number;

	(void)snmp_set_var_objid(varbind, row->name, row->length);
	if (row->type == ASN_OCTET_STR || row->type == ASN_OBJECT_ID)
		(void)snmp_set_var_typed_value(
			varbind, row->type,
			row->size > 0 ? mib->bytes + row->at : (const uint8_t *)"", row->size);
	else if (row->type == ASN_INTEGER)
		(void)snmp_set_var_typed_value(varbind, row->type, &integer, sizeof(integer));
	else
		(void)snmp_set_var_typed_value(varbind, row->type, &number, sizeof(number));
}

static const struct switch_mib *switch_agent_show_vlan(struct switch_agent *agent, uint16_t vlan)
{
	struct switch_mib mib;

	switch_device_refresh(&agent->device, CACHE_MS);
	if (agent->vlan == vlan && agent->vlan_shown == agent->device.serial)
		return &agent->vlan_mib;
	if (switch_mib_build_vlan(&agent->device, vlan, &mib) == 0) {
		switch_mib_done(&agent->vlan_mib);
		agent->vlan_mib = mib;
		agent->vlan = vlan;
		agent->vlan_shown = agent->device.serial;
	}
	return &agent->vlan_mib;
}

#define CONTEXT "vlan-"

/* What is asked, by the context that it is asked in. */
static const struct switch_mib *mib_of(struct switch_agent *agent, const char *context)
{
	if (context && strncmp(context, CONTEXT, sizeof(CONTEXT) - 1) == 0)
		return switch_agent_show_vlan(
			agent, (uint16_t)strtoul(context + sizeof(CONTEXT) - 1, NULL, 10));
	switch_agent_show(agent);
	return &agent->mib;
}

static void switch_agent_get(struct switch_agent *agent, const netsnmp_handler_registration *about,
			     netsnmp_agent_request_info *info, netsnmp_request_info *requests)
{
	bool next = info->mode == MODE_GETNEXT;
	const struct switch_mib *mib = mib_of(agent, about->contextName);

	for (netsnmp_request_info *at = requests; at; at = at->next) {
		netsnmp_variable_list *varbind = at->requestvb;
		const struct switch_mib_row *row =
			switch_mib_find(mib, varbind->name, varbind->name_length, next);

		if (row && snmp_oidtree_compare(row->name, row->length, about->rootoid,
						about->rootoid_len) == 0)
			switch_agent_answer(mib, row, varbind);
		else if (!next)
			(void)netsnmp_set_request_error(info, at, SNMP_NOSUCHINSTANCE);
	}
}

/* All varbinds of a SET as changes; false when one of them is none, which then has its error. */
static bool read_changes(struct switch_agent *agent, netsnmp_agent_request_info *info,
			 netsnmp_request_info *requests, struct switch_change *changes,
			 netsnmp_request_info **of, size_t *ret_count)
{
	size_t count = 0;

	for (netsnmp_request_info *at = requests; at && count < REQUEST_MAX; at = at->next) {
		enum switch_error error =
			switch_mib_change(&agent->device, agent->saves, agent->save_count,
					  at->requestvb, &changes[count]);

		if (error != SWITCH_OK) {
			(void)netsnmp_set_request_error(info, at, (int)error);
			return false;
		}
		of[count++] = at;
	}
	*ret_count = count;
	return true;
}

static void set_bridge(struct switch_agent *agent, netsnmp_agent_request_info *info,
		       netsnmp_request_info *requests, bool now)
{
	struct switch_change *changes = calloc(REQUEST_MAX, sizeof(*changes));
	netsnmp_request_info *of[REQUEST_MAX] = {requests};
	size_t count = 0;
	size_t at = 0;
	enum switch_error error = SWITCH_GENERAL;

	switch_device_refresh(&agent->device, 0);
	if (changes && !read_changes(agent, info, requests, changes, of, &count)) {
		free(changes);
		return;
	}
	if (changes)
		error = now ? switch_device_set(&agent->device, changes, count)
			    : switch_device_test(&agent->device, changes, count, &at);
	if (error != SWITCH_OK)
		(void)netsnmp_set_request_error(info, of[at < count ? at : 0], (int)error);
	free(changes);
}

/* The same below 1.3.6.1.4.1.9. */
static void set_cisco(struct switch_agent *agent, netsnmp_agent_request_info *info,
		      netsnmp_request_info *requests, bool now)
{
	static const oid cisco[] = {1, 3, 6, 1, 4, 1, 9};
	struct cisco_set *sets = calloc(REQUEST_MAX, sizeof(*sets));
	netsnmp_request_info *of[REQUEST_MAX] = {requests};
	size_t count = 0;
	size_t failed = 0;
	enum switch_error error = SWITCH_GENERAL;

	switch_device_refresh(&agent->device, 0);
	for (netsnmp_request_info *at = requests; sets && at && count < REQUEST_MAX;
	     at = at->next) {
		const netsnmp_variable_list *varbind = at->requestvb;
		struct cisco_set *one = &sets[count];

		of[count++] = at;
		for (size_t i = OID_LENGTH(cisco);
		     i < varbind->name_length && one->arcs < COUNT_OF(one->object); i++)
			one->object[one->arcs++] = (uint32_t)varbind->name[i];
		one->is_octets = varbind->type == ASN_OCTET_STR;
		one->is_unsigned = varbind->type == ASN_GAUGE;
		if (one->is_octets) {
			one->octets = varbind->val.string;
			one->size = varbind->val_len;
		} else {
			one->number = (uint32_t)*varbind->val.integer;
		}
	}
	if (sets)
		error = switch_cisco_set(&agent->device, sets, count, now, &failed);
	if (error != SWITCH_OK)
		(void)netsnmp_set_request_error(info, of[failed < count ? failed : 0], (int)error);
	free(sets);
}

/* What a vendor or sFlow has of its own: all of a SET's varbinds at once. */
static void set_more(struct switch_agent *agent, netsnmp_agent_request_info *info,
		     netsnmp_request_info *requests, bool sflow, bool now)
{
	const netsnmp_variable_list *varbinds[REQUEST_MAX];
	enum switch_error error;
	size_t count = 0;

	switch_device_refresh(&agent->device, 0);
	for (netsnmp_request_info *at = requests; at && count < REQUEST_MAX; at = at->next)
		varbinds[count++] = at->requestvb;
	error = sflow ? switch_sflow_set(&agent->device, varbinds, count, now)
		      : switch_like_set(&agent->likeness, &agent->device, varbinds, count, now);
	if (error != SWITCH_OK)
		(void)netsnmp_set_request_error(info, requests, (int)error);
}

static void switch_agent_set(struct switch_agent *agent, const netsnmp_handler_registration *about,
			     netsnmp_agent_request_info *info, netsnmp_request_info *requests,
			     bool now)
{
	static const oid sflow[] = {SWITCH_SFLOW_OID};
	const struct switch_like *like = agent->likeness.like;

	if (like && snmp_oid_compare(about->rootoid, about->rootoid_len, like->root,
				     like->root_length) == 0) {
		set_more(agent, info, requests, false, now);
		return;
	}
	if (snmp_oid_compare(about->rootoid, about->rootoid_len, sflow, OID_LENGTH(sflow)) == 0) {
		set_more(agent, info, requests, true, now);
		return;
	}
	if (agent->device.cisco) {
		set_cisco(agent, info, requests, now);
		return;
	}
	set_bridge(agent, info, requests, now);
}

static int switch_agent_on_request(netsnmp_mib_handler *handler,
				   netsnmp_handler_registration *about,
				   netsnmp_agent_request_info *info, netsnmp_request_info *requests)
{
	struct switch_agent *agent = about->my_reg_void;

	(void)handler;
	switch (info->mode) {
	case MODE_GET:
	case MODE_GETNEXT: switch_agent_get(agent, about, info, requests); break;
	case MODE_SET_RESERVE2: switch_agent_set(agent, about, info, requests, false); break;
	case MODE_SET_ACTION: switch_agent_set(agent, about, info, requests, true); break;
	default: break;
	}
	return SNMP_ERR_NOERROR;
}

/* --- registration --- */

static netsnmp_handler_registration *serve_in(struct switch_agent *agent, const char *context,
					      const char *name, const oid *root, size_t length,
					      int priority)
{
	netsnmp_handler_registration *about = netsnmp_create_handler_registration(
		name, switch_agent_on_request, root, length, HANDLER_CAN_RWRITE);

	if (!about)
		return NULL;
	about->my_reg_void = agent;
	about->priority = priority;
	about->contextName = context ? strdup(context) : NULL;
	return netsnmp_register_handler(about) == MIB_REGISTERED_OK ? about : NULL;
}

static netsnmp_handler_registration *switch_agent_serve(struct switch_agent *agent,
							const char *name, const oid *root,
							size_t length, int priority)
{
	return serve_in(agent, NULL, name, root, length, priority);
}

static const oid switch_agent_bridge[] = {1, 3, 6, 1, 2, 1, 17};

static bool serve_health(struct switch_agent *agent)
{
	static const oid lag[] = {SWITCH_LAG_OID};
	static const oid sensor[] = {SWITCH_SENSOR_OID};
	static const oid entity[] = {SWITCH_ENTITY_OID};

	return switch_agent_serve(agent, "lag", lag, OID_LENGTH(lag), DEFAULT_MIB_PRIORITY) &&
	       switch_agent_serve(agent, "sensor", sensor, OID_LENGTH(sensor),
				  DEFAULT_MIB_PRIORITY) &&
	       switch_agent_serve(agent, "entity", entity, OID_LENGTH(entity),
				  DEFAULT_MIB_PRIORITY);
}

/* A context for each VLAN that has come; it stays when the VLAN goes, and is empty. Not from inside
 * a request: snmpd is asked and waited for. */
static void serve_vlans(struct switch_agent *agent)
{
	char context[16];

	for (size_t i = 0; agent->device.cisco && i < agent->device.running.vlan_count; i++) {
		uint16_t vid = agent->device.running.vlans[i].vid;

		if (agent->contexts[vid])
			continue;
		agent->contexts[vid] = 1;
		(void)text_format(context, sizeof(context), CONTEXT "%u", vid);
		if (!serve_in(agent, context, "bridge", switch_agent_bridge,
			      OID_LENGTH(switch_agent_bridge), DEFAULT_MIB_PRIORITY))
			(void)fprintf(stderr, "switch_agent: no context %s\n", context);
	}
}

static bool serve_all(struct switch_agent *agent)
{
	static const oid own[] = {SWITCH_OWN_OID};
	static const oid cisco[] = {1, 3, 6, 1, 4, 1, 9};
	static const oid sflow[] = {SWITCH_SFLOW_OID};
	static const oid last_change[] = {1, 3, 6, 1, 2, 1, 2, 2, 1, 9};
	static const oid names[] = {1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1};

	if (agent->device.first_port &&
	    !switch_agent_serve(agent, "ifName", names, OID_LENGTH(names), 1))
		return false;
	if (!switch_agent_serve(agent, "ifLastChange", last_change, OID_LENGTH(last_change), 1))
		return false;
	if (!switch_agent_serve(agent, "bridge", switch_agent_bridge,
				OID_LENGTH(switch_agent_bridge), DEFAULT_MIB_PRIORITY) ||
	    !switch_agent_serve(agent, "own", own, OID_LENGTH(own), DEFAULT_MIB_PRIORITY))
		return false;
	if (agent->device.cisco &&
	    !switch_agent_serve(agent, "cisco", cisco, OID_LENGTH(cisco), DEFAULT_MIB_PRIORITY))
		return false;
	if (agent->likeness.like &&
	    !switch_agent_serve(agent, "like", agent->likeness.like->root,
				agent->likeness.like->root_length, DEFAULT_MIB_PRIORITY))
		return false;
	if (!agent->device.cisco && !serve_health(agent))
		return false;
	if (agent->device.sflow &&
	    !switch_agent_serve(agent, "sflow", sflow, OID_LENGTH(sflow), DEFAULT_MIB_PRIORITY))
		return false;
	for (size_t i = 0; i < agent->save_count; i++) {
		const struct switch_save_object *save = &agent->saves[i];

		if (!switch_agent_serve(agent, "save", save->name, save->length,
					DEFAULT_MIB_PRIORITY))
			return false;
	}
	return true;
}

/* lldpd serves the table; ours goes before it. A process of its own does this: Net-SNMP's master
 * drops an agent that takes registrations back while requests are on their way. */
static bool serve_broken_lldp(struct switch_agent *agent)
{
	static const oid rem[] = {1, 0, 8802, 1, 1, 2, 1, 4, 1, 1};

	for (oid column = 1; column <= 12; column++) {
		oid name[OID_LENGTH(rem) + 1];

		memcpy(name, rem, sizeof(rem));
		name[OID_LENGTH(rem)] = column;
		if (!switch_agent_serve(agent, "lldp", name, OID_LENGTH(name), 1))
			return false;
	}
	return true;
}

static bool open_agentx(struct switch_agent *agent)
{
	/* Nothing of this machine's own SNMP set-up is read or written. */
	(void)setenv("MIBS", "", 1);
	(void)netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_READ_CONFIGS, 1);
	(void)netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_PERSIST_STATE, 1);
	(void)netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_LOAD_HOST_FILES, 1);
	(void)netsnmp_ds_set_boolean(NETSNMP_DS_APPLICATION_ID, NETSNMP_DS_AGENT_ROLE, 1);
	(void)netsnmp_ds_set_string(NETSNMP_DS_APPLICATION_ID, NETSNMP_DS_AGENT_X_SOCKET,
				    agent->agentx);
	(void)netsnmp_ds_set_int(NETSNMP_DS_APPLICATION_ID, NETSNMP_DS_AGENT_AGENTX_PING_INTERVAL,
				 1);
	snmp_enable_stderrlog();
	if (init_agent("switch_agent") != 0)
		return false;
	if (agent->device.lldp_broken ? !serve_broken_lldp(agent) : !serve_all(agent))
		return false;
	init_snmp("switch_agent");
	return true;
}

/* --- the loop --- */

static void switch_agent_turn(struct switch_agent *agent)
{
	int numfds = 0;
	int block = 0;
	fd_set fds;
	struct timeval limit = {0, 250000};
	int ready;

	FD_ZERO(&fds);
	(void)snmp_select_info(&numfds, &fds, &limit, &block);
	if (limit.tv_sec > 0 || limit.tv_usec > 250000)
		limit = (struct timeval){0, 250000};
	ready = select(numfds, &fds, NULL, NULL, &limit);
	switch_device_refresh(&agent->device, 1000);
	(void)switch_sflow_expire(&agent->device);
	agent->device.serial += agent->device.sflow != NULL; /* its receivers' time runs */
	if (ready > 0) {
		uint32_t slow = agent->device.faults.slow_ms;
		const struct timespec pause = {slow / 1000, (long)(slow % 1000) * 1000000};

		if (slow > 0)
			(void)nanosleep(&pause, NULL);
		snmp_read(&fds);
	} else {
		snmp_timeout();
	}
	serve_vlans(agent);
	run_alarms();
	netsnmp_check_outstanding_agent_requests();
}

/* "1.3.6...": numbers only, so that no MIB file is needed. */
static bool read_oid(const char *text, const char *end, oid *ret, size_t *ret_length)
{
	size_t length = 0;

	while (text < end && length < SWITCH_OID_MAX) {
		char *stop;

		if (*text < '0' || *text > '9')
			return false;
		ret[length++] = strtoul(text, &stop, 10);
		if (stop != end && (*stop != '.' || stop + 1 == end))
			return false;
		text = stop == end ? end : stop + 1;
	}
	*ret_length = length;
	return text == end && length >= 2;
}

static bool read_save(struct switch_agent *agent, const char *text)
{
	struct switch_save_object *save = &agent->saves[agent->save_count];
	const char *equals = strchr(text, '=');
	char *end;

	if (agent->save_count == SWITCH_SAVE_MAX || !equals)
		return false;
	save->value = (int)strtol(equals + 1, &end, 10);
	if (*end != '\0' || end == equals + 1 || !read_oid(text, equals, save->name, &save->length))
		return false;
	agent->save_count++;
	return true;
}

static int switch_agent_usage(FILE *out, int status)
{
	(void)fprintf(
		out,
		"switch_agent --database SOCKET --control SOCKET --agentx SOCKET --startup FILE\n"
		"             [--faults FILE] [--bridge NAME] [--openflow SOCKET] [--save OID=VALUE]...\n"
		"             [--cisco] [--like FAMILY] [--sflow] [--first-port NAME] [--beside-cli]\n"
		"  --database  of ovsdb-server      --control  of ovs-vswitchd\n"
		"  --agentx    of snmpd             --startup  what a reboot comes back with\n"
		"  --faults    KEY=VALUE words, read again when the file changes\n"
		"  --save      another object that saves when it is set to VALUE\n"
		"  --cisco     a Catalyst: CISCO-VTP-MIB, vmVlan, a BRIDGE-MIB per VLAN\n"
		"  --like      the manners of a family, below\n"
		"  --sflow     SFLOW-MIB, over Open vSwitch's own sFlow\n"
		"  --first-port  ifName of port 1, as Gi1/0/1; the others count on from there, by 4\n"
		"                with Ethernet0+4\n"
		"  --beside-cli  switch_cli has the configuration of this bridge: what it says is shown\n"
		"Prints \"ready\". Save object of its own: 1.3.6.1.4.1.8072.9999.9999.4.1.0 = 1\n"
		"\nmanners and faults:\n");
	switch_faults_help(out);
	(void)fprintf(out, "\nfamilies:\n");
	switch_like_help(out);
	return status;
}

static bool be_like(struct switch_agent *agent, const char *name)
{
	const struct switch_like *like = switch_like_find(name);

	if (!like ||
	    (like->is_dnos && !agent->device.dnos && switch_dnos_new(&agent->device.dnos) != 0))
		return false;
	agent->likeness.like = agent->device.like = like;
	agent->device.manners = like->words;
	agent->device.has_access = like->mode_length > 0;
	return true;
}

static int switch_agent_read_options(struct switch_agent *agent, int argc, char **argv)
{
	static const struct option options[] = {
		{"database", required_argument, NULL, 'd'},
		{"control", required_argument, NULL, 'c'},
		{"agentx", required_argument, NULL, 'x'},
		{"startup", required_argument, NULL, 's'},
		{"faults", required_argument, NULL, 'f'},
		{"bridge", required_argument, NULL, 'b'},
		{"broken-lldp", no_argument, NULL, 'l'},
		{"openflow", required_argument, NULL, 'o'},
		{"save", required_argument, NULL, 'S'},
		{"cisco", no_argument, NULL, 'C'},
		{"like", required_argument, NULL, 'L'},
		{"sflow", no_argument, NULL, 'F'},
		{"first-port", required_argument, NULL, 'n'},
		{"beside-cli", no_argument, NULL, 'B'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'd': agent->database = optarg; break;
		case 'c': agent->control = optarg; break;
		case 'x': agent->agentx = optarg; break;
		case 's': agent->device.startup_path = optarg; break;
		case 'f': agent->device.faults_path = optarg; break;
		case 'l': agent->device.lldp_broken = true; break;
		case 'o': agent->device.openflow = optarg; break;
		case 'b': agent->bridge = optarg; break;
		case 'C':
			if (!agent->device.cisco && switch_cisco_new(&agent->device.cisco) != 0)
				return switch_agent_usage(stderr, 2);
			break;
		case 'L':
			if (!be_like(agent, optarg))
				return switch_agent_usage(stderr, 2);
			break;
		case 'F':
			if (!agent->device.sflow && switch_sflow_new(&agent->device.sflow) != 0)
				return switch_agent_usage(stderr, 2);
			break;
		case 'n': agent->device.first_port = optarg; break;
		case 'B':
			if (!agent->device.vlans)
				agent->device.vlans = calloc(1, sizeof(*agent->device.vlans));
			if (!agent->device.vlans)
				return switch_agent_usage(stderr, 2);
			break;
		case 'S':
			if (!read_save(agent, optarg))
				return switch_agent_usage(stderr, 2);
			break;
		case 'h': exit(switch_agent_usage(stdout, 0));
		default: return switch_agent_usage(stderr, 2);
		}
	}
	return agent->database && agent->control && agent->agentx &&
			       (agent->device.startup_path || agent->device.lldp_broken)
		       ? 0
		       : switch_agent_usage(stderr, 2);
}

int main(int argc, char **argv)
{
	struct switch_agent agent = {.bridge = "br0"};
	const struct sigaction action = {.sa_handler = switch_agent_on_signal};
	int status = switch_agent_read_options(&agent, argc, argv);

	if (status != 0)
		return status;
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGINT, &action, NULL);
	if (switch_ovs_new(agent.database, agent.control, agent.bridge, &agent.device.ovs) != 0 ||
	    (!agent.device.lldp_broken && switch_device_boot(&agent.device) != 0) ||
	    !open_agentx(&agent)) {
		(void)fprintf(stderr, "switch_agent: Open vSwitch, the startup file or snmpd "
				      "cannot be had\n");
		switch_device_done(&agent.device);
		return 1;
	}
	(void)printf("ready\n");
	(void)fflush(stdout);
	while (!switch_agent_stopping)
		switch_agent_turn(&agent);
	snmp_shutdown("switch_agent");
	shutdown_agent();
	switch_mib_done(&agent.mib);
	switch_mib_done(&agent.vlan_mib);
	switch_device_done(&agent.device);
	return 0;
}
