#include "peregrine/control/network/isolation_report.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/base/error.h"

static const char *const isolation_report_fault_texts[] = {
	[FAULT_ONE_NUMBER] = "one_number",   [FAULT_STRANGER] = "stranger",
	[FAULT_TAGS] = "tags_accepted",      [FAULT_FOREIGN_PORT] = "foreign_port",
	[FAULT_JOINED] = "networks_joined",  [FAULT_FOREIGN_VLAN] = "foreign_vlan",
	[FAULT_PARKING] = "parking_carried", [FAULT_LOOP] = "loop",
};
static_assert(COUNT_OF(isolation_report_fault_texts) == ISOLATION_FAULT_COUNT,
	      "a text for each fault");

const char *isolation_fault_text(enum isolation_fault fault)
{
	return isolation_report_fault_texts[fault];
}

/* --- marks --- */

static struct isolation_mark isolation_report_mark_of(const struct isolation_finding *finding)
{
	return (struct isolation_mark){.fault = finding->fault,
				       .network = finding->network,
				       .other = finding->other,
				       .port = finding->port,
				       .vlan = finding->vlan,
				       .other_vlan = finding->other_vlan};
}

static int by_what_it_is(const void *left, const void *right)
{
	const struct isolation_mark *a = left;
	const struct isolation_mark *b = right;
	const uint32_t pairs[][2] = {{a->fault, b->fault},
				     {a->port, b->port},
				     {a->network, b->network},
				     {a->other, b->other}};

	for (size_t i = 0; i < COUNT_OF(pairs); i++) {
		if (pairs[i][0] != pairs[i][1])
			return pairs[i][0] < pairs[i][1] ? -1 : 1;
	}
	return 0;
}

void isolation_report_init(struct isolation_report *report)
{
	report->count = report->mark_count = report->mark_room = 0;
	report->tainted = report->named = (struct vlan_set){0};
	report->marks = NULL;
}

int isolation_report_mark(struct isolation_report *report, const struct isolation_finding *finding)
{
	if (report->mark_count == report->mark_room) {
		size_t room = report->mark_room ? 2 * report->mark_room : ISOLATION_FINDINGS;
		struct isolation_mark *marks = realloc(report->marks, room * sizeof(*marks));

		if (!marks)
			return -ENOMEM;
		report->marks = marks;
		report->mark_room = room;
	}
	report->marks[report->mark_count++] = isolation_report_mark_of(finding);
	vlan_set_add(&report->named, finding->vlan);
	vlan_set_add(&report->named, finding->other_vlan);
	return 0;
}

void isolation_report_sort(struct isolation_report *report)
{
	if (report->mark_count > 1)
		qsort(report->marks, report->mark_count, sizeof(*report->marks), by_what_it_is);
}

void isolation_report_done(struct isolation_report *report)
{
	free(TAKE(report->marks));
	report->count = report->mark_count = report->mark_room = 0;
}

/* --- of what was found --- */

/* As it is listed; where it is not, with the port instead of the way. */
static void isolation_report_finding_of(const struct fabric_model *model,
					const struct isolation_report *report,
					const struct isolation_mark *mark,
					struct isolation_finding *ret)
{
	for (size_t i = 0; i < report->count && i < ISOLATION_FINDINGS; i++) {
		struct isolation_mark listed = isolation_report_mark_of(&report->findings[i]);

		if (by_what_it_is(&listed, mark) == 0) {
			*ret = report->findings[i];
			return;
		}
	}
	*ret = (struct isolation_finding){
		.fault = mark->fault,
		.network = mark->network,
		.other = mark->other,
		.vlan = mark->vlan,
		.other_vlan = mark->other_vlan,
		.port = mark->port,
		.at = mark->port == MODEL_NONE ? MODEL_NONE : model->ports[mark->port].at};
	if (mark->port == MODEL_NONE)
		(void)text_format(ret->path, sizeof(ret->path), "VLAN %u", (unsigned)mark->vlan);
	else
		(void)text_format(ret->path, sizeof(ret->path), "%s:%s carries VLAN %u",
				  model->switches[model->ports[mark->port].at].name,
				  model->ports[mark->port].name, (unsigned)mark->vlan);
}

bool isolation_news(const struct fabric_model *model, const struct isolation_report *before,
		    const struct isolation_report *report, struct vlan_set *ret_vlans,
		    struct isolation_finding *ret_first)
{
	bool any = false;

	*ret_vlans = (struct vlan_set){0};
	for (size_t i = 0; i < report->mark_count; i++) {
		const struct isolation_mark *mark = &report->marks[i];

		if (before->mark_count > 0 &&
		    bsearch(mark, before->marks, before->mark_count, sizeof(*mark), by_what_it_is))
			continue;
		if (!any && ret_first)
			isolation_report_finding_of(model, report, mark, ret_first);
		any = true;
		vlan_set_add(ret_vlans, mark->vlan);
		vlan_set_add(ret_vlans, mark->other_vlan);
	}
	return any;
}

