"""The game: arms, choices, plays. Knows nothing of data."""
