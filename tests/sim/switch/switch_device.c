#include "tests/sim/switch/switch_device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/io/file.h"

#include "tests/sim/switch/switch_cisco.h"
#include "tests/sim/switch/switch_dnos.h"

LEAKS_LEFT_TO_SANITIZER

#define FILE_MAX ((size_t)4 << 20)
#define LINKS_MS 100 /* a request is not to wait for sysfs */

uint32_t switch_device_ticks(const struct switch_device *device)
{
	return (uint32_t)((clock_monotonic_ms() - device->started_ms) / 10);
}

void switch_device_done(struct switch_device *device)
{
	switch_model_done(&device->running);
	switch_plane_done(&device->plane);
	free(device->fdb);
	free(device->flows);
	free(device->vlans);
	free(device->cisco);
	free(device->dnos);
	free(device->sflow);
	switch_ovs_free(device->ovs);
}

/* --- faults --- */

static void take_manners(struct switch_device *device)
{
	if (device->manners && switch_faults_add(device->manners, &device->faults) != 0)
		(void)fprintf(stderr, "switch_agent: manners that are none: %s\n", device->manners);
}

static void switch_device_read_faults(struct switch_device *device)
{
	struct stat about = {0};
	char *text = NULL;
	char wrong[64] = "";
	size_t size = 0;

	if (!device->faults_path) {
		take_manners(device);
		return;
	}
	(void)stat(device->faults_path, &about);
	if (about.st_mtim.tv_sec == device->faults_read.tv_sec &&
	    about.st_mtim.tv_nsec == device->faults_read.tv_nsec)
		return;
	device->faults_read = about.st_mtim;
	device->serial++;
	if (file_read(device->faults_path, FILE_MAX, &text, &size) != 0) {
		device->faults = (struct switch_faults){0};
		take_manners(device);
		return;
	}
	if (switch_faults_read(text, &device->faults, wrong) != 0)
		(void)fprintf(stderr, "switch_agent: %s: no such fault: %s\n", device->faults_path,
			      wrong);
	take_manners(device);
	free(text);
}

/* --- Open vSwitch --- */

static const struct switch_plane_port *plane_port(const struct switch_plane *plane, uint32_t number)
{
	for (size_t i = 0; i < plane->port_count; i++) {
		if (plane->ports[i].number == number)
			return &plane->ports[i];
	}
	return NULL;
}

/* Only when the rules change, which is seldom: most states need none but the plain one. */
static int push_flows(struct switch_device *device)
{
	struct text text = {0};
	char path[512];
	char *flows;
	int rc = 0;

	if (!device->openflow)
		return 0;
	switch_model_flows(&device->running, &text);
	flows = text_take(&text);
	if (!flows)
		return -ENOMEM;
	if (!device->flows || strcmp(flows, device->flows) != 0) {
		rc = text_format(path, sizeof(path), "%s.flows", device->startup_path) ? 0
										       : E_LIMIT;
		if (rc == 0)
			rc = switch_ovs_flows(device->openflow, path, flows);
	}
	if (rc != 0) {
		free(flows);
		return rc;
	}
	free(device->flows);
	device->flows = flows;
	return 0;
}

/* What differs on Open vSwitch from the model was set by somebody else: it is the truth. */
static void follow_mode(struct switch_device *device, const struct switch_port *port)
{
	device->access[port->number] =
		switch_model_tagging(&device->running, port).mode == SWITCH_ACCESS;
	if (device->dnos)
		switch_dnos_follow(device, port);
}

static void import_plane(struct switch_device *device)
{
	uint32_t before = device->configurations;

	for (size_t i = 0; i < device->plane.port_count; i++) {
		const struct switch_plane_port *at = &device->plane.ports[i];
		struct switch_port *port = switch_model_port(&device->running, at->number);
		struct switch_tagging wanted;

		if (!port) {
			if (switch_model_add_port(&device->running, at->number, &port) != 0)
				continue;
			follow_mode(device, port); /* it has one, whatever it is in */
		}
		wanted = switch_model_tagging(&device->running, port);
		if (switch_tagging_equal(&wanted, &at->tagging))
			continue;
		if (switch_model_import(&device->running, port, &at->tagging) != 0)
			(void)fprintf(stderr, "switch_agent: %s: cannot follow\n", at->name);
		follow_mode(device, port);
		device->is_saved = false;
		device->configurations++;
	}
	if (device->configurations != before && push_flows(device) != 0)
		(void)fprintf(stderr, "switch_agent: no OpenFlow rules\n");
}

