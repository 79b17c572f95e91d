"""The bandit: arms, choices, plays. Knows nothing of data."""
