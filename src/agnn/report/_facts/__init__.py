"""What a report says, as data: one module per section, and nothing drawn."""
