noinst_LIBRARIES += libnet.a
libnet_a_SOURCES = \
	src/net/http.h
