#include "common/http/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"

LEAKS_LEFT_TO_SANITIZER

/* Only what keeps past sessions secret when a key is stolen; iPXE 1.21 and later speaks it. */
#define TLS_CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"

struct tls {
	enum tls_side side;
	char *certificate, *key, *ca; /* paths; "" = none */
	SSL_CTX *context;
	time_t ca_begin; /* of the youngest CA */
};

static const char *tls_reason(void)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	return reason ? reason : "not a PEM file";
}

static int tls_unusable(const char *what, const char *path, int rc, struct problem *problem)
{
	(void)problem_set(problem, rc, "the %s cannot be used", what);
	problem_detail(problem, "%s: %s", path,
		       rc == E_MALFORMED || rc == E_CONFLICT ? tls_reason() : error_text(rc));
	problem_hint(problem, "haasctl ca show %s; haasctl ca issue makes a new one", path);
	ERR_clear_error();
	return rc;
}

/* -errno when the file cannot be read, so that "permission denied" is not called "no PEM". */
static int tls_readable(const char *path)
{
	return access(path, R_OK) == 0 ? 0 : -errno;
}

/* --- certificates of CAs --- */

static time_t tls_begin_of(const X509 *certificate)
{
	struct tm tm;

	return ASN1_TIME_to_tm(X509_get0_notBefore(certificate), &tm) == 1 ? timegm(&tm) : 0;
}

static int tls_add_cas(struct tls *tls, SSL_CTX *context, FILE *file)
{
	X509_STORE *store = SSL_CTX_get_cert_store(context);
	unsigned count = 0;
	X509 *certificate;

	tls->ca_begin = 0;
	while ((certificate = PEM_read_X509(file, NULL, NULL, NULL))) {
		time_t begin = tls_begin_of(certificate);
		bool added = X509_STORE_add_cert(store, certificate) == 1;

		if (added && tls->side == TLS_SERVER)
			added = SSL_CTX_add_client_CA(context, certificate) == 1;
		X509_free(certificate);
		if (!added)
			return E_MALFORMED;
		if (begin > tls->ca_begin)
			tls->ca_begin = begin;
		count++;
	}
	return count > 0 ? 0 : E_MALFORMED;
}

static int tls_load_ca(struct tls *tls, SSL_CTX *context, struct problem *problem)
{
	FILE *file = fopen(tls->ca, "re");
	int rc = file ? tls_add_cas(tls, context, file) : -errno;

	if (file)
		(void)fclose(file);
	if (rc)
		return tls_unusable("certificate of the site's CA", tls->ca, rc, problem);
	ERR_clear_error(); /* the end of the file is an error to OpenSSL */
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	return 0;
}

/* --- our own --- */

static int tls_check_mode(const char *path, struct problem *problem)
{
	struct stat status;

	if (stat(path, &status) != 0)
		return tls_unusable("TLS key", path, -errno, problem);
	if (status.st_mode & S_IRWXO) {
		(void)problem_set(problem, E_DENIED, "anybody may use the TLS key %s", path);
		problem_detail(problem, "its mode is %04o", (unsigned)status.st_mode & 07777U);
		problem_hint(problem, "chmod 0600 %s; then haasctl ca issue --new-key", path);
		return E_DENIED;
	}
	return 0;
}

static int tls_load_own(const struct tls *tls, SSL_CTX *context, struct problem *problem)
{
	int rc = tls_readable(tls->certificate);

	if (rc == 0 && SSL_CTX_use_certificate_chain_file(context, tls->certificate) != 1)
		rc = E_MALFORMED;
	if (rc)
		return tls_unusable("TLS certificate", tls->certificate, rc, problem);
	rc = tls_check_mode(tls->key, problem);
	if (rc)
		return rc;
	rc = tls_readable(tls->key);
	if (rc == 0 && SSL_CTX_use_PrivateKey_file(context, tls->key, SSL_FILETYPE_PEM) != 1)
		rc = E_MALFORMED;
	if (rc == E_MALFORMED &&
	    ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH)
		rc = E_CONFLICT;
	return rc ? tls_unusable("TLS key", tls->key, rc, problem) : 0;
}

