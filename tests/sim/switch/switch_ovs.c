#include <errno.h>
#include <jansson.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"

#include "tests/sim/switch/switch_ovs_private.h"

LEAKS_LEFT_TO_SANITIZER

#define FDB_MAX    65536
#define APPLIED_MS 2000

int switch_ovs_new(const char *database, const char *control, const char *bridge,
		   struct switch_ovs **ret)
{
	struct switch_ovs *ovs = calloc(1, sizeof(*ovs));

	if (!ovs)
		return -ENOMEM;
	if (switch_rpc_init(&ovs->database, database) != 0 ||
	    switch_rpc_init(&ovs->control, control) != 0 ||
	    !text_copy(ovs->bridge, sizeof(ovs->bridge), bridge)) {
		free(ovs);
		return E_INVALID;
	}
	*ret = ovs;
	return 0;
}

void switch_ovs_free(struct switch_ovs *ovs)
{
	if (!ovs)
		return;
	switch_rpc_done(&ovs->database);
	switch_rpc_done(&ovs->control);
	free(ovs);
}

/* --- writing --- */

static json_t *trunk_set(const struct switch_tagging *tagging)
{
	json_t *list = json_array();

	for (uint32_t vid = 0; vid < 4096 && tagging->mode != SWITCH_ACCESS; vid++) {
		if (switch_tagging_has(tagging, vid))
			(void)json_array_append_new(list, json_integer((json_int_t)vid));
	}
	return json_pack("[s,o]", "set", list);
}

static json_t *update_of(const struct switch_ovs_change *change)
{
	const struct switch_tagging *tagging = &change->tagging;
	json_t *tag = tagging->mode == SWITCH_TRUNK ? json_pack("[s,[]]", "set")
						    : json_integer(tagging->tag);

	return json_pack("{s:s,s:s,s:[[s,s,s]],s:{s:s,s:o,s:o}}", "op", "update", "table", "Port",
			 "where", "name", "==", change->port, "row", "vlan_mode",
			 switch_mode_words[tagging->mode], "tag", tag, "trunks",
			 trunk_set(tagging));
}

static json_int_t switch_ovs_configuration_number(struct switch_ovs *ovs, const char *column)
{
	json_t *answer = NULL;
	json_int_t value = -1;

	if (switch_rpc_call(&ovs->database, "transact",
			    json_pack("[s,{s:s,s:s,s:[],s:[s]}]", "Open_vSwitch", "op", "select",
				      "table", "Open_vSwitch", "where", "columns", column),
			    &answer) != 0)
		return -1;
	value = switch_ovs_integer(
		json_array_get(json_object_get(json_array_get(answer, 0), "rows"), 0), column, -1);
	json_decref(answer);
	return value;
}

int64_t switch_ovs_configuration(struct switch_ovs *ovs)
{
	return switch_ovs_configuration_number(ovs, "next_cfg");
}

/* vswitchd says in cur_cfg which configuration it has made true. */
static int wait_applied(struct switch_ovs *ovs)
{
	const struct timespec pause = {0, 1000000};
	json_int_t wanted = switch_ovs_configuration_number(ovs, "next_cfg");

	for (unsigned i = 0; i < APPLIED_MS; i++) {
		json_int_t current = switch_ovs_configuration_number(ovs, "cur_cfg");

		if (current >= wanted || current < 0)
			return current < 0 ? E_UNAVAILABLE : 0;
		(void)nanosleep(&pause, NULL);
	}
	return E_TIMEOUT;
}

int switch_ovs_transact(struct switch_ovs *ovs, json_t *params)
{
	json_t *answer = NULL;
	json_t *result;
	size_t i;
	int rc;

	(void)json_array_append_new(params, json_pack("{s:s,s:s,s:[],s:[[s,s,i]]}", "op", "mutate",
						      "table", "Open_vSwitch", "where", "mutations",
						      "next_cfg", "+=", 1));
	rc = switch_rpc_call(&ovs->database, "transact", params, &answer);
	if (rc != 0)
		return rc;
	json_array_foreach(answer, i, result)
	{
		if (json_object_get(result, "error") || json_is_null(result))
			rc = E_CONFLICT;
	}
	json_decref(answer);
	return rc != 0 ? rc : wait_applied(ovs);
}

/* --- learned addresses --- */

int switch_ovs_fdb(struct switch_ovs *ovs, struct switch_fdb_row **ret_rows, size_t *ret_count)
{
	struct switch_fdb_row *rows;
	json_t *answer = NULL;
	const char *text;
	size_t size;
	size_t room = 0;
	int rc = switch_rpc_call(&ovs->control, "fdb/show", json_pack("[s]", ovs->bridge), &answer);

	if (rc != 0)
		return rc;
	text = json_string_value(answer);
	size = json_string_length(answer);
	for (size_t i = 0; text && i < size; i++)
		room += text[i] == '\n';
	rows = calloc(room + 1, sizeof(*rows));
	rc = !rows ? -ENOMEM : !text ? E_PROTOCOL : room > FDB_MAX ? E_LIMIT : 0;
	if (rc == 0)
		rc = switch_fdb_read(text, size, rows, room + 1, ret_count);
	json_decref(answer);
	if (rc != 0) {
		free(rows);
		return rc;
	}
	*ret_rows = rows;
	return 0;
}

