# BERTH_SANITIZERS: AddressSanitizer and UndefinedBehaviorSanitizer, or the list that is given.
AC_DEFUN([BERTH_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers], [AS_HELP_STRING([--enable-sanitizers@<:@=LIST@:>@],
    [build with sanitizers, address,undefined by default])], [], [enable_sanitizers=no])
  AS_IF([test "x$enable_sanitizers" = xyes], [enable_sanitizers=address,undefined])
  AS_IF([test "x$enable_sanitizers" != xno], [
    SAN_CFLAGS="-fsanitize=$enable_sanitizers -fno-sanitize-recover=all -fno-omit-frame-pointer"
    AC_DEFINE([BERTH_SANITIZED], [1], [arenas use one malloc an object, so that overruns are seen])])
  AC_SUBST([SAN_CFLAGS])
])