bool isolation_with(const struct fabric_model *model, const struct isolation_report *report,
		    const struct vlan_set *vlans, struct isolation_finding *ret)
{
	for (size_t i = 0; i < report->mark_count; i++) {
		const struct isolation_mark *mark = &report->marks[i];

		if (!vlan_set_has(vlans, mark->vlan) && !vlan_set_has(vlans, mark->other_vlan))
			continue;
		isolation_report_finding_of(model, report, mark, ret);
		return true;
	}
	return false;
}

/* --- in words --- */

struct isolation_words {
	const char *verb; /* of ISOLATION_IS or ISOLATION_WOULD_BE */
	char port[160], at[80];
	struct text network, other;
};

/* "network front of tenant acme", "VLAN 77" */
static void isolation_report_name(const struct fabric_model *model, uint32_t network, unsigned vlan,
				  struct text *text)
{
	const struct fabric_network *named =
		network == MODEL_NONE ? NULL : &model->networks[network];

	if (named)
		text_addf(text, "network %s%s%s", named->name, named->tenant ? " of tenant " : "",
			  named->tenant ? named->tenant : "");
	else if (vlan)
		text_addf(text, "VLAN %u", vlan);
	else
		text_add(text, "no network");
}

static void isolation_report_say(const struct isolation_finding *finding,
				 const struct isolation_words *words, struct problem *ret)
{
	const char *verb = words->verb;
	const char *a = text_get(&words->network);
	const char *b = text_get(&words->other);

	switch (finding->fault) {
	case FAULT_ONE_NUMBER:
		(void)problem_set(ret, E_CONFLICT, "VLAN %u %s %s and %s", (unsigned)finding->vlan,
				  verb, a, finding->other == MODEL_NONE ? "free ports" : b);
		break;
	case FAULT_STRANGER:
		(void)problem_set(ret, E_CONFLICT, "port %s %s in %s; it is meant for %s",
				  words->port, verb, a, b);
		break;
	case FAULT_TAGS:
		(void)problem_set(ret, E_CONFLICT, "access port %s of %s %s tagged frames",
				  words->port, a, verb);
		break;
	case FAULT_FOREIGN_PORT:
		(void)problem_set(ret, E_CONFLICT, "port %s %s in %s; the port is not ours",
				  words->port, verb, a);
		break;
	case FAULT_JOINED:
		(void)problem_set(ret, E_CONFLICT, "%s %s %s at switch %s", a, verb, b, words->at);
		break;
	case FAULT_FOREIGN_VLAN:
		(void)problem_set(ret, E_CONFLICT,
				  "%s %s VLAN %u at switch %s; that VLAN is not ours", a, verb,
				  (unsigned)finding->other_vlan, words->at);
		break;
	case FAULT_PARKING:
		(void)problem_set(ret, E_CONFLICT, "port %s %s parking VLAN %u to another switch",
				  words->port, verb, (unsigned)finding->vlan);
		break;
	case FAULT_LOOP:
		(void)problem_set(ret, E_CONFLICT, "%s %s a loop over port %s", a, verb,
				  words->port);
		break;
	case ISOLATION_FAULT_COUNT: break;
	}
}

void isolation_problem(const struct fabric_model *model, const struct isolation_finding *finding,
		       enum isolation_tense tense, struct problem *ret)
{
	static const char *const verbs[ISOLATION_FAULT_COUNT][2] = {
		[FAULT_ONE_NUMBER] = {"serves", "would serve"},
		[FAULT_STRANGER] = {"is", "would be"},
		[FAULT_TAGS] = {"takes", "would take"},
		[FAULT_FOREIGN_PORT] = {"is", "would be"},
		[FAULT_JOINED] = {"meets", "would meet"},
		[FAULT_FOREIGN_VLAN] = {"meets", "would meet"},
		[FAULT_PARKING] = {"carries", "would carry"},
		[FAULT_LOOP] = {"has", "would have"},
	};
	const char *not_sent = tense == ISOLATION_IS ? "" : "no edit was sent; ";
	struct isolation_words words = {.verb = verbs[finding->fault][tense]};

	*ret = (struct problem){0};
	if (finding->at != MODEL_NONE)
		(void)text_copy(words.at, sizeof(words.at), model->switches[finding->at].name);
	if (finding->port != MODEL_NONE)
		(void)text_format(words.port, sizeof(words.port), "%s:%s", words.at,
				  model->ports[finding->port].name);
	isolation_report_name(model, finding->network, finding->vlan, &words.network);
	isolation_report_name(model, finding->other, finding->other_vlan, &words.other);
	isolation_report_say(finding, &words, ret);
	problem_detail(ret, "%s", finding->path);
	if (finding->at == MODEL_NONE)
		problem_hint(ret, "%shaasctl network list shows the VLAN of each network",
			     not_sent);
	else
		problem_hint(ret, "%shaasctl switch diff %s shows what differs there", not_sent,
			     words.at);
	text_done(&words.network);
	text_done(&words.other);
}
