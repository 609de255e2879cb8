#include "bampi/control/attest/attest_signature.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <string.h>

/* The point in its uncompressed form: 4, x, y. */
static EVP_PKEY *attest_signature_key(const struct tpm_key *key)
{
	uint8_t point[1 + sizeof(*key)];
	char group[] = "P-256";
	OSSL_PARAM params[] = {
		OSSL_PARAM_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof(group) - 1),
		OSSL_PARAM_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point)),
		OSSL_PARAM_END,
	};
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	EVP_PKEY *made = NULL;

	point[0] = 4;
	memcpy(point + 1, key->x, sizeof(key->x));
	memcpy(point + 1 + sizeof(key->x), key->y, sizeof(key->y));
	if (!context || EVP_PKEY_fromdata_init(context) != 1 ||
	    EVP_PKEY_fromdata(context, &made, EVP_PKEY_PUBLIC_KEY, params) != 1)
		made = NULL;
	EVP_PKEY_CTX_free(context);
	return made;
}

/* r and s as OpenSSL wants them: DER. NULL: no memory. The caller frees with OPENSSL_free. */
static unsigned char *attest_signature_der(const struct tpm_signature *signature, int *ret_size)
{
	ECDSA_SIG *pair = ECDSA_SIG_new();
	BIGNUM *r = BN_bin2bn(signature->r, sizeof(signature->r), NULL);
	BIGNUM *s = BN_bin2bn(signature->s, sizeof(signature->s), NULL);
	unsigned char *der = NULL;

	if (pair && r && s && ECDSA_SIG_set0(pair, r, s) == 1) {
		r = NULL;
		s = NULL;
		*ret_size = i2d_ECDSA_SIG(pair, &der);
	}
	BN_free(r);
	BN_free(s);
	ECDSA_SIG_free(pair);
	return der;
}

bool attest_signature_verify(const struct tpm_key *key, const void *bytes, size_t size,
			     const struct tpm_signature *signature)
{
	EVP_PKEY *public_key = attest_signature_key(key);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	int der_size = 0;
	unsigned char *der = attest_signature_der(signature, &der_size);
	bool valid = public_key && context && der && der_size > 0 &&
		     EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, public_key) == 1 &&
		     EVP_DigestVerify(context, der, (size_t)der_size, bytes, size) == 1;

	OPENSSL_free(der);
	EVP_MD_CTX_free(context);
	EVP_PKEY_free(public_key);
	return valid;
}
