#include "peregrine/switch/ovsdb/ovsdb_tls.h"

#include <ctype.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/io/key_file.h"

/* --- what is trusted --- */

static bool read_pin(const char *text, uint8_t pin[32])
{
	char hex[65];
	size_t length = 0;

	for (; *text && length < sizeof(hex); text++) {
		if (*text != ':')
			hex[length++] = (char)tolower((unsigned char)*text);
	}
	if (length != 64 || *text)
		return false;
	hex[length] = '\0';
	return hex_decode(hex, pin, 32) == 0;
}

static int ovsdb_tls_need(const struct switch_endpoint *endpoint, const char *what,
			  struct problem *problem)
{
	problem_set(problem, -EINVAL, "switch %s: %s", endpoint->name, what);
	problem_hint(problem,
		     "haasctl switch add %s --ovsdb-peer SHA256:..., ca or plain; "
		     "ovsdb.crt and ovsdb.key in key_dir",
		     endpoint->name);
	return -EINVAL;
}

int ovsdb_tls_init(struct ovsdb_tls *tls, const struct switch_endpoint *endpoint,
		   const struct ovsdb_files *files, struct problem *problem)
{
	const char *peer = endpoint->ovsdb_peer;

	*tls = (struct ovsdb_tls){.endpoint = endpoint, .files = files};
	if (strcmp(peer, "plain") == 0)
		tls->trust = OVSDB_TRUST_PLAIN;
	else if (strcmp(peer, "ca") == 0)
		tls->trust = OVSDB_TRUST_CA;
	else if (strncasecmp(peer, "SHA256:", 7) == 0 && read_pin(peer + 7, tls->pin))
		tls->trust = OVSDB_TRUST_PIN;
	else
		return ovsdb_tls_need(
			endpoint,
			peer[0] ? "its ovsdb_peer is not a fingerprint, \"ca\" or \"plain\""
				: "the certificate of its ovsdb-server is not configured",
			problem);
	if (tls->trust == OVSDB_TRUST_PLAIN)
		return 0;
	if (!files || !files->certificate[0] || !files->key[0])
		return ovsdb_tls_need(
			endpoint, "we have no certificate to show to its ovsdb-server", problem);
	if (tls->trust == OVSDB_TRUST_CA && !files->ca[0])
		return ovsdb_tls_need(endpoint, "there is no CA file to check its certificate with",
				      problem);
	return 0;
}

/* --- the switch's certificate --- */

static void take_shown(struct ovsdb_tls *tls, X509 *certificate, uint8_t digest[32])
{
	unsigned int size = 0;
	uint8_t room[EVP_MAX_MD_SIZE] = {0};

	(void)X509_digest(certificate, EVP_sha256(), room, &size);
	memcpy(digest, room, 32);
	memcpy(tls->shown, "SHA256:", 7);
	hex_encode(digest, 32, tls->shown + 7);
}

static bool has_common_name(X509 *certificate, const char *name)
{
	char common[128] = "";
	size_t length = strlen(name);

	(void)X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, common,
					sizeof(common));
	return length > 0 && strncmp(common, name, length) == 0 &&
	       (common[length] == '\0' || strncmp(common + length, " id:", 4) == 0);
}

/* Any certificate of the CA would let one switch stand in for another. */
static bool is_made_out_to(X509 *certificate, const struct switch_endpoint *endpoint)
{
	return X509_check_ip_asc(certificate, endpoint->address, 0) == 1 ||
	       X509_check_host(certificate, endpoint->name, 0, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT,
			       NULL) == 1 ||
	       has_common_name(certificate, endpoint->name) ||
	       has_common_name(certificate, endpoint->address);
}

static int on_certificate(X509_STORE_CTX *store, void *context)
{
	struct ovsdb_tls *tls = context;
	X509 *certificate = X509_STORE_CTX_get0_cert(store);
	uint8_t digest[32] = {0};

	tls->why[0] = '\0';
	if (!certificate) {
		(void)text_copy(tls->why, sizeof(tls->why), "it shows none");
		return 0;
	}
	take_shown(tls, certificate, digest);
	if (tls->trust == OVSDB_TRUST_PIN) {
		if (sodium_memcmp(digest, tls->pin, sizeof(digest)) == 0)
			return 1;
		(void)text_copy(tls->why, sizeof(tls->why), "it is not the configured certificate");
	} else if (X509_verify_cert(store) != 1) {
		(void)text_copy(tls->why, sizeof(tls->why),
				X509_verify_cert_error_string(X509_STORE_CTX_get_error(store)));
	} else if (!is_made_out_to(certificate, tls->endpoint)) {
		(void)text_copy(tls->why, sizeof(tls->why),
				"it names neither the switch's name nor its address");
	} else {
		return 1;
	}
	X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_UNTRUSTED);
	return 0;
}

/* --- sessions --- */

static int ovsdb_tls_cannot(const struct ovsdb_tls *tls, const char *path, struct problem *problem)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	problem_set(problem, -EINVAL, "switch %s: %s cannot be used", tls->endpoint->name, path);
	problem_detail(problem, "%s", reason ? reason : "not a PEM file that we may read");
	problem_hint(problem,
		     "ovsdb.crt, ovsdb.key and ovsdb-ca.crt in key_dir of peregrined.conf");
	ERR_clear_error();
	return -EINVAL;
}

int ovsdb_key_check(const char *path, struct problem *problem)
{
	int rc = key_file_private(
		path, "key for OVSDB",
		"chown it to peregrined's user and chmod 600 it; if others may have "
		"read it, make a new one",
		problem);

	return rc == E_DENIED ? rc : 0; /* what else is wrong with it OpenSSL says */
}

static int ovsdb_tls_load(const struct ovsdb_tls *tls, SSL_CTX *context, struct problem *problem)
{
	const struct ovsdb_files *files = tls->files;

	int rc = ovsdb_key_check(files->key, problem);

	if (rc)
		return rc;
	ERR_clear_error();
	if (SSL_CTX_use_certificate_chain_file(context, files->certificate) != 1)
		return ovsdb_tls_cannot(tls, files->certificate, problem);
	if (SSL_CTX_use_PrivateKey_file(context, files->key, SSL_FILETYPE_PEM) != 1 ||
	    SSL_CTX_check_private_key(context) != 1)
		return ovsdb_tls_cannot(tls, files->key, problem);
	if (tls->trust == OVSDB_TRUST_CA &&
	    SSL_CTX_load_verify_locations(context, files->ca, NULL) != 1)
		return ovsdb_tls_cannot(tls, files->ca, problem);
	return 0;
}

int ovsdb_tls_session(struct ovsdb_tls *tls, SSL **ret, struct problem *problem)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *session = NULL;
	int rc;

	tls->shown[0] = tls->why[0] = '\0';
	if (!context)
		return problem_set(problem, -ENOMEM, "no memory for TLS");
	(void)SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_cert_verify_callback(context, on_certificate, tls);
	rc = ovsdb_tls_load(tls, context, problem);
	if (rc == 0) {
		session = SSL_new(context);
		if (!session)
			rc = problem_set(problem, -ENOMEM, "no memory for TLS");
	}
	SSL_CTX_free(context); /* the session holds it */
	*ret = session;
	return rc;
}
