/* The network of an installed OS in the words of what configures it there: interfaces(5) of
 * ifupdown and busybox, systemd.netdev(5) and systemd.network(5), netplan(5). Pure. */
#pragma once

#include "bampi/agent/os_files.h"

enum os_format { OS_IFUPDOWN, OS_NETWORKD, OS_NETPLAN };

/* Bonds are made through sysfs and VLANs by ip(8): needs neither ifenslave nor vlan, only the
 * kernel's modules. */
void os_interfaces_text(const struct os_settings *settings, struct text *ret);
/* What there is to be made: of a bond or VLAN. */
void os_netdev_text(const struct os_settings *settings, size_t index, struct text *ret);
/* How it is set. */
void os_network_text(const struct os_settings *settings, size_t index, struct text *ret);
void os_netplan_text(const struct os_settings *settings, struct text *ret);
