/* An emulated switch by NETCONF (RFC 6241, 6242): the same device and store as its command line
 * (switch_cli.h), spoken to in a vendor's data model. No sockets here: bytes in, bytes out. Written
 * from the RFCs and the vendors' models, without a look at our driver. */
#pragma once

#include <libxml/tree.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/text.h"

#include "tests/sim/command_line/switch_cli.h"

#define NETCONF_BASE "urn:ietf:params:xml:ns:netconf:base:1.0"

enum { NETCONF_TEXT = 12288 }; /* the longest list of VLANs */

enum netconf_datastore { NETCONF_RUNNING, NETCONF_CANDIDATE, NETCONF_STARTUP, NETCONF_STORES };

/* What goes into <rpc-error> (RFC 6241, 4.3 and appendix A). */
struct netconf_error {
	const char *type, *tag;
	char message[200], path[200], bad_element[64];
	unsigned session; /* who holds a lock; with tag lock-denied */
};

/* One row per leaf: its elements from the top. Marks:
 *
 *   [a b]  after a list: its keys
 *   *      after a leaf-list
 *   |      after the cases of a choice
 *   p:     before an element whose namespace differs from its parent's
 *
 * An element without a row is unknown. */
struct netconf_namespace {
	const char *prefix, *uri;
};

struct netconf_device;

/* Bits of what is written: configuration, state, or both. */
enum { NETCONF_CONFIG = 1, NETCONF_STATE = 2 };

struct netconf_model {
	const char *name, *title, *family;          /* row of cli_family_table */
	const char *const *capabilities;            /* without the base's; NULL-ended */
	const char *const *schema;                  /* NULL-ended */
	const struct netconf_namespace *namespaces; /* the first is that of the first prefix-less
						       element; NULL-ended */
	bool has_candidate, has_running, has_startup, has_validate, has_confirmed, has_rollback;
	const char *save; /* an operation of its own that saves; NULL: copy-config */
	/* A list's entry that is not there cannot be replaced, as Comware documents it. */
	bool replace_needs_target;
	/* The children of <data>, as text. `config` is the datastore's. */
	void (*write)(const struct netconf_device *device, const struct cli_config *config,
		      unsigned what, struct text *out);
	/* The reverse, after an edit. `fresh` is as from the factory; `before` as it was. */
	bool (*read)(const struct netconf_device *device, const xmlNode *data,
		     const struct cli_config *before, struct cli_config *fresh,
		     struct netconf_error *error);
};

struct netconf_session;

struct netconf_device {
	struct cli_device *device;
	const struct netconf_model *model;
	struct cli_config *candidate;   /* NULL: as running */
	unsigned locks[NETCONF_STORES]; /* session that holds it; 0: none */
	struct cli_config *before;      /* what a commit goes back to that nobody confirms */
	int64_t confirm_until_ms;
	unsigned confirm_session, last_session, generation;
};

struct netconf_session {
	struct netconf_device *at;
	unsigned id, generation, changes;
	uint32_t pause_ms; /* before what is in `out` is sent */
	struct text in, out;
	bool is_greeted, is_chunked, is_over, is_endless;
};

const struct netconf_model *netconf_model_find(const char *name);
const struct netconf_model *netconf_model_at(size_t i);
/* The first that is of this family; NULL when none is. */
const struct netconf_model *netconf_model_of(const char *family);

void netconf_device_done(struct netconf_device *at);
/* Commits that were not confirmed, reboots. */
void netconf_device_refresh(struct netconf_device *at);

MUST_USE int netconf_talk_new(struct netconf_device *at, struct netconf_session **ret);
void netconf_talk_free(struct netconf_session *session);
void netconf_session_feed(struct netconf_session *session, const void *bytes, size_t size);
bool netconf_session_has_message(const struct netconf_session *session);
/* One message at most; true when there is more to do at once. What to send is in `out`. */
bool netconf_session_turn(struct netconf_session *session);

/* --- operations (switch_netconf_rpc.c) --- */

/* One <rpc>; its answer without framing. */
void netconf_answer(struct netconf_session *session, const xmlNode *rpc, struct text *out);
void netconf_write_error(struct text *out, const struct netconf_error *error);
void netconf_unlock_all(struct netconf_session *session);

/* --- datastores (switch_netconf_store.c) --- */

const struct cli_config *netconf_config_of(const struct netconf_device *at,
					   enum netconf_datastore store);
/* `fresh` becomes the running configuration, as far as the faults let it. */
bool netconf_run(struct netconf_session *session, const struct cli_config *fresh,
		 struct netconf_error *error);
void netconf_forget_candidate(struct netconf_device *at);

/* --- trees (switch_netconf_tree.c) --- */

bool netconf_fail(struct netconf_error *error, const char *tag, const char *format, ...)
	PRINTF_LIKE(3, 4);
/* Keeps of the children of `data` what the children of `filter` select (RFC 6241, 6). */
void netconf_filter(xmlNode *data, const xmlNode *filter);
/* The children of `edit` on those of `data` (RFC 6241, 7.2). `operation`: merge, replace, none. */
bool netconf_edit(const struct netconf_model *model, xmlNode *data, const xmlNode *edit,
		  const char *operation, struct netconf_error *error);

const xmlNode *netconf_child(const xmlNode *node, const char *path); /* "a/b"; NULL: none */
const xmlNode *netconf_next(const xmlNode *node);                    /* of the same name */
/* Of an element without children, spaces taken off; "" for NULL. */
const char *netconf_text_of(const xmlNode *node, char ret[NETCONF_TEXT]);
const char *netconf_leaf(const xmlNode *node, const char *path, char ret[NETCONF_TEXT]);
bool netconf_is(const xmlNode *node, const char *name);
void netconf_quote(struct text *out, const char *value);
/* <name>value</name>, escaped. */
void netconf_add(struct text *out, const char *name, const char *value);
void netconf_addu(struct text *out, const char *name, unsigned value);
/* A VLAN that a model says; "vlan-" before it is `prefix`. */
bool netconf_vlan(const char *text, const char *prefix, uint16_t *ret, struct netconf_error *error);

extern const struct netconf_model netconf_nxos, netconf_iosxe, netconf_comware, netconf_openconfig;
