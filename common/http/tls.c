#include "common/http/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/evp.h>
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

/* Only what keeps past sessions secret when a key is stolen; iPXE of Debian 13 speaks it. */
#define TLS_CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"
#define PIN_PREFIX  "sha256//"
#define PIN_DIGEST  32

struct tls {
	enum tls_side side;
	char *certificate, *key, *ca; /* paths; "" = none */
	bool system;
	char pin[TLS_PIN_SIZE];   /* "" = none */
	char shown[TLS_PIN_SIZE]; /* by the last server */
	SSL_CTX *context;
	time_t ca_begin;      /* of the youngest CA */
	struct timespec read; /* the certificate's file was written then */
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

/* --- a server by its key --- */

bool tls_pin_is_valid(const char *pin)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const size_t prefix = strlen(PIN_PREFIX);

	/* 32 bytes are 43 characters and one "=". */
	return strncmp(pin, PIN_PREFIX, prefix) == 0 && strspn(pin + prefix, letters) == 43 &&
	       strcmp(pin + prefix + 43, "=") == 0;
}

/* "" when there is no memory for it. */
static void tls_pin_of(const X509 *certificate, char ret[TLS_PIN_SIZE])
{
	unsigned char digest[PIN_DIGEST];
	unsigned char *key = NULL;
	int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key);

	ret[0] = '\0';
	if (size > 0 && EVP_Digest(key, (size_t)size, digest, NULL, EVP_sha256(), NULL) == 1) {
		memcpy(ret, PIN_PREFIX, strlen(PIN_PREFIX));
		(void)EVP_EncodeBlock((unsigned char *)ret + strlen(PIN_PREFIX), digest,
				      sizeof(digest));
	}
	OPENSSL_free(key);
}

/* Instead of OpenSSL's own look at the chain: 1 = trusted. */
static int tls_judge(X509_STORE_CTX *store, void *context)
{
	struct tls *tls = context;
	bool same;

	tls_pin_of(X509_STORE_CTX_get0_cert(store), tls->shown);
	if (!tls->pin[0])
		return X509_verify_cert(store);
	same = strcmp(tls->shown, tls->pin) == 0;
	X509_STORE_CTX_set_error(store, same ? X509_V_OK : X509_V_ERR_APPLICATION_VERIFICATION);
	return same;
}

static int tls_load_judge(struct tls *tls, SSL_CTX *context, struct problem *problem)
{
	if (!tls->pin[0] && SSL_CTX_set_default_verify_paths(context) != 1)
		return problem_set(problem, E_MALFORMED,
				   "the CAs of this machine cannot be used: %s", tls_reason());
	SSL_CTX_set_cert_verify_callback(context, tls_judge, tls);
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	return 0;
}

const char *tls_shown_pin(const struct tls *tls)
{
	return tls->shown;
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

static struct timespec tls_written(const struct tls *tls)
{
	struct stat status;

	return stat(tls->certificate, &status) == 0 ? status.st_mtim : (struct timespec){0};
}

int tls_reload(struct tls *tls, struct problem *problem)
{
	SSL_CTX *context = tls_context(tls->side);
	time_t before = tls->ca_begin;
	int rc = 0;

	if (!context)
		return problem_set(problem, -ENOMEM, "no memory for TLS");
	ERR_clear_error();
	tls->read = tls_written(tls);
	if (tls->certificate[0])
		rc = tls_load_own(tls, context, problem);
	if (rc == 0 && tls->ca[0])
		rc = tls_load_ca(tls, context, problem);
	if (rc == 0 && (tls->system || tls->pin[0]))
		rc = tls_load_judge(tls, context, problem);
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
	tls->system = files->system;
	if (files->pin && files->pin[0] && !tls_pin_is_valid(files->pin)) {
		tls_free(tls);
		return problem_set(problem, E_MALFORMED, "%s is no pin like " PIN_PREFIX "BASE64",
				   files->pin);
	}
	(void)text_copy(tls->pin, sizeof(tls->pin), files->pin ? files->pin : "");
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

/* A file that is gone is no newer one. */
bool tls_is_outdated(const struct tls *tls)
{
	struct timespec now = tls_written(tls);

	return now.tv_sec != 0 &&
	       (now.tv_sec != tls->read.tv_sec || now.tv_nsec != tls->read.tv_nsec);
}

int64_t tls_end_s(const struct tls *tls)
{
	const X509 *certificate = SSL_CTX_get0_certificate(tls->context);
	struct tm tm;

	return certificate && ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &tm) == 1
		       ? (int64_t)timegm(&tm)
		       : 0;
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
static int tls_expect(const struct tls *tls, SSL *session, const char *host)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(session);
	time_t now = time(NULL);
	struct in_addr literal;
	char name[NI_MAXHOST]; /* OpenSSL's macro takes it as if it would change it */

	if (now < tls->ca_begin)
		X509_VERIFY_PARAM_set_time(param, tls->ca_begin);
	if (inet_pton(AF_INET, host, &literal) == 1)
		return X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1 ? 0 : E_MALFORMED;
	X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	if (!text_copy(name, sizeof(name), host))
		return E_MALFORMED;
	return X509_VERIFY_PARAM_set1_host(param, host, 0) == 1 &&
			       SSL_set_tlsext_host_name(session, name) == 1
		       ? 0
		       : E_MALFORMED;
}

int tls_session(const struct tls *tls, const char *host, struct ssl_st **ret)
{
	SSL *session = SSL_new(tls->context);
	int rc = session ? 0 : -ENOMEM;

	ERR_clear_error();
	if (rc == 0 && host)
		rc = tls_expect(tls, session, host);
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
