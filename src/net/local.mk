noinst_LIBRARIES += libnet.a
libnet_a_SOURCES = \
	src/net/curl_load.c src/net/curl_load.h src/net/http.c src/net/http.h src/net/http_int.h \
	src/net/http_hop.c src/net/http_msg.c src/net/http_run.c \
	src/net/http_cache.c src/net/http_cache.h src/net/http_tape.c src/net/http_tape.h \
	src/net/sign.h src/net/sign_impl.c src/net/sign_impl.h \
	src/net/sign_clouds.c \
	src/net/sign_crusoe.c src/net/sign_v4.c
