"""What a report says, as data: one small file a section, and nothing drawn."""
