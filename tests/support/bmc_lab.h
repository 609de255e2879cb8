/* For tests: one ipmi_sim of tests/support/bmc_sim, and ipmitool as the witness that knows nothing
 * of the code under test. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/io/loop.h"

#include "bampi/bmc/bmc_driver.h"
#include "tests/support/cmocka.h"

enum { LAB_BMC = 1 };

struct bmc_lab {
	char dir[64];
	char address[32];
	unsigned port;
	struct loop *loop;
};

/* First line of what a shell command prints. */
static inline void lab_shell(const char *command, char *ret, size_t room)
{
	FILE *pipe =
		popen(command, "r"); /* NOLINT(cert-env33-c): a test of ours in a folder of ours */

	assert_non_null(pipe);
	ret[0] = '\0';
	while (fgets(ret, (int)room, pipe) && ret[0] == '\n')
		continue;
	ret[strcspn(ret, "\n")] = '\0';
	while (fgetc(pipe) != EOF)
		continue;
	(void)pclose(pipe);
}

static inline void lab_ipmitool(const struct bmc_lab *lab, const char *words, char ret[256])
{
	char command[512];

	assert_true(
		text_format(command, sizeof(command),
			    "ipmitool -I lanplus -C 3 -N 5 -H %s -p %u -U admin -P secret %s 2>&1",
			    lab->address, lab->port, words));
	lab_shell(command, ret, 256);
}

static inline void assert_ipmitool(const struct bmc_lab *lab, const char *words, const char *want)
{
	char got[256];

	lab_ipmitool(lab, words, got);
	if (!strstr(got, want))
		fail_msg("ipmitool %s: '%s' does not hold '%s'", words, got, want);
}

/* How many lines of chassis.log hold `word`. */
static inline int lab_chassis_count(const struct bmc_lab *lab, const char *word)
{
	char command[256];
	char got[64];

	assert_true(text_format(command, sizeof(command), "grep -c -- '%s' %s/chassis.log", word,
				lab->dir));
	lab_shell(command, got, sizeof(got));
	return (int)strtol(got, NULL, 10);
}

static inline void lab_write(const struct bmc_lab *lab, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	assert_true(text_format(path, sizeof(path), "%s/%s", lab->dir, name));
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static inline void lab_remove(const struct bmc_lab *lab, const char *name)
{
	char path[128];

	assert_true(text_format(path, sizeof(path), "%s/%s", lab->dir, name));
	(void)unlink(path);
}

static inline struct bmc_endpoint lab_endpoint(const struct bmc_lab *lab)
{
	struct bmc_endpoint endpoint = {
		.id = LAB_BMC,
		.node = "n1",
		.driver = "ipmi",
		.port = (uint16_t)lab->port,
		.username = "admin",
		.password = "secret",
		.cipher_suite = 3,
		.workarounds = BMC_WORKAROUND_OPENSESSPRIV,
	};

	(void)text_copy(endpoint.address, sizeof(endpoint.address), lab->address);
	return endpoint;
}

static inline void lab_start(struct bmc_lab *lab)
{
	char command[256];
	char got[64];

	(void)text_copy(lab->dir, sizeof(lab->dir), "/tmp/bmc_lab.XXXXXX");
	assert_non_null(mkdtemp(lab->dir));
	assert_true(text_format(command, sizeof(command), "%s/support/bmc_sim start %s",
				TEST_SOURCE_DIR, lab->dir));
	lab_shell(command, got, sizeof(got));
	assert_int_equal(sscanf(got, "%31s %u", lab->address, &lab->port),
			 2); /* NOLINT(cert-err34-c) */
	assert_int_equal(loop_new(&lab->loop), 0);
}

static inline void lab_stop(struct bmc_lab *lab)
{
	char command[256];
	char got[64];

	loop_free(lab->loop);
	assert_true(text_format(command, sizeof(command), "%s/support/bmc_sim stop %s; rm -rf %s",
				TEST_SOURCE_DIR, lab->dir, lab->dir));
	lab_shell(command, got, sizeof(got));
}
