/* Whom a connection to an ovsdb-server trusts. The words of switch_endpoint.ovsdb_peer:
 *   SHA256:HEX  the one certificate that the switch may show (colons between octets are fine, as
 *               `openssl x509 -fingerprint -sha256` prints them)
 *   ca          one that is signed by our CA file and made out to the switch: its address or name
 *               as subjectAltName, or the common name "NAME" or "NAME id:..." (ovs-pki)
 *   plain       no TLS at all: anybody in between can change the switch */
#pragma once

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/switch/switch_driver.h"

enum ovsdb_trust { OVSDB_TRUST_NONE, OVSDB_TRUST_PLAIN, OVSDB_TRUST_PIN, OVSDB_TRUST_CA };

struct ovsdb_tls {
	enum ovsdb_trust trust;
	uint8_t pin[32];                        /* SHA-256 of the certificate, DER */
	const struct switch_endpoint *endpoint; /* borrowed */
	const struct ovsdb_files *files;        /* borrowed */
	char shown[72]; /* fingerprint of what the switch showed last; "" = nothing */
	char why[96];   /* it was not accepted; "" = it was */
};

/* -EINVAL with a problem. */
MUST_USE int ovsdb_tls_init(struct ovsdb_tls *tls, const struct switch_endpoint *endpoint,
			    const struct ovsdb_files *files, struct problem *problem);
/* May nobody but us read the key at `path`? E_DENIED with a problem. A missing file is no error. */
MUST_USE int ovsdb_key_check(const char *path, struct problem *problem);
/* A new session with our certificate, which is read anew each time; it keeps `tls` in mind. Not
 * for OVSDB_TRUST_PLAIN. -EINVAL or -ENOMEM, with a problem. */
MUST_USE int ovsdb_tls_session(struct ovsdb_tls *tls, SSL **ret, struct problem *problem);
