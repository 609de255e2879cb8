/* Nodes in the provisioning network are nobody's, or somebody's whose system is being erased. They
 * should hear us alone. This says of each switch whether its ports keep them apart, and raises an
 * alert where they do not. */
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/count_text.h"

#include "peregrine/control/reconcile/reconcile_say.h"

enum { APART_AGAIN_MS = 600000, APART_ASK_MS = 60000 };

#define APART_HINT                                                                                \
	"make its ports of nodes protected ports, or set it by OVSDB; DHCP snooping helps until " \
	"then: docs/switches.md, The provisioning network"

/* What is found out about one switch. Words are those of switch_ability.apart. */
struct apart_finding {
	const char *word;
	const char *message; /* of the alert; NULL: all is well */
};
static const struct apart_finding apart_isolated = {"isolated", NULL};
static const struct apart_finding apart_between = {
	"between", "its nodes in the provisioning network hear those at other switches"};
static const struct apart_finding apart_open = {
	"open", "its nodes in the provisioning network hear each other"};
static const struct apart_finding apart_untold = {
	"untold", "it does not show whether nodes in the provisioning network hear each other"};

struct apart_ports {
	unsigned count, open, untold;
	uint16_t group; /* of the first; another group is heard */
	bool elsewhere; /* other switches have nodes in that network, too */
};

/* The network in which the nodes at a port should not hear each other; MODEL_NONE. Only of a port
 * that is in it already. */
static uint32_t apart_network(const struct pass *pass, uint32_t p)
{
	const struct fabric_model *model = &pass->scene.model;
	const struct fabric_port *port = &model->ports[p];
	port_state now = pass->scene.observed[p];

	for (uint32_t i = 0; now && port->carrier == p && i < port->member_count; i++) {
		const struct fabric_member *member = &model->members[port->first_member + i];

		if (member->apart && now->native != 0 &&
		    now->native == model->networks[member->network].vlan)
			return member->network;
	}
	return MODEL_NONE;
}

static struct apart_ports apart_count(const struct pass *pass, uint32_t at,
				      const struct known_switch *known, struct text *names)
{
	const struct fabric_model *model = &pass->scene.model;
	struct apart_ports ports = {0};

	for (uint32_t p = 0; p < model->port_count; p++) {
		const struct known_port *port;

		if (apart_network(pass, p) == MODEL_NONE)
			continue;
		if (model->ports[p].at != at) {
			ports.elsewhere = true;
			continue;
		}
		port = known_port_named(known, model->ports[p].name);
		ports.count++;
		ports.untold += !port || port->apart == APART_UNTOLD;
		if (port && port->apart == APART_FROM_ALIKE && ports.group == 0)
			ports.group = (uint16_t)(port->apart_group + 1);
		if (port && port->apart == APART_FROM_ALIKE && ports.group == port->apart_group + 1)
			continue;
		ports.open += port && port->apart != APART_UNTOLD;
		json_put_string(names, NULL, model->ports[p].name);
	}
	return ports;
}

/* --- asking a switch whose readings do not tell --- */

struct apart_call {
	struct reconcile *reconcile;
	int64_t switch_id;
};

static void apart_on_answer(void *context, int rc, struct switch_reading *reading,
			    const struct problem *problem)
{
	struct apart_call *call = context;
	struct known_switch *known = book_find(&call->reconcile->book, call->switch_id);

	(void)problem; /* what is not told stays untold, which is an alert */
	if (known) {
		known->apart_asking = false;
		known->changed = true;
		if (rc == 0)
			known_take_apart(known, reading);
	}
	if (reading)
		switch_reading_done(reading);
	free(call);
}

/* True: the answer is to come. */
static bool apart_ask(struct reconcile *reconcile, struct known_switch *known)
{
	const struct switch_request request = {.op = SWITCH_APART};
	const struct switch_access *access = &reconcile->options.access;
	int64_t now_ms = clock_monotonic_ms();
	struct apart_call *call;

	if (known->apart_asking || known->apart_ask_ms > now_ms)
		return known->apart_asking;
	known->apart_ask_ms = now_ms + APART_AGAIN_MS;
	call = malloc(sizeof(*call));
	if (!call)
		return false;
	*call = (struct apart_call){reconcile, known->id};
	known->apart_asking = access->call(access->context, known->id, &request,
					   now_ms + APART_ASK_MS, apart_on_answer, call) == 0;
	if (!known->apart_asking)
		free(call);
	return known->apart_asking;
}

/* --- what it means --- */

/* NULL: too few nodes are in the network to say anything new. */
static const struct apart_finding *apart_judge(const struct apart_ports *ports)
{
	if (ports->count == 0 || (ports->count == 1 && !ports->elsewhere))
		return NULL;
	if (ports->open > 0 && ports->count > 1)
		return &apart_open;
	if (ports->untold > 0 && ports->count > 1)
		return &apart_untold;
	return ports->elsewhere ? &apart_between : &apart_isolated;
}

static void apart_of_switch(const struct engine_fabric *fabric, const struct pass *pass,
			    uint32_t at, struct known_switch *known, struct said *said,
			    struct text *json)
{
	CLEANUP(text_done) struct text detail = {0};
	const struct apart_finding *finding;
	struct apart_ports ports;
	char message[160];
	char count[COUNT_TEXT_SIZE];

	json_begin_object(&detail, NULL);
	json_begin_array(&detail, "ports");
	ports = apart_count(pass, at, known, &detail);
	json_end_array(&detail);
	json_put_string(&detail, "hint", APART_HINT);
	json_end_object(&detail);
	finding = apart_judge(&ports);
	/* What only a command line tells may change there: it is asked again from time to time. */
	if (finding && !pass->scene.model.switches[at].sets_apart &&
	    apart_ask(fabric->reconcile, known))
		return;
	if (!finding || finding->word == known->apart)
		return;
	(void)text_format(message, sizeof(message), "%s (%s)",
			  finding->message ? finding->message : "",
			  count_text(count, ports.count, "port"));
	/* Another finding is another text of the same alert. */
	if (finding->message && known->open_told)
		known->open_told = false;
	say_of_switch(known, finding->message != NULL, &known->open_told,
		      &(struct alert_row){.kind = "switch.provisioning_open",
					  .severity = "warning",
					  .message = message,
					  .detail = &detail},
		      said);
	json_begin_object(json, NULL);
	json_put_int(json, "switch", known->id);
	json_put_string(json, "state", finding->word);
	json_end_object(json);
	known->apart = finding->word;
	said->count++;
}

void say_apart(const struct engine_fabric *fabric, const struct pass *pass, struct said *said,
	       struct text *json)
{
	json_begin_array(json, "apart");
	for (uint32_t s = 0; s < pass->scene.model.switch_count; s++) {
		struct known_switch *known =
			book_find(&fabric->reconcile->book, pass->scene.model.switches[s].id);

		if (known && known->read)
			apart_of_switch(fabric, pass, s, known, said, json);
	}
	json_end_array(json);
}
