#include "peregrine/switch/netconf/netconf_plan_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

LEAKS_LEFT_TO_SANITIZER

void netconf_plan_done(struct netconf_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		free(plan->steps[i].xml);
	free(plan->steps);
	*plan = (struct netconf_plan){0};
}

/* --- templates --- */

struct filling {
	const struct netconf_dialect *dialect;
	const struct switch_edit *edit;
	const struct netconf_port *port; /* EDIT_PORT */
	struct vlan_set list;
};

static void netconf_plan_policy_fill_port(const struct filling *filling, struct text *out)
{
	netconf_escape(out, filling->port->key);
}

static void fill_holder(const struct filling *filling, struct text *out)
{
	text_add(out, filling->port->kind ? filling->port->kind->holder : "");
}

static void fill_row(const struct filling *filling, struct text *out)
{
	text_add(out, filling->port->kind ? filling->port->kind->row : "");
}

static void fill_vlan(const struct filling *filling, struct text *out)
{
	text_addf(out, "%u", filling->edit->vlan);
}

static void fill_name(const struct filling *filling, struct text *out)
{
	if (!filling->edit->vlan_name[0])
		return;
	text_addf(out, "<%s>", filling->dialect->vlan_name);
	netconf_escape(out, filling->edit->vlan_name);
	text_addf(out, "</%s>", filling->dialect->vlan_name);
}

static void fill_native(const struct filling *filling, struct text *out)
{
	text_addf(out, "%u", filling->edit->after.native);
}

static void fill_list(const struct filling *filling, struct text *out)
{
	vlan_set_text(&filling->list, out);
}

static void fill_ranges(const struct filling *filling, struct text *out)
{
	const char *element = filling->dialect->range;
	const struct vlan_set *set = &filling->list;

	for (unsigned low = vlan_set_next(set, 1), high; low; low = vlan_set_next(set, high + 1)) {
		for (high = low; vlan_set_has(set, high + 1);)
			high++;
		text_addf(out, "<%s>%u", element, low);
		if (high > low)
			text_addf(out, "..%u", high);
		text_addf(out, "</%s>", element);
	}
}

static const struct {
	const char *hole;
	void (*fill)(const struct filling *filling, struct text *out);
} netconf_plan_policy_holes[] = {
	{"{port}", netconf_plan_policy_fill_port},
	{"{holder}", fill_holder},
	{"{row}", fill_row},
	{"{vlan}", fill_vlan},
	{"{name}", fill_name},
	{"{native}", fill_native},
	{"{list}", fill_list},
	{"{ranges}", fill_ranges},
};

static size_t fill_one(const char *at, const struct filling *filling, struct text *out)
{
	for (size_t i = 0; i < COUNT_OF(netconf_plan_policy_holes); i++) {
		size_t size = strlen(netconf_plan_policy_holes[i].hole);

		if (strncmp(at, netconf_plan_policy_holes[i].hole, size) == 0) {
			netconf_plan_policy_holes[i].fill(filling, out);
			return size;
		}
	}
	text_add_bytes(out, at, 1);
	return 1;
}

