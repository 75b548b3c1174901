"""Labels: `suggestions` says which documents to label next, `doubts` which labels look wrong."""
