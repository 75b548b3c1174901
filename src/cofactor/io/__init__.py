"""Everything that reads or writes files: tables, models, exports."""
