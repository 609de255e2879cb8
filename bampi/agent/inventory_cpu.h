/* Processors as /proc/cpuinfo tells them (x86). */
#pragma once

#include <stddef.h>

struct inventory_cpu {
	char model[128];
	unsigned sockets; /* with at least one processor */
	unsigned cores;
	unsigned threads;
};

/* A virtual machine without topology lines counts as one socket, and every thread as a core. */
struct inventory_cpu inventory_cpu_read(const char *cpuinfo);