/* VLANs are those that the command line has, with no port in them, too. One in which a port is came
 * after the table was read, and stays. */
static void import_vlans(struct switch_device *device)
{
	const struct switch_ovs_vlans *table = device->vlans;
	struct switch_vlan *vlan;

	for (size_t i = device->running.vlan_count; i-- > 0;) {
		struct switch_change gone = {.verb = SWITCH_DELETE,
					     .index = device->running.vlans[i].vid};

		if (!vlan_set_has(&table->vids, gone.index) &&
		    switch_portlist_is_empty(&device->running.vlans[i].egress))
			(void)switch_model_apply(&device->running, &gone, SWITCH_PVID_ALONE,
						 switch_device_ticks(device));
	}
	for (unsigned v = vlan_set_next(&table->vids, 1); v;
	     v = vlan_set_next(&table->vids, v + 1)) {
		char name[SWITCH_NAME_SIZE];

		if (!text_copy(name, sizeof(name), table->names[v]) || name[0] == '\0')
			(void)text_format(name, sizeof(name), "VLAN%04u", v);
		vlan = switch_model_vlan(&device->running, v);
		if (!vlan && switch_model_add_vlan(&device->running, (uint16_t)v, name, &vlan) != 0)
			continue;
		memcpy(vlan->name, name, sizeof(name));
	}
}

/* A switch forgets what it learned at a port whose link goes; Open vSwitch does not. An entry is
 * from before when it is older than the last change of its port's link, and its age is in whole
 * seconds: one of the first second comes a little late. */
static bool is_forgotten(const struct switch_device *device, const struct switch_fdb_row *row)
{
	const struct switch_plane_port *port = plane_port(&device->plane, row->port);
	uint32_t ticks = port ? switch_links_ticks(&device->links, port->if_index) : 0;

	return ticks && !device->faults.fdb_kept &&
	       (uint64_t)row->age_s * 100 + 99 > switch_device_ticks(device) - ticks;
}

static void switch_device_take_fdb(struct switch_device *device, struct switch_fdb_row *rows,
				   size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (!is_forgotten(device, &rows[i]))
			rows[kept++] = rows[i];
	}
	free(device->fdb);
	device->fdb = rows;
	device->fdb_count = kept;
}

static int read_plane(struct switch_device *device)
{
	struct switch_plane plane = {0};
	struct switch_fdb_row *fdb = NULL;
	size_t count = 0;
	int rc = switch_ovs_read(device->ovs, &plane);

	if (rc != 0)
		return rc;
	switch_plane_done(&device->plane);
	device->plane = plane;
	if (switch_ovs_fdb(device->ovs, &fdb, &count) == 0)
		switch_device_take_fdb(device, fdb, count);
	device->read_ms = clock_monotonic_ms();
	device->serial++;
	return 0;
}

static int switch_device_push(struct switch_device *device)
{
	struct switch_ovs_change *changes =
		calloc(device->running.port_count + 1, sizeof(*changes));
	size_t count = 0;
	int rc;

	if (!changes)
		return -ENOMEM;
	for (size_t i = 0; i < device->running.port_count; i++) {
		const struct switch_port *port = &device->running.ports[i];
		const struct switch_plane_port *at = plane_port(&device->plane, port->number);
		struct switch_tagging wanted = switch_model_tagging(&device->running, port);

		if (at && !switch_tagging_equal(&wanted, &at->tagging))
			changes[count++] = (struct switch_ovs_change){at->name, wanted};
	}
	rc = switch_ovs_write(device->ovs, changes, count);
	free(changes);
	if (rc == 0)
		rc = push_flows(device);
	if (rc == 0)
		rc = read_plane(device);
	return rc;
}

/* What the command line has answered is shown by SNMP at once. */
static bool is_moved(struct switch_device *device)
{
	int64_t before = device->configuration;

	if (!device->vlans)
		return false;
	device->configuration = switch_ovs_configuration(device->ovs);
	return device->configuration != before;
}

