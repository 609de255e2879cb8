/* The routes of the API: one table of rows. A row names the roles that may call it, the allowed
 * query and body, and the statement that answers. A handler is needed only where a statement is not
 * enough. openapi.yaml says the same to people, and a test compares the two. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/db/db.h"
#include "common/http/server.h"

struct exchange;

enum route_role {
	ROLE_ANYONE,   /* whoever may connect: health, metrics, the specification, logins */
	ROLE_SELF,     /* whoever is logged in, about oneself */
	ROLE_TENANT,   /* in the scope of a tenant too; role.h says who */
	ROLE_OPERATOR, /* in the scope of the site alone */
};

enum route_body { BODY_NONE, BODY_JSON, BODY_PATCH, BODY_CSV, BODY_BYTES };

enum route_flag {
	ROUTE_IDEMPOTENT = 1, /* honours Idempotency-Key */
	ROUTE_IF_MATCH = 2,   /* 428 without If-Match */
	ROUTE_SECRET = 4,     /* the body holds passwords: it is parsed late, sealed, wiped */
	ROUTE_ON_CALL = 8,    /* the on-call engineer may change by it too */
	ROUTE_MANAGE = 16,    /* of a tenant only its admins */
	ROUTE_PRIVATE = 32,   /* auditors do not read it */
	ROUTE_LOCAL = 64,     /* on the local socket alone */
	ROUTE_ENROL = 128,    /* for those too who still have to enable a second factor */
	ROUTE_CONSENT =
		512, /* a tenant's own word: of its admins alone, never of who looks as the tenant */
	ROUTE_STREAM = 256, /* stays open: not one of the requests that one may have at once */
	ROUTE_SHARED =
		1024, /* a list that depends on the role and the tenant alone: a second old, and large, it answers others too */
};

enum query_kind {
	QUERY_TEXT,
	QUERY_WORD, /* of `words` */
	QUERY_GLOB, /* handed on as a LIKE pattern */
	QUERY_ID,
	QUERY_OFFSET, /* 0 or more */
	QUERY_BOOL,
	QUERY_LIMIT,       /* 1..1000, default 100 */
	QUERY_CURSOR_TEXT, /* opaque for the client; handed on as the key of the last row of the
			      page before */
	QUERY_CURSOR_ID,
	QUERY_CURSOR_LIST, /* either, or that of another order: list.c looks at it */
	QUERY_ADDRESS,     /* IPv4 */
	QUERY_MAC,         /* in any spelling; handed on with colons */
	QUERY_POSITION,    /* of the event stream, "xid-id" */
	QUERY_TIME,        /* RFC 3339, or a day: its first second in UTC */
	QUERY_CLOCK,       /* RFC 3339, or HH:MM or HH:MM:SS in UTC */
	QUERY_WINDOW,      /* 1s to 30d; handed on as seconds */
};

struct query_row {
	const char *name;
	enum query_kind kind;
	size_t max;               /* QUERY_TEXT, QUERY_GLOB: characters */
	const char *const *words; /* QUERY_WORD, NULL-ended */
	const char *fallback;     /* handed on when absent; NULL = SQL NULL */
	bool required;
	const char *header; /* a header that says the same and wins; may be NULL */
};

#define QUERY_ROWS 16
#define ROUTE_ARGS 12

struct route {
	enum http_method method;
	const char *pattern;
	enum route_role role;
	enum route_body body;
	unsigned flags;
	void (*handler)(struct exchange *exchange);
	const struct query_row *query; /* ended by a row without name; NULL = none */
	/* For the handlers of exchange.h that need no code: the statement and where its parameters
	 * come from: "?x" query, "{x}" path,
	 * "@actor", "@version" (of If-Match). */
	const struct db_query *store;
	const char *args[ROUTE_ARGS];
};

/* Tables per resource, each ended by a row without pattern; route_tables is ended by NULL. */
extern const struct route *const route_tables[];
extern const struct route node_routes[];
extern const struct route health_routes[];
extern const struct route deployment_routes[];
extern const struct route image_routes[];
extern const struct route address_routes[];
extern const struct route cable_routes[];
extern const struct route fabric_routes[];
extern const struct route alert_routes[];
extern const struct route sampling_routes[];
extern const struct route path_routes[];
extern const struct route switch_health_routes[];
extern const struct route topology_routes[];
extern const struct route pdci_routes[];
extern const struct route pdci_sheet_routes[];
extern const struct route network_routes[];
extern const struct route volume_routes[];
extern const struct route grant_routes[];
extern const struct route limit_routes[];
extern const struct route webhook_routes[];
extern const struct route setting_routes[];
extern const struct route drill_routes[];
extern const struct route capture_routes[];
extern const struct route record_routes[];
extern const struct route rotation_routes[];
extern const struct route login_routes[];
extern const struct route account_routes[];
extern const struct route second_factor_routes[];
extern const struct route oidc_routes[];
extern const struct route status_routes[];
extern const struct route server_routes[];

size_t route_count(void);
/* The row of a method (HEAD finds GET) and a pattern; NULL when none. */
const struct route *route_find(enum http_method method, const char *pattern);
const char *route_method_text(enum http_method method);
/* One line each, "GET /api/v1/nodes operator,on-call", for `portald --print-routes`. "anyone": without
 * a login. */
void route_print(FILE *out);

/* Query rows that many routes share. */
#define QUERY_TENANT                                              \
	{                                                         \
		"tenant", QUERY_TEXT, 63, NULL, NULL, false, NULL \
	}
#define QUERY_PAGE_TEXT                                                 \
	{"limit", QUERY_LIMIT, 0, NULL, "100", false, NULL},            \
	{                                                               \
		"cursor", QUERY_CURSOR_TEXT, 0, NULL, NULL, false, NULL \
	}
#define QUERY_PAGE_ID                                                 \
	{"limit", QUERY_LIMIT, 0, NULL, "100", false, NULL},          \
	{                                                             \
		"cursor", QUERY_CURSOR_ID, 0, NULL, NULL, false, NULL \
	}
