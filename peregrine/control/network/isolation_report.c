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
	*ret = (struct isolation_finding){.fault = mark->fault,
					  .network = mark->network,
					  .other = mark->other,
					  .vlan = mark->vlan,
					  .other_vlan = mark->other_vlan,
					  .port = mark->port};
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

void isolation_problem(const struct fabric_model *model, const struct isolation_finding *finding,
		       struct problem *ret)
{
	/* before the first name, between the two, after the second */
	static const char *const says[][3] = {
		[FAULT_ONE_NUMBER] = {"networks ", " and ", " would have one VLAN"},
		[FAULT_STRANGER] = {"network ", " would be on a port that is meant for ", ""},
		[FAULT_TAGS] = {"an access port of network ", " would take tagged frames", NULL},
		[FAULT_FOREIGN_PORT] = {"network ", " would be on a port that is not ours", NULL},
		[FAULT_JOINED] = {"networks ", " and ", " would meet"},
		[FAULT_FOREIGN_VLAN] = {"network ", " would meet a VLAN that is not ours", NULL},
		[FAULT_PARKING] = {"the parking VLAN would leave a switch", NULL, NULL},
		[FAULT_LOOP] = {"network ", " would have a loop", NULL},
	};
	const char *const *say = says[finding->fault];
	const char *a =
		finding->network == MODEL_NONE ? "(none)" : model->networks[finding->network].name;
	const char *b =
		finding->other == MODEL_NONE ? "(none)" : model->networks[finding->other].name;

	(void)problem_set(ret, E_CONFLICT, "%s%s%s%s%s", say[0], say[1] ? a : "",
			  say[1] ? say[1] : "", say[2] ? b : "", say[2] ? say[2] : "");
	problem_detail(ret, "%s", finding->path);
	problem_hint(ret, "no edit was sent; haasctl switch diff shows the differences");
}
