"""Error control: which selections may be believed, from scores, decoys and e-values."""
