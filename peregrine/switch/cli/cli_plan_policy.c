#include "peregrine/switch/cli/cli_plan_policy.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/cli/cli_port.h"

LEAKS_LEFT_TO_SANITIZER

enum { CLI_PLAN_POLICY_LINE_LIMIT = 20000, LIST_SIZE = 180, PIECE_LIMIT = 512, PIECE_ROOM = 256 };

void cli_plan_done(struct cli_plan *plan)
{
	free(plan->lines);
	*plan = (struct cli_plan){0};
}

/* What the words in braces stand for. */
struct values {
	const struct cli_dialect *dialect;
	char name[40];
	char port[64];
	unsigned vlan, native;
	char list[PIECE_ROOM];
	unsigned when; /* that hold */
	struct vlan_set lists[LIST_DROP_UNTAGGED + 1];
};

/* --- lists in pieces --- */

struct pieces {
	char (*texts)[PIECE_ROOM]; /* owned */
	size_t count;
};

static int pieces_make(const struct cli_dialect *dialect, const struct vlan_set *set,
		       struct pieces *ret)
{
	const char *comma = dialect->list_comma ? dialect->list_comma : ",";
	const char *dash = dialect->list_dash ? dialect->list_dash : "-";
	size_t limit = dialect->list_size ? dialect->list_size : LIST_SIZE;
	unsigned items = 0;
	char *text = NULL;

	ret->texts = calloc(PIECE_LIMIT, sizeof(*ret->texts));
	if (!ret->texts)
		return -ENOMEM;
	for (unsigned low = vlan_set_next(set, 1), high; low; low = vlan_set_next(set, high + 1)) {
		char item[32];

		for (high = low; vlan_set_has(set, high + 1); high++)
			;
		if (high == low)
			text_format(item, sizeof(item), "%u", low);
		else
			text_format(item, sizeof(item), "%u%s%u", low, dash, high);
		if (!text || strlen(text) + strlen(comma) + strlen(item) > limit ||
		    (dialect->list_items && items >= dialect->list_items)) {
			if (ret->count == PIECE_LIMIT)
				return E_LIMIT;
			text = ret->texts[ret->count++];
			text_copy(text, PIECE_ROOM, item);
			items = 1;
			continue;
		}
		text_format(text + strlen(text), PIECE_ROOM - strlen(text), "%s%s", comma, item);
		items++;
	}
	return 0;
}

/* --- lines --- */

static void cli_plan_policy_add_word(const struct values *values, const char *word, size_t length,
				     struct text *ret)
{
	if (length == 4 && strncmp(word, "vlan", 4) == 0)
		text_addf(ret, "%u", values->vlan);
	else if (length == 4 && strncmp(word, "name", 4) == 0)
		text_add(ret, values->name);
	else if (length == 4 && strncmp(word, "port", 4) == 0)
		text_add(ret, values->port);
	else if (length == 4 && strncmp(word, "list", 4) == 0)
		text_add(ret, values->list);
	else if (length == 6 && strncmp(word, "native", 6) == 0)
		text_addf(ret, "%u", values->native);
}

int cli_plan_add(struct cli_plan *plan, const char *text, bool changes, bool optional)
{
	struct cli_line *lines;

	if (plan->count == plan->room) {
		size_t room = plan->room ? plan->room * 2 : 16;

		if (room > CLI_PLAN_POLICY_LINE_LIMIT)
			return E_LIMIT;
		lines = realloc(plan->lines, room * sizeof(*lines));
		if (!lines)
			return -ENOMEM;
		plan->lines = lines;
		plan->room = room;
	}
	plan->lines[plan->count] = (struct cli_line){.changes = changes, .optional = optional};
	if (!text_copy(plan->lines[plan->count].text, sizeof(plan->lines[0].text), text))
		return E_LIMIT;
	plan->count++;
	return 0;
}

static int cli_plan_policy_add_line(struct cli_plan *plan, const struct values *values,
				    const char *text, size_t length, bool changes, bool optional)
{
	CLEANUP(text_done) struct text line = {0};

	for (size_t i = 0; i < length; i++) {
		size_t word = text[i] == '{' ? strcspn(text + i, "}") : 0;

		if (word) {
			cli_plan_policy_add_word(values, text + i + 1, word - 1, &line);
			i += word;
		} else {
			text_add_bytes(&line, text + i, 1);
		}
	}
	return line.failed ? -ENOMEM : cli_plan_add(plan, text_get(&line), changes, optional);
}

/* All lines of a step's text. Lines that only lead to another place change nothing. */
static int cli_plan_policy_add_text(struct cli_plan *plan, const struct values *values,
				    const struct cli_step *step, const char *text)
{
	bool first = true;
	int rc = 0;

	while (*text && !rc) {
		size_t length = strcspn(text, "\n");
		bool leads = (first && (step->flags & STEP_CONTEXT)) ||
			     (length == 4 &&
			      (strncmp(text, "exit", 4) == 0 || strncmp(text, "quit", 4) == 0));

		rc = cli_plan_policy_add_line(plan, values, text, length, !leads,
					      step->flags & STEP_OPTIONAL);
		text += length + (text[length] == '\n');
		first = false;
	}
	return rc;
}