void switch_device_refresh(struct switch_device *device, int64_t max_age_ms)
{
	uint32_t links = device->links.serial;
	bool kept;

	switch_device_read_faults(device);
	if (clock_monotonic_ms() - device->linked_ms >= LINKS_MS) {
		device->linked_ms = clock_monotonic_ms();
		switch_links_look(&device->links, switch_device_ticks(device));
		device->serial += device->links.serial != links;
	}
	if (clock_monotonic_ms() - device->read_ms < max_age_ms && !is_moved(device))
		return;
	/* The table before the ports, and a port that has left a VLAN before that goes: a trunk
	 * that is still to carry it would look the same. */
	kept = device->vlans && switch_ovs_vlans(device->ovs, device->vlans) == 0 &&
	       !vlan_set_is_empty(&device->vlans->vids);
	if (read_plane(device) == 0)
		import_plane(device);
	if (device->cisco)
		switch_cisco_follow(device);
	if (!kept)
		return;
	import_vlans(device);
	if (device->cisco)
		switch_cisco_follow(device);
}

/* --- start and save --- */

int switch_device_save(struct switch_device *device)
{
	struct text text = {0};
	int rc;

	device->saves++;
	if (device->faults.lost_save)
		return 0;
	switch_model_write(&device->running, &text);
	rc = text.failed
		     ? -ENOMEM
		     : file_write_atomic(device->startup_path, text_get(&text), text.size, 0600);
	text_done(&text);
	device->is_saved = rc == 0;
	return rc;
}

static int load_startup(struct switch_device *device)
{
	char *text = NULL;
	size_t size = 0;
	int rc = file_read(device->startup_path, FILE_MAX, &text, &size);

	if (rc == 0)
		rc = switch_model_read(text, &device->running);
	free(text);
	return rc;
}

int switch_device_boot(struct switch_device *device)
{
	const struct timespec pause = {0, 50000000};
	struct switch_vlan *vlan;
	int rc = E_UNAVAILABLE;

	device->started_ms = clock_monotonic_ms();
	switch_device_read_faults(device);
	for (unsigned i = 0; i < 200 && rc != 0; i++) {
		rc = read_plane(device);
		if (rc != 0)
			(void)nanosleep(&pause, NULL);
	}
	if (rc != 0)
		return rc;
	rc = device->vlans ? -ENOENT : load_startup(device);
	if (rc == 0) {
		device->is_saved = true;
		for (size_t i = 0; i < device->running.port_count; i++)
			follow_mode(device, &device->running.ports[i]);
		return switch_device_push(device);
	}
	if (rc != -ENOENT)
		return rc;
	rc = switch_model_add_vlan(&device->running, 1, "default", &vlan);
	if (rc != 0)
		return rc;
	import_plane(device);
	device->configurations = 0;
	return switch_device_save(device);
}

/* --- SET --- */

static bool has_verb(uint32_t bits, enum switch_verb verb)
{
	return (bits & (1U << verb)) != 0;
}

static struct switch_insists insists_of(const struct switch_device *device)
{
	return (struct switch_insists){.never_alone = device->faults.never_alone,
				       .pvid_member = device->faults.pvid_member,
				       .pvid_stays = device->faults.pvid_stays,
				       .access = device->has_access ? device->access : NULL};
}

/* One after the other, as they stand: what each leaves behind must be allowed. */
static enum switch_error apply_in_order(const struct switch_device *device,
					struct switch_model *model,
					const struct switch_change *changes, size_t count,
					size_t *ret_at)
{
	struct switch_insists insists = insists_of(device);

	for (size_t i = 0; i < count; i++) {
		struct switch_model before;
		enum switch_error error;

		*ret_at = i;
		if (has_verb(device->faults.lost, changes[i].verb))
			continue;
		if (switch_model_copy(model, &before) != 0)
			return SWITCH_GENERAL;
		error = switch_model_apply(model, &changes[i], device->faults.pvid,
					   switch_device_ticks(device));
		if (error == SWITCH_OK)
			error = switch_model_check(model);
		if (error == SWITCH_OK)
			error = switch_model_allows(&before, model, &insists);
		switch_model_done(&before);
		if (error != SWITCH_OK)
			return error;
	}
	return SWITCH_OK;
}

