"""Sphinx configuration: ``make docs`` builds the site into docs/_build/html, with warnings as errors."""

from __future__ import annotations

from importlib.metadata import version as installed_version

from hashmix.core.registry import Registry

project = "hashmix"
copyright = "the hashmix developers"
author = "The hashmix developers"
release = version = installed_version("hashmix")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx-mathjax-offline",  # formulas need no network
]
exclude_patterns = ["_build", "sg_execution_times.rst"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # sphinx-gallery's settings hold a function

# ---- pages -----------------------------------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 4
nitpicky = False
linkcheck_anchors = False

# ---- reference -------------------------------------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"  # the numpydoc sections say it
autodoc_member_order = "groupwise"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# ---- gallery ---------------------------------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"demo\.py",
    "within_subsection_order": "FileNameSortKey",
    "plot_gallery": True,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "download_all_examples": False,
    "reference_url": {"hashmix": None},
    "image_scrapers": ("matplotlib",),
    "capture_repr": ("_repr_html_",),
}

# ---- theme -----------------------------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"hashmix {release}"
html_static_path = ["_static"]
html_css_files = ["hashmix.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "hashmix"},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
    "show_toc_level": 2,
}
html_sidebars = {"install": [], "quick_start": [], "paper": [], "results": [], "changelog": []}


# ---- registries --------------------------------------------------------------------------------------------------------------


def describe_registry(app, what, name, obj, options, lines):
    """Let the page of a registry list its names, and show how to add one."""
    if not isinstance(obj, Registry):
        return
    choices = [
        f"``{choice!r}``" + (f" ({obj[choice].__name__})" if isinstance(obj[choice], type) else "") for choice in obj.names
    ]
    module, _, registry = name.rpartition(".")
    lines[:] = [
        f"The registry of the names that the parameter ``{obj.parameter}`` accepts: {', '.join(choices)}.",
        "",
        f"``{registry}.add(name, maker)`` adds a name. ``maker`` is a class, or a function that returns the object. "
        "Error messages and the command line then list it. See :doc:`/extending`.",
        "",
        f">>> from {module} import {registry}",
        f">>> {registry}.names",
        repr(obj.names),
    ]


def setup(app):
    """Connect what this file adds to Sphinx."""
    app.connect("autodoc-process-docstring", describe_registry, priority=900)
