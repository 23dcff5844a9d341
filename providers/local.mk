noinst_LIBRARIES += libproviders.a
libproviders_a_SOURCES = \
	providers/provider.h providers/prov.h
