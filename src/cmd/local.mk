noinst_LIBRARIES += libcmd.a
libcmd_a_SOURCES = \
	src/cmd/cmd.h \
	src/cmd/config.h
bin_PROGRAMS += berth
berth_SOURCES = src/cmd/main.c
berth_LDADD = $(CMD_LIBS)
