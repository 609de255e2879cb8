/* Keys and certificates of the site's CA. RSA: iPXE and the firmware before it know no other
 * signatures for sure. */
#include <errno.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/http/tls.h"

#include "portal/cli/site_ca.h"

#define SITE_CA_SIGN_DAY_S       86400
#define SITE_CA_SIGN_SERIAL_BITS 127

const char *const site_ca_roles[SITE_CA_ROLES + 1] = {
	[SITE_CA_CONTROLLER] = TLS_ROLE_CONTROLLER,
	[SITE_CA_RELAY] = TLS_ROLE_RELAY,
	[SITE_CA_PORTAL] = TLS_ROLE_PORTAL,
};

int site_ca_key(int bits, EVP_PKEY **ret)
{
	*ret = EVP_RSA_gen((unsigned)bits);
	return *ret ? 0 : E_UNAVAILABLE;
}

static bool site_ca_sign_name(X509_NAME *name, const char *part, const char *value)
{
	return !value || X509_NAME_add_entry_by_txt(name, part, MBSTRING_UTF8,
						    (const unsigned char *)value, -1, -1, 0) == 1;
}

static bool site_ca_sign_subject(X509 *certificate, const struct site_ca_subject *subject)
{
	X509_NAME *name = X509_get_subject_name(certificate);

	return site_ca_sign_name(name, "O", subject->site) &&
	       site_ca_sign_name(name, "OU", subject->role) &&
	       site_ca_sign_name(name, "CN", subject->name);
}

static bool site_ca_sign_serial(X509 *certificate)
{
	BIGNUM *number = BN_new();
	bool made = number &&
		    BN_rand(number, SITE_CA_SIGN_SERIAL_BITS, BN_RAND_TOP_ANY,
			    BN_RAND_BOTTOM_ANY) == 1 &&
		    BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));

	BN_free(number);
	return made;
}

/* It begins when its CA does, so that the agent can judge it on a node whose clock stands before now
 * (common/http/tls.c), and ends no later. */
static bool site_ca_sign_times(X509 *certificate, const X509 *issuer, int days)
{
	bool made = X509_gmtime_adj(X509_getm_notAfter(certificate),
				    (long)days * SITE_CA_SIGN_DAY_S) != NULL;

	if (!issuer)
		return made && X509_gmtime_adj(X509_getm_notBefore(certificate),
					       -SITE_CA_SIGN_DAY_S) != NULL;
	if (made &&
	    ASN1_TIME_compare(X509_get0_notAfter(certificate), X509_get0_notAfter(issuer)) > 0)
		made = X509_set1_notAfter(certificate, X509_get0_notAfter(issuer)) == 1;
	return made && X509_set1_notBefore(certificate, X509_get0_notBefore(issuer)) == 1;
}

static bool site_ca_sign_extension(X509 *certificate, X509V3_CTX *context, int nid,
				   const char *value)
{
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, context, nid, value);
	bool added = extension && X509_add_ext(certificate, extension, -1) == 1;

	X509_EXTENSION_free(extension);
	return added;
}

static bool site_ca_sign_names(X509 *certificate, X509V3_CTX *context,
			       const struct site_ca_subject *subject)
{
	CLEANUP(text_done) struct text names = {0};

	const struct {
		const char *kind;
		const char *const *words;
	} rows[] = {{"IP", subject->addresses}, {"IP", subject->shared}, {"DNS", subject->names}};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		for (const char *const *each = rows[i].words; each && *each; each++)
			text_addf(&names, "%s%s:%s", names.size ? "," : "", rows[i].kind, *each);
	}
	return !names.failed &&
	       site_ca_sign_extension(certificate, context, NID_subject_alt_name, text_get(&names));
}

static bool site_ca_sign_extensions(X509 *certificate, const X509 *issuer,
				    const struct site_ca_subject *subject)
{
	X509V3_CTX context;

	X509V3_set_ctx_nodb(&context);
	// NOLINTNEXTLINE(performance-no-int-to-ptr): the call only reads it, and does not say so
	X509V3_set_ctx(&context, issuer ? (X509 *)(uintptr_t)issuer : certificate, certificate,
		       NULL, NULL, 0);
	if (!site_ca_sign_extension(certificate, &context, NID_subject_key_identifier, "hash"))
		return false;
	if (!issuer)
		return site_ca_sign_extension(certificate, &context, NID_basic_constraints,
					      "critical,CA:TRUE,pathlen:0") &&
		       site_ca_sign_extension(certificate, &context, NID_key_usage,
					      "critical,keyCertSign,cRLSign");
	return site_ca_sign_extension(certificate, &context, NID_authority_key_identifier,
				      "keyid:always") &&
	       site_ca_sign_extension(certificate, &context, NID_basic_constraints,
				      "critical,CA:FALSE") &&
	       site_ca_sign_extension(certificate, &context, NID_key_usage,
				      "critical,digitalSignature,keyEncipherment") &&
	       site_ca_sign_extension(certificate, &context, NID_ext_key_usage,
				      strcmp(subject->role, TLS_ROLE_PORTAL) == 0
					      ? "serverAuth"
					      : "serverAuth,clientAuth") &&
	       site_ca_sign_names(certificate, &context, subject);
}

int site_ca_sign(const struct site_ca_subject *subject, EVP_PKEY *key, const X509 *issuer,
		 EVP_PKEY *issuer_key, int days, X509 **ret)
{
	X509 *certificate = X509_new();
	bool made =
		certificate && X509_set_version(certificate, X509_VERSION_3) == 1 &&
		X509_set_pubkey(certificate, key) == 1 && site_ca_sign_serial(certificate) &&
		site_ca_sign_subject(certificate, subject) &&
		X509_set_issuer_name(certificate,
				     X509_get_subject_name(issuer ? issuer : certificate)) == 1 &&
		site_ca_sign_times(certificate, issuer, days) &&
		site_ca_sign_extensions(certificate, issuer, subject) &&
		X509_sign(certificate, issuer ? issuer_key : key, EVP_sha256()) > 0;

	if (!made) {
		X509_free(certificate);
		return E_INVALID;
	}
	*ret = certificate;
	return 0;
}
