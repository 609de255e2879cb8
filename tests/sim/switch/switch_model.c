#include "tests/sim/switch/switch_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

LEAKS_LEFT_TO_SANITIZER

const char *const switch_verb_words[SWITCH_VERBS] = {
	[SWITCH_CREATE] = "create",     [SWITCH_NAME] = "name",
	[SWITCH_EGRESS] = "egress",     [SWITCH_FORBIDDEN] = "forbidden",
	[SWITCH_UNTAGGED] = "untagged", [SWITCH_PVID] = "pvid",
	[SWITCH_FRAMES] = "frames",     [SWITCH_FILTER] = "filter",
	[SWITCH_DELETE] = "delete",     [SWITCH_SAVE] = "save",
	[SWITCH_SPAN] = "mirror",       [SWITCH_BUNDLE] = "lag",
};
const char *const switch_mode_words[4] = {
	[SWITCH_ACCESS] = "access",
	[SWITCH_TRUNK] = "trunk",
	[SWITCH_NATIVE_TAGGED] = "native-tagged",
	[SWITCH_NATIVE_UNTAGGED] = "native-untagged",
};

void switch_model_done(struct switch_model *model)
{
	free(model->vlans);
	free(model->ports);
	*model = (struct switch_model){0};
}

static int copy_rows(const void *rows, size_t count, size_t size, void **ret)
{
	*ret = calloc(count > 0 ? count : 1, size);
	if (!*ret)
		return -ENOMEM;
	if (count > 0)
		memcpy(*ret, rows, count * size);
	return 0;
}

int switch_model_copy(const struct switch_model *model, struct switch_model *ret)
{
	struct switch_model copy = *model;
	void *vlans;
	void *ports;

	if (copy_rows(model->vlans, model->vlan_count, sizeof(*model->vlans), &vlans) != 0)
		return -ENOMEM;
	if (copy_rows(model->ports, model->port_count, sizeof(*model->ports), &ports) != 0) {
		free(vlans);
		return -ENOMEM;
	}
	copy.vlans = vlans;
	copy.ports = ports;
	*ret = copy;
	return 0;
}

struct switch_vlan *switch_model_vlan(const struct switch_model *model, uint32_t vid)
{
	for (size_t i = 0; i < model->vlan_count; i++) {
		if (model->vlans[i].vid == vid)
			return &model->vlans[i];
	}
	return NULL;
}

struct switch_port *switch_model_port(const struct switch_model *model, uint32_t number)
{
	for (size_t i = 0; i < model->port_count; i++) {
		if (model->ports[i].number == number)
			return &model->ports[i];
	}
	return NULL;
}

int switch_model_add_vlan(struct switch_model *model, uint16_t vid, const char *name,
			  struct switch_vlan **ret)
{
	struct switch_vlan *vlans;
	size_t at = 0;

	if (vid < 1 || vid > SWITCH_VID_MAX)
		return E_INVALID;
	if (switch_model_vlan(model, vid))
		return E_CONFLICT;
	vlans = realloc(model->vlans, (model->vlan_count + 1) * sizeof(*vlans));
	if (!vlans)
		return -ENOMEM;
	model->vlans = vlans;
	while (at < model->vlan_count && vlans[at].vid < vid)
		at++;
	memmove(&vlans[at + 1], &vlans[at], (model->vlan_count - at) * sizeof(*vlans));
	model->vlan_count++;
	vlans[at] = (struct switch_vlan){
		.vid = vid, .status = SWITCH_ROW_ACTIVE, .number = ++model->made};
	if (name[0] != '\0')
		(void)text_copy(vlans[at].name, sizeof(vlans[at].name), name);
	else
		(void)text_format(vlans[at].name, sizeof(vlans[at].name), "VLAN %u", vid);
	*ret = &vlans[at];
	return 0;
}

int switch_model_add_port(struct switch_model *model, uint32_t number, struct switch_port **ret)
{
	struct switch_port *ports;
	size_t at = 0;

	if (number < 1 || number > SWITCH_PORT_MAX)
		return E_LIMIT;
	if (switch_model_port(model, number))
		return E_CONFLICT;
	ports = realloc(model->ports, (model->port_count + 1) * sizeof(*ports));
	if (!ports)
		return -ENOMEM;
	model->ports = ports;
	while (at < model->port_count && ports[at].number < number)
		at++;
	memmove(&ports[at + 1], &ports[at], (model->port_count - at) * sizeof(*ports));
	model->port_count++;
	ports[at] = (struct switch_port){
		.number = number, .pvid = 1, .frames = SWITCH_ADMIT_ALL, .filters = true};
	*ret = &ports[at];
	return 0;
}

/* --- SET --- */

/* A change of one VLAN, or of one port; the other is NULL. */
struct target {
	struct switch_model *model;
	struct switch_vlan *vlan;
	struct switch_port *port;
	enum switch_pvid_manner manner;
};

