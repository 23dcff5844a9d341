/*
 * kernels/oldglibc.h - included before every file of berth-probe on x86-64 with glibc: functions
 * whose version rose when they moved into libc.so.6 (2.34) or changed (glob, 2.27) are bound to the
 * version that they had before, so that a probe built on a new system starts on an old one. start.c
 * does the same for the program's start.
 */
#ifndef BERTH_KERNELS_OLDGLIBC_H
#define BERTH_KERNELS_OLDGLIBC_H

#define OLDGLIBC(sym, ver) __asm__(".symver " #sym "," #sym "@GLIBC_" ver)
OLDGLIBC(dlopen, "2.2.5");
OLDGLIBC(dlsym, "2.2.5");
OLDGLIBC(dlclose, "2.2.5");
OLDGLIBC(dlinfo, "2.3.3");
OLDGLIBC(glob, "2.2.5");
OLDGLIBC(pthread_create, "2.2.5");
OLDGLIBC(pthread_join, "2.2.5");
OLDGLIBC(pthread_detach, "2.2.5");
OLDGLIBC(pthread_barrier_init, "2.2.5");
OLDGLIBC(pthread_barrier_wait, "2.2.5");

#endif
