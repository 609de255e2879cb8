/* Error numbers: 0 is success, -errno the system's reasons, below -1000 our own. One text table for
 * both. */
#pragma once

enum haas_error {
	E_MALFORMED = -1001,      /* bytes or text that break their format */
	E_NOT_FOUND = -1002,      /* the named thing does not exist */
	E_CONFLICT = -1003,       /* the state of things forbids it now */
	E_DENIED = -1004,         /* not allowed for this caller */
	E_UNAVAILABLE = -1005,    /* a part we need is away; try again */
	E_DIGEST = -1006,         /* content differs from its digest or signature */
	E_TIMEOUT = -1007,        /* a deadline passed */
	E_PROTOCOL = -1008,       /* the peer answered something its protocol does not allow */
	E_UNSUPPORTED = -1009,    /* the peer says that it cannot do this */
	E_AUTHENTICATION = -1010, /* wrong name or password */
	E_LIMIT = -1011,          /* larger than what we accept */
	E_STALE = -1012,          /* changed since the caller read it */
	E_INVALID = -1013,        /* well-formed, but not a value that makes sense here */
	E_UNREAD = -1015,         /* an edit that does not say which version it read */
	E_LAPSED = -1014, /* our claim on it ran out (fence.h): whoever claims it next goes on */
};

/* Text of an error number, ours or the system's; never NULL, static. */
const char *error_text(int rc);
/* One word for programs: "not_found", "conflict"; "busy"; "internal" for the system's
 * other reasons. Static. */
const char *error_word(int rc);