static int add_pieces(struct cli_plan *plan, struct values *values, const struct cli_step *step,
		      const char *text, const struct vlan_set *set)
{
	struct pieces pieces = {0};
	int rc = pieces_make(values->dialect, set, &pieces);

	for (size_t i = 0; i < pieces.count && !rc; i++) {
		text_copy(values->list, sizeof(values->list), pieces.texts[i]);
		rc = cli_plan_policy_add_text(plan, values, step, text);
	}
	free(pieces.texts);
	return rc;
}

/* A list that sets is one line; one that is too long for it is brought there by removing and
 * adding, so that what stays is never interrupted. */
static int add_whole_list(struct cli_plan *plan, struct values *values, const struct cli_step *step,
			  const struct vlan_set *set)
{
	struct pieces pieces = {0};
	int rc = pieces_make(values->dialect, set, &pieces);
	size_t count = pieces.count;

	free(pieces.texts);
	if (rc && rc != E_LIMIT)
		return rc;
	if (count == 1)
		return add_pieces(plan, values, step, step->text, set);
	rc = add_pieces(plan, values, step, step->remove, &values->lists[LIST_DROP_ALLOWED]);
	return rc ? rc
		  : add_pieces(plan, values, step, step->add, &values->lists[LIST_ADD_ALLOWED]);
}

static int cli_plan_policy_add_step(struct cli_plan *plan, struct values *values,
				    const struct cli_step *step)
{
	const struct vlan_set *set = &values->lists[step->list];
	int rc = 0;

	if (step->list == LIST_NONE)
		return cli_plan_policy_add_text(plan, values, step, step->text);
	if (vlan_set_is_empty(set))
		return step->empty ? cli_plan_policy_add_text(plan, values, step, step->empty) : 0;
	if (step->flags & STEP_PER_VLAN) {
		for (unsigned v = vlan_set_next(set, 1); v && !rc; v = vlan_set_next(set, v + 1)) {
			values->vlan = v;
			rc = cli_plan_policy_add_text(plan, values, step, step->text);
		}
		return rc;
	}
	if (step->add)
		return add_whole_list(plan, values, step, set);
	return add_pieces(plan, values, step, step->text, set);
}

static int cli_plan_policy_add_steps(struct cli_plan *plan, struct values *values,
				     const struct cli_step *steps, size_t count)
{
	int rc = 0;

	for (size_t i = 0; i < count && steps[i].text && !rc; i++) {
		if ((steps[i].when & values->when) == steps[i].when)
			rc = cli_plan_policy_add_step(plan, values, &steps[i]);
	}
	return rc;
}

/* --- edits --- */

/* Names go into commands: what could end a line or a quote becomes '_'. */
static void cli_plan_policy_name_of(const struct cli_dialect *dialect, const char *name, char *ret,
				    size_t room)
{
	bool letter = isalpha((unsigned char)*name);

	text_format(ret, room, "%s%s",
		    *name && dialect->name_begins_with_letter && !letter ? "v" : "", name);
	ret[32] = '\0';
	for (; *ret; ret++) {
		if (!isalnum((unsigned char)*ret) && !strchr("-_.", *ret))
			*ret = '_';
	}
}

static void port_lists(const struct cli_config *config, const struct cli_port *port,
		       const struct port_vlans *after, struct values *values)
{
	const struct cli_dialect *dialect = config->dialect;
	struct vlan_set allowed = after->tagged;
	struct vlan_set untagged = {{0}};
	struct vlan_set now = {{0}};
	struct vlan_set *lists = values->lists;

	if (!dialect->native_apart)
		vlan_set_add(&allowed, after->native);
	vlan_set_add(&untagged, after->native);
	/* A port that becomes a trunk begins with the list that a trunk begins with. */
	if (port->mode == FACT_MODE_TRUNK || dialect->trunk_default_all)
		now = cli_port_allowed(config, port);
	else if (!dialect->trunk_default_none)
		vlan_set_add(&now, 1);
	if (!after->trunk)
		allowed = (struct vlan_set){{0}};
	lists[LIST_ALLOWED] = allowed;
	lists[LIST_ADD_ALLOWED] = vlan_set_minus(&allowed, &now);
	lists[LIST_DROP_ALLOWED] = vlan_set_minus(&now, &allowed);
	lists[LIST_ADD_TAGGED] = vlan_set_minus(&after->tagged, &port->tagged);
	lists[LIST_DROP_TAGGED] = vlan_set_minus(&port->tagged, &after->tagged);
	lists[LIST_ADD_UNTAGGED] = vlan_set_minus(&untagged, &port->untagged);
	lists[LIST_DROP_UNTAGGED] = vlan_set_minus(&port->untagged, &untagged);
	if (!dialect->member_converts)
		return;
	lists[LIST_DROP_TAGGED] = vlan_set_minus(&lists[LIST_DROP_TAGGED], &untagged);
	lists[LIST_DROP_UNTAGGED] = vlan_set_minus(&lists[LIST_DROP_UNTAGGED], &after->tagged);
}