static int netconf_plan_policy_add_step(struct netconf_plan *plan, size_t edit, const char *format,
					const struct filling *filling)
{
	struct text out = {0};

	if (plan->count == plan->room) {
		size_t room = plan->room ? plan->room * 2 : 16;
		struct netconf_step *more = realloc(plan->steps, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		plan->steps = more;
		plan->room = room;
	}
	while (*format)
		format += fill_one(format, filling, &out);
	if (out.failed) {
		text_done(&out);
		return -ENOMEM;
	}
	plan->steps[plan->count++] = (struct netconf_step){.edit = edit, .xml = text_take(&out)};
	return 0;
}

/* --- edits --- */

static int netconf_plan_policy_cannot(struct problem *ret, int rc, const char *port,
				      const char *detail, const char *hint)
{
	problem_set(ret, rc, "port %s cannot be set so by NETCONF", port);
	problem_detail(ret, "%s", detail);
	problem_hint(ret, "%s", hint);
	return rc;
}

/* What this model cannot say is refused before anything is sent. */
static int netconf_plan_policy_check_port(const struct netconf_config *config,
					  const struct switch_edit *edit,
					  const struct netconf_port *port, struct problem *problem)
{
	static const char parking[] = "make it an access port of the parking VLAN";
	const struct port_vlans *after = &edit->after;

	if (!port) {
		problem_set(problem, E_NOT_FOUND, "there is no port %s", edit->port);
		problem_hint(problem, "read the switch again; was a module taken out?");
		return E_NOT_FOUND;
	}
	if (port->is_routed)
		return netconf_plan_policy_cannot(problem, E_UNSUPPORTED, edit->port,
						  "it is a routed port",
						  "make it a switch port by hand first");
	if (!after->trunk && (!after->native || !vlan_set_is_empty(&after->tagged)))
		return netconf_plan_policy_cannot(
			problem, E_INVALID, edit->port,
			"an access port has one VLAN, and none with a tag", "");
	if (after->trunk && !after->native && vlan_set_is_empty(&after->tagged))
		return netconf_plan_policy_cannot(
			problem, E_UNSUPPORTED, edit->port,
			"a trunk without any VLAN would carry all of them", parking);
	if (after->trunk && !after->native && config->dialect->native_default &&
	    vlan_set_has(&after->tagged, config->dialect->native_default))
		return netconf_plan_policy_cannot(problem, E_UNSUPPORTED, edit->port,
						  "its default VLAN would pass without a tag",
						  parking);
	return 0;
}

/* When the steps so far are done. */
static bool has_mode(const struct netconf_port *port, bool trunk)
{
	if (port->will_access || port->will_trunk)
		return trunk ? port->will_trunk : port->will_access;
	return trunk ? port->is_trunk : port->is_access;
}

static int netconf_plan_policy_plan_port(struct netconf_config *config,
					 const struct switch_edit *edit, size_t number,
					 struct netconf_plan *plan, struct problem *problem)
{
	const struct netconf_dialect *dialect = config->dialect;
	struct netconf_port *port = netconf_config_port(config, edit->port);
	struct filling filling = {.dialect = dialect, .edit = edit, .port = port};
	const char *before = edit->after.trunk ? dialect->to_trunk : dialect->to_access;
	const char *format = dialect->port_access;
	int rc = netconf_plan_policy_check_port(config, edit, port, problem);

	if (rc)
		return rc;
	filling.list = edit->after.tagged;
	if (edit->after.trunk) {
		vlan_set_add(&filling.list, edit->after.native);
		format = edit->after.native ? dialect->port_trunk : dialect->port_trunk_tagged;
	}
	if (before && !has_mode(port, edit->after.trunk))
		rc = netconf_plan_policy_add_step(plan, number, before, &filling);
	if (!rc)
		rc = netconf_plan_policy_add_step(plan, number, format, &filling);
	port->will_trunk = edit->after.trunk;
	port->will_access = !edit->after.trunk;
	return rc;
}

int netconf_plan_edit(struct netconf_config *config, const struct switch_edit *edit, size_t number,
		      struct netconf_plan *ret, struct problem *problem)
{
	const struct netconf_dialect *dialect = config->dialect;
	const struct filling filling = {.dialect = dialect, .edit = edit};
	int rc = 0;

	switch (edit->kind) {
	case EDIT_VLAN_CREATE:
		rc = netconf_plan_policy_add_step(ret, number, dialect->vlan_create, &filling);
		break;
	case EDIT_VLAN_DELETE:
		rc = netconf_plan_policy_add_step(ret, number, dialect->vlan_delete, &filling);
		break;
	case EDIT_PORT:
		rc = netconf_plan_policy_plan_port(config, edit, number, ret, problem);
		break;
	}
	if (rc == -ENOMEM)
		problem_set(problem, rc, "no memory to change a switch");
	return rc;
}

/* --- seen --- */

static bool vlans_of(const struct netconf_config *config, const struct switch_edit *edit,
		     struct port_vlans *ret)
{
	const struct netconf_port *port = netconf_config_port(config, edit->port);

	return port && netconf_port_vlans(config, port, ret);
}

bool netconf_plan_holds(const struct netconf_config *config, const struct switch_edit *edit)
{
	struct port_vlans is;

	switch (edit->kind) {
	case EDIT_VLAN_CREATE: return vlan_set_has(&config->vlans, edit->vlan);
	case EDIT_VLAN_DELETE: return !vlan_set_has(&config->vlans, edit->vlan);
	case EDIT_PORT: break;
	}
	return vlans_of(config, edit, &is) && port_vlans_equal(&is, &edit->after);
}

bool netconf_plan_same(const struct netconf_config *a, const struct netconf_config *b,
		       const struct switch_edit *edit)
{
	struct port_vlans left;
	struct port_vlans right;
	bool has_left;

	if (edit->kind != EDIT_PORT)
		return vlan_set_has(&a->vlans, edit->vlan) == vlan_set_has(&b->vlans, edit->vlan);
	has_left = vlans_of(a, edit, &left);
	if (has_left != vlans_of(b, edit, &right))
		return false;
	return !has_left || port_vlans_equal(&left, &right);
}
