// libtenon.so needs a source of its own; everything in it comes from the modules.
