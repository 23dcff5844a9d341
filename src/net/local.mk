noinst_LIBRARIES += libnet.a
libnet_a_SOURCES = \
	src/net/http.c src/net/http.h \
	src/net/http_msg.c
