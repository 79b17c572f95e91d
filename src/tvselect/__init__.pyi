from .after import held_out_worth, stability_over_seeds
from .omics.cells import select_anndata
from .omics.plink import read_plink
from .rewards import BartReward, ImportanceReward, LassoReward, PValueReward
from .selectors import Search, StreamingThompsonSelector, ThompsonSelector
from .trees import BartRun, Prior, bin_table, run_bart

__version__: str
__all__ = [
    "BartReward",
    "BartRun",
    "ImportanceReward",
    "LassoReward",
    "PValueReward",
    "Prior",
    "Search",
    "StreamingThompsonSelector",
    "ThompsonSelector",
    "bin_table",
    "held_out_worth",
    "read_plink",
    "run_bart",
    "select_anndata",
    "stability_over_seeds",
]
