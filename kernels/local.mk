# filled by its folder
