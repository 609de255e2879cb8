/* The operations of RFC 6241, 7 and 8, on an emulated switch. */
#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"

#include "tests/sim/command_line/switch_netconf.h"

LEAKS_LEFT_TO_SANITIZER

struct switch_netconf_rpc_call {
	struct netconf_session *session;
	struct netconf_device *at;
	const xmlNode *operation;
	struct text *out; /* what stands in <rpc-reply>; nothing: <ok/> */
	struct netconf_error *error;
};

void netconf_write_error(struct text *out, const struct netconf_error *error)
{
	text_add(out, "<rpc-error>");
	netconf_add(out, "error-type", error->type);
	netconf_add(out, "error-tag", error->tag);
	netconf_add(out, "error-severity", "error");
	if (error->path[0])
		netconf_add(out, "error-path", error->path);
	text_add(out, "<error-message xml:lang=\"en\">");
	netconf_quote(out, error->message);
	text_add(out, "</error-message>");
	if (strcmp(error->tag, "lock-denied") == 0)
		text_addf(out, "<error-info><session-id>%u</session-id></error-info>",
			  error->session);
	else if (error->bad_element[0])
		text_addf(out, "<error-info><bad-element>%s</bad-element></error-info>",
			  error->bad_element);
	text_add(out, "</rpc-error>");
}

/* --- words --- */

static const char *const store_words[] = {"running", "candidate", "startup"};

static bool has_store(const struct netconf_device *at, enum netconf_datastore store)
{
	const struct netconf_model *model = at->model;

	switch (store) {
	case NETCONF_CANDIDATE: return model->has_candidate;
	case NETCONF_STARTUP: return model->has_startup;
	case NETCONF_RUNNING:
	case NETCONF_STORES: break;
	}
	return true;
}

/* The datastore named below `path`. */
static bool store_of(struct switch_netconf_rpc_call *call, const char *path,
		     enum netconf_datastore *ret)
{
	const xmlNode *in = netconf_child(call->operation, path);

	for (int i = 0; in && i < NETCONF_STORES; i++) {
		if (netconf_child(in, store_words[i]) &&
		    has_store(call->at, (enum netconf_datastore)i)) {
			*ret = (enum netconf_datastore)i;
			return true;
		}
	}
	call->error->type = "protocol";
	return netconf_fail(call->error, in ? "invalid-value" : "missing-element",
			    "no such datastore: %s", path);
}

/* May this session change it? */
static bool may_write(struct switch_netconf_rpc_call *call, enum netconf_datastore store)
{
	unsigned holder = call->at->locks[store];

	if ((holder != 0 && holder != call->session->id) ||
	    (call->at->device->faults.locked && store != NETCONF_STARTUP))
		return netconf_fail(call->error, "in-use",
				    "the configuration is locked by another session");
	return true;
}

/* --- reading --- */

static xmlDoc *tree_of(const struct netconf_device *at, const struct cli_config *config,
		       unsigned what)
{
	struct text text = {0};
	xmlDoc *doc;

	text_add(&text, "<data xmlns=\"" NETCONF_BASE "\">");
	at->model->write(at, config, what, &text);
	text_add(&text, "</data>");
	doc = text.failed
		      ? NULL
		      : xmlReadMemory(text_get(&text), (int)text.size, NULL, NULL, XML_PARSE_NONET);
	text_done(&text);
	return doc;
}

static bool answer_data(struct switch_netconf_rpc_call *call, enum netconf_datastore store,
			unsigned what)
{
	const xmlNode *filter = netconf_child(call->operation, "filter");
	xmlDoc *doc;
	xmlBuffer *buffer = xmlBufferCreate();
	xmlNode *data;

	cli_store_learn(call->at->device->store);
	doc = tree_of(call->at, netconf_config_of(call->at, store), what);
	data = doc ? xmlDocGetRootElement(doc) : NULL;
	if (!data || !buffer) {
		xmlFreeDoc(doc);
		xmlBufferFree(buffer);
		return netconf_fail(call->error, "resource-denied", "no memory");
	}
	if (filter)
		netconf_filter(data, filter);
	(void)xmlNodeDump(buffer, doc, data, 0, 0);
	text_add(call->out, (const char *)xmlBufferContent(buffer));
	xmlBufferFree(buffer);
	xmlFreeDoc(doc);
	call->session->is_endless = call->at->device->faults.endless;
	return true;
}

