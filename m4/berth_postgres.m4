# BERTH_POSTGRES: the shared store engine, only when asked for.
AC_DEFUN([BERTH_POSTGRES], [
  AC_ARG_WITH([postgres], [AS_HELP_STRING([--with-postgres], [find libpq for the shared store (default: no)])],
    [], [with_postgres=no])
  AS_IF([test "x$with_postgres" != xno], [
    PKG_CHECK_MODULES([LIBPQ], [libpq >= 13])
    AC_DEFINE([HAVE_LIBPQ], [1], [libpq was found])])
  AM_CONDITIONAL([POSTGRES], [test "x$with_postgres" != xno])
])
