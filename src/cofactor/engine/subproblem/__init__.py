"""One factor's row problem while the other factors stay fixed."""