static enum switch_error apply_create(struct target *t, const struct switch_change *change)
{
	struct switch_vlan *vlan = t->vlan;

	if (change->value == SWITCH_ROW_ACTIVE || change->value == SWITCH_ROW_NOT_IN_SERVICE) {
		if (!vlan)
			return SWITCH_INCONSISTENT_VALUE;
		vlan->status = (uint8_t)change->value;
		return SWITCH_OK;
	}
	if (vlan)
		return SWITCH_INCONSISTENT_VALUE;
	if (switch_model_add_vlan(t->model, (uint16_t)change->index, "", &vlan) != 0)
		return SWITCH_GENERAL;
	if (change->wait)
		vlan->status = SWITCH_ROW_NOT_IN_SERVICE;
	t->vlan = vlan;
	return SWITCH_OK;
}

static enum switch_error apply_name(struct target *t, const struct switch_change *change)
{
	(void)text_copy(t->vlan->name, sizeof(t->vlan->name), change->name);
	return SWITCH_OK;
}

/* Bits of ports that the switch does not have are no error: managers set whole octets. */
static enum switch_error apply_egress(struct target *t, const struct switch_change *change)
{
	for (size_t i = 0; i < t->model->port_count; i++) {
		uint32_t number = t->model->ports[i].number;

		switch_portlist_set(&t->vlan->egress, number,
				    switch_portlist_has(&change->ports, number));
	}
	switch_portlist_keep(&t->vlan->untagged, &t->vlan->egress);
	return SWITCH_OK;
}

static enum switch_error apply_forbidden(struct target *t, const struct switch_change *change)
{
	t->vlan->forbidden = change->ports;
	return SWITCH_OK;
}

static void switch_model_leave_vlan(struct target *t, uint16_t vid);

/* Untagged in one VLAN, or in none: then its PVID is 1, which it need not be in. */
static void follow_untagged(struct target *t, const struct switch_portlist *ports)
{
	for (size_t i = 0; i < t->model->port_count; i++) {
		struct switch_port *port = &t->model->ports[i];
		bool was = switch_portlist_has(&t->vlan->untagged, port->number);
		bool is = switch_portlist_has(ports, port->number);

		t->port = port;
		if (is && !was) {
			switch_model_leave_vlan(t, port->pvid);
			port->pvid = t->vlan->vid;
		} else if (was && !is && port->pvid == t->vlan->vid) {
			port->pvid = 1;
		}
	}
	t->port = NULL;
}

static enum switch_error apply_untagged(struct target *t, const struct switch_change *change)
{
	if (t->manner == SWITCH_PVID_IS_UNTAGGED)
		follow_untagged(t, &change->ports);
	t->vlan->untagged = change->ports;
	return SWITCH_OK;
}

static void switch_model_leave_vlan(struct target *t, uint16_t vid)
{
	struct switch_vlan *old = switch_model_vlan(t->model, vid);

	if (!old)
		return;
	switch_portlist_set(&old->untagged, t->port->number, false);
	if (t->manner == SWITCH_PVID_MOVES)
		switch_portlist_set(&old->egress, t->port->number, false);
}

static enum switch_error apply_pvid(struct target *t, const struct switch_change *change)
{
	struct switch_vlan *vlan = switch_model_vlan(t->model, change->value);

	if (change->value < 1 || change->value > SWITCH_VID_MAX)
		return SWITCH_WRONG_VALUE;
	if (!vlan)
		return SWITCH_INCONSISTENT_VALUE;
	if (t->manner != SWITCH_PVID_ALONE && t->port->pvid != change->value) {
		switch_model_leave_vlan(t, t->port->pvid);
		switch_portlist_set(&vlan->egress, t->port->number, true);
		switch_portlist_set(&vlan->untagged, t->port->number, true);
	}
	t->port->pvid = (uint16_t)change->value;
	return SWITCH_OK;
}

static enum switch_error apply_frames(struct target *t, const struct switch_change *change)
{
	if (change->value != SWITCH_ADMIT_ALL && change->value != SWITCH_ADMIT_TAGGED)
		return SWITCH_WRONG_VALUE;
	t->port->frames = (uint8_t)change->value;
	return SWITCH_OK;
}

static enum switch_error apply_filter(struct target *t, const struct switch_change *change)
{
	if (change->value != 1 && change->value != 2) /* TruthValue */
		return SWITCH_WRONG_VALUE;
	t->port->filters = change->value == 1;
	return SWITCH_OK;
}

static enum switch_error apply_delete(struct target *t, const struct switch_change *change)
{
	struct switch_model *model = t->model;
	size_t at;

	(void)change;
	if (t->vlan->vid == 1) /* the default VLAN stays, as on every switch */
		return SWITCH_INCONSISTENT_VALUE;
	at = (size_t)(t->vlan - model->vlans);
	model->vlan_count--;
	memmove(&model->vlans[at], &model->vlans[at + 1],
		(model->vlan_count - at) * sizeof(*model->vlans));
	model->deletes++;
	t->vlan = NULL;
	return SWITCH_OK;
}

