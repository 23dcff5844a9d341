# BERTH_OLDGLIBC: can berth-probe be bound to the symbols of old glibcs (x86-64)? Sets OLDGLIBC_LIBS and the conditional.
AC_DEFUN([BERTH_OLDGLIBC], [
  OLDGLIBC_LIBS="-Wl,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0 -Wl,--wrap=__libc_start_main"
  AC_CACHE_CHECK([whether a program can be bound to old glibcs], [berth_cv_oldglibc], [
    berth_cv_oldglibc=no
    berth_save_libs=$LIBS
    LIBS="$LIBS $OLDGLIBC_LIBS"
    AS_IF([test "x$enable_sanitizers" = xno && test "x$enable_coverage" = xno], [
      AC_LINK_IFELSE([AC_LANG_SOURCE([[
#if !defined(__x86_64__) || !defined(__GLIBC__)
#include <features.h>
#endif
#if !defined(__x86_64__) || !defined(__GLIBC__)
#error another system
#endif
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver pthread_create,pthread_create@GLIBC_2.2.5");
__asm__(".symver start_old,__libc_start_main@GLIBC_2.2.5");
extern void *dlopen(const char *, int);
extern int pthread_create(void *, void *, void *, void *);
extern int start_old(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
int __wrap___libc_start_main(int (*m)(int, char **, char **), int n, char **v, void (*i)(void), void (*f)(void),
    void (*r)(void), void *s) { return start_old(m, n, v, i, f, r, s); }
int main(void) { return dlopen("x", 1) == (void *)pthread_create; }
        ]])], [berth_cv_oldglibc=yes])])
    LIBS=$berth_save_libs])
  AC_SUBST([OLDGLIBC_LIBS])
  AM_CONDITIONAL([OLDGLIBC], [test "x$berth_cv_oldglibc" = xyes])
])