static int cli_plan_policy_plan_port(const struct cli_config *config,
				     const struct switch_edit *edit, struct cli_plan *plan,
				     struct problem *problem)
{
	const struct cli_dialect *dialect = config->dialect;
	const struct port_vlans *after = &edit->after;
	/* Some print only what differs from their defaults: an unknown port is one of those. */
	struct cli_port blank = {.mode = dialect->default_mode};
	const struct cli_port *port = cli_config_port(config, edit->port);
	struct values values = {.dialect = dialect, .native = after->native};

	if (!cli_port_name_ok(edit->port))
		return problem_set(problem, E_INVALID, "no port is called \"%s\"", edit->port);
	if (!after->trunk && !after->native)
		return problem_set(problem, E_INVALID, "port %s: an access port needs a VLAN",
				   edit->port);
	if (after->trunk && !after->native && dialect->native_required) {
		problem_set(problem, E_UNSUPPORTED,
			    "port %s: this family cannot drop untagged frames on a trunk",
			    edit->port);
		problem_hint(problem, "give the trunk a native VLAN, the parking VLAN for one");
		return E_UNSUPPORTED;
	}
	if (after->trunk && dialect->allowed_required && !after->native &&
	    vlan_set_is_empty(&after->tagged)) {
		problem_set(problem, E_UNSUPPORTED,
			    "port %s: on this family a trunk of no VLAN would carry all",
			    edit->port);
		problem_hint(problem, "make it an access port of the parking VLAN");
		return E_UNSUPPORTED;
	}
	if (!port)
		port = &blank;
	values.when = (after->trunk ? WHEN_TRUNK : WHEN_ACCESS) |
		      (after->native ? WHEN_NATIVE : WHEN_NO_NATIVE) |
		      (port->mode == FACT_MODE_TRUNK ? WHEN_WAS_TRUNK : 0) |
		      (port->routed ? WHEN_ROUTED : 0);
	cli_port_name(dialect, edit->port, values.port, sizeof(values.port));
	port_lists(config, port, after, &values);
	return cli_plan_policy_add_steps(plan, &values, dialect->port, COUNT_OF(dialect->port));
}

/* Is the VLAN there, with this name where the family knows names? */
static bool is_made(const struct cli_config *config, unsigned vlan, const struct values *values)
{
	const struct cli_step *steps = config->dialect->vlan_create;
	bool names = false;

	for (size_t i = 0; i < COUNT_OF(config->dialect->vlan_create) && steps[i].text; i++)
		names |= (steps[i].when & WHEN_NAMED) != 0;
	if (!vlan_set_has(&config->vlans, vlan))
		return false;
	return !names || !(values->when & WHEN_NAMED) ||
	       strcmp(config->names[vlan].name, values->name) == 0;
}

int cli_plan_edit(const struct cli_config *config, const struct switch_edit *edit,
		  struct cli_plan *ret, struct problem *problem)
{
	const struct cli_dialect *dialect = config->dialect;
	struct values values = {.dialect = dialect, .vlan = edit->vlan};

	if (edit->kind == EDIT_PORT)
		return cli_plan_policy_plan_port(config, edit, ret, problem);
	if (edit->vlan <= VLAN_FIRST || edit->vlan > VLAN_LAST)
		return problem_set(problem, E_INVALID, "VLAN %u cannot be made or deleted",
				   edit->vlan);
	cli_plan_policy_name_of(dialect, edit->vlan_name, values.name, sizeof(values.name));
	values.when = values.name[0] ? WHEN_NAMED : 0;
	if (!values.name[0]) /* for those that always want one */
		text_format(values.name, sizeof(values.name), "vlan%u", edit->vlan);
	if (edit->kind == EDIT_VLAN_CREATE && is_made(config, edit->vlan, &values))
		return 0;
	if (edit->kind == EDIT_VLAN_CREATE)
		return cli_plan_policy_add_steps(ret, &values, dialect->vlan_create,
						 COUNT_OF(dialect->vlan_create));
	if (!vlan_set_has(&config->vlans, edit->vlan))
		return 0; /* it is gone already */
	return cli_plan_policy_add_steps(ret, &values, dialect->vlan_delete,
					 COUNT_OF(dialect->vlan_delete));
}

bool cli_plan_holds(const struct cli_config *config, const struct switch_edit *edit)
{
	struct cli_port blank = {.mode = config->dialect->default_mode};
	struct port_vlans vlans;
	struct port_vlans after = edit->after;
	const struct cli_port *port;

	if (edit->kind != EDIT_PORT)
		return vlan_set_has(&config->vlans, edit->vlan) == (edit->kind == EDIT_VLAN_CREATE);
	port = cli_config_port(config, edit->port);
	if (!port)
		port = &blank;
	/* Without modes a trunk that carries nothing with a tag is an access port. */
	if (config->dialect->model == MODEL_MEMBERS && after.native &&
	    vlan_set_is_empty(&after.tagged))
		after.trunk = false;
	return cli_port_vlans(config, port, &vlans) && port_vlans_equal(&vlans, &after);
}