static bool do_get(struct switch_netconf_rpc_call *call)
{
	return answer_data(call, NETCONF_RUNNING, NETCONF_CONFIG | NETCONF_STATE);
}

static bool do_get_config(struct switch_netconf_rpc_call *call)
{
	enum netconf_datastore store;

	return store_of(call, "source", &store) && answer_data(call, store, NETCONF_CONFIG);
}

/* --- changing --- */

/* A configuration with `before`'s ports as from the factory and VLAN 1. */
static void fresh_of(const struct netconf_device *at, struct cli_config *fresh)
{
	memset(fresh, 0, sizeof(*fresh));
	vlan_set_add(&fresh->vlans, 1);
	for (unsigned i = 1; i <= at->device->store->port_count; i++)
		fresh->ports[i] = cli_port_new(&at->device->family->port);
}

static bool switch_netconf_rpc_changed(struct switch_netconf_rpc_call *call,
				       const struct cli_config *before, const char *operation,
				       struct cli_config *fresh)
{
	const xmlNode *edit = netconf_child(call->operation, "config");
	xmlDoc *doc = tree_of(call->at, before, NETCONF_CONFIG);
	xmlNode *data = doc ? xmlDocGetRootElement(doc) : NULL;
	bool good = data && netconf_edit(call->at->model, data, edit, operation, call->error);

	fresh_of(call->at, fresh);
	good = good && call->at->model->read(call->at, data, before, fresh, call->error);
	xmlFreeDoc(doc);
	return good;
}

static bool keep_candidate(struct switch_netconf_rpc_call *call, const struct cli_config *fresh)
{
	struct cli_config *copy = malloc(sizeof(*copy));

	if (!copy)
		return netconf_fail(call->error, "resource-denied", "no memory");
	*copy = *fresh;
	free(call->at->candidate);
	call->at->candidate = copy;
	return true;
}

static bool switch_netconf_rpc_edit(struct switch_netconf_rpc_call *call,
				    enum netconf_datastore store, const char *operation)
{
	struct cli_config *fresh = malloc(sizeof(*fresh));
	bool good;

	if (!fresh)
		return netconf_fail(call->error, "resource-denied", "no memory");
	good = switch_netconf_rpc_changed(call, netconf_config_of(call->at, store), operation,
					  fresh);
	if (good)
		good = store == NETCONF_CANDIDATE ? keep_candidate(call, fresh)
						  : netconf_run(call->session, fresh, call->error);
	free(fresh);
	return good;
}

static bool do_edit_config(struct switch_netconf_rpc_call *call)
{
	enum netconf_datastore store;
	char operation[NETCONF_TEXT];
	char option[NETCONF_TEXT];

	if (!store_of(call, "target", &store) || !may_write(call, store))
		return false;
	(void)netconf_leaf(call->operation, "default-operation", operation);
	(void)netconf_leaf(call->operation, "error-option", option);
	call->error->type = "protocol";
	if (store == NETCONF_STARTUP || (store == NETCONF_RUNNING && !call->at->model->has_running))
		return netconf_fail(call->error, "operation-not-supported",
				    "this datastore cannot be edited");
	if (strcmp(option, "rollback-on-error") == 0 && !call->at->model->has_rollback)
		return netconf_fail(call->error, "operation-not-supported", "no rollback-on-error");
	if (!netconf_child(call->operation, "config"))
		return netconf_fail(call->error, "missing-element", "config");
	return switch_netconf_rpc_edit(call, store, operation[0] ? operation : "merge");
}

