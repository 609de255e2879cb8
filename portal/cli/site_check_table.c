/* The checks in their order, and what deploy/ installs. */
#include <assert.h>

#include "portal/cli/site_check.h"

/* clang-format off */
const struct site_check_row site_check_rows[] = {
	{"accounts",      site_check_accounts,      "systemd-sysusers"},
	{"folders",       site_check_folders,       "systemd-tmpfiles --create"},
	{"configuration", site_check_configuration, "correct /etc/haas/{}.conf; {} --print-config shows each setting"},
	{"keys",          site_check_keys,          "only the daemon that owns {} may read it"},
	{"image-keys",    site_check_image_keys,    "haasctl image keygen site.key; install -m 0644 site.key.pub {}"},
	{"boot-files",    site_check_boot_files,    "/usr/lib/haas/bampi/agent/ramdisk/build --help"},
	{"task-key",      site_check_task_key,      "haasctl site init makes the ramdisk anew; or ramdisk/build --task-key"},
	{"postgresql",    site_check_postgresql,    "apt install postgresql-15"},
	{"database",      site_check_database,      "systemctl status haas-db; journalctl -u haas-db -n 30"},
	{"schema",        site_check_schema,        "haasctl db migrate"},
	{"images",        site_check_images,        "bampi-bootd copies it from a controller that has it; else import it again"},
	{"signed-image",  site_check_signed_image,  "/usr/lib/haas/bampi/agent/ramdisk/build --secure-boot KEYS; docs/secure-boot.md"},
	{"boot-address",  site_check_boot_address,  "the network between the controllers; systemctl status keepalived on both"},
	{"seals",         site_check_seals,         "copy {} from the controller where the daemon works, and restart the daemon"},
	{"backup",        site_check_backup,        "haasctl db backup FILE (a key for it: haasctl db backup-key)"},
	{"provisioning",  site_check_provisioning,  "protected ports for nodes; docs/switches.md, The provisioning network"},
	{"peers",         site_check_peers,         ""},
	{"secrets",       site_check_secrets,       "haasctl rotation list, haasctl rotation keys: what waits, and why"},
	{"units",         site_check_units,         "systemctl status {}; journalctl -u {} -n 30"},
	{"sockets",       site_check_sockets,       "systemctl restart {}"},
	{"ports",         site_check_ports,         "stop and disable that program: its answers reach our nodes"},
	{"certificates",  site_check_certificates,  "put a new certificate into {} and reload its daemon"},
	{"https",         site_check_boot_https,    "haasctl ca issue makes a new one; systemctl reload its daemon"},
	{"clock",         site_check_clock,         "apt install chrony; chronyc tracking"},
	{"memory",        site_check_memory,        "give this machine more memory, or move the database to another"},
	{"disks",         site_check_disks,         "make room on the disk of {}, or enlarge it"},
	{"dhcp",          site_check_dhcp,          "switch that server off, or bar its port; haasctl nic locate MAC names the port"},
	{"isolation",     site_check_isolation,     "haasctl alert list"},
};

/* deploy/PACKAGE/UNIT.service.in: User=, StateDirectory=, --check-config (tests/unit/site_check_test.c compares). */
const struct site_program site_programs[] = {
	{"haas-db",            SITE_CONTROLLER, "postgres",        "pg",                 0755, false, false, false},
	{"haas-schema",        SITE_CONTROLLER, "postgres",        NULL,                 0,    false, false, false},
	{"haas-backup",        SITE_CONTROLLER, "postgres",        "backups",            0700, false, false, false},
	{"portald",            SITE_CONTROLLER, "haas-portald",    "portald",            0700, true,  true,  true},
	{"portal-outward",     SITE_CONTROLLER, "haas-outward",    "portal-outward",     0700, true,  true,  true},
	{"bampi-bootd",        SITE_CONTROLLER, "haas-bootd",      "bampi-bootd",        0700, true,  false, false},
	{"bampid",             SITE_CONTROLLER, "haas-bampid",     "bampid",             0700, true,  true,  true},
	{"peregrined",         SITE_CONTROLLER, "haas-peregrined", "peregrined",         0700, true,  true,  true},
	{"peregrine-flowd",    SITE_CONTROLLER, "haas-flowd",      "peregrine-flowd",    0700, true,  false, true},
	{"peregrine-captured", SITE_CONTROLLER, "haas-captured",   "peregrine-captured", 0700, true,  false, true},
	{"haas-tgtd",          SITE_STORAGE,    "haas-tgtd",       NULL,                 0,    false, false, false},
	{"bampi-stored",       SITE_STORAGE,    "haas-stored",     "bampi-stored",       0700, true,  true,  false},
	{"bampi-relay",        SITE_RELAY,      "haas-relay",      NULL,                 0,    true,  false, false},
};
/* clang-format on */
const size_t site_check_row_count = COUNT_OF(site_check_rows);
static_assert(COUNT_OF(site_programs) <= 32, "a bit of site_check.off each");
const size_t site_program_count = COUNT_OF(site_programs);