static int ask_control(struct switch_ovs *ovs, const char *method, json_t *params)
{
	json_t *answer = NULL;
	int rc = switch_rpc_call(&ovs->control, method, params, &answer);

	json_decref(answer);
	return rc;
}

/* `fdb/del` takes what was put by hand only, so it is put by hand first. */
static int switch_ovs_forget(struct switch_ovs *ovs, const char *port,
			     const struct switch_fdb_row *row)
{
	char mac[MAC_TEXT_SIZE];
	char vid[8];
	int rc;

	(void)mac_text(row->mac, mac);
	(void)text_format(vid, sizeof(vid), "%u", row->vid);
	rc = ask_control(ovs, "fdb/add", json_pack("[s,s,s,s]", ovs->bridge, port, vid, mac));
	return rc != 0 ? rc
		       : ask_control(ovs, "fdb/del", json_pack("[s,s,s]", ovs->bridge, vid, mac));
}

static bool switch_ovs_carries(const struct switch_tagging *tagging, uint32_t vid)
{
	return (tagging->mode != SWITCH_TRUNK && tagging->tag == vid) ||
	       (tagging->mode != SWITCH_ACCESS && switch_tagging_has(tagging, vid));
}

int switch_ovs_purge(struct switch_ovs *ovs)
{
	return ask_control(ovs, "revalidator/purge", json_array());
}

/* Open vSwitch forwards to a learned address without asking whether its port is in the VLAN, which
 * no bridge of 802.1Q does (8.8.9: egress filtering by the member set). It forgets the addresses of
 * a port whose VLANs change, but a frame that is under way then may be learned once more as of
 * before, for five minutes; and flows that it has cached go on until its revalidators have been at
 * them, which cur_cfg does not wait for. A switch has none of that: its flows go, then such
 * addresses. */
static int forget_elsewhere(struct switch_ovs *ovs)
{
	struct switch_plane plane = {0};
	struct switch_fdb_row *rows = NULL;
	size_t count = 0;
	int rc = switch_ovs_purge(ovs);

	if (rc == 0)
		rc = switch_ovs_read(ovs, &plane);
	if (rc == 0)
		rc = switch_ovs_fdb(ovs, &rows, &count);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		for (size_t p = 0; rc == 0 && p < plane.port_count; p++) {
			if (plane.ports[p].number == rows[i].port &&
			    !switch_ovs_carries(&plane.ports[p].tagging, rows[i].vid))
				rc = switch_ovs_forget(ovs, plane.ports[p].name, &rows[i]);
		}
	}
	free(rows);
	switch_plane_done(&plane);
	return rc;
}

/* --- changes --- */

int switch_ovs_write(struct switch_ovs *ovs, const struct switch_ovs_change *changes, size_t count)
{
	json_t *params = json_array();
	size_t i;
	int rc;

	if (count == 0) {
		json_decref(params);
		return 0;
	}
	(void)json_array_append_new(params, json_string("Open_vSwitch"));
	for (i = 0; i < count; i++)
		(void)json_array_append_new(params, update_of(&changes[i]));
	rc = switch_ovs_transact(ovs, params);
	return rc != 0 ? rc : forget_elsewhere(ovs);
}

int switch_ovs_sample(struct switch_ovs *ovs, const struct switch_ovs_sflow *sflow)
{
	json_t *params = json_pack("[s]", "Open_vSwitch");
	json_t *row = json_object();
	json_t *reference = json_pack("[s,[]]", "set");

	if (sflow) {
		json_decref(reference);
		reference = json_pack("[s,s]", "named-uuid", "sampler");
		(void)json_array_append_new(
			params,
			json_pack("{s:s,s:s,s:s,s:{s:s,s:I,s:I,s:I,s:s}}", "op", "insert", "table",
				  "sFlow", "uuid-name", "sampler", "row", "targets", sflow->target,
				  "sampling", (json_int_t)sflow->rate, "header",
				  (json_int_t)sflow->header, "polling", (json_int_t)sflow->interval,
				  "agent", "mgmt0"));
	}
	(void)json_object_set_new(row, "sflow", reference);
	(void)json_array_append_new(params, json_pack("{s:s,s:s,s:[[s,s,s]],s:o}", "op", "update",
						      "table", "Bridge", "where", "name",
						      "==", ovs->bridge, "row", row));
	return switch_ovs_transact(ovs, params);
}

static int run_ofctl(char *command, const char *openflow, const char *path, const char *flows)
{
	char program[] = "ovs-ofctl";
	char bundle[] = "--bundle";
	char target[128];
	char file[512];
	char *arguments[] = {program, bundle, command, target, file, NULL};
	int status = -1;
	int rc = file_write_atomic(path, flows, strlen(flows), 0600);
	pid_t pid;

	if (rc != 0)
		return rc;
	if (!text_format(target, sizeof(target), "unix:%s", openflow) ||
	    !text_copy(file, sizeof(file), path))
		return E_LIMIT;
	rc = posix_spawnp(&pid, program, NULL, NULL, arguments, environ);
	if (rc != 0)
		return -rc;
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return E_PROTOCOL;
	return 0;
}

int switch_ovs_flows(const char *openflow, const char *path, const char *flows)
{
	char command[] = "replace-flows";

	return run_ofctl(command, openflow, path, flows);
}

int switch_ovs_rules(const char *openflow, const char *path, const char *lines)
{
	char command[] = "add-flows";

	return run_ofctl(command, openflow, path, lines);
}