/* Applies `changes` to `model` in the order of their verbs: rows first exist, then are filled; what
 * goes, goes last. Those that the faults lose are skipped. */
static enum switch_error apply_all(const struct switch_device *device, struct switch_model *model,
				   const struct switch_change *changes, size_t count,
				   size_t *ret_at)
{
	uint32_t now = switch_device_ticks(device);

	if (device->faults.in_order)
		return apply_in_order(device, model, changes, count, ret_at);
	for (enum switch_verb verb = 0; verb < SWITCH_SAVE; verb++) {
		for (size_t i = 0; i < count; i++) {
			enum switch_error error;

			if (changes[i].verb != verb || has_verb(device->faults.lost, verb))
				continue;
			error = switch_model_apply(model, &changes[i], device->faults.pvid, now);
			*ret_at = i;
			if (error != SWITCH_OK)
				return error;
		}
	}
	return SWITCH_OK;
}

static enum switch_error switch_device_refusal(const struct switch_device *device,
					       const struct switch_change *change)
{
	if (device->faults.read_only)
		return SWITCH_NOT_WRITABLE;
	if (has_verb(device->faults.refuse, change->verb))
		return SWITCH_INCONSISTENT_VALUE;
	if (device->faults.fixed_frames &&
	    (change->verb == SWITCH_FRAMES || change->verb == SWITCH_FILTER))
		return SWITCH_NOT_WRITABLE;
	if (device->faults.vid_max && change->verb == SWITCH_CREATE &&
	    change->index > device->faults.vid_max)
		return SWITCH_NO_CREATION;
	if (device->faults.no_create_and_go && change->verb == SWITCH_CREATE &&
	    change->value == SWITCH_ROW_CREATE_AND_GO)
		return SWITCH_WRONG_VALUE;
	return SWITCH_OK;
}

enum switch_error switch_device_test(struct switch_device *device,
				     const struct switch_change *changes, size_t count,
				     size_t *ret_at)
{
	struct switch_model scratch;
	enum switch_error error = SWITCH_OK;

	for (*ret_at = 0; *ret_at < count; (*ret_at)++) {
		error = switch_device_refusal(device, &changes[*ret_at]);
		if (error != SWITCH_OK)
			return error;
	}
	*ret_at = 0;
	if (switch_model_copy(&device->running, &scratch) != 0)
		return SWITCH_GENERAL;
	error = apply_all(device, &scratch, changes, count, ret_at);
	if (error == SWITCH_OK && device->faults.lost == 0)
		error = switch_model_check(&scratch);
	switch_model_done(&scratch);
	return error;
}

enum switch_error switch_device_replace(struct switch_device *device, struct switch_model *model)
{
	struct switch_model before = device->running;

	device->running = *model;
	*model = (struct switch_model){0};
	if (switch_device_push(device) != 0) {
		switch_model_done(&device->running);
		device->running = before;
		return SWITCH_COMMIT_FAILED;
	}
	switch_model_done(&before);
	device->is_saved = false;
	device->configurations++;
	device->serial++;
	return SWITCH_OK;
}

static enum switch_error set_now(struct switch_device *device, const struct switch_change *changes,
				 size_t count)
{
	struct switch_model scratch;
	enum switch_error error;
	size_t at;

	if (switch_model_copy(&device->running, &scratch) != 0)
		return SWITCH_GENERAL;
	error = apply_all(device, &scratch, changes, count, &at);
	if (error != SWITCH_OK) {
		switch_model_done(&scratch);
		return error;
	}
	return switch_device_replace(device, &scratch);
}

enum switch_error switch_device_set(struct switch_device *device,
				    const struct switch_change *changes, size_t count)
{
	enum switch_error error;

	for (size_t i = 0; i < count; i++) {
		if (changes[i].verb == SWITCH_SAVE)
			return switch_device_save(device) == 0 ? SWITCH_OK : SWITCH_COMMIT_FAILED;
	}
	if (!device->faults.partial)
		return set_now(device, changes, count);
	error = set_now(device, changes, (count + 1) / 2);
	return error == SWITCH_OK ? SWITCH_COMMIT_FAILED : error;
}
