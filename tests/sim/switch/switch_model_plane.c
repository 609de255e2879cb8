/* Between the model and the data plane of Open vSwitch, and between the model and its saved text.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hex.h"

#include "tests/sim/switch/switch_model.h"

/* VLAN 4095 is on no wire: a port that is a member of nothing else is dead, whereas an empty list
 * would be all VLANs. */
#define DEAD_VID 4095

static void trunks_set(struct switch_tagging *tagging, uint32_t vid)
{
	tagging->trunks[vid / 8] = (uint8_t)(tagging->trunks[vid / 8] | (1U << (vid % 8)));
}

bool switch_tagging_has(const struct switch_tagging *tagging, uint32_t vid)
{
	return vid < 4096 && (tagging->trunks[vid / 8] & (1U << (vid % 8))) != 0;
}

bool switch_tagging_equal(const struct switch_tagging *a, const struct switch_tagging *b)
{
	if (a->mode != b->mode)
		return false;
	if (a->mode == SWITCH_ACCESS)
		return a->tag == b->tag;
	return (a->mode == SWITCH_TRUNK || a->tag == b->tag) &&
	       memcmp(a->trunks, b->trunks, sizeof(a->trunks)) == 0;
}

struct switch_tagging switch_model_tagging(const struct switch_model *model,
					   const struct switch_port *port)
{
	struct switch_tagging tagging = {.mode = SWITCH_TRUNK};
	size_t tagged = 0;
	bool native = false, untagged = false;

	for (size_t i = 0; i < model->vlan_count; i++) {
		const struct switch_vlan *vlan = &model->vlans[i];
		bool sent_bare = switch_portlist_has(&vlan->untagged, port->number);
		bool is_native = vlan->vid == port->pvid && port->frames == SWITCH_ADMIT_ALL;

		if (vlan->status != SWITCH_ROW_ACTIVE ||
		    !switch_portlist_has(&vlan->egress, port->number))
			continue;
		if (is_native) {
			native = true;
			untagged = sent_bare;
			trunks_set(&tagging, vlan->vid);
		} else if (!sent_bare) {
			trunks_set(&tagging, vlan->vid);
			tagged++;
		}
	}
	if (native) {
		tagging.tag = port->pvid;
		tagging.mode = untagged ? SWITCH_NATIVE_UNTAGGED : SWITCH_NATIVE_TAGGED;
		if (untagged && tagged == 0)
			tagging = (struct switch_tagging){SWITCH_ACCESS, port->pvid, {0}};
	} else if (tagged == 0) {
		trunks_set(&tagging, DEAD_VID);
	}
	return tagging;
}

static int import_member(struct switch_model *model, uint32_t number, uint16_t vid, bool untagged)
{
	struct switch_vlan *vlan = switch_model_vlan(model, vid);

	if (!vlan) {
		int rc = switch_model_add_vlan(model, vid, "", &vlan);

		if (rc != 0)
			return rc;
	}
	switch_portlist_set(&vlan->egress, number, true);
	switch_portlist_set(&vlan->untagged, number, untagged);
	return 0;
}

int switch_model_import(struct switch_model *model, struct switch_port *port,
			const struct switch_tagging *tagging)
{
	bool native = tagging->mode != SWITCH_TRUNK;
	uint16_t tag = tagging->tag;
	int rc = 0;

	for (size_t i = 0; i < model->vlan_count; i++) {
		switch_portlist_set(&model->vlans[i].egress, port->number, false);
		switch_portlist_set(&model->vlans[i].untagged, port->number, false);
	}
	if (!switch_model_vlan(model, 1))
		rc = import_member(model, 0, 1, false);
	for (uint16_t vid = 1; vid <= SWITCH_VID_MAX && rc == 0; vid++) {
		if (tagging->mode != SWITCH_ACCESS && switch_tagging_has(tagging, vid))
			rc = import_member(model, port->number, vid, false);
	}
	if (native && tag >= 1 && tag <= SWITCH_VID_MAX && rc == 0)
		rc = import_member(model, port->number, tag, tagging->mode != SWITCH_NATIVE_TAGGED);
	port->pvid = native && tag >= 1 && tag <= SWITCH_VID_MAX ? tag : 1;
	port->frames = native ? SWITCH_ADMIT_ALL : SWITCH_ADMIT_TAGGED;
	return rc;
}

/* --- saved --- */

static void switch_model_plane_write_ports(const struct switch_portlist *list, struct text *ret)
{
	size_t size = switch_portlist_size(list);

	text_add(ret, size == 0 ? " -" : " ");
	for (size_t i = 0; i < size; i++)
		text_addf(ret, "%02x", list->octets[i]);
}