static bool do_copy_config(struct switch_netconf_rpc_call *call)
{
	struct cli_store *store = call->at->device->store;
	enum netconf_datastore from, to;

	if (!store_of(call, "source", &from) || !store_of(call, "target", &to) ||
	    !may_write(call, to))
		return false;
	if (to != NETCONF_STARTUP || from != NETCONF_RUNNING)
		return netconf_fail(call->error, "operation-not-supported",
				    "only running to startup");
	if (!call->at->device->faults.lost_save)
		cli_store_save(store);
	return true;
}

static bool do_save(struct switch_netconf_rpc_call *call)
{
	if ((call->at->device->faults.refuse >> SWITCH_SAVE & 1) != 0)
		return netconf_fail(call->error, "operation-failed", "cannot save");
	if (!call->at->device->faults.lost_save)
		cli_store_save(call->at->device->store);
	return true;
}

/* --- locks --- */

static bool switch_netconf_rpc_denied(struct switch_netconf_rpc_call *call, unsigned holder)
{
	call->error->session = holder;
	return netconf_fail(call->error, "lock-denied", "lock failed, it is already held");
}

static bool do_lock(struct switch_netconf_rpc_call *call)
{
	enum netconf_datastore store;

	if (!store_of(call, "target", &store))
		return false;
	if (call->at->device->faults.locked)
		return switch_netconf_rpc_denied(call, 0);
	if (call->at->locks[store] != 0)
		return switch_netconf_rpc_denied(call, call->at->locks[store]);
	if (call->at->before && call->at->confirm_session != call->session->id)
		return switch_netconf_rpc_denied(call, call->at->confirm_session);
	if (store == NETCONF_CANDIDATE && call->at->candidate)
		return switch_netconf_rpc_denied(call, 0);
	call->at->locks[store] = call->session->id;
	return true;
}

static bool do_unlock(struct switch_netconf_rpc_call *call)
{
	enum netconf_datastore store;

	if (!store_of(call, "target", &store))
		return false;
	if (call->at->locks[store] != call->session->id)
		return netconf_fail(call->error, "operation-failed", "it is not locked by you");
	if (store == NETCONF_CANDIDATE)
		netconf_forget_candidate(call->at);
	call->at->locks[store] = 0;
	return true;
}

/* --- the candidate --- */

static bool no_candidate(struct switch_netconf_rpc_call *call)
{
	call->error->type = "protocol";
	return netconf_fail(call->error, "operation-not-supported", "no candidate here");
}

static bool do_validate(struct switch_netconf_rpc_call *call)
{
	enum netconf_datastore store;

	if (!call->at->model->has_validate) {
		call->error->type = "protocol";
		return netconf_fail(call->error, "operation-not-supported", "no validate here");
	}
	/* What cannot be is refused as it is edited. */
	return store_of(call, "source", &store);
}

static bool do_discard(struct switch_netconf_rpc_call *call)
{
	if (!call->at->model->has_candidate)
		return no_candidate(call);
	if (!may_write(call, NETCONF_CANDIDATE))
		return false;
	netconf_forget_candidate(call->at);
	return true;
}

static bool switch_netconf_rpc_hold(struct switch_netconf_rpc_call *call)
{
	char seconds[NETCONF_TEXT];
	long number;

	(void)netconf_leaf(call->operation, "confirm-timeout", seconds);
	number = seconds[0] ? strtol(seconds, NULL, 10) : 600;
	if (!call->at->before) {
		struct cli_config *before = malloc(sizeof(*before));

		if (!before)
			return netconf_fail(call->error, "resource-denied", "no memory");
		*before = *call->at->device->store->running;
		call->at->before = before;
	}
	call->at->confirm_until_ms = clock_monotonic_ms() + number * 1000;
	call->at->confirm_session = call->session->id;
	return true;
}

