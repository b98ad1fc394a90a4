"""Draws a chart: a Vega-Lite specification in, an SVG document out.

Needs the extra `charts`; its library is imported only here, and only when a chart is asked for.
"""

from collections.abc import Mapping
from typing import Any

from compactor.errors import CompactorError


def chart_svg(specification: Mapping[str, Any]) -> bytes:
    """The chart as a static SVG document, UTF-8; nothing is fetched, and text in it is escaped.

    Args:
        specification: Vega-Lite, with its data inside.

    Raises:
        CompactorError: the extra is not installed, or the library can't draw the specification.
    """
    try:
        import vl_convert
    except ImportError:
        text = "a chart needs the package vl-convert-python, which is not installed: pip install 'compactor[charts]'"
        raise CompactorError(text) from None
    try:
        drawn: str = vl_convert.vegalite_to_svg(dict(specification), allowed_base_urls=[])
    except ValueError as error:
        reason = " ".join(str(error).split())[:200]
        raise CompactorError(f"the chart can't be drawn: expected a Vega-Lite chart, found {reason}") from None
    return drawn.encode() + b"\n"
