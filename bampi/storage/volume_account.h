/* The accounts of a volume: who may log in as whom, knowing what
 * (docs/decision/way-to-a-volume.md). The tenant's account has the volume's secret, told once
 * (haasctl volume secret). Each node has one, whose secret is derived from the volume's by the
 * account's name. So it need not be kept anywhere, tells nothing about the others, and ends with
 * the account. */
#pragma once

#include "bampi/storage/driver/storage_driver.h"

/* 96 bits, as RFC 7143 (12.1.3) wants them; some initiators take 16 characters at most. */
#define VOLUME_SECRET_LENGTH 16

/* "v7-2" is the tenant's (`node` 0), "v7-2-n12" that of node 12; as node_volume_facts has it
 * (db/schema/041). `number` is the volume's secret_number: a new secret makes all of them new. */
void volume_account_name(int64_t volume, int64_t number, int64_t node, char ret[STORAGE_USER_SIZE]);

/* BLAKE2b of the name under the volume's secret, 16 characters of base64url. E_INVALID: the
 * volume's secret is shorter than 16 or longer than 64 characters. */
MUST_USE int volume_account_secret(const char *secret, const char *name,
				   char ret[STORAGE_SECRET_SIZE]);