static SSL_CTX *tls_context(enum tls_side side)
{
	SSL_CTX *context =
		SSL_CTX_new(side == TLS_SERVER ? TLS_server_method() : TLS_client_method());

	if (!context)
		return NULL;
	(void)SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
						   SSL_OP_CIPHER_SERVER_PREFERENCE |
						   SSL_OP_NO_TICKET);
	/* Thousands of agents wait for a task: an idle session keeps no buffers.
	 * Whoever shall believe us has the CA; it is not sent.
	 * No SSL_MODE_ENABLE_PARTIAL_WRITE: libevent takes a part of a buffer for all of it, and
	 * goes on with the next one. */
	(void)SSL_CTX_set_mode(context, SSL_MODE_NO_AUTO_CHAIN | SSL_MODE_RELEASE_BUFFERS |
						SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	/* A resumed session would not be verified again, so there are none. */
	(void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
	    SSL_CTX_set_cipher_list(context, TLS_CIPHERS) == 1 &&
	    SSL_CTX_set_num_tickets(context, 0) == 1)
		return context;
	SSL_CTX_free(context);
	return NULL;
}

int tls_reload(struct tls *tls, struct problem *problem)
{
	SSL_CTX *context = tls_context(tls->side);
	time_t before = tls->ca_begin;
	int rc = 0;

	if (!context)
		return problem_set(problem, -ENOMEM, "no memory for TLS");
	ERR_clear_error();
	if (tls->certificate[0])
		rc = tls_load_own(tls, context, problem);
	if (rc == 0 && tls->ca[0])
		rc = tls_load_ca(tls, context, problem);
	if (rc) {
		SSL_CTX_free(context);
		tls->ca_begin = before;
		return rc;
	}
	SSL_CTX_free(tls->context); /* sessions under way hold it */
	tls->context = context;
	return 0;
}

int tls_new(enum tls_side side, const struct tls_files *files, struct tls **ret,
	    struct problem *problem)
{
	struct tls *tls = calloc(1, sizeof(*tls));
	int rc;

	if (!tls)
		return problem_set(problem, -ENOMEM, "no memory for TLS");
	tls->side = side;
	tls->certificate = strdup(files->certificate ? files->certificate : "");
	tls->key = strdup(files->key ? files->key : "");
	tls->ca = strdup(files->ca ? files->ca : "");
	if (!tls->certificate || !tls->key || !tls->ca)
		rc = problem_set(problem, -ENOMEM, "no memory for TLS");
	else
		rc = tls_reload(tls, problem);
	if (rc) {
		tls_free(tls);
		return rc;
	}
	*ret = tls;
	return 0;
}

void tls_free(struct tls *tls)
{
	if (!tls)
		return;
	SSL_CTX_free(tls->context);
	free(tls->certificate);
	free(tls->key);
	free(tls->ca);
	free(tls);
}

/* --- sessions --- */

/* The clock of a new server stands years back. Certificates of `haasctl ca issue` begin when their CA
 * does, so an earlier time is no time to judge them by. */
static int tls_expect(const struct tls *tls, SSL *session, const char *address)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(session);
	time_t now = time(NULL);

	if (now < tls->ca_begin)
		X509_VERIFY_PARAM_set_time(param, tls->ca_begin);
	return X509_VERIFY_PARAM_set1_ip_asc(param, address) == 1 ? 0 : E_MALFORMED;
}

int tls_session(const struct tls *tls, const char *address, struct ssl_st **ret)
{
	SSL *session = SSL_new(tls->context);
	int rc = session ? 0 : -ENOMEM;

	ERR_clear_error();
	if (rc == 0 && address)
		rc = tls_expect(tls, session, address);
	if (rc) {
		SSL_free(session);
		return rc;
	}
	if (tls->side == TLS_SERVER)
		SSL_set_accept_state(session);
	else
		SSL_set_connect_state(session);
	*ret = session;
	return 0;
}

static void tls_subject_part(const X509 *certificate, int nid, char *ret, int room)
{
	ret[0] = '\0';
	if (X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), nid, ret, room) < 0)
		ret[0] = '\0';
}

void tls_peer_read(const struct ssl_st *session, struct tls_peer *ret)
{
	X509 *certificate = SSL_get0_peer_certificate(session);

	*ret = (struct tls_peer){0};
	if (!certificate || SSL_get_verify_result(session) != X509_V_OK)
		return;
	tls_subject_part(certificate, NID_organizationalUnitName, ret->role, TLS_ROLE_SIZE);
	tls_subject_part(certificate, NID_commonName, ret->name, TLS_NAME_SIZE);
}

void tls_why(const struct ssl_st *session, char *ret, size_t room)
{
	long verdict = SSL_get_verify_result(session);
	unsigned long error = ERR_peek_last_error();
	const char *reason = ERR_reason_error_string(error);

	if (verdict != X509_V_OK)
		reason = X509_verify_cert_error_string(verdict);
	if (!reason || !text_copy(ret, room, reason))
		ret[0] = '\0';
	ERR_clear_error();
}
