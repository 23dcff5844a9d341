# BERTH_DEPS: the libraries every build needs, by pkg-config, and the few functions of the platform.
AC_DEFUN([BERTH_DEPS], [
  PKG_CHECK_MODULES([CURL], [libcurl >= 7.74])
  BERTH_LIBCURL
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

# BERTH_LIBCURL: the name by which libcurl is found when a program runs. Where it can be told, libcurl is loaded under that name at
# the first request and not linked (src/net/curl_load.h).
AC_DEFUN([BERTH_LIBCURL], [
  AC_ARG_ENABLE([late-libcurl], [AS_HELP_STRING([--disable-late-libcurl],
    [link libcurl (default: load it at the first request, so that what asks nobody starts faster)])], [], [enable_late_libcurl=yes])
  AC_SEARCH_LIBS([dlopen], [dl])
  AC_CACHE_CHECK([under which name libcurl is loaded], [berth_cv_libcurl], [
    berth_cv_libcurl=
    berth_save_libs=$LIBS
    LIBS="$CURL_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[extern void *curl_easy_init(void);]], [[return curl_easy_init() == 0;]])],
      [berth_cv_libcurl=`readelf -d conftest$EXEEXT 2>/dev/null | sed 's/.*\@<:@//; s/@:>@.*//' | grep '^libcurl'`])
    LIBS=$berth_save_libs])
  AS_IF([test "x$enable_late_libcurl" != xno && test "x$berth_cv_libcurl" != x], [
    AC_DEFINE_UNQUOTED([LIBCURL_SONAME], ["$berth_cv_libcurl"], [libcurl as it is loaded at the first request])
    CURL_LIBS=])
])
