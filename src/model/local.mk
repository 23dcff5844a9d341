noinst_LIBRARIES += libmodel.a
libmodel_a_SOURCES =
