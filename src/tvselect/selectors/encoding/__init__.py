"""From features to columns of numbers: one 0/1 column per category, everything else as it is."""

from tvselect.selectors.encoding.columns import ColumnEncoding
from tvselect.selectors.encoding.store import restore_encoder, store_encoder
from tvselect.selectors.encoding.stream import StreamEncoder
from tvselect.selectors.features import codes_of, one_hot

__all__ = [
    "ColumnEncoding",
    "StreamEncoder",
    "codes_of",
    "one_hot",
    "restore_encoder",
    "store_encoder",
]
