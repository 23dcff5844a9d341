# BERTH_DEPS: the libraries every build needs, by pkg-config, and the few functions of the platform.
AC_DEFUN([BERTH_DEPS], [
  PKG_CHECK_MODULES([CURL], [libcurl >= 7.74])
  PKG_CHECK_MODULES([OPENSSL], [openssl >= 3.0])
  PKG_CHECK_MODULES([JANSSON], [jansson >= 2.13])
  PKG_CHECK_MODULES([GSL], [gsl >= 2.7])
  PKG_CHECK_MODULES([SQLITE], [sqlite3 >= 3.37])
  PKG_CHECK_MODULES([YAML], [yaml-0.1])
  PKG_CHECK_MODULES([ZLIB], [zlib])
  AC_ARG_WITH([zstd], [AS_HELP_STRING([--without-zstd], [do not read zstd-packed input (default: if libzstd is there)])],
    [], [with_zstd=auto])
  berth_zstd=no
  AS_IF([test "x$with_zstd" != xno], [
    PKG_CHECK_MODULES([ZSTD], [libzstd >= 1.4], [berth_zstd=yes],
      [AS_IF([test "x$with_zstd" = xyes], [AC_MSG_ERROR([--with-zstd: libzstd was not found])])])])
  AM_CONDITIONAL([ZSTD], [test "x$berth_zstd" = xyes])
])
