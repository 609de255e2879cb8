/* The driver for virtual nodes: domains of libvirt, found by the endpoint's connection URI
 * ("qemu+tls://h1/system", "#name" after it when the domain is not called as the node). Blocks, in
 * the worker. libvirt is loaded when the first such node appears: bampid runs without it. */
#pragma once

#include "bampi/bmc/bmc_driver.h"

extern const struct bmc_driver libvirt_driver;
