"""What comes after a selection: how the outcome depends on what was selected, and look-alikes."""
