# BERTH_DEPS: the libraries every build needs, by pkg-config, and the few functions of the platform.
AC_DEFUN([BERTH_DEPS], [
  PKG_CHECK_MODULES([CURL], [libcurl >= 7.74])
  PKG_CHECK_MODULES([OPENSSL], [openssl >= 3.0])
  PKG_CHECK_MODULES([JANSSON], [jansson >= 2.13])
  PKG_CHECK_MODULES([GSL], [gsl >= 2.7])
  PKG_CHECK_MODULES([SQLITE], [sqlite3 >= 3.37])
  PKG_CHECK_MODULES([YAML], [yaml-0.1])
])
