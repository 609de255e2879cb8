/* Nodes in the provisioning network are nobody's, or somebody's whose system is being erased. They
 * should hear us alone. This says of each switch whether its ports keep them apart, and raises an
 * alert where they do not. */
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/count_text.h"

#include "peregrine/control/reconcile/reconcile_say.h"

enum { APART_AGAIN_MS = 600000, APART_ASK_MS = 60000 };

#define APART_SEE "; DHCP snooping helps until then: docs/switches.md, The provisioning network"

/* What is found out about one switch. Words are those of switch_ability.apart. */
struct apart_finding {
	const char *word;
	const char *message, *hint; /* of the alert; NULL: all is well */
};
static const struct apart_finding apart_isolated = {"isolated", NULL, NULL};
static const struct apart_finding apart_between = {
	"between", "its nodes in the provisioning network hear those at other switches",
	"have the nodes of one switch alone there at a time" APART_SEE};
static const struct apart_finding apart_open = {
	"open", "its nodes in the provisioning network hear each other",
	"make its ports of nodes protected ports, or set it by OVSDB" APART_SEE};
static const struct apart_finding apart_never = {
	"cannot", "it cannot keep nodes in the provisioning network apart",
	"have one node of it alone there at a time, or take a switch that can" APART_SEE};
static const struct apart_finding apart_untold = {
	"untold", "it does not show whether nodes in the provisioning network hear each other",
	"give it an SSH user if its family shows it by the command line" APART_SEE};

/* --- ports of nodes in provisioning networks --- */

struct apart_port {
	uint32_t at, network;
	const char *name;
	const struct known_port *known; /* NULL: not seen */
};

struct apart_ports {
	struct apart_port *ports; /* owned; those of a switch stand together */
	uint32_t count;
	uint32_t *in_network; /* owned */
};

/* What is found at one switch. A port that is alone in its VLAN hears nobody: it does not count. */
struct apart_count {
	uint32_t ports, alone;
	bool open, untold;
	bool elsewhere; /* other switches have nodes in the same network, too */
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

static bool apart_collect(const struct engine_fabric *fabric, const struct pass *pass,
			  struct apart_ports *ret)
{
	const struct fabric_model *model = &pass->scene.model;

	ret->ports = calloc(model->port_count + 1, sizeof(*ret->ports));
	ret->in_network = calloc(model->network_count + 1, sizeof(*ret->in_network));
	for (uint32_t p = 0; ret->ports && ret->in_network && p < model->port_count; p++) {
		const struct fabric_port *port = &model->ports[p];
		uint32_t network = apart_network(pass, p);
		const struct known_switch *known;

		if (network == MODEL_NONE)
			continue;
		known = book_find(&fabric->reconcile->book, model->switches[port->at].id);
		ret->in_network[network]++;
		ret->ports[ret->count++] =
			(struct apart_port){port->at, network, port->name,
					    known ? known_port_named(known, port->name) : NULL};
	}
	return ret->ports && ret->in_network;
}

static enum port_apart apart_port_tells(const struct apart_port *port)
{
	return port->known ? port->known->apart : APART_UNTOLD;
}

/* Two ports of a switch in one network. */
static enum port_apart apart_of_two(const struct apart_port *a, const struct apart_port *b)
{
	enum port_apart one = apart_port_tells(a);
	enum port_apart other = apart_port_tells(b);

