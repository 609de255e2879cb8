/* NETCONF messages as XML (RFC 6241), by libxml2 on bytes that were bounded first: their size by
 * the framing, their depth and number of elements here; no document type, no entities of its own,
 * nothing fetched. Names are compared without their namespaces: vendors differ in them between
 * releases, and what is asked for says the namespace. */
#pragma once

#include <libxml/tree.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/text.h"

#define NETCONF_BASE "urn:ietf:params:xml:ns:netconf:base:1.0"

/* TEXT_LIMIT: the longest list of VLANs, "1,3,5,..". */
enum { NETCONF_DEPTH_LIMIT = 64, NETCONF_ELEMENT_LIMIT = 400000, NETCONF_TEXT_LIMIT = 12288 };

/* What a hello offers (RFC 6241, 8 and 10.4). */
enum netconf_capability {
	NETCONF_BASE_10 = 1 << 0,
	NETCONF_BASE_11 = 1 << 1,
	NETCONF_CANDIDATE = 1 << 2,
	NETCONF_WRITABLE_RUNNING = 1 << 3,
	NETCONF_CONFIRMED_COMMIT = 1 << 4, /* 1.1: also <cancel-commit> */
	NETCONF_ROLLBACK_ON_ERROR = 1 << 5,
	NETCONF_VALIDATE = 1 << 6,
	NETCONF_STARTUP = 1 << 7,
};

enum netconf_kind { NETCONF_HELLO, NETCONF_REPLY, NETCONF_NOTIFICATION };

/* What a reply says. What no <rpc-error> of severity "error" stands in is no refusal; what has none
 * of severity "warning" alone is one. */
enum netconf_verdict {
	NETCONF_SAYS_OK,      /* <ok/> */
	NETCONF_SAYS_DATA,    /* <data> */
	NETCONF_SAYS_OTHER,   /* something else, without an error: of operations of the vendor's */
	NETCONF_SAYS_REFUSED, /* the first error is in `error` */
};

struct netconf_error {
	char tag[32], path[160], message[200];
};

struct netconf_message {
	xmlDoc *doc; /* owned */
	enum netconf_kind kind;
	uint32_t
		id; /* NETCONF_REPLY: message-id; 0: none, as after a message that was not parsed */
	unsigned capabilities; /* NETCONF_HELLO */
	enum netconf_verdict verdict;
	struct netconf_error error;
	const xmlNode *data; /* NETCONF_SAYS_DATA */
};

void netconf_message_done(struct netconf_message *message);
/* E_MALFORMED: no XML, or none of NETCONF's; E_LIMIT: too deep, too many; -ENOMEM. */
MUST_USE int netconf_message_parse(const char *bytes, size_t size, struct netconf_message *ret);

/* Of a hello: is there a capability that begins with this? "" finds one with a module. */
bool netconf_hello_offers(const struct netconf_message *hello, const char *uri);

/* --- looking in it --- */

/* The first element at "a/b/c" below `node`; ".." is the one above, "*" any. NULL: none. */
const xmlNode *netconf_find(const xmlNode *node, const char *path);
/* Every element at `path`, in order, until `each` says false. */
typedef bool (*netconf_each_fn)(void *context, const xmlNode *node);
bool netconf_each(const xmlNode *node, const char *path, netconf_each_fn each, void *context);
/* The next of the name `node` has, beside it. */
const xmlNode *netconf_again(const xmlNode *node);
/* The text of an element, without spaces around it; "" for NULL, and for one that is too long. */
const char *netconf_text(const xmlNode *node, char ret[NETCONF_TEXT_LIMIT]);

/* Text for an element: &, < and > are escaped, what XML cannot hold is left out. */
void netconf_escape(struct text *out, const char *value);