void switch_model_write(const struct switch_model *model, struct text *ret)
{
	for (size_t i = 0; i < model->vlan_count; i++) {
		const struct switch_vlan *vlan = &model->vlans[i];

		text_addf(ret, "vlan %u %u", vlan->vid, vlan->status);
		switch_model_plane_write_ports(&vlan->egress, ret);
		switch_model_plane_write_ports(&vlan->untagged, ret);
		switch_model_plane_write_ports(&vlan->forbidden, ret);
		text_add(ret, " ");
		for (const char *c = vlan->name; *c; c++)
			text_addf(ret, "%02x", (unsigned char)*c);
		text_add(ret, "\n");
	}
	for (size_t i = 0; i < model->port_count; i++) {
		const struct switch_port *port = &model->ports[i];

		text_addf(ret, "port %u %u %u %u\n", port->number, port->pvid, port->frames,
			  port->filters ? 1U : 0U);
	}
}

static int switch_model_plane_read_ports(const char *hex, struct switch_portlist *ret)
{
	size_t length = strlen(hex);

	*ret = (struct switch_portlist){{0}};
	if (strcmp(hex, "-") == 0)
		return 0;
	if (length % 2 != 0 || length / 2 > sizeof(ret->octets))
		return E_MALFORMED;
	return hex_decode(hex, ret->octets, length / 2);
}

static int switch_model_plane_read_vlan(const char *line, struct switch_model *model)
{
	char lists[3][2 * SWITCH_PORTLIST_OCTETS + 1];
	char name[2 * SWITCH_NAME_SIZE] = "";
	struct switch_vlan *vlan;
	unsigned vid;
	unsigned status;
	char plain[SWITCH_NAME_SIZE] = "";
	size_t length;

	/* NOLINTNEXTLINE(cert-err34-c): a VID out of range is refused below */
	if (sscanf(line, "vlan %5u %1u %128s %128s %128s %65s", &vid, &status, lists[0], lists[1],
		   lists[2], name) < 5)
		return E_MALFORMED;
	length = strlen(name);
	if (length % 2 != 0 || length / 2 >= sizeof(plain) || vid > SWITCH_VID_MAX ||
	    hex_decode(name, plain, length / 2) != 0)
		return E_MALFORMED;
	if (switch_model_add_vlan(model, (uint16_t)vid, plain, &vlan) != 0)
		return E_MALFORMED;
	vlan->status = (uint8_t)(status == SWITCH_ROW_ACTIVE ? SWITCH_ROW_ACTIVE
							     : SWITCH_ROW_NOT_IN_SERVICE);
	if (switch_model_plane_read_ports(lists[0], &vlan->egress) != 0 ||
	    switch_model_plane_read_ports(lists[1], &vlan->untagged) != 0)
		return E_MALFORMED;
	return switch_model_plane_read_ports(lists[2], &vlan->forbidden);
}

static int switch_model_plane_read_port(const char *line, struct switch_model *model)
{
	struct switch_port *port;
	unsigned number;
	unsigned pvid;
	unsigned frames;
	unsigned filters;

	/* NOLINTNEXTLINE(cert-err34-c): numbers out of range are refused below */
	if (sscanf(line, "port %5u %5u %1u %1u", &number, &pvid, &frames, &filters) != 4)
		return E_MALFORMED;
	if (pvid < 1 || pvid > SWITCH_VID_MAX ||
	    (frames != SWITCH_ADMIT_ALL && frames != SWITCH_ADMIT_TAGGED) ||
	    switch_model_add_port(model, number, &port) != 0)
		return E_MALFORMED;
	port->pvid = (uint16_t)pvid;
	port->frames = (uint8_t)frames;
	port->filters = filters == 1;
	return 0;
}

int switch_model_read(const char *text, struct switch_model *ret)
{
	struct switch_model model = {0};
	int rc = 0;

	while (*text && rc == 0) {
		char line[512];
		size_t length = strcspn(text, "\n");

		if (length >= sizeof(line)) {
			rc = E_MALFORMED;
			break;
		}
		memcpy(line, text, length);
		line[length] = '\0';
		text += length + (text[length] == '\n' ? 1 : 0);
		rc = strncmp(line, "vlan ", 5) == 0 ? switch_model_plane_read_vlan(line, &model)
						    : switch_model_plane_read_port(line, &model);
	}
	if (rc == 0 && switch_model_check(&model) != SWITCH_OK)
		rc = E_MALFORMED;
	if (rc == 0)
		*ret = model;
	else
		switch_model_done(&model);
	return rc;
}
