"""Three or more classes: a forest for each, and the class seen has the largest latent normal.

The rows stand in the chain once for every class, one block after the other, and the trees of a
class see its block alone: leaves of different classes share no rows, so that the rest of the
sampler need not know. Splits are counted over all classes, which share the prior of the columns.
"""

from __future__ import annotations

import math

import numpy as np

from tvselect.jit import part
from tvselect.trees.bits import ONE, bit_place
from tvselect.trees.state import (
    LEVEL,
    Leaves,
    PriorParameters,
    ResponseState,
)
from tvselect.trees.truncated import normal_between


@part
def draw_class_latents(
    rng: np.random.Generator, prior: PriorParameters, response: ResponseState, n_rows: int
) -> None:
    """Draw the latents of every row, that of its class first, each given the others.

    Values are relative to the offsets of the classes.
    """
    n_classes = prior.cuts.shape[0]
    block = n_rows // n_classes
    for i in range(block):
        seen = int(response.observed[LEVEL, bit_place(i)])
        highest = -math.inf
        for k in range(n_classes):
            if k != seen:
                place = bit_place(k * block + i)
                highest = max(highest, prior.cuts[k] + response.values[place])
        place = bit_place(seen * block + i)
        offset = prior.cuts[seen]
        largest = normal_between(rng, offset + response.fit[place], 1.0, highest, math.inf)
        response.values[place] = largest - offset
        for k in range(n_classes):
            if k != seen:
                place = bit_place(k * block + i)
                offset = prior.cuts[k]
                latent = normal_between(rng, offset + response.fit[place], 1.0, -math.inf, largest)
                response.values[place] = latent - offset


@part
def plant_in_blocks(leaves: Leaves, n_trees: int, n_classes: int, n_rows: int) -> None:
    """Give every stump the rows of its class: tree ``t`` is one of class ``t % n_classes``."""
    block = n_rows // n_classes
    for k in range(n_classes):
        for w in range(leaves.masks.shape[0]):
            leaves.masks[w, k] = np.uint64(0)
        for i in range(k * block, (k + 1) * block):
            place = bit_place(i)
            leaves.masks[place >> 6, k] |= ONE << np.uint64(place & 63)
    for tree in range(n_trees):
        for w in range(leaves.masks.shape[0]):
            leaves.masks[w, tree] = leaves.masks[w, tree % n_classes]
        for other in range(n_trees):
            is_same = tree % n_classes == other % n_classes
            leaves.gram[tree, other] = block if is_same else 0
