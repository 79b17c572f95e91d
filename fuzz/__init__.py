"""Damaged and hostile files for everything that reads a file someone else made.

``make fuzz CASES=20000 SEED=1`` runs some cases, ``make fuzz-million`` a million and records
them. A case is known by seed, target and number, and is made again from these alone.
"""
