"""Sphinx configuration."""

import os
import pkgutil
import re
import sys
import warnings
from pathlib import Path

from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from sphinx_gallery.sorting import ExplicitOrder

from tvselect import __version__

sys.path.insert(0, str(Path(__file__).parent))
import api_page

# One example after the other on one core is what their times are about.
os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

project = "tvselect"
author = "The tvselect developers"
copyright = "2026, The tvselect developers"
release = __version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "GALLERY_HEADER.rst"]
# The order of the gallery is a class, which cannot be kept between builds.
suppress_warnings = ["config.cache"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autosummary_generate = ["_build/names.rst"]
names = Path(__file__).parent / autosummary_generate[0]
names.parent.mkdir(exist_ok=True)
names.write_text(api_page.stubs(api_page.PAGE.read_text()))


def fields(name):
    """Fields of a dataclass or named tuple whose docstring does not list them."""
    found = pkgutil.resolve_name(name)
    listed = re.search(r"^ *(Parameters|Attributes)$", found.__doc__, re.MULTILINE)
    names = getattr(found, "_fields", None) or getattr(found, "__dataclass_fields__", ())
    return [] if listed else [name for name in names if not name.startswith("_")]


autosummary_context = {"fields": fields}
# numpydoc gives the references of every docstring names of their own.
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

ORDER = (
    "plot_selection",
    "plot_plays",
    "plot_wide",
    "plot_real_tables",
    "plot_pipeline",
    "plot_rewards",
    "plot_lookalikes",
    "plot_chains",
    "plot_decoys",
    "plot_drift",
    "plot_regret",
    "direct_mail",
)


class GalleryOrder(ExplicitOrder):
    """The order in which examples are shown: the first steps first."""

    def __init__(self, src_dir: str) -> None:
        super().__init__([*(f"{name}.py" for name in ORDER), "*"])


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"wide_friedman",
    "within_subsection_order": GalleryOrder,
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("tvselect",),
    "reference_url": {"tvselect": None},
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "matplotlib_animations": False,
    "image_srcset": ["2x"],
}

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "tvselect"
html_static_path = ["_static"]
html_css_files = ["tvselect.css"]
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    # Tables of results take the room of the second sidebar.
    "secondary_sidebar_items": {
        **{pages: ["page-toc"] for pages in ("*", "api/*", "gallery/*")},
        "results/*": [],
    },
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}
html_show_sourcelink = False


def write_formula(writer, node):
    """Write a formula as MathML: browsers draw it without a script, also offline."""
    display = "inline" if node.tagname == "math" else "block"
    writer.body.append(convert(node.astext(), display=display))
    raise SkipNode


def for_the_site(app, name, source):
    """Leave out the empty line that must end a doctest; link the gallery in place of scripts."""
    if name == "api":
        source[0] = api_page.linked(source[0])
    text = (
        source[0].replace("\n\n```\n", "\n```\n").replace("](../examples)", "](gallery/index.rst)")
    )
    source[0] = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](gallery/\1.rst)", text)


def setup(app):
    """What this file adds to Sphinx."""
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    app.connect("source-read", for_the_site)
