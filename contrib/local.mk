# filled by its folder

# Completion scripts come out of the program itself.
bashcompletion_files = contrib/completion/bash/berth
zshcompletion_files = contrib/completion/zsh/_berth
fishcompletion_files = contrib/completion/fish/berth.fish
zshcompletiondir = $(datadir)/zsh/site-functions
fishcompletiondir = $(datadir)/fish/vendor_completions.d
nodist_bashcompletion_DATA = $(bashcompletion_files)
nodist_zshcompletion_DATA = $(zshcompletion_files)
nodist_fishcompletion_DATA = $(fishcompletion_files)
CLEANFILES += $(bashcompletion_files) $(zshcompletion_files) $(fishcompletion_files)
$(bashcompletion_files): berth$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) contrib/completion/bash && ./berth$(EXEEXT) completion bash >$@.tmp && mv $@.tmp $@
$(zshcompletion_files): berth$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) contrib/completion/zsh && ./berth$(EXEEXT) completion zsh >$@.tmp && mv $@.tmp $@
$(fishcompletion_files): berth$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) contrib/completion/fish && ./berth$(EXEEXT) completion fish >$@.tmp && mv $@.tmp $@

# Examples for cron and systemd.
examplesdir = $(docdir)/examples
dist_examples_DATA = contrib/cron.example contrib/berth.timer
nodist_examples_DATA = contrib/berth.service
EXTRA_DIST += contrib/berth.service.in
CLEANFILES += contrib/berth.service
contrib/berth.service: contrib/berth.service.in
	$(AM_V_GEN)$(MKDIR_P) contrib && $(SED) 's|@bindir[@]|$(bindir)|g' $(srcdir)/contrib/berth.service.in >$@