static bool do_commit(struct switch_netconf_rpc_call *call)
{
	bool confirmed = netconf_child(call->operation, "confirmed") != NULL;

	if (!call->at->model->has_candidate)
		return no_candidate(call);
	if (!may_write(call, NETCONF_CANDIDATE) || !may_write(call, NETCONF_RUNNING))
		return false;
	if (call->at->before && call->at->confirm_session != call->session->id)
		return netconf_fail(call->error, "in-use", "another commit waits to be confirmed");
	if (confirmed && !call->at->model->has_confirmed)
		return netconf_fail(call->error, "bad-element", "no confirmed commit here");
	if (confirmed && !switch_netconf_rpc_hold(call))
		return false;
	if (call->at->candidate && !netconf_run(call->session, call->at->candidate, call->error)) {
		if (confirmed) {
			free(call->at->before);
			call->at->before = NULL;
		}
		return false;
	}
	netconf_forget_candidate(call->at);
	if (!confirmed) {
		free(call->at->before);
		call->at->before = NULL;
	}
	return true;
}

static bool do_cancel_commit(struct switch_netconf_rpc_call *call)
{
	if (!call->at->before || call->at->confirm_session != call->session->id)
		return netconf_fail(call->error, "operation-failed", "no commit waits");
	call->at->confirm_until_ms = 0;
	netconf_device_refresh(call->at);
	return true;
}

static bool do_close(struct switch_netconf_rpc_call *call)
{
	call->session->is_over = true;
	return true;
}

static const struct {
	const char *name;
	bool (*run)(struct switch_netconf_rpc_call *call);
} switch_netconf_rpc_rows[] = {
	{"get", do_get},
	{"get-config", do_get_config},
	{"edit-config", do_edit_config},
	{"copy-config", do_copy_config},
	{"lock", do_lock},
	{"unlock", do_unlock},
	{"validate", do_validate},
	{"commit", do_commit},
	{"discard-changes", do_discard},
	{"cancel-commit", do_cancel_commit},
	{"close-session", do_close},
};

static const xmlNode *first_element(const xmlNode *node)
{
	for (node = node->children; node && node->type != XML_ELEMENT_NODE;)
		node = node->next;
	return node;
}

static bool switch_netconf_rpc_run(struct switch_netconf_rpc_call *call)
{
	const char *save = call->at->model->save;

	if (call->operation && save && netconf_is(call->operation, save))
		return do_save(call);
	for (size_t i = 0; call->operation && i < COUNT_OF(switch_netconf_rpc_rows); i++) {
		if (netconf_is(call->operation, switch_netconf_rpc_rows[i].name))
			return switch_netconf_rpc_rows[i].run(call);
	}
	call->error->type = "protocol";
	return netconf_fail(call->error, "operation-not-supported", "no such operation");
}

void netconf_answer(struct netconf_session *session, const xmlNode *rpc, struct text *out)
{
	xmlChar *id = xmlGetNoNsProp((xmlNode *)(uintptr_t)rpc, (const xmlChar *)"message-id");
	struct netconf_error error = {0};
	struct text inside = {0};
	struct switch_netconf_rpc_call call = {session, session->at, first_element(rpc), &inside,
					       &error};
	bool good;

	if (!id) {
		(void)netconf_fail(&error, "missing-attribute", "message-id");
		error.type = "rpc";
		good = false;
	} else {
		good = switch_netconf_rpc_run(&call);
	}
	/* A session that broke off in the middle does not answer. */
	if (session->is_over && good && !netconf_is(call.operation, "close-session")) {
		text_done(&inside);
		xmlFree(id);
		return;
	}
	text_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rpc-reply xmlns=\"" NETCONF_BASE
		      "\" message-id=\"");
	netconf_quote(out, id ? (const char *)id : "");
	text_add(out, "\">");
	if (!good)
		netconf_write_error(out, &error);
	else
		text_add(out, inside.size ? text_get(&inside) : "<ok/>");
	text_add(out, "</rpc-reply>\n");
	text_done(&inside);
	xmlFree(id);
}