/* A row per verb. */
static const struct {
	enum switch_error (*apply)(struct target *t, const struct switch_change *change);
	enum { OF_NEW, OF_VLAN, OF_PORT } of;
} switch_model_verbs[SWITCH_SAVE] = {
	[SWITCH_CREATE] = {apply_create, OF_NEW},
	[SWITCH_NAME] = {apply_name, OF_VLAN},
	[SWITCH_EGRESS] = {apply_egress, OF_VLAN},
	[SWITCH_FORBIDDEN] = {apply_forbidden, OF_VLAN},
	[SWITCH_UNTAGGED] = {apply_untagged, OF_VLAN},
	[SWITCH_PVID] = {apply_pvid, OF_PORT},
	[SWITCH_FRAMES] = {apply_frames, OF_PORT},
	[SWITCH_FILTER] = {apply_filter, OF_PORT},
	[SWITCH_DELETE] = {apply_delete, OF_VLAN},
};

enum switch_error switch_model_apply(struct switch_model *model, const struct switch_change *change,
				     enum switch_pvid_manner manner, uint32_t now)
{
	struct target t = {.model = model, .manner = manner};
	enum switch_error error;

	if (change->verb >= SWITCH_SAVE)
		return SWITCH_GENERAL;
	if (switch_model_verbs[change->verb].of == OF_PORT)
		t.port = switch_model_port(model, change->index);
	else
		t.vlan = switch_model_vlan(model, change->index);
	if (switch_model_verbs[change->verb].of == OF_PORT && !t.port)
		return SWITCH_INCONSISTENT_NAME;
	if (change->verb == SWITCH_DELETE && !t.vlan)
		return SWITCH_OK; /* RFC 2579: destroying what is not there is no error */
	if (switch_model_verbs[change->verb].of == OF_VLAN && !t.vlan)
		return SWITCH_INCONSISTENT_NAME;
	if (switch_model_verbs[change->verb].of != OF_PORT &&
	    (change->index < 1 || change->index > SWITCH_VID_MAX))
		return SWITCH_NO_CREATION;
	error = switch_model_verbs[change->verb].apply(&t, change);
	if (error == SWITCH_OK && t.vlan)
		t.vlan->changed = now;
	return error;
}

static bool is_in(const struct switch_model *model, uint32_t vid, uint32_t number, bool untagged)
{
	const struct switch_vlan *vlan = switch_model_vlan(model, vid);

	return vlan && switch_portlist_has(untagged ? &vlan->untagged : &vlan->egress, number);
}

static bool is_in_any(const struct switch_model *model, uint32_t number)
{
	for (size_t i = 0; i < model->vlan_count; i++) {
		if (switch_portlist_has(&model->vlans[i].egress, number))
			return true;
	}
	return false;
}

static bool is_only_in(const struct switch_model *model, uint32_t vid, uint32_t number)
{
	for (size_t i = 0; i < model->vlan_count; i++) {
		const struct switch_vlan *vlan = &model->vlans[i];

		if (switch_portlist_has(&vlan->egress, number) != (vlan->vid == vid))
			return false;
	}
	return is_in(model, vid, number, true);
}

/* What was not so before cannot be lost: a port that nobody has set yet is in no VLAN. */
enum switch_error switch_model_allows(const struct switch_model *before,
				      const struct switch_model *after,
				      const struct switch_insists *insists)
{
	for (size_t i = 0; i < after->port_count; i++) {
		const struct switch_port *now = &after->ports[i];
		const struct switch_port *was = switch_model_port(before, now->number);

		if (!was)
			continue;
		if (insists->access && insists->access[now->number] &&
		    !is_only_in(after, now->pvid, now->number))
			return SWITCH_INCONSISTENT_VALUE;
		if (insists->never_alone && is_in_any(before, now->number) &&
		    !is_in_any(after, now->number))
			return SWITCH_INCONSISTENT_VALUE;
		if (insists->pvid_member && now->pvid != was->pvid &&
		    !is_in(after, now->pvid, now->number, true))
			return SWITCH_INCONSISTENT_VALUE;
		if (insists->pvid_stays && now->pvid == was->pvid &&
		    is_in(before, was->pvid, now->number, false) &&
		    !is_in(after, now->pvid, now->number, false))
			return SWITCH_INCONSISTENT_VALUE;
	}
	return SWITCH_OK;
}

enum switch_error switch_model_check(const struct switch_model *model)
{
	for (size_t i = 0; i < model->vlan_count; i++) {
		const struct switch_vlan *vlan = &model->vlans[i];

		if (!switch_portlist_within(&vlan->untagged, &vlan->egress))
			return SWITCH_INCONSISTENT_VALUE;
	}
	for (size_t i = 0; i < model->port_count; i++) {
		if (!switch_model_vlan(model, model->ports[i].pvid))
			return SWITCH_INCONSISTENT_VALUE;
	}
	return SWITCH_OK;
}