	if (one == APART_NOT || other == APART_NOT)
		return APART_NOT;
	if (one == APART_UNTOLD || other == APART_UNTOLD)
		return APART_UNTOLD;
	return a->known->apart_group == b->known->apart_group ? APART_FROM_ALIKE : APART_NOT;
}

/* The worst of what a port has to others of its network, which are from `first` to `end`. */
static enum port_apart apart_of_port(const struct apart_ports *all, uint32_t p, uint32_t first,
				     uint32_t end, uint32_t *ret_here)
{
	enum port_apart worst = APART_FROM_ALIKE;

	*ret_here = 0;
	for (uint32_t i = first; i < end; i++) {
		enum port_apart is;

		if (all->ports[i].network != all->ports[p].network)
			continue;
		++*ret_here;
		is = i == p ? APART_FROM_ALIKE : apart_of_two(&all->ports[p], &all->ports[i]);
		if (is == APART_NOT || worst == APART_FROM_ALIKE)
			worst = is;
	}
	return worst;
}

/* `names`: of the ports that others are heard at, or may be. */
static struct apart_count apart_at(const struct apart_ports *all, uint32_t at, struct text *names)
{
	struct apart_count count = {0};
	uint32_t first = 0;
	uint32_t end;

	while (first < all->count && all->ports[first].at != at)
		first++;
	for (end = first; end < all->count && all->ports[end].at == at;)
		end++;
	for (uint32_t p = first; p < end; p++) {
		uint32_t in_network = all->in_network[all->ports[p].network];
		uint32_t here;
		enum port_apart is = apart_of_port(all, p, first, end, &here);

		count.alone += in_network == 1;
		count.ports += in_network > 1;
		count.elsewhere |= here < in_network;
		count.open |= is == APART_NOT;
		count.untold |= is == APART_UNTOLD;
		if (is != APART_FROM_ALIKE)
			json_put_string(names, NULL, all->ports[p].name);
	}
	return count;
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
static const struct apart_finding *apart_judge(const struct apart_count *count, uint32_t everywhere,
					       enum family_apart family)
{
	if (count->ports + count->alone == 0 || everywhere < 2)
		return NULL;
	if (count->open)
		return &apart_open;
	if (count->untold)
		return family == FAMILY_APART_NEVER ? &apart_never : &apart_untold;
	return count->elsewhere ? &apart_between : &apart_isolated;
}

static void apart_of_switch(const struct engine_fabric *fabric, const struct apart_ports *all,
			    const struct fabric_switch *sw, uint32_t at, struct said *said,
			    struct text *json)
{
	struct known_switch *known = book_find(&fabric->reconcile->book, sw->id);
	CLEANUP(text_done) struct text detail = {0};
	const struct apart_finding *finding;
	struct apart_count ports;
	bool is_open;
	char message[160];
	char count[COUNT_TEXT_SIZE];

	if (!known || !known->read)
		return;
	json_begin_object(&detail, NULL);
	json_begin_array(&detail, "ports");
	ports = apart_at(all, at, &detail);
	json_end_array(&detail);
	finding = apart_judge(&ports, all->count, sw->apart);
	/* What only a command line tells may change there: it is asked again from time to time. */
	if (finding && ports.ports > 0 && sw->apart == FAMILY_APART_SHOWN &&
	    apart_ask(fabric->reconcile, known))
		return;
	is_open = finding && finding->message;
	if (is_open)
		json_put_string(&detail, "hint", finding->hint);
	json_end_object(&detail);
	(void)text_format(message, sizeof(message), "%s (%s)", is_open ? finding->message : "",
			  count_text(count, ports.ports, "port"));
	/* Without two nodes there nobody hears another; what the switch can is remembered. */
	say_of_switch(known, is_open, &known->open_told,
		      &(struct alert_row){.kind = "switch.provisioning_open",
					  .severity = "warning",
					  .message = message,
					  .detail = &detail},
		      said);
	if (!finding || finding->word == known->apart)
		return;
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
	const struct fabric_model *model = &pass->scene.model;
	struct apart_ports all = {0};
	bool fine = apart_collect(fabric, pass, &all); /* else no memory: nothing new is said */

	json_begin_array(json, "apart");
	for (uint32_t s = 0; fine && s < model->switch_count; s++)
		apart_of_switch(fabric, &all, &model->switches[s], s, said, json);
	json_end_array(json);
	free(all.ports);
	free(all.in_network);
}
